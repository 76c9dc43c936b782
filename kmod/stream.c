// SPDX-License-Identifier: GPL-2.0
/*
 * Full execution: regions are handed over as they fill
 *
 * Owns the ring of descriptors by which user space gets regions and gives them
 * back, when a thread's region goes there, and the account of what is lost.
 * Touches no register, and does not know why a thread has stopped.
 *
 * A thread's region is exchanged for a free one when the thread has stopped for
 * any reason - a context switch, a tick (tick.c), the interrupt of PT (pmi.c),
 * a call - and is found more than half full. So the second half is the slack:
 * what the CPU may write between two looks. There are two other ways. One is a
 * ring of the region and the next one, with a whole region of slack; but its
 * tables have to be written anew at each exchange, it holds twice the memory
 * for each thread, and so has no more slack than a region of twice the size.
 * The other is to let the trace wrap; but then what was overwritten cannot be
 * counted. Here a CPU that is not looked after in time stops at the end of the
 * region: nothing is ever overwritten, and what is missing begins where the
 * region ends.
 *
 * Where no region is free, the reader is too slow, and the thread begins anew
 * in its own: what was in it is lost and counted. Every region begins with
 * PSB+, so each descriptor's bytes decode alone.
 *
 * Two of these ways end in a loss, and it is carried by the thread's next
 * descriptor. The last one of a thread has none after it, so there the region
 * is given up rather than the descriptor.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mtrace_netlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "compat.h"
#include "event.h"
#include "member.h"
#include "pmi.h"
#include "session.h"
#include "stream.h"
#include "thread.h"
#include "topa.h"

/* sizeof(struct mtrace_stream_desc) in the first version of the protocol. */
#define MT_DESC_SIZE_FIRST	104

/*
 * How often it is looked how far a thread has got: when a CPU that writes a
 * byte each nanosecond, which is more than any is known to do for long, has
 * written a quarter of the region. Small regions are looked at less often than
 * that: a tick takes microseconds. Where PT's interrupt can be had it could be
 * less often still; but an interrupt that is lost must not be a loss.
 */
#define MT_TICK_US_MAX	4000

static unsigned int tick_us = 250;
module_param(tick_us, uint, 0644);
MODULE_PARM_DESC(tick_us,
		 "Least time between two looks at a thread that streams, in microseconds (default 250)");

/**
 * struct mt_stream_slot - a descriptor in the ring
 * @desc: what is told of it
 * @region: its region, or NULL where it has none
 */
struct mt_stream_slot {
	struct mtrace_stream_desc desc;
	struct mt_region *region;
};

/* One for each region, and as many that have none. */
static u64 stream_nr_slots(u64 nr_regions)
{
	return roundup_pow_of_two(2 * nr_regions);
}

/**
 * mt_stream_footprint - how much memory a stream takes beside its buffer
 * @nr_regions: of the buffer
 *
 * Return: bytes.
 */
u64 mt_stream_footprint(u64 nr_regions)
{
	return stream_nr_slots(nr_regions) * sizeof(struct mt_stream_slot);
}

static u64 stream_tick_ns(u64 region_size)
{
	u64 least = (u64)READ_ONCE(tick_us) * NSEC_PER_USEC;

	return max(min_t(u64, region_size / 4, MT_TICK_US_MAX * NSEC_PER_USEC),
		   max_t(u64, least, NSEC_PER_USEC));
}

/**
 * mt_stream_alloc - make a session one that streams
 * @session: the session, with its buffer and set-up
 * @pmi: whether PT's interrupt can be had
 *
 * Return: 0 or a negative error.
 */
int mt_stream_alloc(struct mt_session *session, bool pmi)
{
	struct mt_stream *stream = &session->stream;
	int ret;

	stream->nr_slots = stream_nr_slots(session->buffer.nr_regions);
	stream->slots = kvcalloc(stream->nr_slots, sizeof(*stream->slots),
				 GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!stream->slots)
		return -ENOMEM;
	if (pmi) {
		ret = mt_pmi_get();
		if (ret) {
			kvfree(stream->slots);
			stream->slots = NULL;
			return ret;
		}
	}
	stream->has_pmi = pmi;
	stream->head = 1;
	stream->cursor = 1;
	stream->tail = 1;
	session->trace.tick_ns = stream_tick_ns(session->buffer.regions[0].size);
	return 0;
}

/**
 * mt_stream_free - undo mt_stream_alloc()
 * @session: the session; none of its threads is traced
 */
void mt_stream_free(struct mt_session *session)
{
	if (session->stream.has_pmi)
		mt_pmi_put();
	session->stream.has_pmi = false;
	kvfree(session->stream.slots);
	session->stream.slots = NULL;
}

/*
 * How many regions must be left free, for threads that are yet to come, when so
 * many of those that there are have gone.
 */
static u32 stream_reserve(const struct mt_session *session, u32 gone)
{
	if (!(session->setup.flags & (MTRACE_SETUP_INHERIT_THREADS |
				      MTRACE_SETUP_INHERIT_PROCESSES)))
		return 0;
	return session->setup.max_threads - READ_ONCE(session->nr_threads) +
	       gone;
}

/* The stream's lock is held, and there is room. */
static void stream_put(struct mt_stream *stream,
		       const struct mtrace_stream_desc *desc,
		       struct mt_region *region)
{
	struct mt_stream_slot *slot;

	slot = &stream->slots[stream->head & (stream->nr_slots - 1)];
	slot->desc = *desc;
	slot->desc.seq = stream->head;
	slot->region = region;
	WRITE_ONCE(stream->head, stream->head + 1);
}

/*
 * Slots that a descriptor without a region may use: as many as there are
 * regions that are not in the ring stay empty. The stream's lock is held.
 */
static u64 stream_spare(const struct mt_session *session)
{
	const struct mt_stream *stream = &session->stream;

	return stream->nr_slots - (stream->head - stream->tail) -
	       (session->buffer.nr_regions - stream->nr_held);
}

/*
 * Tell what was lost of threads that could not tell it themselves, if so many
 * slots are left then. The stream's lock is held.
 */
static void stream_put_loss(struct mt_session *session, u32 left)
{
	struct mt_stream *stream = &session->stream;
	struct mtrace_stream_desc desc = {
		.flags = MTRACE_STREAM_LOST,
		.lost_bytes = stream->loss.bytes,
		.lost_from_tsc = stream->loss.from,
	};

	if (!stream->loss.any || stream_spare(session) <= left)
		return;
	desc.start_tsc = rdtsc_ordered();
	desc.end_tsc = desc.start_tsc;
	desc.lost_to_tsc = desc.start_tsc;
	stream_put(stream, &desc, NULL);
	stream->loss = (struct mt_stream_loss){};
}

static void loss_add(struct mt_stream_loss *loss, u64 bytes, u64 from)
{
	if (!loss->any || from < loss->from)
		loss->from = from;
	loss->any = true;
	loss->bytes += bytes;
}

/*
 * Hand a descriptor over. There is always room for one with a region. For one
 * without there may be none: if it is a thread's last, what it tells of losses
 * then goes to the session's own account. Returns whether there was room.
 */
static bool stream_push(struct mt_session *session,
			const struct mtrace_stream_desc *desc,
			struct mt_region *region)
{
	struct mt_stream *stream = &session->stream;
	unsigned long flags;
	bool room;

	raw_spin_lock_irqsave(&stream->lock, flags);
	stream_put_loss(session, region ? 0 : 1);
	room = region || stream_spare(session);
	if (room)
		stream_put(stream, desc, region);
	else if (desc->flags & MTRACE_STREAM_LAST &&
		 desc->flags & MTRACE_STREAM_LOST)
		loss_add(&stream->loss, desc->lost_bytes, desc->lost_from_tsc);
	if (region) {
		stream->nr_held++;
		stream->bytes += desc->bytes;
	}
	raw_spin_unlock_irqrestore(&stream->lock, flags);
	mt_session_wake(session);
	return room;
}

static void stream_count(struct mt_session *session, u64 *counter, u64 more)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&session->stream.lock, flags);
	*counter += more;
	raw_spin_unlock_irqrestore(&session->stream.lock, flags);
}

/* Bytes of trace in a thread's region; where it stands is beyond doubt. */
static u64 stream_bytes(const struct mt_thread *thread)
{
	u64 pos;

	if (mt_topa_position(&thread->region->topa, &thread->out, &pos))
		return 0;
	return pos;
}

/*
 * Describe what a thread has in its region. A thread that was detached may have
 * no number any more: its region has the one that it had.
 */
static void stream_describe(struct mt_session *session,
			    struct mt_thread *thread, u64 bytes, u64 now,
			    struct mtrace_stream_desc *desc)
{
	struct mt_region *region = thread->region;
	struct mtrace_region *info = &region->info;
	struct mt_stream_thread *mine = &thread->stream;

	if (task_pid_nr_ns(thread->task, session->pid_ns))
		mt_member_name(session, &region->info, thread->task);
	*desc = (struct mtrace_stream_desc){
		.tid = info->tid,
		.pid = info->pid,
		.offset = info->offset,
		.bytes = bytes,
		.start_tsc = info->start_tsc,
		.end_tsc = now,
		.cpu = info->cpu,
		.switches = info->switches,
	};
	memcpy(desc->comm, info->comm, sizeof(desc->comm));

	if (!mine->begun)
		desc->flags |= MTRACE_STREAM_FIRST;
	if (info->flags & MTRACE_REGION_ERROR)
		desc->flags |= MTRACE_STREAM_ERROR;
	if (info->flags & MTRACE_REGION_STOPPED)
		desc->flags |= MTRACE_STREAM_STOPPED;
	if (mt_topa_has_ended(&region->topa, &thread->out))
		desc->flags |= MTRACE_STREAM_OVERRUN;
	if (mine->loss.any) {
		desc->flags |= MTRACE_STREAM_LOST;
		desc->lost_bytes = mine->loss.bytes;
		desc->lost_from_tsc = mine->loss.from;
		desc->lost_to_tsc = info->start_tsc;
	}
	mine->begun = true;
	mine->loss = (struct mt_stream_loss){};
}

static void stream_lose(struct mt_session *session, struct mt_thread *thread,
			u64 bytes)
{
	stream_count(session, &session->stream.lost_bytes, bytes);
	mt_event_loss(session->setup.session, MTRACE_NL_LOSS_STREAM, bytes,
		      thread->task->pid);
}

/* Begin anew in the same region, and lose what is in it. */
static void stream_drop(struct mt_session *session, struct mt_thread *thread,
			u64 bytes)
{
	struct mt_region *region = thread->region;

	loss_add(&thread->stream.loss, bytes, region->info.start_tsc);
	stream_lose(session, thread, bytes);
	/*
	 * Bytes may be left behind those that will count: when the region is
	 * cleaned it must be so to its end.
	 */
	region->info.flags = MTRACE_REGION_WRAPPED;
	region->info.switches = 0;
	mt_thread_give(thread, region, rdtsc_ordered());
}

/* Exchange a thread's region, which has so many bytes, for a fresh one. */
static void stream_hand_over(struct mt_session *session,
			     struct mt_thread *thread,
			     struct mt_region *fresh, u64 bytes)
{
	struct mt_region *old = thread->region;
	u64 now = rdtsc_ordered();
	struct mtrace_stream_desc desc;

	stream_describe(session, thread, bytes, now, &desc);
	old->info.end_tsc = now;
	old->end = thread->out;
	fresh->info.tid = old->info.tid;
	fresh->info.pid = old->info.pid;
	fresh->info.cpu = old->info.cpu;
	memcpy(fresh->info.comm, old->info.comm, sizeof(fresh->info.comm));
	mt_thread_give(thread, fresh, now);
	stream_push(session, &desc, old);
}

/* Tell what a thread has lost that has nothing to hand over. */
static void stream_tell(struct mt_session *session, struct mt_thread *thread)
{
	const struct mt_stream_thread before = thread->stream;
	struct mtrace_stream_desc desc;

	stream_describe(session, thread, 0, thread->region->info.start_tsc,
			&desc);
	desc.offset = 0;
	if (!stream_push(session, &desc, NULL))
		thread->stream = before;
}

/**
 * mt_stream_stopped - look how far a thread has got
 * @thread: the thread, which has just been stopped, or does not run; its lock
 *	is held
 */
void mt_stream_stopped(struct mt_thread *thread)
{
	struct mt_session *session = mt_session_of(thread->trace);
	struct mt_stream_thread *mine = &thread->stream;
	struct mt_region *region = thread->region;
	bool ended = mt_topa_has_ended(&region->topa, &thread->out);
	bool error = mt_hw_has_error(&thread->out);
	bool flush = mine->flush;
	struct mt_region *fresh;
	u64 seen = max(mine->seen, region->info.start_tsc);
	u64 bytes;

	mine->flush = false;
	mine->seen = rdtsc_ordered();
	if (!ended && !error && !flush) {
		/* What came to a range that stops the trace stays stopped. */
		if (mt_hw_has_stopped(&thread->out) ||
		    !mt_topa_is_half_full(&region->topa, &thread->out))
			return;
	}

	if (ended)
		stream_count(session, &session->stream.overruns, 1);
	bytes = stream_bytes(thread);
	fresh = NULL;
	if (bytes)
		fresh = mt_buffer_get(&session->buffer, region->info.cpu,
				      stream_reserve(session, 0));
	if (fresh)
		stream_hand_over(session, thread, fresh, bytes);
	else if (bytes && (ended || error || !flush))
		stream_drop(session, thread, bytes);
	else if (bytes)
		/* Nobody has to lose anything for a flush. */
		stream_count(session, &session->stream.nr_unflushed, 1);
	else if (error)
		/* What comes now comes behind the loss. */
		mt_thread_give(thread, region, mine->seen);
	else if (flush && mine->loss.any)
		stream_tell(session, thread);
	/* The CPU gave up at some time since the last look. */
	if (ended || error)
		loss_add(&mine->loss, 0, seen);
}

/**
 * mt_stream_retire - hand over the last that a thread has written
 * @session: the session, whose lock is held
 * @thread: the thread, which is not in the table and on no CPU any more, and
 *	whose region is named
 *
 * The region is given up where it is wanted for threads to come. What was lost
 * is told in any case.
 *
 * Return: whether the region is in the ring; otherwise it is the caller's.
 */
bool mt_stream_retire(struct mt_session *session, struct mt_thread *thread)
{
	u32 spare = mt_buffer_nr_free(&session->buffer) + session->nr_dirty;
	u64 bytes = stream_bytes(thread), now = rdtsc_ordered();
	struct mt_region *region = thread->region;
	struct mtrace_stream_desc desc;
	bool keep;

	region->info.end_tsc = now;
	region->end = thread->out;
	if (!bytes && !thread->stream.begun && !thread->stream.loss.any)
		return false;

	keep = bytes && spare >= stream_reserve(session, 1);
	if (bytes && !keep) {
		loss_add(&thread->stream.loss, bytes, region->info.start_tsc);
		stream_lose(session, thread, bytes);
	}
	stream_describe(session, thread, keep ? bytes : 0, now, &desc);
	desc.flags |= MTRACE_STREAM_LAST;
	if (!keep) {
		desc.start_tsc = now;
		desc.offset = 0;
		if (desc.flags & MTRACE_STREAM_LOST)
			desc.lost_to_tsc = now;
	}
	stream_push(session, &desc, keep ? region : NULL);
	return keep;
}

/**
 * mt_stream_flush - hand over what all threads have written
 * @session: the session, whose mutex is held
 */
void mt_stream_flush(struct mt_session *session)
{
	struct mt_thread_bucket *bucket;
	struct mt_thread *thread;
	u32 i;

	raw_spin_lock_irq(&session->stream.lock);
	session->stream.nr_unflushed = 0;
	raw_spin_unlock_irq(&session->stream.lock);

	cpumask_clear(session->cpus);
	for (i = 0; i < session->setup.max_threads; i++) {
		thread = &session->threads[i];
		if (!READ_ONCE(thread->task))
			continue;
		raw_spin_lock_irq(&session->lock);
		if (!thread->task) {
			raw_spin_unlock_irq(&session->lock);
			continue;
		}
		bucket = thread->bucket;
		raw_spin_lock(&bucket->lock);
		thread->stream.flush = true;
		if (thread->cpu >= 0)
			cpumask_set_cpu(thread->cpu, session->cpus);
		else
			mt_stream_stopped(thread);
		raw_spin_unlock(&bucket->lock);
		raw_spin_unlock_irq(&session->lock);
	}
	on_each_cpu_mask(session->cpus, mt_thread_sync, NULL, true);
}

/**
 * mt_stream_is_waiting - whether there is a descriptor to be read
 * @session: a session; may be one that is not set up or does not stream
 */
bool mt_stream_is_waiting(const struct mt_session *session)
{
	const struct mt_stream *stream = &session->stream;

	return READ_ONCE(stream->head) != READ_ONCE(stream->cursor);
}

/**
 * mt_stream_read - copy out the descriptors that were not read yet
 * @session: the session
 * @arg: how many, and where to; completed
 *
 * Called with the session's mutex of those who read: until that is released
 * nobody else reads or releases descriptors.
 *
 * Return: 0, -EINVAL, -EINTR, or -EFAULT, and then none counts as read.
 */
int mt_stream_read(struct mt_session *session, struct mtrace_stream_read *arg)
{
	size_t size = min_t(size_t, arg->desc_size,
			    sizeof(struct mtrace_stream_desc));
	u8 __user *to = u64_to_user_ptr(arg->descs);
	struct mt_stream *stream = &session->stream;
	struct mt_stream_slot *slot;
	u64 seq, end, head;
	int ret;

	/* With the release in mt_session_setup(). */
	if (!smp_load_acquire(&session->ready) || !stream->slots ||
	    arg->flags & ~MTRACE_STREAM_READ_FLAGS_ALL || arg->pad ||
	    arg->desc_size % sizeof(u64) ||
	    arg->desc_size < MT_DESC_SIZE_FIRST || arg->desc_size > PAGE_SIZE)
		return -EINVAL;
	arg->nr_unflushed = 0;
	ret = mt_session_lock(session);
	if (ret)
		return ret;
	if (arg->flags & MTRACE_STREAM_FLUSH)
		mt_stream_flush(session);

	raw_spin_lock_irq(&stream->lock);
	head = stream->head;
	if (arg->flags & MTRACE_STREAM_FLUSH)
		arg->nr_unflushed = stream->nr_unflushed;
	raw_spin_unlock_irq(&stream->lock);
	mutex_unlock(&session->mutex);

	/* None of these changes until it is released, by another call. */
	end = min_t(u64, head, stream->cursor + arg->count);
	for (seq = stream->cursor; seq < end; seq++) {
		slot = &stream->slots[seq & (stream->nr_slots - 1)];
		if (copy_to_user(to, &slot->desc, size) ||
		    clear_user(to + size, arg->desc_size - size))
			return -EFAULT;
		to += arg->desc_size;
		if (seq % 64 == 63)
			cond_resched();
	}
	arg->count = end - stream->cursor;
	arg->nr_waiting = head - end;
	WRITE_ONCE(stream->cursor, end);
	return 0;
}

/**
 * mt_stream_release - take back regions that the reader is done with
 * @session: the session
 * @arg: which
 *
 * Return: 0 or -EINVAL.
 */
int mt_stream_release(struct mt_session *session,
		      struct mtrace_stream_release *arg)
{
	struct mt_stream *stream = &session->stream;
	struct mt_region *region;
	u64 end;

	if (!session->ready || !stream->slots || arg->flags || arg->pad ||
	    !arg->count || arg->seq != stream->tail ||
	    arg->count > stream->cursor - stream->tail)
		return -EINVAL;

	/* One at a time: the thread may be waiting for it. */
	for (end = arg->seq + arg->count; stream->tail < end;) {
		raw_spin_lock_irq(&session->lock);
		raw_spin_lock(&stream->lock);
		region = stream->slots[stream->tail &
				       (stream->nr_slots - 1)].region;
		stream->tail++;
		if (region)
			stream->nr_held--;
		raw_spin_unlock(&stream->lock);
		if (region) {
			list_add_tail(&region->link, &session->dirty);
			session->nr_dirty++;
		}
		raw_spin_unlock_irq(&session->lock);
		mt_member_clean(session);
	}

	raw_spin_lock_irq(&stream->lock);
	stream_put_loss(session, 0);
	raw_spin_unlock_irq(&stream->lock);
	return 0;
}
