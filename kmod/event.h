/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_EVENT_H
#define _MT_EVENT_H

#include <linux/mtrace.h>
#include <linux/types.h>

struct task_struct;

void mt_event_snapshot(u32 session, const struct mtrace_snapshot *snapshot);
void mt_event_thread(u32 session, u32 what, const struct task_struct *task);
void mt_event_loss(u32 session, u32 kind, u64 count, pid_t tid);
void mt_event_init(void);
void mt_event_exit(void);

#endif /* _MT_EVENT_H */
