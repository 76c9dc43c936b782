/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_SESSION_H
#define _MT_SESSION_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "access.h"
#include "buffer.h"
#include "stream.h"
#include "thread.h"

struct mt_snapshot;
struct pid;
struct pid_namespace;

/**
 * struct mt_session - one open file
 * @reading: of the calls that tell what a snapshot or a stream holds, or take that
 *	back; outside of @arming and @mutex. It is held while that is copied to the caller,
 *	which takes as long as the caller's memory has it wait, and so it alone
 * @arming: of the calls and the work that change what breakpoints and probes there
 *	are; outside of @mutex. perf has whoever holds it wait for others who read
 *	the same thread's events, and file systems for what they read
 * @mutex: one call at a time. Netlink's wait for it, and all of generic netlink may
 *	wait for them: so nobody who holds it waits for user space. It is taken
 *	under a task's exec_update_lock, which may only be tried under it
 * @wait: who polls the file, or waits for free regions
 * @waker: wakes them, from any context
 * @ready: whether it is set up; all below but @access and @pid_ns is of meaning
 *	only then
 * @users: who has it by its number, and the file itself
 * @unused: done when there are none
 * @setup: how
 * @access: what its owner may do
 * @pid_ns: the owner's
 * @buffer: its memory
 * @cpus: the CPUs that a call has to interrupt
 * @snapshots: as many as there are regions, most of them unused
 * @held_snapshots: those that are complete, oldest first
 * @cleaner: cleans @dirty in a context that may take its time
 * @completer: the same for @begun_snapshots
 * @triggers: what has a snapshot taken. It and the two below are guarded by @arming
 * @last_trigger: the number of the newest
 * @last_round: of those that give all threads a new trigger's breakpoint
 * @armer: brings the threads' breakpoints for @triggers up to date
 * @stream: its descriptors, if it streams
 * @lock: guards what the hooks change: all below. Taken with interrupts off,
 *	outside of a thread's lock, never under that of a run queue
 * @trace: what its threads have in common
 * @closing: no thread can be added any more
 * @idle_snapshots: those that are unused
 * @nr_triggers: how many there are
 * @begun_snapshots: those of which threads may still have to do an exchange,
 *	oldest first
 * @nr_snapshots: how many are in use
 * @last_id: the number of the newest
 * @threads: setup.max_threads of them
 * @idle_threads: those that have no task
 * @used_threads: those that have one and are traced
 * @nr_threads: how many have one
 * @exited: regions of threads that are gone, oldest first: part of the next
 *	snapshot
 * @nr_exited: how many
 * @dirty: regions to be cleaned and made free
 * @nr_dirty: how many, those being cleaned included
 * @nr_frozen: regions in snapshots
 * @nr_untold: held snapshots that the owner did not ask for and was not told of
 * @refused: threads that were not inherited
 * @gained: threads that left because exec gave them other rights
 * @recycled: regions of threads that are gone which no snapshot got to see
 * @wraps: regions that were found wrapped
 * @unswitched: threads that a snapshot found no region for
 * @nobufs: snapshots that were not taken because no region was free
 * @missed: the same since the last one that was
 * @unarmed: times that a thread could not be given a trigger's breakpoint
 * @nr_waiting: who waits for free regions
 */
struct mt_session {
	struct mutex reading;	/* of those who copy */
	struct mutex arming;	/* of those who change triggers */
	struct mutex mutex;	/* of the calls */
	wait_queue_head_t wait;
	struct irq_work waker;
	bool ready;
	refcount_t users;
	struct completion unused;
	struct mtrace_setup setup;
	struct mt_access access;
	struct pid_namespace *pid_ns;
	struct mt_buffer buffer;
	cpumask_var_t cpus;
	struct mt_snapshot *snapshots;
	struct list_head held_snapshots;
	struct work_struct cleaner;
	struct work_struct completer;
	struct list_head triggers;
	u32 last_trigger;
	u32 last_round;
	struct work_struct armer;

	struct mt_stream stream;

	raw_spinlock_t lock;	/* of all below */
	struct mt_trace trace;
	bool closing;
	struct list_head idle_snapshots;
	struct list_head begun_snapshots;
	u32 nr_triggers;
	u32 nr_snapshots;
	u64 last_id;
	struct mt_thread *threads;
	struct list_head idle_threads;
	struct list_head used_threads;
	u32 nr_threads;
	struct list_head exited;
	u32 nr_exited;
	struct list_head dirty;
	u32 nr_dirty;
	u32 nr_frozen;
	u32 nr_untold;
	u64 refused;
	u64 gained;
	u64 recycled;
	u64 wraps;
	u64 unswitched;
	u64 nobufs;
	u32 missed;
	u64 unarmed;
	u32 nr_waiting;
};

/* The session that a trace is part of. */
static inline struct mt_session *mt_session_of(struct mt_trace *trace)
{
	return container_of(trace, struct mt_session, trace);
}

/* The session that traces a task, or NULL. RCU is held, which keeps it. */
static inline struct mt_session *
mt_session_tracing(const struct task_struct *task)
{
	struct mt_trace *trace;

	return mt_thread_find(task, &trace) ? mt_session_of(trace) : NULL;
}

/* A task's thread in this session, or NULL. It stays so while the lock is held. */
static inline struct mt_thread *
mt_session_thread(const struct mt_session *session,
		  const struct task_struct *task)
{
	struct mt_trace *trace;
	struct mt_thread *thread = mt_thread_find(task, &trace);

	return thread && trace == &session->trace ? thread : NULL;
}

struct mt_session *mt_session_create(void);
void mt_session_destroy(struct mt_session *session);
int mt_session_lock(struct mt_session *session);
int mt_session_lock_arming(struct mt_session *session);
void mt_session_wake(struct mt_session *session);

int mt_session_setup(struct mt_session *session, struct mtrace_setup *setup);
int mt_session_get_setup(struct mt_session *session,
			 struct mtrace_setup *setup);
int mt_session_start(struct mt_session *session);
int mt_session_stop(struct mt_session *session);
bool mt_session_is_of(struct mt_session *session, struct pid *process);
int mt_session_status(struct mt_session *session, struct mtrace_status *status);

#endif /* _MT_SESSION_H */
