// SPDX-License-Identifier: GPL-2.0
/* In which snapshot each thread ran last; see the header. */
#include "user/record/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/mtrace.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/record/packets.h"

/* A thread's trace in one snapshot, as that has it. */
struct seen {
	uint64_t snapshot;
	struct mt_thread_info thread;	/* .comm is not kept */
};

struct mt_history {
	MT_ARRAY(struct seen) threads;
};

struct mt_history *mt_history_new(void)
{
	return calloc(1, sizeof(struct mt_history));
}

void mt_history_free(struct mt_history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->threads.count; i++)
		free(history->threads.data[i].thread.file);
	mt_array_free(&history->threads);
	free(history);
}

static struct seen *find(const struct mt_history *history, pid_t tid)
{
	for (size_t i = 0; i < history->threads.count; i++) {
		if (history->threads.data[i].thread.tid == tid)
			return &history->threads.data[i];
	}
	return NULL;
}

/* The entry of the thread that hit the trigger, and not of a dead one that had its id. */
static struct mt_thread_info *find_triggered(struct mt_snapshot_info *info)
{
	for (size_t i = 0; i < info->nr_threads; i++) {
		if (info->threads[i].tid == info->trigger_tid &&
		    !(info->threads[i].flags & MTRACE_REGION_EXITED))
			return &info->threads[i];
	}
	return NULL;
}

int mt_history_lend(const struct mt_history *history, const struct mt_recording_writer *w,
		    struct mt_snapshot_info *info, struct mt_piece (*pieces)[2],
		    struct mt_history_loan *loan)
{
	struct mt_thread_info *thread;
	const struct seen *seen;
	int err;

	*loan = (struct mt_history_loan){ 0 };
	if (info->reason != MT_REASON_TRIGGER)
		return 0;
	thread = find_triggered(info);
	seen = thread ? find(history, thread->tid) : NULL;
	if (!seen)
		return 0;
	loan->index = (size_t)(thread - info->threads);
	if (mt_packets_show_code(pieces[loan->index]))
		return 0;
	err = mt_recording_map_written(w, seen->snapshot, seen->thread.file, &loan->bytes,
				       &loan->len);
	if (err)
		return err;
	thread->start_tsc = seen->thread.start_tsc;
	thread->end_tsc = seen->thread.end_tsc;
	thread->flags = seen->thread.flags;
	thread->cpu = seen->thread.cpu;
	pieces[loan->index][0] = (struct mt_piece){ loan->bytes, loan->len };
	pieces[loan->index][1] = (struct mt_piece){ NULL, 0 };
	return 0;
}

static int remember(struct mt_history *history, uint64_t snapshot,
		    const struct mt_thread_info *thread)
{
	struct seen next = { snapshot, *thread }, *seen = find(history, thread->tid);

	next.thread.comm = NULL;
	next.thread.file = strdup(thread->file);
	if (!next.thread.file)
		return -ENOMEM;
	if (seen) {
		free(seen->thread.file);
		*seen = next;
		return 0;
	}
	if (!mt_array_push(&history->threads, next))
		return 0;
	free(next.thread.file);
	return -ENOMEM;
}

/* Its id may be another thread's from now on. */
static void forget(struct mt_history *history, pid_t tid)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->threads.count; i++) {
		struct seen *seen = &history->threads.data[i];

		if (seen->thread.tid == tid)
			free(seen->thread.file);
		else
			history->threads.data[kept++] = *seen;
	}
	history->threads.count = kept;
}

int mt_history_close(struct mt_history *history, const struct mt_snapshot_info *info,
		     const struct mt_piece (*pieces)[2], struct mt_history_loan *loan,
		     bool written)
{
	int err = 0;

	for (size_t i = 0; i < info->nr_threads && written; i++) {
		if (info->threads[i].flags & MTRACE_REGION_EXITED)
			forget(history, info->threads[i].tid);
	}
	for (size_t i = 0; i < info->nr_threads && written && !err; i++) {
		if (info->threads[i].flags & MTRACE_REGION_EXITED)
			continue;
		if (mt_packets_show_code(pieces[i]))
			err = remember(history, info->number, &info->threads[i]);
	}
	if (err)
		mt_error("out of memory for a snapshot");
	mt_recording_unmap(loan->bytes, loan->len);
	*loan = (struct mt_history_loan){ 0 };
	return err;
}
