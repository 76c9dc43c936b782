// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers
 *
 * Owns what a session's threads come to that has a snapshot taken in their name,
 * and what a hit does: the snapshot begins right there, in the handler of the
 * breakpoint or of the uprobe, so that nothing that runs behind it gets into the
 * frozen regions, and no thread is stopped. Does not know how a breakpoint gets
 * into a thread.
 *
 * What adds, removes, arms and disarms is called with the mutex of what changes
 * breakpoints held, and not the session's own.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mtrace_netlink.h>
#include <linux/mtrace_sideband.h>
#include <linux/namei.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "breakpoint.h"
#include "compat.h"
#include "event.h"
#include "session.h"
#include "sideband.h"
#include "snapshot.h"
#include "thread.h"
#include "trigger.h"

/* In one session. */
#define MT_MAX_TRIGGERS	256

/* The session's lock is held. */
static bool trigger_is_for(const struct mt_trigger *trigger,
			   const struct mt_thread *thread)
{
	return trigger->is_live && trigger->session->trace.running &&
	       (!trigger->thread || trigger->thread == task_pid(thread->task));
}

/* The session's lock is held. */
static void trigger_count(struct mt_trigger *trigger,
			  const struct mt_snapshot *snapshot)
{
	/* The thread is not for the session to trace any more. */
	if (snapshot == ERR_PTR(-ESRCH))
		return;
	trigger->told.hits++;
	if (IS_ERR(snapshot)) {
		trigger->told.missed++;
	} else if (trigger->told.flags & MTRACE_TRIGGER_ONESHOT) {
		trigger->is_spent = true;
		trigger->is_live = false;
	}
}

/**
 * mt_trigger_hit - take a snapshot because a thread has come to a trigger
 * @trigger: the trigger
 * @task: the thread's task
 * @regs: the registers of its user code
 *
 * May be called in any context in which raw spin locks may be taken, but not
 * under the lock of a run queue.
 */
void mt_trigger_hit(struct mt_trigger *trigger, struct task_struct *task,
		    struct pt_regs *regs)
{
	struct mt_session *session = trigger->session;
	struct mt_cause cause = {
		.reason = MTRACE_REASON_TRIGGER,
		.trigger = trigger->told.number,
		.task = task,
		.regs = regs,
	};
	struct mt_snapshot *snapshot = NULL;
	unsigned long flags;

	/* What keeps a handler alone does not keep the session's works. */
	rcu_read_lock();
	raw_spin_lock_irqsave(&session->lock, flags);
	cause.thread = mt_session_thread(session, task);
	if (cause.thread && trigger_is_for(trigger, cause.thread)) {
		snapshot = mt_snapshot_begin(session, &cause);
		trigger_count(trigger, snapshot);
	}
	raw_spin_unlock_irqrestore(&session->lock, flags);

	if (!IS_ERR_OR_NULL(snapshot)) {
		mt_snapshot_complete_soon(session);
		if (trigger->told.flags & MTRACE_TRIGGER_ONESHOT)
			mt_trigger_arm_soon(session);
	}
	rcu_read_unlock();
}

static void trigger_later(struct irq_work *work)
{
	struct mt_trigger *trigger = container_of(work, struct mt_trigger,
						  later);
	struct task_struct *task = trigger->task;

	mt_trigger_hit(trigger, task, &trigger->regs);
	atomic_set_release(&trigger->is_taken, 0);
	put_task_struct(task);
}

/**
 * mt_trigger_hit_later - have mt_trigger_hit() called as soon as can be
 * @trigger: what the current thread has come to, in the kernel
 *
 * May be called in any context. A hit while another one waits is part of that:
 * the kernel copies piece by piece.
 */
void mt_trigger_hit_later(struct mt_trigger *trigger)
{
	/*
	 * What it has been born with it keeps where it is not traced. This
	 * leaves out most of those that are not, in any context.
	 */
	if (!mt_thread_is_maybe(current) ||
	    atomic_cmpxchg(&trigger->is_taken, 0, 1))
		return;
	trigger->task = get_task_struct(current);
	trigger->regs = *task_pt_regs(current);
	irq_work_queue(&trigger->later);
}

/* Runs in whichever process comes to the place. */
static int trigger_uprobe_hit(MT_UPROBE_HANDLER_ARGS)
{
	struct mt_trigger *trigger = container_of(self, struct mt_trigger,
						  consumer);

	if (mt_thread_is_maybe(current))
		mt_trigger_hit(trigger, current, regs);
	return 0;
}

static int trigger_add_uprobe(struct mt_trigger *trigger)
{
	struct inode *inode;
	struct file *file;

	if (trigger->told.access || trigger->told.length)
		return -EINVAL;
	/* It is put into the file, for all that run it. */
	if (!trigger->session->access.privileged)
		return -EPERM;
	file = fget(trigger->told.fd);
	if (!file)
		return -EBADF;
	if (!(file->f_mode & FMODE_READ)) {
		fput(file);
		return -EBADF;
	}
	inode = d_real_inode(file->f_path.dentry);
	if (!S_ISREG(inode->i_mode)) {
		fput(file);
		return -EINVAL;
	}
	/*
	 * It is what the probe is found by again, and not the path, below which
	 * an overlay can put another inode meanwhile.
	 */
	trigger->inode = igrab(inode);
	trigger->path = file->f_path;
	path_get(&trigger->path);
	fput(file);
	if (!trigger->inode) {
		trigger->uprobe = ERR_PTR(-ENOENT);
		goto err_put_path;
	}

	trigger->consumer.handler = trigger_uprobe_hit;
	trigger->uprobe = mt_uprobe_register(inode, trigger->told.address,
					     trigger->told.ref_offset,
					     &trigger->consumer);
	if (!IS_ERR(trigger->uprobe))
		return 0;
	/* That it cannot be put before an instruction has no number outside. */
	if (PTR_ERR(trigger->uprobe) == -ENOTSUPP)
		trigger->uprobe = ERR_PTR(-EOPNOTSUPP);

	iput(trigger->inode);
err_put_path:
	path_put(&trigger->path);
	trigger->path.dentry = NULL;
	return PTR_ERR(trigger->uprobe);
}

static void trigger_remove_uprobe(struct mt_trigger *trigger)
{
	if (!trigger->path.dentry)
		return;
	mt_uprobe_unregister(trigger->inode, trigger->told.address,
			     trigger->uprobe, &trigger->consumer);
	iput(trigger->inode);
	path_put(&trigger->path);
	trigger->path.dentry = NULL;
}

/* Have it hit no more, and take nothing of the threads. */
static void trigger_quench(struct mt_trigger *trigger)
{
	raw_spin_lock_irq(&trigger->session->lock);
	trigger->is_live = false;
	raw_spin_unlock_irq(&trigger->session->lock);

	mt_breakpoint_disarm_all(trigger);
	trigger_remove_uprobe(trigger);
}

/* Threads that join from now on are armed, if there is one. */
static void trigger_link(struct mt_trigger *trigger)
{
	struct mt_session *session = trigger->session;

	list_add_tail(&trigger->link, &session->triggers);
	raw_spin_lock_irq(&session->lock);
	session->nr_triggers++;
	raw_spin_unlock_irq(&session->lock);
}

static void trigger_free(struct mt_trigger *trigger)
{
	struct mt_session *session = trigger->session;

	list_del(&trigger->link);
	raw_spin_lock_irq(&session->lock);
	session->nr_triggers--;
	raw_spin_unlock_irq(&session->lock);
	trigger_quench(trigger);
	/* What was in a handler when that was done is in it no more. */
	synchronize_rcu();
	irq_work_sync(&trigger->later);
	put_pid(trigger->thread);
	kfree(trigger);
}

static bool trigger_is_to_be_in(const struct mt_trigger *trigger,
				struct task_struct *task)
{
	return trigger->told.kind == MTRACE_TRIGGER_BREAKPOINT &&
	       !READ_ONCE(trigger->is_spent) &&
	       (!trigger->thread || trigger->thread == task_pid(task));
}

/**
 * mt_trigger_arm - have the breakpoints of a session's triggers in a thread
 * @session: the session
 * @task: the thread's task
 *
 * Return: 0, or the first error of mt_breakpoint_arm(): it may have others.
 */
int mt_trigger_arm(struct mt_session *session, struct task_struct *task)
{
	struct mt_trigger *trigger;
	int ret, first = 0;

	list_for_each_entry(trigger, &session->triggers, link) {
		if (!trigger_is_to_be_in(trigger, task))
			continue;
		ret = mt_breakpoint_arm(trigger, task);
		first = first ?: ret;
	}
	return first;
}

/**
 * mt_trigger_disarm - take them out of a thread that is not traced
 * @session: the session
 * @task: the thread's task
 */
void mt_trigger_disarm(struct mt_session *session, struct task_struct *task)
{
	struct mt_trigger *trigger;

	list_for_each_entry(trigger, &session->triggers, link)
		mt_breakpoint_disarm(trigger, task);
}

/*
 * The first thread of the session that is not known to have all breakpoints, or
 * NULL. The caller puts the task.
 */
static struct task_struct *trigger_next_unarmed(struct mt_session *session)
{
	struct task_struct *task = NULL;
	struct mt_thread *thread;

	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(thread, &session->used_threads, link) {
		if (thread->is_armed)
			continue;
		thread->is_armed = true;
		task = get_task_struct(thread->task);
		break;
	}
	raw_spin_unlock_irq(&session->lock);
	return task;
}

static void trigger_tell_unarmed(struct mt_session *session,
				 struct task_struct *task)
{
	raw_spin_lock_irq(&session->lock);
	session->unarmed++;
	raw_spin_unlock_irq(&session->lock);
	mt_event_loss(session->setup.session, MTRACE_NL_LOSS_UNARMED, 1,
		      task->pid);
	mt_sideband_loss_of(session->trace.sideband, MTRACE_LOSS_UNARMED, task);
}

/*
 * The first thread of the session that this round has not come to, or NULL. The
 * caller puts the task. Those that are borne meanwhile come to the end of the list.
 */
static struct task_struct *trigger_next(struct mt_session *session, u32 round)
{
	struct task_struct *task = NULL;
	struct mt_thread *thread;

	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(thread, &session->used_threads, link) {
		if (thread->round == round)
			continue;
		thread->round = round;
		task = get_task_struct(thread->task);
		break;
	}
	raw_spin_unlock_irq(&session->lock);
	return task;
}

/* Put a new trigger's breakpoint into all threads that it is for. */
static int trigger_arm_new(struct mt_trigger *trigger)
{
	struct mt_session *session = trigger->session;
	u32 round = ++session->last_round;
	struct task_struct *task;
	int ret = 0;

	while (!ret && (task = trigger_next(session, round))) {
		if (trigger_is_to_be_in(trigger, task))
			ret = mt_breakpoint_arm(trigger, task);
		put_task_struct(task);
		cond_resched();
	}
	return ret;
}

/* Look at all threads again: a debug register is free that was not. */
static void trigger_arm_again(struct mt_session *session)
{
	struct mt_thread *thread;

	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(thread, &session->used_threads, link)
		thread->is_armed = false;
	raw_spin_unlock_irq(&session->lock);
	mt_trigger_arm_soon(session);
}

/**
 * mt_trigger_update - bring the threads' breakpoints up to date
 * @session: the session
 *
 * A thread whose clone() had begun before its parent was armed is armed here, and
 * one whose breakpoints exec took away; a trigger that was for one hit is taken
 * out of the threads. What cannot be done is told to the session: there is no caller.
 */
void mt_trigger_update(struct mt_session *session)
{
	struct task_struct *task;
	struct mt_trigger *trigger;

	list_for_each_entry(trigger, &session->triggers, link)
		if (READ_ONCE(trigger->is_spent))
			trigger_quench(trigger);
	while ((task = trigger_next_unarmed(session))) {
		if (mt_trigger_arm(session, task))
			trigger_tell_unarmed(session, task);
		put_task_struct(task);
		cond_resched();
	}
}

/**
 * mt_trigger_arm_soon - have mt_trigger_update() called where it can be
 * @session: the session, which cannot close
 */
void mt_trigger_arm_soon(struct mt_session *session)
{
	mt_queue_work(&session->armer);
}

/**
 * mt_trigger_exec - put back what an exec has taken out of a thread
 * @task: the current task, which has run nothing of the new program
 *
 * Where exec gives other rights perf drops the thread's events, whoever they
 * are of. That is before this is called, and where they can be made anew is only
 * later: the program may have run by then.
 */
void mt_trigger_exec(struct task_struct *task)
{
	struct mt_session *session;
	struct mt_thread *thread;
	unsigned long flags;
	bool arm = false;

	rcu_read_lock();
	session = mt_session_tracing(task);
	if (!session)
		goto out;
	raw_spin_lock_irqsave(&session->lock, flags);
	thread = mt_session_thread(session, task);
	if (thread) {
		thread->is_armed = false;
		arm = session->nr_triggers;
	}
	raw_spin_unlock_irqrestore(&session->lock, flags);
	if (arm)
		mt_trigger_arm_soon(session);
out:
	rcu_read_unlock();
}

/* Find the thread that a trigger is for; it must be traced. */
static int trigger_find_thread(struct mt_trigger *trigger)
{
	struct mt_session *session = trigger->session;
	struct task_struct *task;
	int ret = -ESRCH;

	if (!trigger->told.tid)
		return 0;
	if (trigger->told.tid < 0)
		return -EINVAL;
	trigger->thread = find_get_pid(trigger->told.tid);
	task = get_pid_task(trigger->thread, PIDTYPE_PID);
	if (!task)
		goto out;
	raw_spin_lock_irq(&session->lock);
	if (mt_session_thread(session, task))
		ret = 0;
	raw_spin_unlock_irq(&session->lock);
	put_task_struct(task);
out:
	if (ret) {
		put_pid(trigger->thread);
		trigger->thread = NULL;
	}
	return ret;
}

static int trigger_check(const struct mt_session *session,
			 const struct mtrace_trigger *arg)
{
	/* With the release in mt_session_setup(). */
	if (!smp_load_acquire(&session->ready) || session->stream.slots ||
	    arg->flags & ~MTRACE_TRIGGER_FLAGS_ALL || arg->number || arg->hits || arg->missed ||
	    memchr_inv(arg->reserved, 0, sizeof(arg->reserved)))
		return -EINVAL;
	switch (arg->kind) {
	case MTRACE_TRIGGER_BREAKPOINT:
		return mt_breakpoint_check(arg);
	case MTRACE_TRIGGER_UPROBE:
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * mt_trigger_add - have a session's threads come to a trigger
 * @session: the session
 * @arg: what is wanted; completed by its number
 *
 * Return: 0 or an error as the protocol lists them.
 */
int mt_trigger_add(struct mt_session *session, struct mtrace_trigger *arg)
{
	struct mt_trigger *trigger;
	int ret;

	ret = trigger_check(session, arg);
	if (ret)
		return ret;
	if (session->nr_triggers >= MT_MAX_TRIGGERS)
		return -ENOSPC;
	trigger = kzalloc(sizeof(*trigger), GFP_KERNEL);
	if (!trigger)
		return -ENOMEM;
	trigger->session = session;
	trigger->told = *arg;
	trigger->told.number = session->last_trigger + 1;
	INIT_LIST_HEAD(&trigger->breakpoints);
	init_irq_work(&trigger->later, trigger_later);
	trigger_link(trigger);

	ret = trigger_find_thread(trigger);
	if (ret)
		goto err_free;
	if (arg->kind == MTRACE_TRIGGER_UPROBE)
		ret = trigger_add_uprobe(trigger);
	else
		ret = trigger_arm_new(trigger);
	if (ret)
		goto err_free;
	/* From here on a hit is one. */
	raw_spin_lock_irq(&session->lock);
	trigger->is_live = true;
	raw_spin_unlock_irq(&session->lock);
	session->last_trigger++;
	arg->number = trigger->told.number;
	return 0;

err_free:
	trigger_free(trigger);
	return ret;
}

/**
 * mt_trigger_remove - have them come to it no more
 * @session: the session
 * @arg: which; completed by what it was and did
 *
 * Return: 0, -EINVAL, or -ENOENT where there is none of that number.
 */
int mt_trigger_remove(struct mt_session *session, struct mtrace_trigger *arg)
{
	struct mtrace_trigger only = {
		.size = arg->size,
		.number = arg->number,
	};
	struct mt_trigger *trigger;
	u32 size = arg->size;

	/* As in trigger_check(). */
	if (!smp_load_acquire(&session->ready) || memcmp(arg, &only, sizeof(only)))
		return -EINVAL;
	list_for_each_entry(trigger, &session->triggers, link) {
		if (trigger->told.number != arg->number)
			continue;
		/* The counts are final then. */
		trigger_quench(trigger);
		*arg = trigger->told;
		arg->size = size;
		trigger_free(trigger);
		if (session->nr_triggers)
			trigger_arm_again(session);
		return 0;
	}
	return -ENOENT;
}

/**
 * mt_trigger_remove_all - the session ends
 * @session: the session, which no one calls any more
 */
void mt_trigger_remove_all(struct mt_session *session)
{
	struct mt_trigger *trigger, *next;

	list_for_each_entry_safe(trigger, next, &session->triggers, link)
		trigger_free(trigger);
}
