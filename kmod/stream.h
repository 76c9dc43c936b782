/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_STREAM_H
#define _MT_STREAM_H

#include <linux/mtrace.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct mt_region;
struct mt_session;
struct mt_stream_slot;
struct mt_thread;

/**
 * struct mt_stream_loss - what was lost and has not been told yet
 * @any: whether there is anything
 * @bytes: of trace
 * @from: TSC when it began
 */
struct mt_stream_loss {
	bool any;
	u64 bytes;
	u64 from;
};

/**
 * struct mt_stream_thread - a thread's part of it
 * @loss: since its last descriptor
 * @seen: TSC when it was last known to be traced
 * @begun: whether it has had a descriptor
 * @flush: its region is to be handed over whatever is in it
 *
 * Guarded as the rest of struct mt_thread is.
 */
struct mt_stream_thread {
	struct mt_stream_loss loss;
	u64 seen;
	bool begun;
	bool flush;
};

/**
 * struct mt_stream - the descriptors of a session
 * @slots: a ring of them, the one of number n at n modulo their number
 * @nr_slots: how many, a power of two
 * @has_pmi: whether mt_pmi_put() is due
 * @lock: guards all below. Taken with interrupts off, under a thread's lock
 * @head: number of the next that is pushed
 * @cursor: of the next that is read; changed by who has @reading of the session,
 *	and not under this lock
 * @tail: of the next that is released; changed by the same, under this lock
 * @nr_held: regions that are in the ring
 * @nr_unflushed: threads that the last flush found no region for
 * @loss: of threads that are gone and that there was no descriptor for
 * @bytes: handed over
 * @lost_bytes: written and given up
 * @overruns: times that a thread came to the end of its region
 */
struct mt_stream {
	struct mt_stream_slot *slots;
	u64 nr_slots;
	bool has_pmi;

	raw_spinlock_t lock;	/* of all below */
	u64 head;
	u64 cursor;
	u64 tail;
	u32 nr_held;
	u64 nr_unflushed;
	struct mt_stream_loss loss;
	u64 bytes;
	u64 lost_bytes;
	u64 overruns;
};

u64 mt_stream_footprint(u64 nr_regions);
int mt_stream_alloc(struct mt_session *session, bool pmi);
void mt_stream_free(struct mt_session *session);

void mt_stream_stopped(struct mt_thread *thread);
bool mt_stream_retire(struct mt_session *session, struct mt_thread *thread);

void mt_stream_flush(struct mt_session *session);
bool mt_stream_is_waiting(const struct mt_session *session);
int mt_stream_read(struct mt_session *session, struct mtrace_stream_read *arg);
int mt_stream_release(struct mt_session *session,
		      struct mtrace_stream_release *arg);

#endif /* _MT_STREAM_H */
