// SPDX-License-Identifier: GPL-2.0
/*
 * Frames and their slices. Depth is counted from the segment's first frame:
 * callers found later get negative levels, which held.c makes right at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/timeline/frames.h"
#include "user/timeline/names.h"

#define INSN_MAX	15	/* bytes of the longest instruction */

static int check_memory(int err)
{
	if (err)
		mt_error("out of memory");
	return err;
}

int mt_frames_push(struct mt_frames *f, const struct mt_frame *frame, uint64_t call_site,
		   uint32_t flags)
{
	struct mt_frame copy = *frame;
	struct mt_slice slice = {
		.fn = frame->fn,
		.address = frame->entry,
		.call_site = call_site,
		.depth = (uint32_t)((int64_t)f->list.count - f->outer),
		.flags = flags,
	};
	int err;

	err = mt_held_open(f->held, &slice, &copy.slice);
	if (err)
		return err;
	return check_memory(mt_array_push(&f->list, copy));
}

int mt_frames_push_outer(struct mt_frames *f, uint64_t address)
{
	const struct mt_function *fn = f->resolver->find(f->resolver->ctx, address);
	struct mt_frame frame = {
		.fn = fn,
		.at = fn,
		.entry = address,
		.kind = MT_FRAME_RETURNED | MT_FRAME_OLD,
	};
	struct mt_slice slice = {
		.fn = fn,
		.address = address,
		.flags = MT_SLICE_F_NO_CALL,
	};
	int err;

	f->outer++;
	slice.depth = (uint32_t)-(int32_t)f->outer;
	err = mt_held_open_outer(f->held, &slice, &frame.slice);
	if (err)
		return err;
	return check_memory(mt_array_push(&f->list, frame));
}

int mt_frames_pop(struct mt_frames *f)
{
	return mt_held_close(f->held, f->list.data[--f->list.count].slice);
}

int mt_frames_pop_to(struct mt_frames *f, size_t count)
{
	int err = 0;

	while (!err && f->list.count > count)
		err = mt_frames_pop(f);
	return err;
}

int mt_frames_lose(struct mt_frames *f)
{
	size_t i;

	for (i = 0; i < f->list.count; i++)
		mt_held_add_flags(f->held, f->list.data[i].slice, MT_SLICE_F_NO_RETURN);
	return mt_frames_pop_to(f, 0);
}

int mt_frames_replace(struct mt_frames *f, uint64_t address, uint64_t call_site,
		      uint32_t flags, uint32_t kind)
{
	struct mt_frame frame = {
		.fn = f->resolver->find(f->resolver->ctx, address),
		.entry = address,
		.ret = mt_frames_top(f)->ret,
		.kind = kind | (mt_frames_top(f)->kind & (MT_FRAME_HANDLER | MT_FRAME_FAR |
							  MT_FRAME_SYSCALL | MT_FRAME_ASYNC)),
	};
	int err;

	frame.at = frame.fn;
	err = mt_frames_pop(f);
	if (err)
		return err;
	return mt_frames_push(f, &frame, call_site, flags);
}

static bool mark_is_live(const struct mt_frames *f, const struct mt_jump_mark *mark)
{
	return mark->index < f->list.count && f->list.data[mark->index].slice == mark->slice;
}

int mt_frames_mark_jump(struct mt_frames *f, size_t index, uint64_t address)
{
	struct mt_jump_mark mark = {
		.address = address,
		.index = index,
		.slice = f->list.data[index].slice,
	};
	size_t i;

	/* Marks are in the order of their frames: the dead ones are the last. */
	while (f->marks.count && !mark_is_live(f, &f->marks.data[f->marks.count - 1]))
		f->marks.count--;
	for (i = f->marks.count; i-- > 0 && f->marks.data[i].slice == mark.slice;)
		if (f->marks.data[i].address == address)
			return 0;
	return check_memory(mt_array_push(&f->marks, mark));
}

/* How far out a search from @below may go, and pay for it. */
static size_t search_limit(const struct mt_frames *f, size_t below)
{
	return below > f->credit ? below - f->credit : 0;
}

static void search_pay(struct mt_frames *f, size_t frames)
{
	f->credit -= frames < f->credit ? frames : f->credit;
}

size_t mt_frames_by_return(struct mt_frames *f, size_t below, uint64_t address)
{
	size_t limit = search_limit(f, below);
	size_t i;

	for (i = below; i-- > limit;) {
		if (f->list.data[i].ret != address)
			continue;
		search_pay(f, below - i);
		return i;
	}
	search_pay(f, below - limit);
	return MT_FRAMES_NONE;
}

size_t mt_frames_by_function(struct mt_frames *f, size_t below, const struct mt_function *fn)
{
	size_t limit = search_limit(f, below);
	size_t i;

	for (i = below; i-- > limit;) {
		if (f->list.data[i].kind & MT_FRAME_OUT ||
		    !mt_function_same(f->list.data[i].fn, fn))
			continue;
		search_pay(f, below - i);
		return i;
	}
	search_pay(f, below - limit);
	return MT_FRAMES_NONE;
}

size_t mt_frames_by_stop(struct mt_frames *f, size_t below, uint64_t address)
{
	size_t limit = search_limit(f, below);
	size_t i;

	for (i = below; i-- > limit;) {
		if (!mt_frame_resumes(&f->list.data[i], address))
			continue;
		search_pay(f, below - i);
		return i;
	}
	search_pay(f, below - limit);
	return MT_FRAMES_NONE;
}

size_t mt_frames_by_jump(struct mt_frames *f, uint64_t address)
{
	size_t i;

	while (f->marks.count && !mark_is_live(f, &f->marks.data[f->marks.count - 1]))
		f->marks.count--;
	for (i = f->marks.count; i-- > search_limit(f, f->marks.count);)
		if (f->marks.data[i].address == address && mark_is_live(f, &f->marks.data[i]))
			return f->marks.data[i].index;
	return MT_FRAMES_NONE;
}

size_t mt_frames_by_kind(struct mt_frames *f, size_t below, uint32_t kind)
{
	size_t i;

	for (i = below; i-- > 0;)
		if (f->list.data[i].kind & kind)
			return i;
	return MT_FRAMES_NONE;
}

bool mt_frame_resumes(const struct mt_frame *frame, uint64_t address)
{
	return frame->stop && address >= frame->stop && address - frame->stop <= INSN_MAX &&
	       mt_function_holds(frame->at, address);
}
