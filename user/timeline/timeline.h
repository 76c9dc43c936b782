/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timeline of one thread in one snapshot: control flow in, slices out. It
 * composes the call stack (stack.h), the slices held back (held.h) and the
 * clock; it knows nothing of PT packets and of output formats.
 *
 *	mt_timeline_new -> (decoder) mt_timeline_flow ... -> mt_timeline_finish
 *	-> mt_timeline_free
 *
 * Several timelines may be fed at the same time (by several decoders); only
 * mt_timeline_finish() calls the sink.
 */
#ifndef MTRACE_TIMELINE_TIMELINE_H
#define MTRACE_TIMELINE_TIMELINE_H

#include <stdint.h>

#include "user/decode/flow.h"
#include "user/image/function.h"
#include "user/timeline/clock.h"
#include "user/timeline/slice.h"

struct mt_timeline;

struct mt_timeline_config {
	const struct mt_resolver *resolver;	/* used until mt_timeline_free() */
	struct mt_track track;			/* times and state are ignored */
	struct mt_clock clock;
	uint64_t begin_tsc;		/* mt_thread_info.start_tsc, 0 if unknown */
	uint64_t end_tsc;		/* mt_thread_info.end_tsc, 0 if unknown */
	uint64_t trigger_address;	/* of the thread that hit the trigger, else 0 */
};

/*
 * Make an empty timeline. @config is copied, its strings are not. Returns 0,
 * -EINVAL (tsc_khz is 0) or -ENOMEM.
 */
int mt_timeline_new(const struct mt_timeline_config *config, struct mt_timeline **out);

/*
 * Take the next events; @timeline is a struct mt_timeline, the signature that
 * of mt_flow_fn. Returns 0 or -errno (-ENOMEM, or that of a temporary file),
 * after which the timeline can only be freed.
 */
int mt_timeline_flow(void *timeline, const struct mt_flow *events, unsigned int count);

/*
 * Something is in the trace, and none of it could be decoded: the track is not one
 * of a thread that did nothing. To be called before mt_timeline_finish().
 */
void mt_timeline_undecoded(struct mt_timeline *timeline);

/*
 * The trace has ended: end what is open and give the track and all its slices
 * to @sink. Returns 0, or -errno from here or from the sink.
 */
int mt_timeline_finish(struct mt_timeline *timeline, const struct mt_sink *sink);

/* What came out, for a summary. Valid after mt_timeline_finish(). */
struct mt_timeline_stats {
	uint64_t events;
	uint64_t slices;
	uint64_t gaps;			/* [lost trace] slices */
};
void mt_timeline_stats(const struct mt_timeline *timeline, struct mt_timeline_stats *stats);

void mt_timeline_free(struct mt_timeline *timeline);

#endif /* MTRACE_TIMELINE_TIMELINE_H */
