/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_MEMBER_H
#define _MT_MEMBER_H

#include <linux/list.h>
#include <linux/mtrace.h>

struct mt_region;
struct mt_session;
struct task_struct;

int mt_member_attach(struct mt_session *session, struct mtrace_thread *arg);
int mt_member_detach(struct mt_session *session, struct mtrace_thread *arg);
void mt_member_fork(struct task_struct *parent, struct task_struct *child);
void mt_member_exit(struct task_struct *task);
void mt_member_remove_all(struct mt_session *session);

void mt_member_name(struct mt_session *session, struct mt_region *region,
		    struct task_struct *task);
void mt_member_discard(struct mt_session *session, struct list_head *regions);
void mt_member_clean(struct mt_session *session);

#endif /* _MT_MEMBER_H */
