/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader of what a session hands over: it keeps all that it was given, with
 * the account of what was lost.
 */
#ifndef MT_TEST_READER_H
#define MT_TEST_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/mtrace.h>

#include "harness.h"
#include "load.h"
#include "walk.h"

/* What is wrong for want of a timely timer, on a busy host, is tried again. */
#define TRIES	100

/**
 * struct piece - what one descriptor gave
 * @desc: the descriptor
 * @bytes: its bytes, copied
 */
struct piece {
	struct mtrace_stream_desc desc;
	uint8_t *bytes;
};

/**
 * struct reader - all that was read of a session
 * @s: the session
 * @pieces: what was read
 * @nr: how many
 * @released: how many were released
 */
struct reader {
	struct session *s;
	struct piece *pieces;
	uint64_t nr, released;
};

/* A session that streams, of so many threads with so many regions each. */
struct mtrace_setup stream_setup(uint64_t region_size, uint32_t threads,
				 uint32_t regions);

int try_read(int fd, struct mtrace_stream_desc *descs, uint32_t room,
	     uint32_t flags, struct mtrace_stream_read *arg);
int try_release(int fd, uint64_t seq, uint32_t count);

/* Whether there is a descriptor to be read. */
bool is_waiting(struct session *s);
/* Read what there is, and release it; returns how many there were. */
uint32_t take(struct reader *r, uint32_t flags);
void reader_end(struct reader *r);

/* One round of the load, read while it goes on. */
void read_round(struct reader *r, struct load *load);

/*
 * Rounds of a load that nobody reads, until so many regions are handed over.
 * One does, unless the timer is all there is to hand them over and comes late:
 * the trace waits for it at the end of a region. Returns how many it took.
 */
uint32_t fill(struct session *s, struct load *load, uint32_t held);

/* Begin with a tick that never comes. */
void begin_without_tick(struct session *s, struct mtrace_setup setup,
			const struct load *load);

/*
 * Follow a thread's walks through all that was read. Losses must be told where
 * the walk is not whole, and be where they are told.
 */
struct walk follow(const struct reader *r, pid_t tid, uint32_t seed);
/* Stop, read what is left, and follow the load's first thread through all. */
struct walk follow_to_end(struct reader *r, const struct load *load);
/* That the session's counts are what its descriptors say. */
void check_counts(const struct reader *r);

#endif
