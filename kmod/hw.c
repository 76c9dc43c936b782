// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of Processor Trace on the CPU that runs this
 *
 * Owns, with hw.h, every access to IA32_RTIT_* and the order of them. Knows
 * neither threads nor regions: the caller has a struct mt_output continued or
 * kept. Whose ranges and which CR3 a CPU has it remembers, so that they are written
 * only where another session's or another process's are wanted.
 * All functions that touch registers want interrupts off, so that no switch
 * of threads comes between.
 *
 * Writes are of the kind that reports a fault: the hardware refuses TraceEn in
 * VMX operation where IA32_VMX_MISC[14] is 0 (SDM vol. 3, "Intel Processor
 * Trace and VMX"), and a trace that cannot be had is a count, not an oops.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/io.h>
#include <linux/percpu.h>

#include <asm/msr-index.h>

#include "caps.h"
#include "compat.h"
#include "filter.h"
#include "hw.h"

/* IA32_RTIT_OUTPUT_MASK_PTRS for ToPA output; bits 6:0 read as ones. */
#define RTIT_MASK_ONES		GENMASK_ULL(6, 0)
#define RTIT_MASK_ENTRY		GENMASK_ULL(31, 7)
#define RTIT_MASK_OFFSET	GENMASK_ULL(63, 32)

/* What each option of a session sets in IA32_RTIT_CTL. */
static const struct {
	u32 flag;
	u64 ctl;
} mt_hw_flags[] = {
	{ MTRACE_TRACE_USER,		RTIT_CTL_USR },
	{ MTRACE_TRACE_KERNEL,		RTIT_CTL_OS },
	{ MTRACE_TRACE_TSC,		RTIT_CTL_TSC_EN },
	{ MTRACE_TRACE_MTC,		RTIT_CTL_MTC_EN },
	{ MTRACE_TRACE_CYC,		RTIT_CTL_CYCLEACC },
	{ MTRACE_TRACE_NORETCOMP,	RTIT_CTL_DISRETC },
	{ MTRACE_TRACE_PTW,		RTIT_CTL_PTW_EN },
	{ MTRACE_TRACE_PTW_FUP,		RTIT_CTL_FUP_ON_PTW },
	{ MTRACE_TRACE_POWER,		RTIT_CTL_PWR_EVT_EN },
	{ MTRACE_TRACE_CR3,		RTIT_CTL_CR3EN },
	{ MTRACE_TRACE_EVENT,		RTIT_CTL_EVENT_EN },
	{ MTRACE_TRACE_NOTNT,		RTIT_CTL_NOTNT },
};

DEFINE_PER_CPU(struct mt_hw_cpu, mt_hw_cpu);

/**
 * mt_hw_ctl - work out IA32_RTIT_CTL for a session
 * @setup: a set-up that mt_caps_check() and mt_filter_check() accepted
 *
 * Return: the register's value, TraceEn included.
 */
u64 mt_hw_ctl(const struct mtrace_setup *setup)
{
	u64 ctl = RTIT_CTL_TRACEEN | RTIT_CTL_TOPA | mt_filter_ctl(setup);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mt_hw_flags); i++)
		if (setup->trace_flags & mt_hw_flags[i].flag)
			ctl |= mt_hw_flags[i].ctl;
	if (!(setup->trace_flags & MTRACE_TRACE_NOBRANCH))
		ctl |= RTIT_CTL_BRANCH_EN;

	return ctl | FIELD_PREP(RTIT_CTL_MTC_RANGE, setup->mtc_freq) |
	       FIELD_PREP(RTIT_CTL_CYC_THRESH, setup->cyc_thresh) |
	       FIELD_PREP(RTIT_CTL_PSB_FREQ, setup->psb_freq);
}

/**
 * mt_hw_output_init - point an output at memory where a trace begins
 * @out: the output
 * @table: physical address of the ToPA table, or 0 with
 * @entry: the one entry of a region that has none
 * @index: the entry in the table
 *
 * A PacketByteCnt of 0 makes the CPU begin with PSB+, so that the region
 * decodes from its first byte.
 */
void mt_hw_output_init(struct mt_output *out, u64 table, u64 entry, u32 index)
{
	out->base = table;
	out->entry = entry;
	out->mask_ptrs = RTIT_MASK_ONES | FIELD_PREP(RTIT_MASK_ENTRY, index);
	out->status = 0;
}

/**
 * mt_hw_output_entry - which entry of its table an output writes to
 * @out: the output
 *
 * Return: the entry's index.
 */
u32 mt_hw_output_entry(const struct mt_output *out)
{
	return FIELD_GET(RTIT_MASK_ENTRY, out->mask_ptrs);
}

/**
 * mt_hw_output_offset - where in that entry's memory it writes next
 * @out: the output
 *
 * Return: the offset in bytes.
 */
u32 mt_hw_output_offset(const struct mt_output *out)
{
	return FIELD_GET(RTIT_MASK_OFFSET, out->mask_ptrs);
}

/**
 * mt_hw_is_behind - whether an output has gone backwards
 * @out: where it is
 * @base: which table it was in
 * @mask_ptrs: and where
 *
 * Entry first, then offset: what grows while the output does not wrap.
 */
bool mt_hw_is_behind(const struct mt_output *out, u64 base, u64 mask_ptrs)
{
	return out->base == base &&
	       rol64(out->mask_ptrs, 32) < rol64(mask_ptrs, 32);
}

/**
 * mt_hw_carried - what of IA32_RTIT_STATUS goes with a thread over switches
 *
 * PacketByteCnt, which keeps the PSB period going, and Stopped, so that what
 * has stopped stays so: to restore them is what the SDM has them writable for
 * ("IA32_RTIT_STATUS MSR"). Error is cleared, or the CPU would not trace.
 *
 * Return: a mask of these bits.
 */
u64 mt_hw_carried(void)
{
	u64 carried = RTIT_STATUS_STOPPED;

	if (mt_caps_get(MT_CAP_PSB_CYC))
		carried |= RTIT_STATUS_BYTECNT;
	return carried;
}

/**
 * mt_hw_load - give the CPU the filters that it does not have yet
 * @filter: the ranges that IA32_RTIT_CTL will mean
 * @cr3: IA32_RTIT_CR3_MATCH, or 0 where it will not mean that
 *
 * Return: 0, or -EIO where the CPU refused.
 */
int mt_hw_load(const struct mt_filter *filter, u64 cr3)
{
	struct mt_hw_cpu *mine = this_cpu_ptr(&mt_hw_cpu);
	u32 i;

	if (filter->id && filter->id != mine->ranges) {
		mine->ranges = 0;
		for (i = 0; i < filter->nr_addrs; i++)
			if (wrmsrq_safe(MSR_IA32_RTIT_ADDR0_A + i,
					filter->addr[i]))
				return -EIO;
		mine->ranges = filter->id;
	}
	if (cr3 && cr3 != mine->cr3) {
		mine->cr3 = 0;
		if (wrmsrq_safe(MSR_IA32_RTIT_CR3_MATCH, cr3))
			return -EIO;
		mine->cr3 = cr3;
	}
	return 0;
}

/**
 * mt_hw_forget - the registers of the filters may have become others
 */
void mt_hw_forget(void)
{
	this_cpu_write(mt_hw_cpu.ranges, 0);
	this_cpu_write(mt_hw_cpu.cr3, 0);
}

/* How many IA32_RTIT_ADDRn_A and _B there are. */
static u32 hw_nr_addrs(void)
{
	return 2 * mt_caps_nr_ranges();
}

/**
 * mt_hw_claim - take over the CPU's trace registers
 * @found: receives what was in them, for mt_hw_restore()
 * @table: the CPU's table for outputs that have none of their own; the caller's
 *	again after mt_hw_restore()
 *
 * Return: 0; -EBUSY where somebody traces; -ENODEV where the registers are
 * not there.
 */
int mt_hw_claim(struct mt_found *found, u64 *table)
{
	u32 i;

	if (rdmsrq_safe(MSR_IA32_RTIT_CTL, &found->ctl))
		return -ENODEV;
	if (found->ctl & RTIT_CTL_TRACEEN)
		return -EBUSY;
	if (rdmsrq_safe(MSR_IA32_RTIT_STATUS, &found->out.status) ||
	    rdmsrq_safe(MSR_IA32_RTIT_OUTPUT_BASE, &found->out.base) ||
	    rdmsrq_safe(MSR_IA32_RTIT_OUTPUT_MASK, &found->out.mask_ptrs))
		return -ENODEV;
	for (i = 0; i < hw_nr_addrs(); i++)
		if (rdmsrq_safe(MSR_IA32_RTIT_ADDR0_A + i, &found->addr[i]))
			return -ENODEV;
	if (mt_caps_get(MT_CAP_CR3_FILTER) &&
	    rdmsrq_safe(MSR_IA32_RTIT_CR3_MATCH, &found->cr3))
		return -ENODEV;
	mt_hw_forget();
	this_cpu_write(mt_hw_cpu.table, table);
	this_cpu_write(mt_hw_cpu.base, virt_to_phys(table));
	return 0;
}

/**
 * mt_hw_restore - give the registers back as they were found
 * @found: what mt_hw_claim() kept
 *
 * perf remembers per CPU what it wrote to the registers of output and ranges,
 * and leaves out writes that would not change them (pt_config_buffer() and
 * pt_config_filters() in the kernel): other values left behind would have it
 * trace into freed memory, or what it was not asked for.
 */
void mt_hw_restore(const struct mt_found *found)
{
	u64 status = found->out.status & (mt_hw_carried() | RTIT_STATUS_ERROR);
	u32 i;

	wrmsrq_safe(MSR_IA32_RTIT_CTL, 0);
	wrmsrq_safe(MSR_IA32_RTIT_OUTPUT_BASE, found->out.base);
	wrmsrq_safe(MSR_IA32_RTIT_OUTPUT_MASK, found->out.mask_ptrs);
	wrmsrq_safe(MSR_IA32_RTIT_STATUS, status);
	for (i = 0; i < hw_nr_addrs(); i++)
		wrmsrq_safe(MSR_IA32_RTIT_ADDR0_A + i, found->addr[i]);
	if (mt_caps_get(MT_CAP_CR3_FILTER))
		wrmsrq_safe(MSR_IA32_RTIT_CR3_MATCH, found->cr3);
	wrmsrq_safe(MSR_IA32_RTIT_CTL, found->ctl);
	mt_hw_forget();
}
