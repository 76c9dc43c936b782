/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What of hw.c a switch of threads needs: inline, because it is done at each,
 * and a call costs as much as half of what it would do.
 */
#ifndef _MT_HW_H
#define _MT_HW_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/mtrace.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/asm.h>
#include <asm/barrier.h>
#include <asm/msr-index.h>

#include "compat.h"

struct mt_filter;

/**
 * struct mt_output - where Processor Trace writes, and how far it has got
 * @base: IA32_RTIT_OUTPUT_BASE, the current ToPA table; 0 for the table of the
 *	CPU that it happens to be on, with
 * @entry: the first entry of that
 * @mask_ptrs: IA32_RTIT_OUTPUT_MASK_PTRS, the entry and the offset in it
 * @status: IA32_RTIT_STATUS; of it PacketByteCnt and Stopped are carried on
 */
struct mt_output {
	u64 base;
	u64 entry;
	u64 mask_ptrs;
	u64 status;
};

void mt_hw_output_init(struct mt_output *out, u64 table, u64 entry, u32 index);
u32 mt_hw_output_entry(const struct mt_output *out);
u32 mt_hw_output_offset(const struct mt_output *out);
bool mt_hw_is_behind(const struct mt_output *out, u64 base, u64 mask_ptrs);

/**
 * struct mt_found - what a CPU's trace registers had when they were taken
 * @ctl: IA32_RTIT_CTL, in which TraceEn is 0
 * @out: of the output
 * @addr: IA32_RTIT_ADDR0_A, ADDR0_B and so on, as many as the CPU has
 * @cr3: IA32_RTIT_CR3_MATCH, where it has that
 */
struct mt_found {
	u64 ctl;
	struct mt_output out;
	u64 addr[2 * MTRACE_MAX_RANGES];
	u64 cr3;
};

/**
 * struct mt_hw_cpu - what is known of a CPU's registers, and its table
 * @table: its table for outputs that have none of their own
 * @base: the same for IA32_RTIT_OUTPUT_BASE
 * @ranges: mt_filter.id of those in IA32_RTIT_ADDRn, or 0 for unknown ones
 * @cr3: IA32_RTIT_CR3_MATCH, or 0 where it is unknown
 */
struct mt_hw_cpu {
	u64 *table;
	u64 base;
	u64 ranges;
	u64 cr3;
};

DECLARE_PER_CPU(struct mt_hw_cpu, mt_hw_cpu);

u64 mt_hw_ctl(const struct mtrace_setup *setup);
u64 mt_hw_carried(void);
int mt_hw_load(const struct mt_filter *filter, u64 cr3);

/*
 * wrmsrq_safe() without the call that it is with CONFIG_PARAVIRT_XXL, and
 * without the tracepoint: no hypervisor that has this call knows Processor
 * Trace. Nonzero where the CPU refused.
 */
static __always_inline int mt_hw_write(u32 msr, u64 value)
{
	asm goto("1: wrmsr\n"
		 _ASM_EXTABLE(1b, %l[fault])
		 : : "c" (msr), "a" ((u32)value), "d" ((u32)(value >> 32))
		 : "memory" : fault);
	return 0;
fault:
	return -EIO;
}

/**
 * mt_hw_start - trace into an output, going on exactly where it was
 * @out: the output
 * @ctl: IA32_RTIT_CTL, as mt_hw_ctl() made it
 * @carried: what mt_hw_carried() gave
 *
 * The other registers fault while TraceEn is set, hence IA32_RTIT_CTL comes
 * last. The filters that it means are in place: see mt_hw_load().
 *
 * Return: 0, or -EIO where the CPU refused.
 */
static __always_inline int mt_hw_start(const struct mt_output *out, u64 ctl,
				       u64 carried)
{
	u64 base = out->base;

	if (likely(!base)) {
		*__this_cpu_read(mt_hw_cpu.table) = out->entry;
		base = __this_cpu_read(mt_hw_cpu.base);
	}
	if (mt_hw_write(MSR_IA32_RTIT_OUTPUT_BASE, base) ||
	    mt_hw_write(MSR_IA32_RTIT_OUTPUT_MASK, out->mask_ptrs) ||
	    mt_hw_write(MSR_IA32_RTIT_STATUS, out->status & carried) ||
	    mt_hw_write(MSR_IA32_RTIT_CTL, ctl))
		return -EIO;
	return 0;
}

/**
 * mt_hw_stop - stop tracing, and keep where the output has got to
 * @out: what mt_hw_start() was given; updated but for its base
 *
 * The position can be trusted only after TraceEn is cleared, which flushes
 * what is buffered (SDM vol. 3, "Disabling Packet Generation"). The fence lets
 * other CPUs see the bytes that the position counts.
 */
static __always_inline void mt_hw_stop(struct mt_output *out)
{
	mt_hw_write(MSR_IA32_RTIT_CTL, 0);
	out->status = __rdmsr(MSR_IA32_RTIT_STATUS);
	out->mask_ptrs = __rdmsr(MSR_IA32_RTIT_OUTPUT_MASK);
	/* The bytes before the position, for whoever is told the position. */
	wmb();
}

/**
 * mt_hw_cut - stop tracing, and no more
 *
 * For when the machine comes to its end, in any context. Should it not end, the
 * mt_hw_stop() that is due at the next switch finds all as it expects it.
 */
static inline void mt_hw_cut(void)
{
	mt_hw_write(MSR_IA32_RTIT_CTL, 0);
}

/**
 * mt_hw_stop_base - keep which table the output has got to
 * @out: an output of several tables that mt_hw_stop() updated
 */
static inline void mt_hw_stop_base(struct mt_output *out)
{
	out->base = __rdmsr(MSR_IA32_RTIT_OUTPUT_BASE);
}

/**
 * mt_hw_is_unwell - whether the CPU stopped of itself
 * @out: an output that mt_hw_stop() updated
 */
static inline bool mt_hw_is_unwell(const struct mt_output *out)
{
	return out->status & (RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED);
}

/**
 * mt_hw_has_error - whether the CPU stopped for an operational error
 * @out: an output that mt_hw_stop() updated
 */
static inline bool mt_hw_has_error(const struct mt_output *out)
{
	return out->status & RTIT_STATUS_ERROR;
}

/**
 * mt_hw_has_stopped - whether the CPU came to a range that stops the trace
 * @out: an output that mt_hw_stop() updated
 */
static inline bool mt_hw_has_stopped(const struct mt_output *out)
{
	return out->status & RTIT_STATUS_STOPPED;
}

int mt_hw_claim(struct mt_found *found, u64 *table);
void mt_hw_restore(const struct mt_found *found);
void mt_hw_forget(void);

#endif /* _MT_HW_H */
