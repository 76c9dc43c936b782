/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_SIDEBAND_H
#define _MT_SIDEBAND_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/mtrace_sideband.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "compat.h"
#include "ring.h"
#include "thread.h"

struct file;
struct linux_binprm;
struct mm_struct;
struct mt_session;
struct task_struct;
struct vm_area_struct;

#define MT_SIDEBAND_BUCKETS	256

/**
 * struct mt_sideband - a session's sideband
 * @link: in the list of all
 * @session: the session
 * @ring: the records
 * @spaces: the session's threads by the number of their address space; guarded
 *	by the session's lock
 * @missed: how many missed probes the reader was told of
 */
struct mt_sideband {
	struct list_head link;
	struct mt_session *session;
	struct mt_ring ring;
	struct hlist_head spaces[MT_SIDEBAND_BUCKETS];
	unsigned long missed;
};

/* Whether any session has a sideband, or had one a moment ago. */
DECLARE_STATIC_KEY_FALSE(mt_sideband_is_wanted);

/* sideband.c */
int mt_sideband_check(struct mtrace_setup *setup);
int mt_sideband_create(struct mt_session *session,
		       const struct mtrace_setup *setup);
void mt_sideband_destroy(struct mt_session *session);
void mt_sideband_exit(void);
void mt_sideband_run(struct mt_session *session, bool run);
bool mt_sideband_is_ready(const struct mt_session *session);
ssize_t mt_sideband_read(struct mt_session *session, char __user *to,
			 size_t count, bool wait);

/* sideband_thread.c */
void mt_sideband_join(struct mt_session *session, struct mt_thread *thread,
		      struct task_struct *task, u64 space, u32 how);
void mt_sideband_leave(struct mt_session *session, struct mt_thread *thread,
		       u32 how);
void mt_sideband_comm(struct task_struct *task, const char *comm);
void mt_sideband_fork(struct mt_session *session, struct task_struct *parent,
		      struct task_struct *child);
void mt_sideband_exec(struct task_struct *task, struct linux_binprm *bprm);
void mt_sideband_switch_slowly(const struct mt_thread *thread, u32 how);
void mt_sideband_loss(struct mt_sideband *sideband, u32 what, s32 tid, s32 pid);
void mt_sideband_loss_of(struct mt_sideband *sideband, u32 what,
			 struct task_struct *task);

/* sideband_space.c */
u64 mt_sideband_space_of(const struct mm_struct *mm);
u64 mt_sideband_space(struct task_struct *task);
void mt_sideband_mmap(struct vm_area_struct *vma, unsigned long addr,
		      unsigned long len);
void mt_sideband_munmap(struct mm_struct *mm, unsigned long addr,
			unsigned long len);

/* What these three have of each other, for nobody else. */

/* By @link; it is read under RCU. */
extern struct list_head mt_sideband_list;

struct mtrace_record mt_sideband_head(const struct mt_sideband *sideband,
				      u16 type, struct task_struct *task);
void mt_sideband_put(struct mt_sideband *sideband, struct mtrace_record *record,
		     u32 size, const char *path);
const char *mt_sideband_path(struct file *file);
bool mt_sideband_may_tell(const struct mt_trace *trace,
			  const struct task_struct *task);
void mt_sideband_set_space(struct mt_sideband *sideband,
			   struct mt_thread *thread, u64 space);

/**
 * mt_sideband_switch - a traced thread will leave this CPU, or has come to it
 * @thread: the thread
 * @how: MTRACE_SWITCH_*
 *
 * At each switch of such a thread, and counted in instructions: the numbers are
 * kept, and the record is made where it stays. The run queue is locked.
 */
static __always_inline void mt_sideband_switch(const struct mt_thread *thread,
					       u32 how)
{
	struct mt_sideband *sideband = thread->trace->sideband;
	struct mtrace_record_switch *record;

	if (!sideband)
		return;
	record = mt_ring_begin(&sideband->ring, sizeof(*record));
	if (unlikely(!record)) {
		mt_sideband_switch_slowly(thread, how);
		return;
	}
	*record = (struct mtrace_record_switch){
		.head.type = MTRACE_RECORD_SWITCH,
		.head.size = sizeof(*record),
		.head.tid = thread->tid,
		.head.tsc = rdtsc_ordered(),
		.head.pid = thread->pid,
		.head.cpu = raw_smp_processor_id(),
		.how = how,
	};
	mt_ring_end(&sideband->ring, sizeof(*record));
}

#endif /* _MT_SIDEBAND_H */
