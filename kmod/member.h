/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_MEMBER_H
#define _MT_MEMBER_H

#include <linux/list.h>
#include <linux/mtrace.h>

struct mt_region;
struct mt_session;
struct mt_thread;
struct pid;
struct pid_namespace;
struct task_struct;

/**
 * struct mt_member_info - what is told of a traced thread
 * @tid: its id
 * @pid: that of its process
 * @cpu: the CPU that it is being traced on, or -1
 * @comm: its name
 */
struct mt_member_info {
	pid_t tid;
	pid_t pid;
	int cpu;
	char comm[16];
};

void mt_member_fork(struct task_struct *parent, struct task_struct *child);
void mt_member_exit(struct task_struct *task);
void mt_member_gain(struct task_struct *task);
void mt_member_killed(int signal);
void mt_member_remove_all(struct mt_session *session);

bool mt_member_look(struct mt_session *session, u32 index,
		    struct pid_namespace *ns, struct mt_member_info *info);
bool mt_member_has_process(struct mt_session *session, struct pid *process);

int mt_member_add(struct mt_session *session, struct task_struct *task,
		  u64 space, u32 how);
struct task_struct *mt_member_retire(struct mt_session *session,
				     struct mt_thread *thread, u32 how);
bool mt_member_recycle(struct mt_session *session);
void mt_member_name(struct mt_session *session, struct mtrace_region *info,
		    struct task_struct *task);
void mt_member_discard(struct mt_session *session, struct list_head *regions,
		       u32 nr);
void mt_member_clean(struct mt_session *session);
void mt_member_clean_all(struct mt_session *session);

#endif /* _MT_MEMBER_H */
