// SPDX-License-Identifier: GPL-2.0
/*
 * Events
 *
 * Owns the way of an event from where it comes about, which may be under the
 * lock of a run queue, to where a message can be made of it: a queue of fixed
 * length, emptied by a work that an interrupt starts. Where nobody listens an
 * event costs the look whether somebody does. Knows of a session its number
 * alone, so that an event may outlive it.
 */
#include <linux/irq_work.h>
#include <linux/mtrace_netlink.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

#include "compat.h"
#include "event.h"
#include "netlink.h"

#define EVENT_QUEUE_LEN	512

/* Of one event's message. */
#define EVENT_MESSAGE_SIZE	512

/**
 * struct event - what has happened
 * @cmd: MTRACE_NL_CMD_*_EVENT, which says which of the others are of meaning
 * @session: number of the session
 * @what: MTRACE_NL_THREAD_* or MTRACE_NL_LOSS_*
 * @tid: the thread, 0 for none
 * @pid: its process
 * @comm: its name
 * @count: how much was lost
 * @snapshot: what was taken: the part of struct mtrace_snapshot before the
 *	registers, which are for the owner alone
 */
struct event {
	u8 cmd;
	u32 session;
	u32 what;
	pid_t tid;
	union {
		struct {
			pid_t pid;
			char comm[TASK_COMM_LEN];
		};
		u64 count;
		u8 snapshot[offsetof(struct mtrace_snapshot, regs)];
	};
};

static void event_irq(struct irq_work *work);
static void event_work(struct work_struct *work);

static struct {
	raw_spinlock_t lock;
	struct event ring[EVENT_QUEUE_LEN];
	unsigned int first;
	unsigned int nr;
	u64 dropped;
	struct irq_work irq;
	struct work_struct work;
} event_queue = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(event_queue.lock),
	.work = __WORK_INITIALIZER(event_queue.work, event_work),
};

/* The queue's lock is held; there is an event. */
static struct event *event_last(void)
{
	return &event_queue.ring[(event_queue.first + event_queue.nr - 1) %
				 EVENT_QUEUE_LEN];
}

/* What comes in bursts is one event as long as it has not been told. */
static bool event_join(const struct event *event)
{
	struct event *last;

	if (event->cmd != MTRACE_NL_CMD_LOSS_EVENT || !event_queue.nr)
		return false;
	last = event_last();
	if (last->cmd != event->cmd || last->session != event->session ||
	    last->what != event->what || last->tid != event->tid)
		return false;
	last->count += event->count;
	return true;
}

static void event_post(const struct event *event)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&event_queue.lock, flags);
	if (event_join(event)) {
		/* It is on its way. */
	} else if (event_queue.nr < EVENT_QUEUE_LEN) {
		event_queue.nr++;
		*event_last() = *event;
	} else {
		event_queue.dropped++;
	}
	raw_spin_unlock_irqrestore(&event_queue.lock, flags);
	irq_work_queue(&event_queue.irq);
}

/**
 * mt_event_snapshot - tell that a snapshot was taken
 * @session: number of the session
 * @snapshot: what its owner is told of it
 *
 * Like all events it may be told of in any context but an NMI.
 */
void mt_event_snapshot(u32 session, const struct mtrace_snapshot *snapshot)
{
	struct event event = {
		.cmd = MTRACE_NL_CMD_SNAPSHOT_EVENT,
		.session = session,
	};

	if (!mt_netlink_is_heard())
		return;
	memcpy(event.snapshot, snapshot, sizeof(event.snapshot));
	event_post(&event);
}

/**
 * mt_event_thread - tell that a thread has come, gone or been refused
 * @session: number of the session
 * @what: MTRACE_NL_THREAD_*
 * @task: the thread's task
 */
void mt_event_thread(u32 session, u32 what, const struct task_struct *task)
{
	struct event event = {
		.cmd = MTRACE_NL_CMD_THREAD_EVENT,
		.session = session,
		.what = what,
	};

	if (!mt_netlink_is_heard())
		return;
	event.tid = task->pid;
	event.pid = task->tgid;
	strscpy(event.comm, task->comm, sizeof(event.comm));
	event_post(&event);
}

/**
 * mt_event_loss - tell that something is not in the trace
 * @session: number of the session
 * @kind: MTRACE_NL_LOSS_*
 * @count: how much of it
 * @tid: the thread of it in the initial pid namespace, or 0
 */
void mt_event_loss(u32 session, u32 kind, u64 count, pid_t tid)
{
	struct event event = {
		.cmd = MTRACE_NL_CMD_LOSS_EVENT,
		.session = session,
		.what = kind,
		.tid = tid,
	};

	if (!mt_netlink_is_heard())
		return;
	event.count = count;
	event_post(&event);
}

static int event_put_thread(struct sk_buff *skb, const struct event *event)
{
	struct nlattr *nest = nla_nest_start(skb, MTRACE_NLA_THREAD);

	if (!nest ||
	    nla_put_u32(skb, MTRACE_NLA_THREAD_TID, event->tid) ||
	    nla_put_u32(skb, MTRACE_NLA_THREAD_PID, event->pid) ||
	    nla_put_string(skb, MTRACE_NLA_THREAD_COMM, event->comm) ||
	    nla_put_u32(skb, MTRACE_NLA_THREAD_EVENT, event->what))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int event_put_loss(struct sk_buff *skb, const struct event *event)
{
	struct nlattr *nest = nla_nest_start(skb, MTRACE_NLA_LOSS);

	if (!nest ||
	    nla_put_u32(skb, MTRACE_NLA_LOSS_KIND, event->what) ||
	    nla_put_u64_64bit(skb, MTRACE_NLA_LOSS_COUNT, event->count,
			      MTRACE_NLA_LOSS_PAD) ||
	    (event->tid && nla_put_u32(skb, MTRACE_NLA_LOSS_TID, event->tid)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int event_put_snapshot(struct sk_buff *skb, const struct event *event)
{
	struct mtrace_snapshot snapshot = {};

	memcpy(&snapshot, event->snapshot, sizeof(event->snapshot));
	return mt_netlink_put_snapshot(skb, event->session, &snapshot, 0);
}

static int event_put(struct sk_buff *skb, const struct event *event)
{
	if (event->cmd == MTRACE_NL_CMD_SNAPSHOT_EVENT)
		return event_put_snapshot(skb, event);
	if (nla_put_u32(skb, MTRACE_NLA_SESSION, event->session))
		return -EMSGSIZE;
	if (event->cmd == MTRACE_NL_CMD_THREAD_EVENT)
		return event_put_thread(skb, event);
	return event_put_loss(skb, event);
}

/* Returns whether it was told to all whose sockets had room for it. */
static bool event_send(const struct event *event)
{
	struct sk_buff *skb;
	void *header;

	skb = genlmsg_new(EVENT_MESSAGE_SIZE, GFP_KERNEL);
	if (!skb)
		return false;
	header = mt_netlink_begin(skb, event->cmd);
	if (!header || event_put(skb, event)) {
		nlmsg_free(skb);
		return false;
	}
	mt_netlink_multicast(skb, header);
	return true;
}

/* Take the oldest event; or one that says how many are missing, behind all. */
static bool event_get(struct event *event)
{
	bool got = true;

	raw_spin_lock_irq(&event_queue.lock);
	if (event_queue.nr) {
		*event = event_queue.ring[event_queue.first];
		event_queue.first = (event_queue.first + 1) % EVENT_QUEUE_LEN;
		event_queue.nr--;
	} else if (event_queue.dropped) {
		*event = (struct event){
			.cmd = MTRACE_NL_CMD_LOSS_EVENT,
			.what = MTRACE_NL_LOSS_EVENTS,
			.count = event_queue.dropped,
		};
		event_queue.dropped = 0;
	} else {
		got = false;
	}
	raw_spin_unlock_irq(&event_queue.lock);
	return got;
}

static void event_work(struct work_struct *work)
{
	struct event event;

	while (event_get(&event)) {
		if (event_send(&event))
			continue;
		/* For want of memory; tried again with the next event. */
		raw_spin_lock_irq(&event_queue.lock);
		event_queue.dropped += event.what == MTRACE_NL_LOSS_EVENTS &&
				       event.cmd == MTRACE_NL_CMD_LOSS_EVENT ?
				       event.count : 1;
		raw_spin_unlock_irq(&event_queue.lock);
		break;
	}
}

static void event_irq(struct irq_work *work)
{
	mt_queue_work(&event_queue.work);
}

/**
 * mt_event_init - prepare the queue
 */
void __init mt_event_init(void)
{
	init_irq_work(&event_queue.irq, event_irq);
}

/**
 * mt_event_exit - have no more to tell
 *
 * There is no session any more that anything could happen to.
 */
void mt_event_exit(void)
{
	irq_work_sync(&event_queue.irq);
	cancel_work_sync(&event_queue.work);
}
