// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to the code in address spaces
 *
 * Owns the probes that see executable memory come and go, and hands over to the
 * sideband. Knows nothing of sessions.
 *
 * perf has a call of its own in mmap and mprotect and nothing for munmap, and no
 * tracepoint tells of either. So these are kprobes, on functions that are not
 * static, are called from another file than their own, and have had the same
 * purpose since 5.10:
 *
 *   perf_event_mmap	of each mapping that mmap() made or mprotect() changed
 *   vm_area_free	of each that is gone - or has become a part of another
 *   copy_vma		of each that mremap() makes at another address
 *   mprotect_fixup	of each part that mprotect() changes
 *   __x64_sys_mremap	of each call that makes a mapping longer where it is, which
 *			is done within functions that are others in each kernel
 *
 * All but the last are called with the address space's mmap lock held, all by a
 * task that has the address space, and none often. They are looked up when the
 * module is loaded and armed while they are wanted; what a kernel lacks is done
 * without. A handler must not sleep.
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compat.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mtrace_sideband.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "compat.h"
#include "sideband.h"
#include "space.h"

/**
 * struct space_range - what a probed function does something with
 * @mm: the address space
 * @addr: of its first byte
 * @len: its length
 * @old_len: the same before, of what grows
 */
struct space_range {
	struct mm_struct *mm;
	unsigned long addr;
	unsigned long len;
	unsigned long old_len;
};

/* Times that a handler could not look at the address space. */
static atomic_long_t space_blind;

static int space_mapped(struct kprobe *probe, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_get_kernel_argument(regs, 0);

	if (vma->vm_flags & VM_EXEC)
		mt_sideband_mmap(vma, vma->vm_start,
				 vma->vm_end - vma->vm_start);
	return 0;
}

/* Another mapping may have taken its place, or it become a part of another. */
static bool space_is_code(struct mm_struct *mm, unsigned long addr,
			  unsigned long len)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start <= addr && vma->vm_end - addr >= len &&
	       vma->vm_flags & VM_EXEC;
}

static int space_freed(struct kprobe *probe, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_get_kernel_argument(regs, 0);
	unsigned long len = vma->vm_end - vma->vm_start;
	struct mm_struct *mm = vma->vm_mm;

	/* Not what exit and exec leave, nor a fork that fails. */
	if (!(vma->vm_flags & VM_EXEC) || !mm || mm != current->mm ||
	    space_is_code(mm, vma->vm_start, len))
		return 0;
	mt_sideband_munmap(mm, vma->vm_start, len);
	return 0;
}

static int space_copy(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct vm_area_struct **vma = (void *)regs_get_kernel_argument(regs, 0);
	struct space_range *range = (void *)instance->data;

	if (!((*vma)->vm_flags & VM_EXEC))
		return 1;
	range->addr = regs_get_kernel_argument(regs, 1);
	range->len = regs_get_kernel_argument(regs, 2);
	return 0;
}

static int space_copied(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_return_value(regs);
	struct space_range *range = (void *)instance->data;

	if (vma)
		mt_sideband_mmap(vma, range->addr, range->len);
	return 0;
}

static int space_protect(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	struct space_range *range = (void *)instance->data;
	struct vm_area_struct *vma =
		(void *)regs_get_kernel_argument(regs, MT_MPROTECT_FIXUP_VMA);

	if (!(vma->vm_flags & VM_EXEC))
		return 1;
	range->mm = vma->vm_mm;
	range->addr = regs_get_kernel_argument(regs, MT_MPROTECT_FIXUP_VMA + 2);
	range->len = regs_get_kernel_argument(regs, MT_MPROTECT_FIXUP_VMA + 3) -
		     range->addr;
	return 0;
}

static int space_protected(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct space_range *range = (void *)instance->data;

	if (!(int)regs_return_value(regs) && range->mm == current->mm &&
	    !space_is_code(range->mm, range->addr, range->len))
		mt_sideband_munmap(range->mm, range->addr, range->len);
	return 0;
}

/*
 * What the caller of mremap() wants. It may be none that is executable, if that
 * can be seen now; the lock may be held by another, and cannot be waited for.
 */
static int space_grow(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct pt_regs *args = (void *)regs_get_kernel_argument(regs, 0);
	struct space_range *range = (void *)instance->data;
	struct vm_area_struct *vma;
	bool skip = false;

	range->mm = current->mm;
	if (in_ia32_syscall()) {
		range->addr = (u32)args->bx;
		range->old_len = PAGE_ALIGN((u32)args->cx);
		range->len = PAGE_ALIGN((u32)args->dx);
	} else {
		/* Without what linear address masking lets a program put there. */
		range->addr = args->di & GENMASK(56, 0);
		range->old_len = PAGE_ALIGN(args->si);
		range->len = PAGE_ALIGN(args->dx);
	}
	if (!range->mm || range->len <= range->old_len)
		return 1;
	if (mmap_read_trylock(range->mm)) {
		vma = find_vma(range->mm, range->addr);
		skip = !vma || !(vma->vm_flags & VM_EXEC);
		mmap_read_unlock(range->mm);
	}
	return skip;
}

/*
 * It has grown where it was if the call returns its address. Others may have
 * changed it since, and have told that before this is told.
 */
static int space_grown(struct kretprobe_instance *instance,
		       struct pt_regs *regs)
{
	struct space_range *range = (void *)instance->data;
	const unsigned long more = range->addr + range->old_len;
	struct vm_area_struct *vma;

	if (regs_return_value(regs) != range->addr)
		return 0;
	if (!mmap_read_trylock(range->mm)) {
		atomic_long_inc(&space_blind);
		return 0;
	}
	vma = find_vma(range->mm, more);
	if (vma && vma->vm_start <= more &&
	    vma->vm_end >= range->addr + range->len) {
		if (vma->vm_flags & VM_EXEC)
			mt_sideband_mmap(vma, more, range->len - range->old_len);
	} else {
		atomic_long_inc(&space_blind);
	}
	mmap_read_unlock(range->mm);
	return 0;
}

/* As many can be in one of the functions at a time, one for an address space. */
#define SPACE_MAX_ACTIVE	256

#define SPACE_KPROBE(symbol, handler) {					\
	.kp.symbol_name = symbol,					\
	.kp.pre_handler = handler,					\
	.kp.flags = KPROBE_FLAG_DISABLED,				\
}

#define SPACE_KRETPROBE(symbol, entry, ret) {				\
	.kp.symbol_name = symbol,					\
	.kp.flags = KPROBE_FLAG_DISABLED,				\
	.entry_handler = entry,						\
	.handler = ret,							\
	.data_size = sizeof(struct space_range),			\
	.maxactive = SPACE_MAX_ACTIVE,					\
}

static struct {
	u32 kind;
	struct kretprobe probe;	/* .kp alone where it has no .handler */
	bool found;
} space_probes[] = {
	{ MTRACE_SIDEBAND_MMAP,
	  SPACE_KPROBE("perf_event_mmap", space_mapped) },
	{ MTRACE_SIDEBAND_MUNMAP,
	  SPACE_KPROBE("vm_area_free", space_freed) },
	{ MTRACE_SIDEBAND_MREMAP,
	  SPACE_KRETPROBE("copy_vma", space_copy, space_copied) },
	{ MTRACE_SIDEBAND_MPROTECT,
	  SPACE_KRETPROBE("mprotect_fixup", space_protect, space_protected) },
	{ MTRACE_SIDEBAND_GROW,
	  SPACE_KRETPROBE("__x64_sys_mremap", space_grow, space_grown) },
	/* Of programs of 32 bits, where the kernel runs them. */
	{ 0, SPACE_KRETPROBE("__ia32_sys_mremap", space_grow, space_grown) },
};

/**
 * mt_space_init - look up what there is to probe
 */
void __init mt_space_init(void)
{
	struct kretprobe *probe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space_probes); i++) {
		probe = &space_probes[i].probe;
		space_probes[i].found =
			!(probe->handler ? register_kretprobe(probe) :
					   register_kprobe(&probe->kp));
	}
}

/**
 * mt_space_exit - forget it
 */
void mt_space_exit(void)
{
	struct kretprobe *probe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space_probes); i++) {
		probe = &space_probes[i].probe;
		if (!space_probes[i].found)
			continue;
		if (probe->handler)
			unregister_kretprobe(probe);
		else
			unregister_kprobe(&probe->kp);
	}
}

/**
 * mt_space_kinds - tell what can be seen on this kernel
 *
 * Return: MTRACE_SIDEBAND_*.
 */
u32 mt_space_kinds(void)
{
	unsigned int i;
	u32 kinds = 0;

	for (i = 0; i < ARRAY_SIZE(space_probes); i++)
		if (space_probes[i].found)
			kinds |= space_probes[i].kind;
	return kinds;
}

static void space_disarm(unsigned int nr)
{
	while (nr--)
		if (space_probes[nr].found)
			disable_kprobe(&space_probes[nr].probe.kp);
}

/**
 * mt_space_watch - begin to tell the sideband what happens
 *
 * Return: 0 or a negative error.
 */
int mt_space_watch(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(space_probes); i++) {
		if (!space_probes[i].found)
			continue;
		ret = enable_kprobe(&space_probes[i].probe.kp);
		if (ret) {
			space_disarm(i);
			return ret;
		}
	}
	return 0;
}

/**
 * mt_space_unwatch - tell no more
 *
 * A handler may still run until an RCU grace period is over.
 */
void mt_space_unwatch(void)
{
	space_disarm(ARRAY_SIZE(space_probes));
}

/**
 * mt_space_missed - tell how often a probe could not do its work
 */
unsigned long mt_space_missed(void)
{
	unsigned long missed = atomic_long_read(&space_blind);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space_probes); i++)
		missed += READ_ONCE(space_probes[i].probe.kp.nmissed) +
			  READ_ONCE(space_probes[i].probe.nmissed);
	return missed;
}
