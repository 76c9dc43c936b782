/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slices: what the timeline makes of control flow, and what each output format
 * writes. They come whole (begin, end and flags are final) in pre-order: by time
 * of their begin, a caller before what it calls, properly nested within one
 * thread of one snapshot. That a caller which was not seen being called encloses
 * what was seen first is known only at a segment's end; the timeline holds the
 * segment back until then, so that no writer has to.
 */
#ifndef MTRACE_TIMELINE_SLICE_H
#define MTRACE_TIMELINE_SLICE_H

#include <stdint.h>
#include <sys/types.h>

#include "user/image/function.h"

/* mt_slice.flags; the words are those of the CSV's flags column */
#define MT_SLICE_F_NO_CALL	(1U << 0)	/* "no-call": the call was not seen; it
						 * begins at the segment's start */
#define MT_SLICE_F_NO_RETURN	(1U << 1)	/* "no-return": the return was not seen; it
						 * ends at the segment's end */
#define MT_SLICE_F_TAIL_CALL	(1U << 2)	/* "tail-call": entered by a jump */
#define MT_SLICE_F_UNTRACED	(1U << 3)	/* "untraced": [untraced], out of scope */
#define MT_SLICE_F_SYSCALL	(1U << 4)	/* "syscall": [syscall], out of scope */
#define MT_SLICE_F_GAP		(1U << 5)	/* "gap": [lost trace] */
#define MT_SLICE_F_ASYNC	(1U << 6)	/* "async": entered by an interrupt, a signal
						 * or another handler, not by a call */
#define MT_SLICE_F_TRIGGER	(1U << 7)	/* "trigger": the trigger was hit here */

struct mt_slice {
	const struct mt_function *fn;	/* never NULL: pseudo-functions for [...] */
	uint64_t address;		/* where it was entered (or first seen) */
	uint64_t call_site;		/* address of the call or jump, 0 if unknown */
	uint64_t begin_ns;		/* since mt_meta.start_tsc */
	uint64_t end_ns;
	uint32_t depth;			/* 0 is the outermost */
	uint32_t flags;			/* MT_SLICE_F_* */
};

enum mt_track_state {
	MT_TRACK_SLICES,
	MT_TRACK_IDLE,			/* nothing ran in what is traced: no slice */
	MT_TRACK_UNDECODED,		/* nothing is known: no slice either */
};

/* One thread's track in one snapshot. */
struct mt_track {
	uint64_t snapshot;		/* number, from 1 */
	pid_t pid;
	pid_t tid;
	const char *process;		/* names */
	const char *thread;
	uint64_t begin_ns;		/* what was decoded; set by the timeline ... */
	uint64_t end_ns;		/* ... which holds a track back until it ends ... */
	enum mt_track_state state;	/* ... this too; without slices there is no time */
};

struct mt_sink {
	/*
	 * Each returns 0 or -errno (a message has been given). track_begin and
	 * track_end bracket the slices of one track; tracks do not overlap.
	 */
	int (*track_begin)(void *ctx, const struct mt_track *track);
	int (*slice)(void *ctx, const struct mt_slice *slice);
	int (*track_end)(void *ctx);
	void *ctx;
};

#endif /* MTRACE_TIMELINE_SLICE_H */
