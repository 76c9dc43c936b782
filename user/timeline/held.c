// SPDX-License-Identifier: GPL-2.0
/*
 * Held slices. A slice's two times are written when the group of events that it
 * began or ended in is closed: until then a mark says which field of which slice
 * waits for which point of the group.
 *
 * Within a group the time goes to the instructions in proportion to their number.
 * Where a part of the group was out of the scope (a syscall, a gap), nothing
 * tells how long that took; instructions then get a tick each, as far as that
 * goes, and the rest is the time out of the scope: it is what takes long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/timeline/held.h"

#define OUTER	(1ULL << 63)	/* in an id: in held->outer */

struct record {
	const struct mt_function *fn;
	uint64_t address;
	uint64_t call_site;
	uint64_t begin;
	uint64_t end;
	int32_t level;
	uint32_t flags;
};

struct mark {
	uint64_t slice;		/* index * 2, + 1: its end */
	uint64_t inside;
	uint64_t outside;
};

/* How the time of a group is divided. */
struct division {
	uint64_t start;
	uint64_t span;
	uint64_t inside;
	uint64_t outside;
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t scale(uint64_t span, uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return (uint64_t)((unsigned __int128)span * part / whole);
}

static uint64_t division_at(const struct division *d, uint64_t inside, uint64_t outside)
{
	if (d->outside && d->span > d->inside)
		return d->start + inside + scale(d->span - d->inside, outside, d->outside);
	return d->start + scale(d->span, inside, d->inside);
}

static struct record *record_of(const struct mt_held *held, uint64_t id)
{
	if (id & OUTER)
		return mt_spool_at(&held->outer, id & ~OUTER);
	return mt_spool_at(&held->slices, id);
}

static uint64_t *mark_target(const struct mt_held *held, uint64_t slice)
{
	struct record *r = record_of(held, (slice & OUTER) | (slice & ~OUTER) >> 1);

	return slice & 1 ? &r->end : &r->begin;
}

static void settle(struct mt_held *held, const struct division *d)
{
	const struct mark *mark;
	uint64_t i;

	for (i = 0; i < held->marks.count; i++) {
		mark = mt_spool_at(&held->marks, i);
		*mark_target(held, mark->slice) = division_at(d, mark->inside, mark->outside);
	}
	held->marks.count = 0;
}

/* The group's successor is at @tsc, and what leads to it is in inside, outside. */
static void close_group(struct mt_held *held, uint64_t tsc)
{
	struct division d = { .inside = held->inside, .outside = held->outside };

	if (held->tsc) {
		d.start = held->tsc;
		d.span = tsc - held->tsc;
		held->spacing = d.span;
	} else {
		/* Before the first time that is known: count back from it. */
		d.span = held->inside;
		if (tsc > held->floor_tsc)
			d.span = min_u64(d.span, tsc - held->floor_tsc);
		else
			d.span = 0;
		d.start = tsc - d.span;
		held->first_tsc = d.start;
	}
	settle(held, &d);
}

/*
 * Nothing follows the last group: no more than a tick an instruction, than the
 * spacing of the times before, and than the track has.
 */
static void close_last_group(struct mt_held *held)
{
	struct division d = {
		.start = held->tsc,
		.span = held->inside,
		.inside = held->inside,
	};

	if (!held->tsc) {
		d.start = held->floor_tsc;
		held->first_tsc = d.start;
	} else {
		if (held->spacing)
			d.span = min_u64(d.span, held->spacing);
		if (held->ceiling_tsc > d.start)
			d.span = min_u64(d.span, held->ceiling_tsc - d.start);
	}
	settle(held, &d);
	held->last_tsc = d.start + d.span;
}

static int push_mark(struct mt_held *held, uint64_t slice)
{
	struct mark *mark;
	void *at;
	int err;

	err = mt_spool_push(&held->marks, &at);
	if (err)
		return err;
	mark = at;
	mark->slice = slice;
	mark->inside = held->inside;
	mark->outside = held->outside;
	return 0;
}

static void fill(struct record *r, const struct mt_slice *slice)
{
	r->fn = slice->fn;
	r->address = slice->address;
	r->call_site = slice->call_site;
	r->begin = 0;
	r->end = 0;
	r->level = (int32_t)slice->depth;
	r->flags = slice->flags;
}

void mt_held_init(struct mt_held *held, uint64_t floor_tsc, uint64_t ceiling_tsc)
{
	memset(held, 0, sizeof(*held));
	mt_spool_init(&held->slices, sizeof(struct record));
	mt_spool_init(&held->outer, sizeof(struct record));
	mt_spool_init(&held->marks, sizeof(struct mark));
	held->floor_tsc = floor_tsc;
	held->ceiling_tsc = ceiling_tsc;
}

void mt_held_free(struct mt_held *held)
{
	mt_spool_free(&held->slices);
	mt_spool_free(&held->outer);
	mt_spool_free(&held->marks);
	mt_array_free(&held->segments);
}

void mt_held_step(struct mt_held *held, uint64_t tsc, uint32_t insns, bool outside)
{
	if (!held->started) {
		held->started = true;
		held->tsc = tsc;
		held->first_tsc = tsc;
		return;
	}
	if (outside)
		held->outside++;
	else
		held->inside += insns ? insns : 1;
	if (tsc <= held->tsc)
		return;
	close_group(held, tsc);
	held->tsc = tsc;
	held->inside = 0;
	held->outside = 0;
}

int mt_held_segment(struct mt_held *held)
{
	struct mt_held_segment segment = {
		.first = held->slices.count,
		.outer_first = held->outer.count,
	};
	int err;

	err = mt_array_push(&held->segments, segment);
	if (err)
		mt_error("out of memory");
	return err;
}

int mt_held_open(struct mt_held *held, const struct mt_slice *slice, uint64_t *id)
{
	void *at;
	int err;

	err = mt_spool_push(&held->slices, &at);
	if (err)
		return err;
	fill(at, slice);
	*id = held->slices.count - 1;
	if (slice->flags & MT_SLICE_F_GAP)
		held->gaps++;
	return push_mark(held, *id << 1);
}

int mt_held_open_outer(struct mt_held *held, const struct mt_slice *slice, uint64_t *id)
{
	void *at;
	int err;

	err = mt_spool_push(&held->outer, &at);
	if (err)
		return err;
	fill(at, slice);
	/* Its begin is that of the segment's first slice: see mt_held_emit(). */
	*id = (held->outer.count - 1) | OUTER;
	held->segments.data[held->segments.count - 1].outer_count++;
	return 0;
}

void mt_held_add_flags(struct mt_held *held, uint64_t id, uint32_t flags)
{
	record_of(held, id)->flags |= flags;
}

int mt_held_close(struct mt_held *held, uint64_t id)
{
	return push_mark(held, (id & OUTER) | (id & ~OUTER) << 1 | 1);
}

void mt_held_withdraw(struct mt_held *held, uint64_t id)
{
	const struct mark *mark;

	held->slices.count = id;
	if (!held->marks.count)
		return;
	mark = mt_spool_at(&held->marks, held->marks.count - 1);
	if (mark->slice == id << 1)
		held->marks.count--;
}

void mt_held_finish(struct mt_held *held)
{
	if (held->started)
		close_last_group(held);
}

static int emit_one(const struct record *r, uint64_t begin, uint64_t levels,
		    const struct mt_clock *clock, const struct mt_sink *sink)
{
	struct mt_slice slice = {
		.fn = r->fn,
		.address = r->address,
		.call_site = r->call_site,
		.begin_ns = mt_clock_ns(clock, begin),
		.end_ns = mt_clock_ns(clock, r->end),
		.depth = (uint32_t)((int64_t)levels + r->level),
		.flags = r->flags,
	};

	return sink->slice(sink->ctx, &slice);
}

static int emit_segment(const struct mt_held *held, const struct mt_held_segment *segment,
			uint64_t end, const struct mt_clock *clock, const struct mt_sink *sink)
{
	uint64_t levels = segment->outer_count;
	const struct record *r;
	uint64_t begin;
	uint64_t i;
	int err;

	if (segment->first == end)
		return 0;
	r = mt_spool_at(&held->slices, segment->first);
	begin = r->begin;
	for (i = segment->outer_count; i-- > 0;) {
		r = mt_spool_at(&held->outer, segment->outer_first + i);
		err = emit_one(r, begin, levels, clock, sink);
		if (err)
			return err;
	}
	for (i = segment->first; i < end; i++) {
		r = mt_spool_at(&held->slices, i);
		err = emit_one(r, r->begin, levels, clock, sink);
		if (err)
			return err;
	}
	return 0;
}

int mt_held_emit(const struct mt_held *held, const struct mt_clock *clock,
		 const struct mt_track *track, const struct mt_sink *sink)
{
	struct mt_track whole = *track;
	uint64_t end;
	size_t i;
	int err;

	whole.begin_ns = mt_clock_ns(clock, held->first_tsc);
	whole.end_ns = mt_clock_ns(clock, held->last_tsc);
	err = sink->track_begin(sink->ctx, &whole);
	for (i = 0; !err && i < held->segments.count; i++) {
		end = i + 1 < held->segments.count ? held->segments.data[i + 1].first
						   : held->slices.count;
		err = emit_segment(held, &held->segments.data[i], end, clock, sink);
	}
	if (err)
		return err;
	return sink->track_end(sink->ctx);
}
