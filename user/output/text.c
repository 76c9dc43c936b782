// SPDX-License-Identifier: GPL-2.0
/*
 * An indented tree to be read by people: one block a snapshot and thread, a
 * header that says whose it is, then one line a slice with its start and duration
 * in nanoseconds. Digits are grouped by three, so that microseconds and
 * milliseconds stand in columns of their own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/output/format.h"

#define GROUPED_MAX	32	/* bytes of a number with its commas */
#define INDENT		2
/*
 * Deeper slices are not indented further, or a file would grow with the square of
 * the depth; the line says how deep they are.
 */
#define INDENT_LEVELS	100
#define NAME_MAX_BYTES	4096

struct text {
	struct mt_outfile *file;
	const struct mt_snapshot_info *snapshot;
	unsigned int blocks;
	int start_width;
	int duration_width;
};

static void group_digits(uint64_t value, char text[GROUPED_MAX])
{
	char digits[GROUPED_MAX];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	int i;

	for (i = 0; i < len; i++) {
		*text++ = digits[i];
		if ((len - i) % 3 == 1 && i + 1 < len)
			*text++ = ',';
	}
	*text = '\0';
}

static int grouped_width(uint64_t value, int least)
{
	char text[GROUPED_MAX];
	int len;

	group_digits(value, text);
	len = (int)strlen(text);
	return len > least ? len : least;
}

static int text_open(struct mt_outfile *file, void **state)
{
	struct text *text = calloc(1, sizeof(*text));

	if (!text) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	text->file = file;
	*state = text;
	return 0;
}

static int text_snapshot(void *state, const struct mt_snapshot_info *info)
{
	struct text *text = state;

	text->snapshot = info;
	return 0;
}

static int text_name(struct text *text, const char *name)
{
	char clean[NAME_MAX_BYTES];
	size_t len = mt_clean_text(name, clean, sizeof(clean));

	return mt_outfile_write(text->file, clean, len);
}

/* " (trigger fib)" */
static int text_reason(struct text *text)
{
	const struct mt_snapshot_info *info = text->snapshot;
	int err;

	if (!info)
		return 0;
	err = mt_outfile_printf(text->file, " (%s", mt_reason_text(info->reason));
	if (!err && info->reason == MT_REASON_TRIGGER && info->trigger_symbol) {
		err = mt_outfile_write(text->file, " ", 1);
		if (!err)
			err = text_name(text, info->trigger_symbol);
	}
	return err ? err : mt_outfile_write(text->file, ")", 1);
}

static int text_track_begin(void *state, const struct mt_track *track)
{
	static const char start_title[] = "start ns", duration_title[] = "duration ns";
	uint64_t span = track->end_ns - track->begin_ns;
	struct text *text = state;
	char begin[GROUPED_MAX], end[GROUPED_MAX], length[GROUPED_MAX];
	int err;

	group_digits(track->begin_ns, begin);
	group_digits(track->end_ns, end);
	group_digits(span, length);
	text->start_width = grouped_width(track->end_ns, sizeof(start_title) - 1);
	text->duration_width = grouped_width(span, sizeof(duration_title) - 1);

	err = mt_outfile_printf(text->file, "%ssnapshot %" PRIu64, text->blocks++ ? "\n" : "",
				track->snapshot);
	if (!err)
		err = text_reason(text);
	if (!err)
		err = mt_outfile_printf(text->file, " pid %d tid %d ", (int)track->pid,
					(int)track->tid);
	if (!err)
		err = text_name(text, track->thread);
	if (!err && track->state != MT_TRACK_SLICES)
		return mt_outfile_printf(text->file, ": %s\n", track->state == MT_TRACK_IDLE ?
					 "nothing ran" : "nothing could be decoded");
	if (!err)
		err = mt_outfile_printf(text->file, ": %s ns, from %s ns to %s ns\n", length, begin,
					end);
	if (!err)
		err = mt_outfile_printf(text->file, "%*s  %*s  function\n", text->start_width,
					start_title, text->duration_width, duration_title);
	return err;
}

static int text_slice(void *state, const struct mt_slice *slice)
{
	/* [untraced], [syscall] and [lost trace] say it by their names. */
	const uint32_t shown = ~(MT_SLICE_F_UNTRACED | MT_SLICE_F_SYSCALL | MT_SLICE_F_GAP);
	struct text *text = state;
	char start[GROUPED_MAX], duration[GROUPED_MAX];
	char flags[MT_FLAGS_TEXT_MAX];
	int err;

	group_digits(slice->begin_ns, start);
	group_digits(slice->end_ns - slice->begin_ns, duration);
	mt_flags_text(slice->flags & shown, ", ", flags);
	err = mt_outfile_printf(text->file, "%*s  %*s  ", text->start_width, start,
				text->duration_width, duration);
	if (err)
		return err;
	if (slice->depth <= INDENT_LEVELS) {
		err = mt_outfile_pad(text->file, (size_t)slice->depth * INDENT);
	} else {
		err = mt_outfile_pad(text->file, INDENT_LEVELS * INDENT);
		if (!err)
			err = mt_outfile_printf(text->file, "[depth %" PRIu32 "] ", slice->depth);
	}
	if (!err)
		err = text_name(text, slice->fn->name);
	if (!err)
		err = mt_outfile_printf(text->file, "%s%s\n", *flags ? "  -- " : "", flags);
	return err;
}

static int text_nothing(void *state)
{
	(void)state;
	return 0;
}

const struct mt_format mt_format_text = {
	.ending = ".txt",
	.open = text_open,
	.snapshot = text_snapshot,
	.track_begin = text_track_begin,
	.slice = text_slice,
	.track_end = text_nothing,
	.finish = text_nothing,
	.free = free,
};
