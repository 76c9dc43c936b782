// SPDX-License-Identifier: GPL-2.0
/*
 * A ring of records of any length
 *
 * Owns how records get from those who make them, in any context and on any
 * CPU, to one reader, whole and in order, and that none is lost uncounted. Does
 * not know what they say, nor wakes anybody.
 *
 * It is one ring for all CPUs, with one lock. The time of a record is taken
 * under that, so their order is that of time, and a loss has its place in it;
 * rings for each CPU would have to be merged by a reader who cannot know
 * whether a CPU that is silent has an older record yet to come. The price is
 * that CPUs which write at the same time wait for each other while some 50
 * bytes are copied.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "ring.h"

/* To be called when anything but the head has changed. The lock is held. */
static void ring_set_quick(struct mt_ring *ring)
{
	u64 room = ring->tail + ring->size;

	if (!mt_ring_is_ready(ring))
		room = ring->tail + ring->size / 4 - 1;
	ring->quick = ring->lost ? 0 : min(room, ALIGN(ring->head + 1, ring->size));
}

/**
 * mt_ring_alloc - make an empty ring
 * @ring: the ring, zeroed
 * @size: its bytes, a power of two
 *
 * Return: 0 or -ENOMEM.
 */
int mt_ring_alloc(struct mt_ring *ring, u32 size)
{
	mutex_init(&ring->reading);
	raw_spin_lock_init(&ring->lock);
	ring->data = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NORETRY |
				    __GFP_NOWARN);
	if (!ring->data)
		return -ENOMEM;
	ring->size = size;
	ring_set_quick(ring);
	return 0;
}

/**
 * mt_ring_free - free a ring's memory
 * @ring: the ring, which nobody writes to or reads
 */
void mt_ring_free(struct mt_ring *ring)
{
	kvfree(ring->data);
	ring->data = NULL;
}

/* The lock is held, and there is room. */
static void ring_put(struct mt_ring *ring, const void *from, u32 size)
{
	u32 at = ring->head & (ring->size - 1);
	u32 first = min(size, ring->size - at);

	memcpy(ring->data + at, from, first);
	memcpy(ring->data, from + first, size - first);
	WRITE_ONCE(ring->head, ring->head + size);
}

static u32 ring_room(const struct mt_ring *ring)
{
	return ring->size - (ring->head - ring->tail);
}

/* Say what was lost, if there is room for that and @more. The lock is held. */
static bool ring_put_lost(struct mt_ring *ring, u32 more)
{
	struct mtrace_record_lost lost = {
		.head.type = MTRACE_RECORD_LOST,
		.head.size = sizeof(lost),
		.head.tsc = ring->lost_to,
		.head.cpu = raw_smp_processor_id(),
		.count = ring->lost,
		.from_tsc = ring->lost_from,
		.to_tsc = ring->lost_to,
	};

	if (ring_room(ring) < sizeof(lost) + more)
		return false;
	ring_put(ring, &lost, sizeof(lost));
	ring->lost = 0;
	WRITE_ONCE(ring->urgent, ring->head);
	return true;
}

/**
 * mt_ring_write - put a record into a ring, or count it as lost
 * @ring: the ring
 * @record: the record; its size and time are filled in
 * @size: how much of it there is, a multiple of 8
 * @more: what comes after that
 * @more_size: how much; zeros make the record a multiple of 8
 * @urgent: whether the reader should be woken for it
 *
 * May be called in any context but an NMI, under any lock.
 *
 * Return: whether the reader is to be woken.
 */
bool mt_ring_write(struct mt_ring *ring, struct mtrace_record *record,
		   u32 size, const void *more, u32 more_size, bool urgent)
{
	static const u8 zeros[8];
	u32 total = size + ALIGN(more_size, 8);
	bool was_ready, wake = false;
	unsigned long flags;

	record->size = total;
	raw_spin_lock_irqsave(&ring->lock, flags);
	was_ready = mt_ring_is_ready(ring);
	record->tsc = rdtsc_ordered();
	if ((ring->lost && !ring_put_lost(ring, total)) ||
	    ring_room(ring) < total) {
		if (!ring->lost++)
			ring->lost_from = record->tsc;
		ring->lost_to = record->tsc;
	} else {
		ring_put(ring, record, size);
		ring_put(ring, more, more_size);
		ring_put(ring, zeros, ALIGN(more_size, 8) - more_size);
		if (urgent)
			WRITE_ONCE(ring->urgent, ring->head);
	}
	wake = !was_ready && mt_ring_is_ready(ring);
	ring_set_quick(ring);
	raw_spin_unlock_irqrestore(&ring->lock, flags);
	return wake;
}

/**
 * mt_ring_is_ready - tell whether it is worth to wake the reader
 * @ring: the ring
 */
bool mt_ring_is_ready(const struct mt_ring *ring)
{
	u64 tail = READ_ONCE(ring->tail);

	return READ_ONCE(ring->urgent) > tail ||
	       READ_ONCE(ring->head) - tail >= ring->size / 4 ||
	       READ_ONCE(ring->lost);
}

/* How much of [tail, head) are whole records that fit in so many bytes. */
static u32 ring_whole(const struct mt_ring *ring, u64 head, size_t count)
{
	u64 at = ring->tail;
	u16 size;

	if (head - at <= count)
		return head - at;
	for (;;) {
		/* Never broken: it is in the first 8 bytes. */
		memcpy(&size, ring->data + (at & (ring->size - 1)) +
			      offsetof(struct mtrace_record, size),
		       sizeof(size));
		if (at - ring->tail + size > count)
			return at - ring->tail;
		at += size;
	}
}

static int ring_copy(const struct mt_ring *ring, char __user *to, u32 size)
{
	u32 at = ring->tail & (ring->size - 1);
	u32 first = min(size, ring->size - at);

	if (copy_to_user(to, ring->data + at, first) ||
	    copy_to_user(to + first, ring->data, size - first))
		return -EFAULT;
	return 0;
}

/**
 * mt_ring_read - take records out of a ring
 * @ring: the ring
 * @to: where to
 * @count: how many bytes there are
 *
 * Return: the bytes that were taken; -EAGAIN where there is no record; -EINVAL
 * where the next does not fit; -EFAULT; -EINTR.
 */
ssize_t mt_ring_read(struct mt_ring *ring, char __user *to, size_t count)
{
	ssize_t ret;
	u64 head;
	u32 size;

	if (mutex_lock_interruptible(&ring->reading))
		return -EINTR;

	raw_spin_lock_irq(&ring->lock);
	if (ring->lost)
		ring_put_lost(ring, 0);
	ring_set_quick(ring);
	head = ring->head;
	raw_spin_unlock_irq(&ring->lock);

	/* What lies before the head is written no more, and the tail is ours. */
	ret = -EAGAIN;
	if (head == ring->tail)
		goto out;
	size = ring_whole(ring, head, count);
	ret = -EINVAL;
	if (!size)
		goto out;
	ret = ring_copy(ring, to, size);
	if (ret)
		goto out;

	raw_spin_lock_irq(&ring->lock);
	WRITE_ONCE(ring->tail, ring->tail + size);
	if (ring->lost)
		ring_put_lost(ring, 0);
	ring_set_quick(ring);
	raw_spin_unlock_irq(&ring->lock);
	ret = size;
out:
	mutex_unlock(&ring->reading);
	return ret;
}
