/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_TRIGGER_H
#define _MT_TRIGGER_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/path.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <linux/uprobes.h>

struct inode;
struct mt_session;
struct pid;
struct task_struct;

/**
 * struct mt_trigger - what a snapshot is taken for when a thread comes to it
 * @link: in the session's list
 * @session: whose it is
 * @told: as it was asked for, with its number and what became of it
 * @thread: the only thread that it is for, or NULL
 * @is_live: whether a hit does something. Changed under the session's lock, as
 *	are the next and the counts in @told
 * @is_spent: it was for one hit, which it had
 * @breakpoints: those of MTRACE_TRIGGER_BREAKPOINT
 * @path: the file of MTRACE_TRIGGER_UPROBE, while the probe is there
 * @inode: what is probed of it
 * @consumer: the probe
 * @uprobe: where it is
 * @later: deals with a hit in a context that can
 * @is_taken: whether the two below are in use
 * @task: whose hit
 * @regs: and its registers
 */
struct mt_trigger {
	struct list_head link;
	struct mt_session *session;
	struct mtrace_trigger told;
	struct pid *thread;
	bool is_live;
	bool is_spent;

	struct list_head breakpoints;

	struct path path;
	struct inode *inode;
	struct uprobe_consumer consumer;
	struct uprobe *uprobe;

	struct irq_work later;
	atomic_t is_taken;
	struct task_struct *task;
	struct pt_regs regs;
};

int mt_trigger_add(struct mt_session *session, struct mtrace_trigger *arg);
int mt_trigger_remove(struct mt_session *session, struct mtrace_trigger *arg);
void mt_trigger_remove_all(struct mt_session *session);

int mt_trigger_arm(struct mt_session *session, struct task_struct *task);
void mt_trigger_disarm(struct mt_session *session, struct task_struct *task);
void mt_trigger_exec(struct task_struct *task);
void mt_trigger_arm_soon(struct mt_session *session);
void mt_trigger_update(struct mt_session *session);

void mt_trigger_hit(struct mt_trigger *trigger, struct task_struct *task,
		    struct pt_regs *regs);
void mt_trigger_hit_later(struct mt_trigger *trigger);

#endif /* _MT_TRIGGER_H */
