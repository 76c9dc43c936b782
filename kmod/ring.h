/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_RING_H
#define _MT_RING_H

#include <linux/compiler.h>
#include <linux/mtrace_sideband.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "lock.h"

/**
 * struct mt_ring - records on their way to a reader
 * @reading: one reader at a time
 * @lock: guards all below but @data and @size; the innermost of all locks
 * @data: where the records are, each at a multiple of 8 and perhaps broken by
 *	the end
 * @size: its bytes, a power of two
 * @head: bytes ever written
 * @tail: bytes ever read
 * @quick: up to where records need no more than to be put: behind it are the
 *	end of @data, that of the room, or a reader to be woken
 * @urgent: where the last record ends that the reader should not wait for
 * @lost: how many records found no room since the last that did ...
 * @lost_from: ... when the first ...
 * @lost_to: ... and the last of them was
 */
struct mt_ring {
	struct mutex reading;	/* of those who read */
	raw_spinlock_t lock;	/* of those who write, on all CPUs */
	u8 *data;
	u32 size;
	u64 head;
	u64 tail;
	u64 quick;
	u64 urgent;
	u64 lost;
	u64 lost_from;
	u64 lost_to;
};

int mt_ring_alloc(struct mt_ring *ring, u32 size);
void mt_ring_free(struct mt_ring *ring);

bool mt_ring_write(struct mt_ring *ring, struct mtrace_record *record,
		   u32 size, const void *more, u32 more_size, bool urgent);

/**
 * mt_ring_begin - begin a record that can be written in place
 * @ring: the ring
 * @size: the size of all of it, a multiple of 8
 *
 * The quick way of mt_ring_write() for what is short and frequent: between this
 * and mt_ring_end() the caller fills all of it in, with the time of then, and
 * does nothing else. To be called with interrupts off.
 *
 * Return: the record; NULL where there is more to do, as mt_ring_write() does.
 */
static __always_inline void *mt_ring_begin(struct mt_ring *ring, u32 size)
{
	mt_lock(&ring->lock);
	if (likely(ring->head + size <= ring->quick))
		return ring->data + (ring->head & (ring->size - 1));
	mt_unlock(&ring->lock);
	return NULL;
}

/**
 * mt_ring_end - end what mt_ring_begin() began
 * @ring: the ring
 * @size: what that was given
 */
static __always_inline void mt_ring_end(struct mt_ring *ring, u32 size)
{
	WRITE_ONCE(ring->head, ring->head + size);
	mt_unlock(&ring->lock);
}

bool mt_ring_is_ready(const struct mt_ring *ring);
ssize_t mt_ring_read(struct mt_ring *ring, char __user *to, size_t count);

#endif /* _MT_RING_H */
