/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_FILTER_H
#define _MT_FILTER_H

#include <linux/mtrace.h>
#include <linux/types.h>

struct task_struct;

/**
 * struct mt_filter - the ranges of a session, as the CPU wants them
 * @id: a number that no other ranges ever have; 0 where there is no range
 * @nr_addrs: registers that are used: two for each range
 * @addr: IA32_RTIT_ADDR0_A, ADDR0_B, ADDR1_A and so on
 */
struct mt_filter {
	u64 id;
	u32 nr_addrs;
	u64 addr[2 * MTRACE_MAX_RANGES];
};

int mt_filter_check(const struct mtrace_setup *setup);
void mt_filter_init(struct mt_filter *filter, const struct mtrace_setup *setup);
u64 mt_filter_ctl(const struct mtrace_setup *setup);

bool mt_filter_has_same_cr3(void);
u64 mt_filter_cr3(const struct task_struct *task, u64 ctl);

#endif /* _MT_FILTER_H */
