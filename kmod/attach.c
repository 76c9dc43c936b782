// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that come and go by a call
 *
 * Owns who may be attached, what has to be there before a thread is traced, and
 * that it is traced on no CPU any more when it has been detached. All is called
 * with the mutex of what changes breakpoints held, and within it the session's,
 * which is let go where perf is waited for, and both where an exec is. Does not
 * know where its region goes.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mtrace_netlink.h>
#include <linux/mtrace_sideband.h>
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "access.h"
#include "attach.h"
#include "event.h"
#include "member.h"
#include "session.h"
#include "sideband.h"
#include "thread.h"
#include "trigger.h"

/* The thread that a caller names, or an ERR_PTR(). The caller puts it. */
static struct task_struct *attach_get_task(const struct mt_session *session,
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

/*
 * What perf does to a thread's events waits for user space, if that reads them into
 * memory of a file system of its own. The session's mutex, which is held, is not
 * meanwhile: see struct mt_session.
 */
static void attach_disarm(struct mt_session *session, struct task_struct *task)
{
	mutex_unlock(&session->mutex);
	mt_trigger_disarm(session, task);
	mutex_lock(&session->mutex);
}

static int attach_arm(struct mt_session *session, struct task_struct *task)
{
	int ret;

	mutex_unlock(&session->mutex);
	ret = mt_trigger_arm(session, task);
	if (ret)
		mt_trigger_disarm(session, task);
	mutex_lock(&session->mutex);
	return ret;
}

/* Remove a task's thread, if the session has it. */
static int attach_undo(struct mt_session *session, struct task_struct *task)
{
	struct mtrace_region name;
	struct mt_thread *thread;
	int cpu;

	raw_spin_lock_irq(&session->lock);
	thread = mt_session_thread(session, task);
	if (!thread) {
		raw_spin_unlock_irq(&session->lock);
		return -ESRCH;
	}
	/* From here on the task may be reaped, and has no number then. */
	mt_member_name(session, &name, task);
	cpu = mt_thread_remove(thread);
	list_del_init(&thread->link);
	raw_spin_unlock_irq(&session->lock);

	/* A CPU that has gone offline has stopped before. */
	if (cpu >= 0)
		smp_call_function_single(cpu, mt_thread_sync, NULL, 1);

	raw_spin_lock_irq(&session->lock);
	/* Which it may have been given by a snapshot until that. */
	thread->region->info.tid = name.tid;
	thread->region->info.pid = name.pid;
	strscpy(thread->region->info.comm, name.comm, sizeof(name.comm));
	task = mt_member_retire(session, thread, MTRACE_EXIT_DETACHED);
	mt_event_thread(session->setup.session,
			task->flags & PF_EXITING ? MTRACE_NL_THREAD_EXIT :
						   MTRACE_NL_THREAD_DETACHED,
			task);
	mt_member_recycle(session);
	raw_spin_unlock_irq(&session->lock);
	attach_disarm(session, task);
	put_task_struct(task);
	mt_member_clean(session);
	return 0;
}

static bool attach_has(struct mt_session *session, struct task_struct *task)
{
	bool has;

	raw_spin_lock_irq(&session->lock);
	has = mt_session_thread(session, task);
	raw_spin_unlock_irq(&session->lock);
	return has;
}

/* Add a task that is asked for, with all triggers, if it may be traced. */
static int attach_join(struct mt_session *session, struct task_struct *task)
{
	u64 space;
	int ret;

	if (!mt_access_may_attach(&session->access, task))
		return -EPERM;
	/* It has no address space of its own to filter by. */
	if (task->flags & PF_KTHREAD &&
	    session->setup.trace_flags & MTRACE_TRACE_CR3)
		return -EINVAL;

	if (attach_has(session, task))
		return -EEXIST;
	ret = attach_arm(session, task);
	if (ret)
		return ret;
	space = mt_sideband_space(task);
	/* The thread's own: once it is there it may exit and put that. */
	get_task_struct(task);
	raw_spin_lock_irq(&session->lock);
	ret = mt_member_add(session, task, space, MTRACE_THREAD_ATTACHED);
	mt_member_recycle(session);
	raw_spin_unlock_irq(&session->lock);
	if (!ret)
		return 0;
	put_task_struct(task);
	if (ret != -EEXIST)
		attach_disarm(session, task);
	return ret;
}

/*
 * Keep a task from an exec, or wait until it is over: that takes as long as the
 * flush of a file system in user space may take, which may be the caller's own. So
 * neither mutex is held while this waits.
 */
static int attach_lock_exec(struct mt_session *session,
			    struct task_struct *task)
{
	int ret = 0;

	while (!ret && !down_read_trylock(&task->signal->exec_update_lock)) {
		mutex_unlock(&session->mutex);
		mutex_unlock(&session->arming);
		ret = down_read_killable(&task->signal->exec_update_lock);
		if (!ret)
			up_read(&task->signal->exec_update_lock);
		mutex_lock(&session->arming);
		mutex_lock(&session->mutex);
	}
	return ret;
}

/*
 * An exec that has begun is over when the task is joined; one that comes is seen
 * by its hook, which finds the thread.
 */
static int attach_try(struct mt_session *session, struct task_struct *task)
{
	int ret = attach_lock_exec(session, task);

	if (ret)
		return ret;
	ret = attach_join(session, task);
	up_read(&task->signal->exec_update_lock);
	return ret;
}

/**
 * mt_attach_begin - trace a thread
 * @session: the session
 * @arg: which thread
 *
 * Return: 0 or an error as the protocol lists them.
 */
int mt_attach_begin(struct mt_session *session, struct mtrace_thread *arg)
{
	struct task_struct *task;
	int ret;

	task = attach_get_task(session, arg);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = attach_try(session, task);
	if (ret == -ENOSPC) {
		/* Regions of threads that are gone may be dirty yet. */
		mt_member_clean_all(session);
		ret = attach_try(session, task);
	}
	if (ret)
		goto out;
	mt_member_clean(session);

	/*
	 * Pairs with the flag's being set long before the hook of exit: either
	 * that hook finds the thread, or the flag is seen here. Where both
	 * happen the hook's work is done here.
	 */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		attach_undo(session, task);
		ret = -ESRCH;
		goto out;
	}

	/*
	 * The thread is in the table by now: if it comes to a CPU it is found,
	 * and if it has been on one all the time it is found by this.
	 */
	if (session->trace.running)
		smp_call_function_single(task_cpu(task), mt_thread_sync, NULL,
					 1);
out:
	put_task_struct(task);
	return ret;
}

/**
 * mt_attach_end - trace a thread no longer
 * @session: the session
 * @arg: which thread
 *
 * Return: 0 or an error as the protocol lists them.
 */
int mt_attach_end(struct mt_session *session, struct mtrace_thread *arg)
{
	struct task_struct *task;
	int ret;

	task = attach_get_task(session, arg);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = attach_undo(session, task);
	put_task_struct(task);
	return ret;
}

/* The first thread that its tracer has left, or NULL. The caller puts the task. */
static struct task_struct *attach_next_left(struct mt_session *session)
{
	struct task_struct *task = NULL;
	struct mt_thread *thread;

	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(thread, &session->used_threads, link) {
		if (mt_access_is_tracer(session->trace.tracer, thread->task))
			continue;
		task = get_task_struct(thread->task);
		break;
	}
	raw_spin_unlock_irq(&session->lock);
	return task;
}

/**
 * mt_attach_is_due - whether mt_attach_review() has something to do
 * @session: the session, whose mutex alone is held
 */
bool mt_attach_is_due(struct mt_session *session)
{
	struct task_struct *task;

	if (!session->ready || !session->trace.tracer)
		return false;
	task = attach_next_left(session);
	if (!task)
		return false;
	put_task_struct(task);
	return true;
}

/**
 * mt_attach_review - let go of threads that the session may trace no more
 * @session: the session
 *
 * They have not been traced since their tracer left them; this is to have it known.
 */
void mt_attach_review(struct mt_session *session)
{
	struct task_struct *task;

	if (!session->ready || !session->trace.tracer)
		return;
	while ((task = attach_next_left(session))) {
		attach_undo(session, task);
		put_task_struct(task);
	}
}
