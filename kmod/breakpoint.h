/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_BREAKPOINT_H
#define _MT_BREAKPOINT_H

#include <linux/mtrace.h>

struct mt_trigger;
struct task_struct;

int mt_breakpoint_check(const struct mtrace_trigger *arg);
int mt_breakpoint_arm(struct mt_trigger *trigger, struct task_struct *task);
void mt_breakpoint_disarm(struct mt_trigger *trigger, struct task_struct *task);
void mt_breakpoint_disarm_all(struct mt_trigger *trigger);

#endif /* _MT_BREAKPOINT_H */
