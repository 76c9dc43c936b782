// SPDX-License-Identifier: GPL-2.0
/*
 * Comma-separated values, one line a slice, for other programs. Quoting is that
 * of RFC 4180: a field with a comma, a quote or an end of line is put in quotes,
 * quotes in it are doubled; lines end with LF. Names are given byte by byte as
 * they are. Addresses are hex with 0x; flags are separated by one blank, and
 * empty where there are none.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/output/format.h"

struct csv {
	struct mt_outfile *file;
	struct mt_track track;
};

static int csv_open(struct mt_outfile *file, void **state)
{
	struct csv *csv = calloc(1, sizeof(*csv));

	if (!csv) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	csv->file = file;
	*state = csv;
	return mt_outfile_printf(file, "snapshot,pid,tid,depth,start_ns,duration_ns,"
				       "function,object,address,flags\n");
}

static int csv_snapshot(void *state, const struct mt_snapshot_info *info)
{
	(void)state;
	(void)info;
	return 0;
}

static int csv_track_begin(void *state, const struct mt_track *track)
{
	struct csv *csv = state;

	csv->track = *track;
	return 0;
}

static int csv_field(struct csv *csv, const char *text)
{
	const char *quote;
	int err;

	if (!strpbrk(text, ",\"\r\n"))
		return mt_outfile_printf(csv->file, "%s,", text);
	err = mt_outfile_write(csv->file, "\"", 1);
	while (!err && (quote = strchr(text, '"'))) {
		err = mt_outfile_write(csv->file, text, (size_t)(quote + 1 - text));
		if (!err)
			err = mt_outfile_write(csv->file, "\"", 1);
		text = quote + 1;
	}
	return err ? err : mt_outfile_printf(csv->file, "%s\",", text);
}

static int csv_slice(void *state, const struct mt_slice *slice)
{
	struct csv *csv = state;
	char flags[MT_FLAGS_TEXT_MAX];
	int err;

	mt_flags_text(slice->flags, " ", flags);
	err = mt_outfile_printf(csv->file,
				"%" PRIu64 ",%d,%d,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",",
				csv->track.snapshot, (int)csv->track.pid, (int)csv->track.tid,
				slice->depth, slice->begin_ns, slice->end_ns - slice->begin_ns);
	if (!err)
		err = csv_field(csv, slice->fn->name);
	if (!err)
		err = csv_field(csv, slice->fn->object);
	if (!err)
		err = mt_outfile_printf(csv->file, "0x%" PRIx64 ",%s\n", slice->address, flags);
	return err;
}

static int csv_nothing(void *state)
{
	(void)state;
	return 0;
}

const struct mt_format mt_format_csv = {
	.ending = ".csv",
	.open = csv_open,
	.snapshot = csv_snapshot,
	.track_begin = csv_track_begin,
	.slice = csv_slice,
	.track_end = csv_nothing,
	.finish = csv_nothing,
	.free = free,
};
