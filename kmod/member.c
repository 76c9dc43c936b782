// SPDX-License-Identifier: GPL-2.0
/*
 * The threads of a session
 *
 * Owns who is traced into which buffer, and where a region goes when its thread
 * leaves it; and what becomes of threads by what they do themselves: fork, exec,
 * exit and die. Does not know how a session is set up nor what a snapshot tells,
 * and touches no register.
 *
 * A region's way:  free -> a thread's -> a snapshot's -> dirty -> free
 *                          a thread's -> exited -> a snapshot's or dirty
 *                 free -> a thread's -> a stream's -> dirty -> free
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mtrace_netlink.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "access.h"
#include "buffer.h"
#include "compat.h"
#include "event.h"
#include "member.h"
#include "session.h"
#include "sideband.h"
#include "snapshot.h"
#include "stream.h"
#include "thread.h"
#include "trigger.h"

/**
 * mt_member_name - say whose a region is
 * @session: the session
 * @info: what is told of the region
 * @task: its thread's task, not yet reaped
 */
void mt_member_name(struct mt_session *session, struct mtrace_region *info,
		    struct task_struct *task)
{
	info->tid = task_pid_nr_ns(task, session->pid_ns);
	info->pid = task_tgid_nr_ns(task, session->pid_ns);
	strscpy(info->comm, task->comm, sizeof(info->comm));
}

/**
 * mt_member_recycle - give up regions of threads that have gone, if it must be
 * @session: the session, whose lock is held
 *
 * They are kept for the next snapshot while as many others are free as threads can
 * be traced: so many may be wanted at once, by a snapshot for the threads that
 * there are and by fork for those that there can be. Beyond that the oldest is
 * given up.
 *
 * Return: whether there is something to clean.
 */
bool mt_member_recycle(struct mt_session *session)
{
	struct mt_region *region;
	bool any = false;

	while (!list_empty(&session->exited) &&
	       mt_buffer_nr_free(&session->buffer) + session->nr_dirty <
	       session->setup.max_threads) {
		region = list_first_entry(&session->exited, struct mt_region,
					  link);
		mt_sideband_loss(session->trace.sideband, MTRACE_LOSS_RECYCLED,
				 region->info.tid, region->info.pid);
		list_move_tail(&region->link, &session->dirty);
		session->nr_exited--;
		session->nr_dirty++;
		session->recycled++;
		mt_event_loss(session->setup.session, MTRACE_NL_LOSS_RECYCLED,
			      1, 0);
		any = true;
	}
	return any;
}

/*
 * More regions are free, or fewer threads want one: see who waits for that. The
 * session's lock is held.
 */
static void member_freed(struct mt_session *session)
{
	if (session->nr_waiting)
		mt_session_wake(session);
}

/**
 * mt_member_clean - clean what is dirty and make it free
 * @session: the session
 *
 * May sleep.
 */
void mt_member_clean(struct mt_session *session)
{
	struct mt_region *region;

	raw_spin_lock_irq(&session->lock);
	while (!list_empty(&session->dirty)) {
		region = list_first_entry(&session->dirty, struct mt_region,
					  link);
		list_del_init(&region->link);
		raw_spin_unlock_irq(&session->lock);

		mt_region_close(region);
		mt_region_clean(region);

		raw_spin_lock_irq(&session->lock);
		session->nr_dirty--;
		mt_buffer_put(&session->buffer, region);
	}
	member_freed(session);
	raw_spin_unlock_irq(&session->lock);
}

/**
 * mt_member_clean_all - the same, and wait for what the work cleans meanwhile
 * @session: the session
 */
void mt_member_clean_all(struct mt_session *session)
{
	mt_member_clean(session);
	flush_work(&session->cleaner);
}

/**
 * mt_member_discard - make the regions of a snapshot free
 * @session: the session
 * @regions: the list of them, emptied
 * @nr: how many they are
 */
void mt_member_discard(struct mt_session *session, struct list_head *regions,
		       u32 nr)
{
	raw_spin_lock_irq(&session->lock);
	session->nr_frozen -= nr;
	session->nr_dirty += nr;
	list_splice_tail_init(regions, &session->dirty);
	raw_spin_unlock_irq(&session->lock);
	mt_member_clean(session);
}

/**
 * mt_member_add - have a task traced
 * @session: the session, whose lock is held
 * @task: the task; on success the caller's reference is kept
 * @space: the number of its address space
 * @how: MTRACE_THREAD_*
 *
 * Return: 0; -ESRCH where the session ends; -EEXIST or -EBUSY where the task is
 * traced by it or by another; -ENOSPC.
 */
int mt_member_add(struct mt_session *session, struct task_struct *task,
		  u64 space, u32 how)
{
	struct mt_thread *thread;
	struct mt_region *region;
	struct mt_trace *trace;
	int ret;

	if (session->closing)
		return -ESRCH;
	/* Who is traced already shall not be told that there is no room. */
	if (mt_thread_find(task, &trace))
		return trace == &session->trace ? -EEXIST : -EBUSY;

	thread = list_first_entry_or_null(&session->idle_threads,
					  struct mt_thread, link);
	if (!thread)
		return -ENOSPC;
	region = mt_buffer_get(&session->buffer, task_cpu(task), 0);
	if (!region)
		return -ENOSPC;

	/* First: from when it is in the table on it may come to a CPU. */
	mt_sideband_join(session, thread, task, space, how);
	ret = mt_thread_add(thread, task, &session->trace, region);
	if (ret) {
		mt_sideband_leave(session, thread, MTRACE_EXIT_DETACHED);
		mt_buffer_put(&session->buffer, region);
		return ret;
	}
	thread->is_dying = false;
	thread->is_armed = false;
	thread->round = 0;
	list_move_tail(&thread->link, &session->used_threads);
	session->nr_threads++;
	mt_event_thread(session->setup.session, MTRACE_NL_THREAD_START, task);
	return 0;
}

/**
 * mt_member_retire - let go of a thread, and keep what it has written
 * @session: the session, whose lock is held
 * @thread: the thread, which is removed from the table and traced on no CPU, and
 *	whose region is named. One that nothing was written to needs no cleaning
 * @how: MTRACE_EXIT_*
 *
 * Return: its task, whose reference is the caller's now.
 */
struct task_struct *mt_member_retire(struct mt_session *session,
				     struct mt_thread *thread, u32 how)
{
	struct task_struct *task = thread->task;
	struct mt_region *region = thread->region;

	mt_sideband_leave(session, thread, how);
	if (thread->todo & MT_TODO_STREAM) {
		if (!mt_stream_retire(session, thread)) {
			list_add_tail(&region->link, &session->dirty);
			session->nr_dirty++;
		}
	} else if (region->info.switches) {
		region->info.flags |= MTRACE_REGION_EXITED;
		region->info.end_tsc = rdtsc_ordered();
		region->end = thread->out;
		region->is_final = true;
		list_add_tail(&region->link, &session->exited);
		session->nr_exited++;
	} else {
		mt_buffer_put(&session->buffer, region);
	}

	WRITE_ONCE(thread->task, NULL);
	thread->region = NULL;
	list_move_tail(&thread->link, &session->idle_threads);
	session->nr_threads--;
	member_freed(session);
	return task;
}

/**
 * mt_member_fork - trace a new thread if its parent's session says so
 * @parent: who forks
 * @child: the new thread, which does not run yet
 */
void mt_member_fork(struct task_struct *parent, struct task_struct *child)
{
	u32 wanted = same_thread_group(parent, child) ?
		     MTRACE_SETUP_INHERIT_THREADS :
		     MTRACE_SETUP_INHERIT_PROCESSES;
	struct mt_session *session;
	unsigned long flags;
	bool clean = false, arm = false;
	int ret;

	rcu_read_lock();
	session = mt_session_tracing(parent);
	if (!session)
		goto out;
	mt_sideband_fork(session, parent, child);
	if (!(session->setup.flags & wanted))
		goto out;
	/* The tracer has it by now, or does not want it. */
	if (session->trace.tracer &&
	    !mt_access_is_tracer(session->trace.tracer, child))
		goto out;

	get_task_struct(child);
	raw_spin_lock_irqsave(&session->lock, flags);
	ret = mt_member_add(session, child, mt_sideband_space_of(child->mm),
			    MTRACE_THREAD_FORKED);
	if (ret == -EEXIST || ret == -EBUSY) {
		/* It is in /proc before it is here: it was attached. */
		put_task_struct(child);
	} else if (ret) {
		session->refused++;
		mt_event_thread(session->setup.session,
				MTRACE_NL_THREAD_REFUSED, child);
		mt_sideband_loss_of(session->trace.sideband,
				    MTRACE_LOSS_REFUSED, child);
		put_task_struct(child);
	} else {
		arm = session->nr_triggers;
	}
	clean = mt_member_recycle(session);
	raw_spin_unlock_irqrestore(&session->lock, flags);
	if (clean)
		mt_queue_work(&session->cleaner);
	if (arm)
		mt_trigger_arm_soon(session);
out:
	rcu_read_unlock();
}

/*
 * Let go of the current task. It is stopped by itself rather than at its next
 * switch, so that its region is whole on return.
 */
static void member_leave(struct task_struct *task, bool gained)
{
	const struct mt_cause cause = {
		.reason = MTRACE_REASON_EXIT,
		.task = task,
		.regs = task_pt_regs(task),
	};
	struct task_struct *gone = NULL;
	struct mt_session *session;
	struct mt_thread *thread;
	unsigned long flags;
	bool clean = false, begun = false;

	rcu_read_lock();
	session = mt_session_tracing(task);
	/* With privilege it may have what rights it likes. */
	if (!session || (gained && !session->trace.tracer))
		goto out;

	raw_spin_lock_irqsave(&session->lock, flags);
	thread = mt_session_thread(session, task);
	if (thread) {
		if (thread == __this_cpu_read(mt_thread_cpu.running))
			mt_thread_stop_running();
		mt_member_name(session, &thread->region->info, task);
		mt_thread_remove(thread);
		gone = mt_member_retire(session, thread,
					gained ? MTRACE_EXIT_GAINED :
						 MTRACE_EXIT_EXITED);
		mt_event_thread(session->setup.session,
				gained ? MTRACE_NL_THREAD_DETACHED :
					 MTRACE_NL_THREAD_EXIT, gone);
		session->gained += gained;
		if (!gained && session->trace.running &&
		    session->setup.flags & MTRACE_SETUP_SNAPSHOT_AT_EXIT)
			begun = !IS_ERR(mt_snapshot_begin(session, &cause));
		mt_member_recycle(session);
		clean = !list_empty(&session->dirty);
	}
	raw_spin_unlock_irqrestore(&session->lock, flags);
	if (begun)
		mt_snapshot_complete_soon(session);
	if (clean)
		mt_queue_work(&session->cleaner);
	if (gone)
		put_task_struct(gone);
out:
	rcu_read_unlock();
}

/**
 * mt_member_exit - let go of a thread that exits
 * @task: the current task
 *
 * The thread is stopped here rather than at its last switch, after which its
 * task could be freed at any time: it runs no more user code, and what the
 * kernel does to bury it is not worth a reference across its death.
 */
void mt_member_exit(struct task_struct *task)
{
	member_leave(task, false);
}

/**
 * mt_member_gain - let go of a thread that exec gave other rights
 * @task: the current task, which has run nothing of the new program
 *
 * Only user code is traced where this matters, so nothing of what the kernel
 * did since the old program's last instruction is in the trace.
 */
void mt_member_gain(struct task_struct *task)
{
	member_leave(task, true);
}

/*
 * Whether a thread is the first of its process that a signal is the death of.
 * The session's lock is held.
 */
static bool member_dies(struct mt_session *session, struct mt_thread *thread)
{
	struct mt_thread *other;

	if (thread->is_dying)
		return false;
	list_for_each_entry(other, &session->used_threads, link)
		if (same_thread_group(other->task, thread->task))
			other->is_dying = true;
	return true;
}

/**
 * mt_member_killed - note that a signal kills the current process
 * @signal: which
 */
void mt_member_killed(int signal)
{
	struct mt_cause cause = {
		.reason = MTRACE_REASON_SIGNAL,
		.signal = signal,
		.task = current,
		.regs = task_pt_regs(current),
	};
	struct mt_session *session;
	unsigned long flags;
	bool begun = false;

	rcu_read_lock();
	session = mt_session_tracing(current);
	if (!session ||
	    !(session->setup.flags & MTRACE_SETUP_SNAPSHOT_AT_SIGNAL))
		goto out;

	raw_spin_lock_irqsave(&session->lock, flags);
	cause.thread = mt_session_thread(session, current);
	if (cause.thread && session->trace.running &&
	    member_dies(session, cause.thread))
		begun = !IS_ERR(mt_snapshot_begin(session, &cause));
	raw_spin_unlock_irqrestore(&session->lock, flags);
	if (begun)
		mt_snapshot_complete_soon(session);
out:
	rcu_read_unlock();
}

/**
 * mt_member_remove_all - trace no thread any more, for ever
 * @session: the session; nobody calls any more, but its threads run, fork and
 *	exit
 */
void mt_member_remove_all(struct mt_session *session)
{
	struct task_struct *task;
	struct mt_thread *thread;
	int cpu;

	cpumask_clear(session->cpus);
	raw_spin_lock_irq(&session->lock);
	session->closing = true;
	WRITE_ONCE(session->trace.running, false);
	list_for_each_entry(thread, &session->used_threads, link) {
		cpu = mt_thread_remove(thread);
		if (cpu >= 0)
			cpumask_set_cpu(cpu, session->cpus);
	}
	raw_spin_unlock_irq(&session->lock);
	on_each_cpu_mask(session->cpus, mt_thread_sync, NULL, true);

	/* Nobody finds them any more, and none comes. */
	while (!list_empty(&session->used_threads)) {
		raw_spin_lock_irq(&session->lock);
		thread = list_first_entry(&session->used_threads,
					  struct mt_thread, link);
		task = mt_member_retire(session, thread, MTRACE_EXIT_DETACHED);
		raw_spin_unlock_irq(&session->lock);
		put_task_struct(task);
	}
}

/**
 * mt_member_look - tell of a thread of a session
 * @session: the session
 * @index: which, below its max_threads
 * @ns: the namespace of the ids
 * @info: filled in
 *
 * Return: whether there is a thread.
 */
bool mt_member_look(struct mt_session *session, u32 index,
		    struct pid_namespace *ns, struct mt_member_info *info)
{
	struct mt_thread *thread = &session->threads[index];
	bool there;

	if (!READ_ONCE(thread->task))
		return false;
	raw_spin_lock_irq(&session->lock);
	there = thread->task;
	if (there) {
		info->tid = task_pid_nr_ns(thread->task, ns);
		info->pid = task_tgid_nr_ns(thread->task, ns);
		info->cpu = mt_thread_cpu_of(thread);
		strscpy(info->comm, thread->task->comm, sizeof(info->comm));
	}
	raw_spin_unlock_irq(&session->lock);
	return there;
}

/**
 * mt_member_has_process - tell whether a thread of a process is traced
 * @session: the session
 * @process: the process
 */
bool mt_member_has_process(struct mt_session *session, struct pid *process)
{
	struct task_struct *leader;
	struct mt_thread *thread;
	bool found = false;

	rcu_read_lock();
	leader = pid_task(process, PIDTYPE_TGID);
	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(thread, &session->used_threads, link) {
		found = leader && same_thread_group(thread->task, leader);
		if (found)
			break;
	}
	raw_spin_unlock_irq(&session->lock);
	rcu_read_unlock();
	return found;
}
