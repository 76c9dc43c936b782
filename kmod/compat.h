/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that mtrace builds for
 *
 * The only file that asks for a kernel's version. Each conditional names the
 * release that brought the change. The oldest kernel is 6.1.
 */
#ifndef _MT_COMPAT_H
#define _MT_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#include <asm/mmu_context.h>

/* rdtsc_ordered() is in either of them. */
#include <asm/msr.h>
#include <asm/tsc.h>

/* 6.16: cpuid() left <asm/processor.h>. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#include <asm/processor.h>
#else
#include <asm/cpuid/api.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "mtrace needs Linux 6.1 or newer"
#endif

/* 6.3: vm_flags became read-only, to be changed by functions that lock. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* 6.4: CR3 has bits that mask linear addresses. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static inline unsigned long mm_lam_cr3_mask(struct mm_struct *mm)
{
	return 0;
}
#endif

/* 6.16: the 64-bit MSR accessors were renamed from "l" to "q". */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define rdmsrq_safe(msr, val)	rdmsrl_safe(msr, val)
#define wrmsrq_safe(msr, val)	wrmsrl_safe(msr, val)
#endif

/* 6.16: the probe of sched_process_exit gained an argument. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define MT_PROBE_EXIT_ARGS	void *data, struct task_struct *task
#else
#define MT_PROBE_EXIT_ARGS	void *data, struct task_struct *task, bool last
#endif

#endif /* _MT_COMPAT_H */
