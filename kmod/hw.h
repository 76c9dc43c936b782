/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_HW_H
#define _MT_HW_H

#include <linux/mtrace.h>
#include <linux/types.h>

struct mt_filter;

/**
 * struct mt_output - where Processor Trace writes, and how far it has got
 * @base: IA32_RTIT_OUTPUT_BASE, the current ToPA table
 * @mask_ptrs: IA32_RTIT_OUTPUT_MASK_PTRS, the entry and the offset in it
 * @status: IA32_RTIT_STATUS; of it PacketByteCnt and Stopped are carried on
 */
struct mt_output {
	u64 base;
	u64 mask_ptrs;
	u64 status;
};

void mt_hw_output_init(struct mt_output *out, u64 table);
u32 mt_hw_output_entry(const struct mt_output *out);
u32 mt_hw_output_offset(const struct mt_output *out);

/**
 * struct mt_found - what a CPU's trace registers had when they were taken
 * @out: of the output
 * @addr: IA32_RTIT_ADDR0_A, ADDR0_B and so on, as many as the CPU has
 * @cr3: IA32_RTIT_CR3_MATCH, where it has that
 */
struct mt_found {
	struct mt_output out;
	u64 addr[2 * MTRACE_MAX_RANGES];
	u64 cr3;
};

u64 mt_hw_ctl(const struct mtrace_setup *setup);
int mt_hw_start(const struct mt_output *out, u64 ctl,
		const struct mt_filter *filter, u64 cr3);
bool mt_hw_stop(struct mt_output *out, bool chained);
bool mt_hw_has_error(const struct mt_output *out);
bool mt_hw_has_stopped(const struct mt_output *out);

int mt_hw_claim(struct mt_found *found);
void mt_hw_restore(const struct mt_found *found);
void mt_hw_forget(void);

#endif /* _MT_HW_H */
