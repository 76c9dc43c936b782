// SPDX-License-Identifier: GPL-2.0
/*
 * What a session's sideband tells of its threads
 *
 * Owns the records of threads that come and go, have children and names, run
 * another program, come to a CPU and leave it, and lose trace. Does not know
 * how the kernel is watched for that (hooks.c), nor which threads a session has
 * (member.c).
 */
#include <linux/binfmts.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "buffer.h"
#include "compat.h"
#include "session.h"
#include "sideband.h"
#include "thread.h"

static_assert(sizeof(struct mtrace_record_exec) + PATH_MAX <=
	      MTRACE_RECORD_MAX);

/**
 * mt_sideband_join - a thread is traced from now on
 * @session: its session, with the lock held
 * @thread: the thread, which is not in the table yet
 * @task: its task
 * @space: the number of its address space
 * @how: MTRACE_THREAD_*
 */
void mt_sideband_join(struct mt_session *session, struct mt_thread *thread,
		      struct task_struct *task, u64 space, u32 how)
{
	struct mt_sideband *sideband = session->trace.sideband;
	struct mtrace_record_thread record = {
		.space = space,
		.how = how,
	};

	if (!sideband)
		return;
	record.head = mt_sideband_head(sideband, MTRACE_RECORD_THREAD, task);
	strscpy(record.comm, task->comm, sizeof(record.comm));
	thread->tid = record.head.tid;
	thread->pid = record.head.pid;
	INIT_HLIST_NODE(&thread->space_node);
	mt_sideband_set_space(sideband, thread, space);
	mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
}

/**
 * mt_sideband_leave - a thread is not traced any more
 * @session: its session, with the lock held
 * @thread: the thread, which still has its task
 * @how: MTRACE_EXIT_*
 *
 * It is told by the numbers that it had: the task may have none any more.
 */
void mt_sideband_leave(struct mt_session *session, struct mt_thread *thread,
		       u32 how)
{
	struct mt_sideband *sideband = session->trace.sideband;
	struct mtrace_record_exit record = {
		.head.type = MTRACE_RECORD_EXIT,
		.head.tid = thread->tid,
		.head.pid = thread->pid,
		.head.cpu = raw_smp_processor_id(),
		.how = how,
	};

	if (!sideband)
		return;
	hlist_del_init(&thread->space_node);
	mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
}

/* The sideband that is told what a task does, or NULL. RCU is held. */
static struct mt_sideband *sideband_of(const struct task_struct *task)
{
	struct mt_trace *trace;

	if (!mt_thread_find(task, &trace) || !mt_sideband_may_tell(trace, task))
		return NULL;
	return trace->sideband;
}

/**
 * mt_sideband_comm - a thread gets another name
 * @task: the thread
 * @comm: the name
 */
void mt_sideband_comm(struct task_struct *task, const char *comm)
{
	struct mtrace_record_comm record = {};
	struct mt_sideband *sideband;

	rcu_read_lock();
	sideband = sideband_of(task);
	if (sideband) {
		record.head = mt_sideband_head(sideband, MTRACE_RECORD_COMM,
					       task);
		strscpy(record.comm, comm, sizeof(record.comm));
		mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
	}
	rcu_read_unlock();
}

/**
 * mt_sideband_fork - a thread has a child
 * @session: the thread's session
 * @parent: the thread
 * @child: the child, which does not run yet
 */
void mt_sideband_fork(struct mt_session *session, struct task_struct *parent,
		      struct task_struct *child)
{
	struct mt_sideband *sideband = session->trace.sideband;
	struct mtrace_record_fork record = {};
	struct pid_namespace *ns = session->pid_ns;

	if (!sideband || !mt_sideband_may_tell(&session->trace, parent))
		return;
	record.head = mt_sideband_head(sideband, MTRACE_RECORD_FORK, parent);
	record.child_tid = task_pid_nr_ns(child, ns);
	record.child_pid = task_tgid_nr_ns(child, ns);
	record.space = mt_sideband_space_of(child->mm);
	mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
}

/**
 * mt_sideband_exec - the current task has another address space
 * @task: the current task
 * @bprm: what it runs now
 */
void mt_sideband_exec(struct task_struct *task, struct linux_binprm *bprm)
{
	struct inode *inode = file_inode(bprm->file);
	struct mtrace_record_exec record = {
		.ino = inode->i_ino,
		.major = MAJOR(inode->i_sb->s_dev),
		.minor = MINOR(inode->i_sb->s_dev),
		.generation = inode->i_generation,
	};
	struct mt_sideband *sideband;
	struct mt_session *session;
	struct mt_thread *thread;
	unsigned long flags;

	rcu_read_lock();
	sideband = sideband_of(task);
	if (!sideband)
		goto out;
	session = sideband->session;
	record.head = mt_sideband_head(sideband, MTRACE_RECORD_EXEC, task);
	record.space = mt_sideband_space_of(task->mm);
	record.old_tid = record.head.tid;
	raw_spin_lock_irqsave(&session->lock, flags);
	thread = mt_session_thread(session, task);
	if (thread) {
		record.old_tid = thread->tid;
		thread->tid = record.head.tid;
		mt_sideband_set_space(sideband, thread, record.space);
	}
	raw_spin_unlock_irqrestore(&session->lock, flags);

	preempt_disable();
	mt_sideband_put(sideband, &record.head, sizeof(record),
			mt_sideband_path(bprm->file));
	preempt_enable();
out:
	rcu_read_unlock();
}

/**
 * mt_sideband_switch_slowly - what mt_sideband_switch() has no quick way for
 * @thread: the thread, whose session has a sideband
 * @how: MTRACE_SWITCH_*
 */
void mt_sideband_switch_slowly(const struct mt_thread *thread, u32 how)
{
	struct mtrace_record_switch record = {
		.head.type = MTRACE_RECORD_SWITCH,
		.head.tid = thread->tid,
		.head.pid = thread->pid,
		.head.cpu = raw_smp_processor_id(),
		.how = how,
	};

	mt_sideband_put(thread->trace->sideband, &record.head, sizeof(record),
			NULL);
}

/**
 * mt_sideband_loss - trace of a thread is lost
 * @sideband: of its session, or NULL
 * @what: MTRACE_LOSS_*
 * @tid: its number
 * @pid: its thread group's
 */
void mt_sideband_loss(struct mt_sideband *sideband, u32 what, s32 tid, s32 pid)
{
	struct mtrace_record_loss record = {
		.head.type = MTRACE_RECORD_LOSS,
		.head.tid = tid,
		.head.pid = pid,
		.head.cpu = raw_smp_processor_id(),
		.what = what,
		.count = 1,
	};

	if (sideband)
		mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
}

/**
 * mt_sideband_loss_of - trace of a thread is lost
 * @sideband: of its session, or NULL
 * @what: MTRACE_LOSS_*
 * @task: its task
 */
void mt_sideband_loss_of(struct mt_sideband *sideband, u32 what,
			 struct task_struct *task)
{
	struct pid_namespace *ns;

	if (!sideband)
		return;
	ns = sideband->session->pid_ns;
	mt_sideband_loss(sideband, what, task_pid_nr_ns(task, ns),
			 task_tgid_nr_ns(task, ns));
}
