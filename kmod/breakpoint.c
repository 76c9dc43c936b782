// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware breakpoints of triggers
 *
 * Owns the kernel's events that keep a trigger's breakpoint in the debug
 * registers of each thread. An event is made for a thread that is traced when
 * the trigger comes, or that is attached later. Threads that are born later have
 * it by perf's inheritance before they are in the session's table, let alone
 * run. Does not know what a hit is for.
 *
 * An event that has heirs is let go only with its trigger, even where its thread
 * is no longer traced: theirs would go with it. Nor does it stay with the thread
 * that it was made for: where two threads have the same events by inheritance,
 * perf exchanges these when one switches to the other. So which thread has a
 * breakpoint is seen in the thread's own list of events, and is not remembered.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <asm/processor.h>

#include "breakpoint.h"
#include "compat.h"
#include "session.h"
#include "trigger.h"

/**
 * struct mt_breakpoint - a breakpoint in one thread, and in its heirs
 * @link: in the trigger's list
 * @event: keeps it there
 */
struct mt_breakpoint {
	struct list_head link;
	struct perf_event *event;
};

/**
 * mt_breakpoint_check - check what is asked of a breakpoint
 * @arg: a trigger that is one
 *
 * Return: 0 or -EINVAL.
 */
int mt_breakpoint_check(const struct mtrace_trigger *arg)
{
	u64 length = arg->length;

	if (arg->ref_offset || arg->fd)
		return -EINVAL;
	switch (arg->access) {
	case MTRACE_ACCESS_EXEC:
		if (length)
			return -EINVAL;
		length = 1;
		break;
	case MTRACE_ACCESS_WRITE:
	case MTRACE_ACCESS_READWRITE:
		if (length != 1 && length != 2 && length != 4 && length != 8)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	/* The registers match by the bits above the length alone. */
	if (arg->address & (length - 1) ||
	    arg->address > TASK_SIZE_MAX - length)
		return -EINVAL;
	return 0;
}

/*
 * Runs in the exception, after a data access and before an instruction. From
 * user code interrupts are off and no lock is held; data of user code that the
 * kernel accesses can be met anywhere, in an NMI that has interrupted this very
 * module, too.
 */
static void breakpoint_hit(struct perf_event *event,
			   struct perf_sample_data *data, struct pt_regs *regs)
{
	struct mt_trigger *trigger = event->overflow_handler_context;

	if (user_mode(regs))
		mt_trigger_hit(trigger, current, regs);
	else
		mt_trigger_hit_later(trigger);
}

/*
 * Look for a trigger's breakpoint among a thread's events. Returns whether these
 * were they: they may have been exchanged before they were locked.
 */
static bool breakpoint_look(const struct mt_trigger *trigger,
			    struct task_struct *task,
			    struct perf_event_context *ctx, bool *found)
{
	struct perf_event *event;
	bool same;

	raw_spin_lock(&ctx->lock);
	same = ctx == mt_perf_context(task);
	list_for_each_entry(event, &ctx->event_list, event_entry)
		if (same && event->overflow_handler_context == trigger)
			*found = true;
	raw_spin_unlock(&ctx->lock);
	return same;
}

/*
 * Whether a thread has a trigger's breakpoint. It is looked at as perf itself does
 * it: ctx->lock is taken under that of a run queue, too, and so interrupts stay off
 * for the RCU section around it.
 */
static bool breakpoint_is_in(const struct mt_trigger *trigger,
			     struct task_struct *task)
{
	struct perf_event_context *ctx;
	unsigned long flags;
	bool found = false;

	local_irq_save(flags);
	rcu_read_lock();
	do {
		ctx = mt_perf_context(task);
	} while (ctx && !breakpoint_look(trigger, task, ctx, &found));
	rcu_read_unlock();
	local_irq_restore(flags);
	return found;
}

static bool breakpoint_has_heirs(struct perf_event *event)
{
	bool has;

	mutex_lock(&event->child_mutex);
	has = !list_empty(&event->child_list);
	mutex_unlock(&event->child_mutex);
	return has;
}

/*
 * Whether it is in no thread any more, and will be in none: perf has taken it out
 * at the thread's exit, or at an exec that gave it other rights.
 */
static bool breakpoint_is_gone(struct perf_event *event)
{
	return READ_ONCE(event->state) <= PERF_EVENT_STATE_EXIT &&
	       !breakpoint_has_heirs(event);
}

static void breakpoint_free(struct mt_breakpoint *breakpoint)
{
	list_del(&breakpoint->link);
	unregister_hw_breakpoint(breakpoint->event);
	kfree(breakpoint);
}

static void breakpoint_attr(const struct mt_trigger *trigger,
			    struct perf_event_attr *attr)
{
	u32 flags = trigger->session->setup.flags;

	hw_breakpoint_init(attr);
	attr->bp_addr = trigger->told.address;
	attr->bp_len = trigger->told.length;
	switch (trigger->told.access) {
	case MTRACE_ACCESS_EXEC:
		attr->bp_type = HW_BREAKPOINT_X;
		attr->bp_len = sizeof(long);
		break;
	case MTRACE_ACCESS_WRITE:
		attr->bp_type = HW_BREAKPOINT_W;
		break;
	default:
		attr->bp_type = HW_BREAKPOINT_RW;
	}

	/* Who is born where it is not traced has it in vain, and does no harm. */
	if (!trigger->thread && flags & MTRACE_SETUP_INHERIT_PROCESSES)
		attr->inherit = 1;
	else if (!trigger->thread && flags & MTRACE_SETUP_INHERIT_THREADS)
		mt_attr_inherit_thread(attr);
}

/**
 * mt_breakpoint_arm - have a trigger's breakpoint in a thread
 * @trigger: the trigger
 * @task: the thread
 *
 * May sleep. The mutex of what changes breakpoints is held.
 *
 * Return: 0, also where it has that already or exits; -ENOSPC where its debug
 * registers are in use; another error of perf.
 */
int mt_breakpoint_arm(struct mt_trigger *trigger, struct task_struct *task)
{
	struct mt_breakpoint *breakpoint, *next;
	struct perf_event_attr attr;
	int ret;

	list_for_each_entry_safe(breakpoint, next, &trigger->breakpoints,
				 link)
		if (breakpoint_is_gone(breakpoint->event))
			breakpoint_free(breakpoint);
	if (breakpoint_is_in(trigger, task))
		return 0;

	breakpoint = kzalloc(sizeof(*breakpoint), GFP_KERNEL);
	if (!breakpoint)
		return -ENOMEM;
	breakpoint_attr(trigger, &attr);
	breakpoint->event = register_user_hw_breakpoint(&attr, breakpoint_hit,
							trigger, task);
	if (IS_ERR(breakpoint->event)) {
		ret = PTR_ERR(breakpoint->event);
		kfree(breakpoint);
		return ret == -ESRCH ? 0 : ret;
	}
	list_add_tail(&breakpoint->link, &trigger->breakpoints);
	return 0;
}

/**
 * mt_breakpoint_disarm - take a trigger's breakpoint out of a thread if that
 *	can be
 * @trigger: the trigger
 * @task: the thread
 *
 * May sleep. The same mutex is held.
 */
void mt_breakpoint_disarm(struct mt_trigger *trigger, struct task_struct *task)
{
	struct mt_breakpoint *breakpoint, *next;

	/* What has no heirs is exchanged with nobody. */
	list_for_each_entry_safe(breakpoint, next, &trigger->breakpoints, link)
		if (!breakpoint_has_heirs(breakpoint->event) &&
		    READ_ONCE(breakpoint->event->ctx->task) == task)
			breakpoint_free(breakpoint);
}

/**
 * mt_breakpoint_disarm_all - have a trigger's breakpoint in no thread any more
 * @trigger: the trigger
 *
 * May sleep. There are no hits any more on return.
 */
void mt_breakpoint_disarm_all(struct mt_trigger *trigger)
{
	struct mt_breakpoint *breakpoint, *next;

	list_for_each_entry_safe(breakpoint, next, &trigger->breakpoints, link)
		breakpoint_free(breakpoint);
}
