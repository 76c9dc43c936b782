/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_SNAPSHOT_H
#define _MT_SNAPSHOT_H

#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/types.h>

struct mt_session;
struct mt_thread;
struct pt_regs;
struct task_struct;

/**
 * struct mt_snapshot - what all threads had written at one moment
 * @link: in the session's list of held, of begun or of idle ones
 * @regions: the regions
 * @told: what is told of it
 * @is_untold: it was taken for another than the owner, who has not been told.
 *	Changed under the session's lock
 */
struct mt_snapshot {
	struct list_head link;
	struct list_head regions;
	struct mtrace_snapshot told;
	bool is_untold;
};

/**
 * struct mt_cause - why a snapshot is taken
 * @reason: MTRACE_REASON_*
 * @wait: the caller would wait rather than have less than every thread
 * @trigger: the trigger's number, with MTRACE_REASON_TRIGGER
 * @signal: the signal, with MTRACE_REASON_SIGNAL
 * @task: whom it is taken for, or NULL
 * @thread: the same while it is traced, or NULL: it is frozen first, and no
 *	snapshot is taken where that cannot be
 * @regs: of @task, or NULL
 */
struct mt_cause {
	u32 reason;
	bool wait;
	u32 trigger;
	u32 signal;
	struct task_struct *task;
	struct mt_thread *thread;
	struct pt_regs *regs;
};

int mt_snapshot_alloc(struct mt_session *session);
void mt_snapshot_free(struct mt_session *session);

struct mt_snapshot *mt_snapshot_begin(struct mt_session *session,
				      const struct mt_cause *cause);
void mt_snapshot_complete(struct mt_session *session);
void mt_snapshot_complete_soon(struct mt_session *session);

int mt_snapshot_take(struct mt_session *session, struct mtrace_snapshot *arg,
		     u32 reason);
int mt_snapshot_next(struct mt_session *session, struct mtrace_snapshot *arg);
int mt_snapshot_describe(struct mt_session *session,
			 struct mtrace_describe *arg);
int mt_snapshot_release(struct mt_session *session, struct mtrace_release *arg);

#endif /* _MT_SNAPSHOT_H */
