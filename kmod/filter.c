// SPDX-License-Identifier: GPL-2.0
/*
 * Which code of a thread is traced
 *
 * Owns what a range of addresses may be, and which value of CR3 stands for a
 * thread's address space. Touches no register, and nothing that it works out
 * from a page table's address leaves the kernel.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/msr-index.h>
#include <asm/page.h>
#include <asm/processor.h>
#include <asm/processor-flags.h>

#include "compat.h"
#include "filter.h"

/* IA32_RTIT_CTL.ADDR0_CFG, and how far each of the next is from the last. */
#define RTIT_CTL_ADDR_SHIFT	RTIT_CTL_ADDR0_OFFSET
#define RTIT_CTL_ADDR_WIDTH	4

/*
 * The page tables of user code where they are isolated: the page behind the
 * kernel's, under an identifier (PCID) with another bit 11. Other bits of the
 * identifier differ from CPU to CPU; they are below those that are compared.
 */
#define FILTER_USER_PGD		BIT_ULL(PAGE_SHIFT)
#define FILTER_USER_PCID	BIT_ULL(11)

static atomic64_t mt_filter_last_id = ATOMIC64_INIT(0);

static bool filter_is_address(u64 address, bool kernel)
{
	const unsigned int unused = 63 - __VIRTUAL_MASK_SHIFT;

	if (address < TASK_SIZE_MAX)
		return true;
	return kernel && (u64)((s64)(address << unused) >> unused) == address;
}

/**
 * mt_filter_check - test whether a set-up's ranges are ranges
 * @setup: the set-up
 *
 * Return: 0 or -EINVAL.
 */
int mt_filter_check(const struct mtrace_setup *setup)
{
	const bool kernel = setup->trace_flags & MTRACE_TRACE_KERNEL;
	const struct mtrace_range *range;
	u32 i;

	if (setup->nr_ranges > MTRACE_MAX_RANGES)
		return -EINVAL;
	for (i = 0; i < setup->nr_ranges; i++) {
		range = &setup->range[i];
		if (range->pad || range->start > range->end ||
		    (range->kind != MTRACE_RANGE_FILTER &&
		     range->kind != MTRACE_RANGE_STOP) ||
		    !filter_is_address(range->start, kernel) ||
		    !filter_is_address(range->end, kernel))
			return -EINVAL;
	}
	if (memchr_inv(&setup->range[i], 0,
		       (MTRACE_MAX_RANGES - i) * sizeof(*range)))
		return -EINVAL;
	return 0;
}

/**
 * mt_filter_init - prepare a set-up's ranges for the CPU
 * @filter: filled in
 * @setup: a set-up that mt_filter_check() accepted
 */
void mt_filter_init(struct mt_filter *filter, const struct mtrace_setup *setup)
{
	u32 i;

	memset(filter, 0, sizeof(*filter));
	if (!setup->nr_ranges)
		return;
	for (i = 0; i < setup->nr_ranges; i++) {
		filter->addr[2 * i] = setup->range[i].start;
		filter->addr[2 * i + 1] = setup->range[i].end;
	}
	filter->nr_addrs = 2 * setup->nr_ranges;
	filter->id = atomic64_inc_return(&mt_filter_last_id);
}

/**
 * mt_filter_ctl - what a set-up's ranges set in IA32_RTIT_CTL
 * @setup: a set-up that mt_filter_check() accepted
 *
 * Return: the ADDRn_CFG fields.
 */
u64 mt_filter_ctl(const struct mtrace_setup *setup)
{
	u64 ctl = 0;
	u32 i;

	for (i = 0; i < setup->nr_ranges; i++)
		ctl |= (u64)setup->range[i].kind <<
		       (RTIT_CTL_ADDR_SHIFT + RTIT_CTL_ADDR_WIDTH * i);
	return ctl;
}

/**
 * mt_filter_has_same_cr3 - whether a process and the kernel on its behalf have
 *	the same CR3
 */
bool mt_filter_has_same_cr3(void)
{
	return !boot_cpu_has(X86_FEATURE_PTI);
}

/**
 * mt_filter_cr3 - work out IA32_RTIT_CR3_MATCH for a thread
 * @task: the current task, or the one that is about to be
 * @ctl: IA32_RTIT_CTL; with isolated page tables one of User and OS is set
 *
 * CR3 itself does not tell: the scheduler loads it after it has told that it
 * will. Bits 63:5 are compared (SDM vol. 3, "IA32_RTIT_CR3_MATCH MSR"), and so
 * those that mask linear addresses (LAM), too; a process that asks for that
 * has it in here from its next switch on.
 *
 * Return: the value, or 0 for a thread that has no address space of its own: a
 * kernel thread that borrows another's.
 */
u64 mt_filter_cr3(const struct task_struct *task, u64 ctl)
{
	struct mm_struct *mm = task->mm;
	u64 cr3;

	if (!mm)
		return 0;
	cr3 = __pa(mm->pgd) | mm_lam_cr3_mask(mm);
	if (ctl & RTIT_CTL_USR && !mt_filter_has_same_cr3()) {
		cr3 |= FILTER_USER_PGD;
		if (boot_cpu_has(X86_FEATURE_PCID))
			cr3 |= FILTER_USER_PCID;
	}
	return cr3;
}
