/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_SESSION_H
#define _MT_SESSION_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "buffer.h"
#include "thread.h"

struct mt_snapshot;
struct pid_namespace;

/**
 * struct mt_session - one open file
 * @mutex: one call at a time
 * @ready: whether it is set up; all below but @pid_ns is of meaning only then
 * @setup: how
 * @pid_ns: the owner's
 * @buffer: its memory
 * @cpus: the CPUs that a call has to interrupt
 * @snapshots: as many as there are regions, most of them unused
 * @idle_snapshots: those
 * @held_snapshots: those in use, oldest first
 * @nr_snapshots: how many are in use
 * @last_id: the number of the newest
 * @cleaner: cleans @dirty in a context that may take its time
 * @lock: guards what the hooks change: all below, and the lists of @buffer.
 *	Taken with interrupts off, outside of a thread's lock, never under that
 *	of a run queue
 * @trace: what its threads have in common
 * @closing: no thread can be added any more
 * @threads: setup.max_threads of them
 * @idle_threads: those that have no task
 * @nr_threads: how many have one
 * @exited: regions of threads that are gone, oldest first: part of the next
 *	snapshot
 * @dirty: regions to be cleaned and made free
 * @nr_dirty: how many, those being cleaned included
 * @nr_frozen: regions in snapshots
 * @refused: threads that were not inherited
 * @recycled: regions of threads that are gone which no snapshot got to see
 * @wraps: regions that were found wrapped
 * @unswitched: threads that a snapshot found no region for
 */
struct mt_session {
	struct mutex mutex;	/* of the calls */
	bool ready;
	struct mtrace_setup setup;
	struct pid_namespace *pid_ns;
	struct mt_buffer buffer;
	cpumask_var_t cpus;
	struct mt_snapshot *snapshots;
	struct list_head idle_snapshots;
	struct list_head held_snapshots;
	u32 nr_snapshots;
	u64 last_id;
	struct work_struct cleaner;

	raw_spinlock_t lock;	/* of all below */
	struct mt_trace trace;
	bool closing;
	struct mt_thread *threads;
	struct list_head idle_threads;
	u32 nr_threads;
	struct list_head exited;
	struct list_head dirty;
	u32 nr_dirty;
	u32 nr_frozen;
	u64 refused;
	u64 recycled;
	u64 wraps;
	u64 unswitched;
};

struct mt_session *mt_session_create(void);
void mt_session_destroy(struct mt_session *session);

int mt_session_setup(struct mt_session *session, struct mtrace_setup *setup);
int mt_session_get_setup(struct mt_session *session,
			 struct mtrace_setup *setup);
int mt_session_start(struct mt_session *session);
int mt_session_stop(struct mt_session *session);
int mt_session_status(struct mt_session *session, struct mtrace_status *status);

#endif /* _MT_SESSION_H */
