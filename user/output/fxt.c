// SPDX-License-Identifier: GPL-2.0
/*
 * The Fuchsia trace format (fuchsia.dev, "Fuchsia trace format"), as Perfetto and
 * magic-trace's viewer read it. Slices are pairs of duration events on the track
 * of their thread, whose arguments are:
 *
 *	address		pointer	where the function was entered
 *	object		string	the file it is from
 *	call_site	pointer	where it was called; left out where unknown
 *	flags		string	as in the CSV; left out where there are none
 *	snapshot	uint	the number of the snapshot
 *
 * Their categories are "function", "scope" ([syscall], [untraced]) and "gap". A hit
 * of the trigger is an instant "trigger" besides. All snapshots of a thread are on
 * its one track, at their different times.
 *
 * Times are in ns, and the rate is declared as 10^9 a second: viewers round others.
 * Viewers take the main thread to be the one whose id is that of the process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/output/format.h"
#include "user/output/fxt_tables.h"

#define MAGIC			0x0016547846040010ULL
#define TICKS_PER_SECOND	1000000000ULL
#define STRING_MAX		32000	/* the format's advice; a record holds 32,752 */
#define RECORD_WORDS		64	/* all but string records are shorter */

enum record_type {
	RECORD_INITIALIZATION = 1,
	RECORD_STRING = 2,
	RECORD_THREAD = 3,
	RECORD_EVENT = 4,
	RECORD_KERNEL_OBJECT = 7,
};

enum event_type {
	EVENT_INSTANT = 0,
	EVENT_DURATION_BEGIN = 2,
	EVENT_DURATION_END = 3,
};

enum argument_type {
	ARGUMENT_UINT32 = 2,
	ARGUMENT_UINT64 = 4,
	ARGUMENT_STRING = 6,
	ARGUMENT_POINTER = 7,
	ARGUMENT_KOID = 8,
};

enum object_type {
	OBJECT_PROCESS = 1,
	OBJECT_THREAD = 2,
};

struct fxt {
	struct mt_outfile *file;
	const struct mt_snapshot_info *snapshot;
	struct mt_fxt_strings *strings;
	struct mt_fxt_threads threads;
	MT_ARRAY(uint64_t) ends;	/* of the slices that are open, outermost first */
	uint64_t number;		/* of the snapshot */
	uint64_t pid;
	uint64_t tid;

	int err;			/* of the record being made */
	uint64_t record[RECORD_WORDS];
	size_t words;
};

/* ---- records ---- */

static int write_words(struct fxt *fxt, const uint64_t *words, size_t count)
{
	return mt_outfile_write(fxt->file, words, count * sizeof(*words));
}

static void add_word(struct fxt *fxt, uint64_t word)
{
	fxt->record[fxt->words++] = word;
}

static int write_string_record(struct fxt *fxt, uint16_t index, const char *text)
{
	char padded[STRING_MAX + 8] = { 0 };
	size_t len = mt_clean_text(text, padded, STRING_MAX);
	size_t words = (len + 7) / 8;
	uint64_t header;
	int err;

	header = RECORD_STRING | (uint64_t)(words + 1) << 4 | (uint64_t)index << 16 |
		 (uint64_t)len << 32;
	err = write_words(fxt, &header, 1);
	return err ? err : mt_outfile_write(fxt->file, padded, words * 8);
}

/* Reference to @text, which is put in the reader's table first if need be. */
static uint64_t string_ref(struct fxt *fxt, const char *text)
{
	uint16_t index = 0;
	bool is_new;

	if (!fxt->err)
		fxt->err = mt_fxt_strings_find(fxt->strings, text, &index, &is_new);
	if (!fxt->err && is_new)
		fxt->err = write_string_record(fxt, index, text);
	return index;
}

static uint64_t thread_ref(struct fxt *fxt)
{
	uint64_t record[3] = { RECORD_THREAD | 3 << 4, fxt->pid, fxt->tid };
	uint64_t index;
	bool is_new;

	index = mt_fxt_threads_find(&fxt->threads, fxt->pid, fxt->tid, &is_new);
	record[0] |= index << 16;
	if (!fxt->err && is_new)
		fxt->err = write_words(fxt, record, 3);
	return index;
}

static void add_argument(struct fxt *fxt, enum argument_type type, const char *name,
			 uint64_t value)
{
	const bool in_header = type == ARGUMENT_UINT32 || type == ARGUMENT_STRING;
	uint64_t words = in_header ? 1 : 2;
	uint64_t header = type | words << 4 | string_ref(fxt, name) << 16;

	add_word(fxt, in_header ? header | value << 32 : header);
	if (!in_header)
		add_word(fxt, value);
}

static void add_uint_argument(struct fxt *fxt, const char *name, uint64_t value)
{
	add_argument(fxt, value > UINT32_MAX ? ARGUMENT_UINT64 : ARGUMENT_UINT32, name, value);
}

/* The record's size and number of arguments are known; write it. */
static int finish_record(struct fxt *fxt, uint64_t nr_arguments, unsigned int arguments_at)
{
	if (fxt->err)
		return fxt->err;
	fxt->record[0] |= (uint64_t)fxt->words << 4 | nr_arguments << arguments_at;
	return write_words(fxt, fxt->record, fxt->words);
}

static int finish_event(struct fxt *fxt, uint64_t nr_arguments)
{
	return finish_record(fxt, nr_arguments, 20);
}

static void begin_event(struct fxt *fxt, enum event_type type, const char *category,
			const char *name, uint64_t ns)
{
	mt_fxt_strings_event(fxt->strings);
	fxt->err = 0;
	fxt->words = 0;
	add_word(fxt, RECORD_EVENT | (uint64_t)type << 16 | thread_ref(fxt) << 24 |
		 string_ref(fxt, category) << 32 | string_ref(fxt, name) << 48);
	add_word(fxt, ns);
}

/* ---- names of processes and threads ---- */

/* Done for each track: a thread may have changed its name since its last one. */
static int name_object(struct fxt *fxt, enum object_type type, uint64_t koid, const char *name)
{
	mt_fxt_strings_event(fxt->strings);
	fxt->err = 0;
	fxt->words = 0;
	add_word(fxt, RECORD_KERNEL_OBJECT | (uint64_t)type << 16 | string_ref(fxt, name) << 24);
	add_word(fxt, koid);
	if (type == OBJECT_THREAD)
		add_argument(fxt, ARGUMENT_KOID, "process", fxt->pid);
	return finish_record(fxt, type == OBJECT_THREAD, 40);
}

/* ---- slices ---- */

static int write_end(struct fxt *fxt)
{
	begin_event(fxt, EVENT_DURATION_END, "", "", fxt->ends.data[--fxt->ends.count]);
	return finish_event(fxt, 0);
}

static int write_begin(struct fxt *fxt, const struct mt_slice *slice)
{
	const char *category = "function";
	char flags[MT_FLAGS_TEXT_MAX];
	uint64_t nr = 3;

	if (slice->flags & MT_SLICE_F_GAP)
		category = "gap";
	else if (slice->flags & (MT_SLICE_F_UNTRACED | MT_SLICE_F_SYSCALL))
		category = "scope";
	begin_event(fxt, EVENT_DURATION_BEGIN, category, slice->fn->name, slice->begin_ns);
	add_argument(fxt, ARGUMENT_POINTER, "address", slice->address);
	add_argument(fxt, ARGUMENT_STRING, "object", string_ref(fxt, slice->fn->object));
	if (slice->call_site) {
		add_argument(fxt, ARGUMENT_POINTER, "call_site", slice->call_site);
		nr++;
	}
	if (slice->flags) {
		mt_flags_text(slice->flags, " ", flags);
		add_argument(fxt, ARGUMENT_STRING, "flags", string_ref(fxt, flags));
		nr++;
	}
	add_uint_argument(fxt, "snapshot", fxt->number);
	return finish_event(fxt, nr);
}

static int write_trigger(struct fxt *fxt, const struct mt_slice *slice)
{
	const char *symbol = fxt->snapshot ? fxt->snapshot->trigger_symbol : NULL;

	begin_event(fxt, EVENT_INSTANT, "trigger", "trigger", slice->begin_ns);
	add_argument(fxt, ARGUMENT_STRING, "symbol", string_ref(fxt, symbol ? symbol : ""));
	add_uint_argument(fxt, "snapshot", fxt->number);
	return finish_event(fxt, 2);
}

static int fxt_slice(void *state, const struct mt_slice *slice)
{
	struct fxt *fxt = state;
	int err = 0;

	while (!err && fxt->ends.count > slice->depth)
		err = write_end(fxt);
	if (!err)
		err = write_begin(fxt, slice);
	if (!err && mt_array_push(&fxt->ends, slice->end_ns)) {
		mt_error("out of memory");
		err = -ENOMEM;
	}
	if (!err && slice->flags & MT_SLICE_F_TRIGGER)
		err = write_trigger(fxt, slice);
	return err;
}

static int fxt_track_begin(void *state, const struct mt_track *track)
{
	struct fxt *fxt = state;
	int err;

	fxt->number = track->snapshot;
	fxt->tid = (uint32_t)track->tid;
	/* A thread whose process is not known stands for it. */
	fxt->pid = track->pid ? (uint32_t)track->pid : fxt->tid;
	err = name_object(fxt, OBJECT_PROCESS, fxt->pid, track->process);
	return err ? err : name_object(fxt, OBJECT_THREAD, fxt->tid, track->thread);
}

static int fxt_track_end(void *state)
{
	struct fxt *fxt = state;
	int err = 0;

	while (!err && fxt->ends.count)
		err = write_end(fxt);
	return err;
}

/* ---- the file ---- */

static int fxt_snapshot(void *state, const struct mt_snapshot_info *info)
{
	struct fxt *fxt = state;

	fxt->snapshot = info;
	return 0;
}

static void fxt_free(void *state)
{
	struct fxt *fxt = state;

	mt_fxt_strings_free(fxt->strings);
	mt_array_free(&fxt->ends);
	free(fxt);
}

static int fxt_open(struct mt_outfile *file, void **state)
{
	static const uint64_t head[] = {
		MAGIC,
		RECORD_INITIALIZATION | 2 << 4,
		TICKS_PER_SECOND,
	};
	struct fxt *fxt = calloc(1, sizeof(*fxt));
	int err;

	if (!fxt) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	fxt->file = file;
	*state = fxt;
	err = mt_fxt_strings_new(&fxt->strings);
	return err ? err : write_words(fxt, head, sizeof(head) / sizeof(head[0]));
}

static int fxt_finish(void *state)
{
	(void)state;
	return 0;
}

const struct mt_format mt_format_fxt = {
	.ending = ".fxt",
	.open = fxt_open,
	.snapshot = fxt_snapshot,
	.track_begin = fxt_track_begin,
	.slice = fxt_slice,
	.track_end = fxt_track_end,
	.finish = fxt_finish,
	.free = fxt_free,
};
