/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slices of one track, held back until all is known of them: who encloses
 * whom, and when each began and ended. Knows nothing of how calls are told from
 * jumps (stack.h does).
 *
 * Time: events of one TSC share the time up to the next one, so the times of
 * a group of such events are settled when its successor comes. Decoded times are
 * lower bounds, and so is every time between two of them that is given out here.
 */
#ifndef MTRACE_TIMELINE_HELD_H
#define MTRACE_TIMELINE_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/array.h"
#include "user/timeline/clock.h"
#include "user/timeline/slice.h"
#include "user/timeline/spool.h"

/* A segment: slices in order of their begin, and the callers found behind them. */
struct mt_held_segment {
	uint64_t first;		/* of its slices */
	uint64_t outer_first;	/* of its callers never seen being called */
	uint64_t outer_count;
};

struct mt_held {
	struct mt_spool slices;
	struct mt_spool outer;	/* each encloses the one before it */
	struct mt_spool marks;	/* ends of slices in the group that is open */
	MT_ARRAY(struct mt_held_segment) segments;

	uint64_t floor_tsc;	/* nothing is before it, nothing ... */
	uint64_t ceiling_tsc;	/* ... behind it; 0: unknown */
	bool started;
	uint64_t tsc;		/* of the open group, 0: not known yet */
	uint64_t inside;	/* instructions since the group's first event */
	uint64_t outside;	/* intervals out of the scope since then */
	uint64_t spacing;	/* between the last two times */
	uint64_t first_tsc;
	uint64_t last_tsc;
	uint64_t gaps;
};

/* The times that bound the track, 0 where unknown. */
void mt_held_init(struct mt_held *held, uint64_t floor_tsc, uint64_t ceiling_tsc);
void mt_held_free(struct mt_held *held);

/*
 * The next event is at @tsc (0: not known), @insns instructions behind the one
 * before; @outside: what lies between was not traced. All that is opened and
 * closed until the next step is at that time.
 */
void mt_held_step(struct mt_held *held, uint64_t tsc, uint32_t insns, bool outside);

/* What follows is a segment of its own. This and the next return 0 or -errno. */
int mt_held_segment(struct mt_held *held);

/*
 * Begin a slice; @slice->depth is relative to the segment's first slice (its
 * callers never seen being called are not counted) and times are ignored. *@id is
 * the name for the calls below.
 */
int mt_held_open(struct mt_held *held, const struct mt_slice *slice, uint64_t *id);

/* Begin a slice that encloses all of the segment so far. */
int mt_held_open_outer(struct mt_held *held, const struct mt_slice *slice, uint64_t *id);

void mt_held_add_flags(struct mt_held *held, uint64_t id, uint32_t flags);
int mt_held_close(struct mt_held *held, uint64_t id);

/* Take back the slice opened last, which must be open and have nothing in it. */
void mt_held_withdraw(struct mt_held *held, uint64_t id);

/* No event follows: settle all times. */
void mt_held_finish(struct mt_held *held);

/* Give all to @sink, in pre-order. */
int mt_held_emit(const struct mt_held *held, const struct mt_clock *clock,
		 const struct mt_track *track, const struct mt_sink *sink);

#endif /* MTRACE_TIMELINE_HELD_H */
