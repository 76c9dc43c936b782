// SPDX-License-Identifier: GPL-2.0
/*
 * The threads of a session
 *
 * Owns who is traced into which buffer: threads that come by a call or by fork
 * and go by a call or by exit, and where a region goes when its thread leaves
 * it. Does not know how a session is set up nor what a snapshot tells, and
 * touches no register.
 *
 * A region's way:  free -> a thread's -> a snapshot's -> dirty -> free
 *                          a thread's -> exited -> a snapshot's or dirty
 */
#include <linux/errno.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "buffer.h"
#include "compat.h"
#include "member.h"
#include "session.h"
#include "thread.h"

/**
 * mt_member_name - say whose a region is
 * @session: the session
 * @region: the region
 * @task: its thread's task, not yet reaped
 */
void mt_member_name(struct mt_session *session, struct mt_region *region,
		    struct task_struct *task)
{
	struct mtrace_region *info = &region->info;

	info->tid = task_pid_nr_ns(task, session->pid_ns);
	info->pid = task_tgid_nr_ns(task, session->pid_ns);
	strscpy(info->comm, task->comm, sizeof(info->comm));
}

/*
 * Regions of gone threads are kept for the next snapshot while as many others
 * are free as threads can be traced: so many may be wanted at once, by a
 * snapshot for the threads that there are and by fork for those that there can
 * be. Beyond that the oldest is given up. The session's lock is held; returns
 * whether there is something to clean.
 */
static bool member_recycle(struct mt_session *session)
{
	bool any = false;

	while (!list_empty(&session->exited) &&
	       session->buffer.nr_free + session->nr_dirty <
	       session->setup.max_threads) {
		list_move_tail(session->exited.next, &session->dirty);
		session->nr_dirty++;
		session->recycled++;
		any = true;
	}
	return any;
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
	raw_spin_unlock_irq(&session->lock);
}

/**
 * mt_member_discard - make the regions of a snapshot free
 * @session: the session
 * @regions: the list of them, emptied
 */
void mt_member_discard(struct mt_session *session, struct list_head *regions)
{
	struct mt_region *region;

	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(region, regions, link) {
		session->nr_frozen--;
		session->nr_dirty++;
	}
	list_splice_tail_init(regions, &session->dirty);
	raw_spin_unlock_irq(&session->lock);
	mt_member_clean(session);
}

/* The session's lock is held; on success the caller's reference is kept. */
static int member_add(struct mt_session *session, struct task_struct *task)
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
	region = mt_buffer_get(&session->buffer);
	if (!region)
		return -ENOSPC;

	ret = mt_thread_add(thread, task, &session->trace, region);
	if (ret) {
		mt_buffer_put(&session->buffer, region);
		return ret;
	}
	list_del_init(&thread->link);
	session->nr_threads++;
	return 0;
}

/*
 * Take a thread out that is removed from the table and traced on no CPU, and
 * whose region is named. The session's lock is held. Returns the task, whose
 * reference is the caller's now. A region that nothing was written to needs no
 * cleaning.
 */
static struct task_struct *member_retire(struct mt_session *session,
					 struct mt_thread *thread)
{
	struct task_struct *task = thread->task;
	struct mt_region *region = thread->region;

	if (region->info.switches) {
		region->info.flags |= MTRACE_REGION_EXITED;
		region->info.end_tsc = rdtsc_ordered();
		region->end = thread->out;
		list_add_tail(&region->link, &session->exited);
	} else {
		mt_buffer_put(&session->buffer, region);
	}

	WRITE_ONCE(thread->task, NULL);
	thread->region = NULL;
	list_add_tail(&thread->link, &session->idle_threads);
	session->nr_threads--;
	return task;
}

static struct mt_session *session_of(struct mt_trace *trace)
{
	return container_of(trace, struct mt_session, trace);
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
	struct mt_trace *trace;
	unsigned long flags;
	bool clean = false;

	rcu_read_lock();
	if (!mt_thread_find(parent, &trace))
		goto out;
	session = session_of(trace);
	if (!(session->setup.flags & wanted))
		goto out;

	get_task_struct(child);
	raw_spin_lock_irqsave(&session->lock, flags);
	if (member_add(session, child)) {
		session->refused++;
		put_task_struct(child);
	}
	clean = member_recycle(session);
	raw_spin_unlock_irqrestore(&session->lock, flags);
	if (clean)
		schedule_work(&session->cleaner);
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
	struct task_struct *gone = NULL;
	struct mt_session *session;
	struct mt_thread *thread;
	struct mt_trace *trace;
	unsigned long flags;
	bool clean = false;

	rcu_read_lock();
	if (!mt_thread_find(task, &trace))
		goto out;
	session = session_of(trace);

	raw_spin_lock_irqsave(&session->lock, flags);
	thread = mt_thread_find(task, &trace);
	if (thread && trace == &session->trace) {
		if (thread == __this_cpu_read(mt_thread_cpu.running))
			mt_thread_switch_out(thread);
		mt_member_name(session, thread->region, task);
		mt_thread_remove(thread);
		gone = member_retire(session, thread);
		clean = member_recycle(session);
	}
	raw_spin_unlock_irqrestore(&session->lock, flags);
	if (clean)
		schedule_work(&session->cleaner);
	if (gone)
		put_task_struct(gone);
out:
	rcu_read_unlock();
}

/* The thread that a caller names, or an ERR_PTR(). The caller puts it. */
static struct task_struct *member_get_task(const struct mt_session *session,
					   const struct mtrace_thread *arg)
{
	struct task_struct *task;
	struct pid *pid;

	if (!session->ready || arg->flags || arg->pad || arg->tid <= 0)
		return ERR_PTR(-EINVAL);

	pid = find_get_pid(arg->tid);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	return task ?: ERR_PTR(-ESRCH);
}

/* Remove a task's thread, if the session has it. */
static int member_detach(struct mt_session *session, struct task_struct *task)
{
	struct mt_thread *thread;
	struct mt_trace *trace;
	int cpu;

	raw_spin_lock_irq(&session->lock);
	thread = mt_thread_find(task, &trace);
	if (!thread || trace != &session->trace) {
		raw_spin_unlock_irq(&session->lock);
		return -ESRCH;
	}
	/* From here on the task may be reaped, and has no number then. */
	mt_member_name(session, thread->region, task);
	cpu = mt_thread_remove(thread);
	raw_spin_unlock_irq(&session->lock);

	/* A CPU that has gone offline has stopped before. */
	if (cpu >= 0)
		smp_call_function_single(cpu, mt_thread_sync, NULL, 1);

	raw_spin_lock_irq(&session->lock);
	task = member_retire(session, thread);
	member_recycle(session);
	raw_spin_unlock_irq(&session->lock);
	put_task_struct(task);
	mt_member_clean(session);
	return 0;
}

/**
 * mt_member_attach - trace a thread
 * @session: the session
 * @arg: which thread
 *
 * Return: 0 or an error as the protocol lists them.
 */
int mt_member_attach(struct mt_session *session, struct mtrace_thread *arg)
{
	struct task_struct *task;
	int ret;

	task = member_get_task(session, arg);
	if (IS_ERR(task))
		return PTR_ERR(task);

	/* It has no address space of its own to filter by. */
	if (task->flags & PF_KTHREAD &&
	    session->setup.trace_flags & MTRACE_TRACE_CR3) {
		put_task_struct(task);
		return -EINVAL;
	}

	mt_member_clean(session);
	raw_spin_lock_irq(&session->lock);
	ret = member_add(session, task);
	member_recycle(session);
	raw_spin_unlock_irq(&session->lock);
	if (ret) {
		put_task_struct(task);
		return ret;
	}
	mt_member_clean(session);

	/*
	 * Pairs with the flag's being set long before the hook of exit: either
	 * that hook finds the thread, or the flag is seen here. Where both
	 * happen the hook's work is done here.
	 */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		member_detach(session, task);
		return -ESRCH;
	}

	/*
	 * The thread is in the table by now: if it comes to a CPU it is found,
	 * and if it has been on one all the time it is found by this.
	 */
	if (session->trace.running)
		smp_call_function_single(task_cpu(task), mt_thread_sync, NULL,
					 1);
	return 0;
}

/**
 * mt_member_detach - trace a thread no longer
 * @session: the session
 * @arg: which thread
 *
 * Return: 0 or an error as the protocol lists them.
 */
int mt_member_detach(struct mt_session *session, struct mtrace_thread *arg)
{
	struct task_struct *task;
	int ret;

	task = member_get_task(session, arg);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = member_detach(session, task);
	put_task_struct(task);
	return ret;
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
	u32 i;
	int cpu;

	raw_spin_lock_irq(&session->lock);
	session->closing = true;
	WRITE_ONCE(session->trace.running, false);
	raw_spin_unlock_irq(&session->lock);

	cpumask_clear(session->cpus);
	for (i = 0; i < session->setup.max_threads; i++) {
		thread = &session->threads[i];
		raw_spin_lock_irq(&session->lock);
		cpu = thread->task ? mt_thread_remove(thread) : -1;
		raw_spin_unlock_irq(&session->lock);
		if (cpu >= 0)
			cpumask_set_cpu(cpu, session->cpus);
	}
	on_each_cpu_mask(session->cpus, mt_thread_sync, NULL, true);

	for (i = 0; i < session->setup.max_threads; i++) {
		thread = &session->threads[i];
		if (!thread->task)
			continue;
		raw_spin_lock_irq(&session->lock);
		task = member_retire(session, thread);
		raw_spin_unlock_irq(&session->lock);
		put_task_struct(task);
	}
}
