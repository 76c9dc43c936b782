// SPDX-License-Identifier: GPL-2.0
/* A snapshot from the device to the recording; see the header. */
#include "user/record/extract.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"

void mt_extract_pieces(const uint8_t *buffer, uint64_t region_size,
		       const struct mtrace_region *region, struct mt_piece pieces[2])
{
	const uint8_t *bytes = buffer + region->offset;

	pieces[0] = (struct mt_piece){ bytes, region->valid };
	pieces[1] = (struct mt_piece){ NULL, 0 };
	if (!(region->flags & MTRACE_REGION_WRAPPED))
		return;
	/* It goes on at its start when it has reached its end: the oldest byte is at head. */
	pieces[0] = (struct mt_piece){ bytes + region->head, region_size - region->head };
	pieces[1] = (struct mt_piece){ bytes, region->head };
}

/* True if the region lies in the buffer: the module is trusted, but not blindly. */
static bool region_is_sound(const struct mt_device *dev, const struct mtrace_region *region)
{
	uint64_t size = dev->setup.region_size;

	return region->offset <= dev->setup.buffer_size &&
	       size <= dev->setup.buffer_size - region->offset && region->head <= size &&
	       region->valid <= size;
}

static int fill_thread(struct mt_thread_info *thread, const struct mtrace_region *region)
{
	char comm[sizeof(region->comm) + 1] = "";

	memcpy(comm, region->comm, sizeof(region->comm));
	thread->comm = strdup(comm);
	if (!thread->comm)
		return -ENOMEM;
	thread->pid = region->pid;
	thread->tid = region->tid;
	thread->start_tsc = region->start_tsc;
	thread->end_tsc = region->end_tsc;
	thread->flags = region->flags;
	thread->cpu = region->cpu;
	return 0;
}

static int fill_threads(const struct mt_device *dev, const struct mtrace_region *regions,
			size_t count, struct mt_snapshot_info *info, struct mt_piece (*pieces)[2])
{
	int err;

	for (size_t i = 0; i < count; i++) {
		if (!region_is_sound(dev, &regions[i])) {
			mt_error("the module described a region outside of its buffer (offset "
				 "0x%" PRIx64 ", %" PRIu64 " bytes): this is a bug",
				 (uint64_t)regions[i].offset, (uint64_t)regions[i].valid);
			return -EIO;
		}
		err = fill_thread(&info->threads[info->nr_threads++], &regions[i]);
		if (err) {
			mt_error("out of memory for a snapshot");
			return err;
		}
		mt_extract_pieces(dev->buffer, dev->setup.region_size, &regions[i], pieces[i]);
	}
	return 0;
}

/* The maps as they are; as they were, if the process is gone meanwhile. */
static int fill_process(const struct mt_extract *x, struct mt_snapshot_info *info)
{
	int err = 0;

	/* After an exec the maps are another program's. */
	if (!x->execed)
		err = x->tid ? mt_code_read(x->code, x->pid, x->tid, MT_CODE_ALL, x->writer) :
			       -ESRCH;
	if (err && err != -ESRCH)
		return err;
	if (err)
		mt_warn("the program was gone before its memory map could be read: the last one "
			"known is used, and code of libraries may be missing from the trace");
	info->processes = calloc(1, sizeof(*info->processes));
	err = info->processes ? mt_code_copy(x->code, info->processes) : -ENOMEM;
	if (!err)
		info->nr_processes = 1;
	else if (err == -ENOMEM)
		mt_error("out of memory for a snapshot");
	return err == -ENOENT ? 0 : err;
}

/* An exec has changed the name already of the thread that is left. */
static int name_as_before(struct mt_snapshot_info *info)
{
	for (size_t i = 0; i < info->nr_threads && info->nr_processes; i++) {
		struct mt_thread_info *thread = &info->threads[i];
		char *comm;

		if (thread->flags & MTRACE_REGION_EXITED)
			continue;
		comm = strdup(info->processes[0].comm);
		if (!comm) {
			mt_error("out of memory for a snapshot");
			return -ENOMEM;
		}
		free(thread->comm);
		thread->comm = comm;
	}
	return 0;
}

static int write_snapshot(struct mt_recording_writer *w, struct mt_history *history,
			  struct mt_snapshot_info *info, struct mt_piece (*pieces)[2])
{
	struct mt_history_loan loan;
	int err, close_err;

	err = mt_history_lend(history, w, info, pieces, &loan);
	if (err)
		return err;
	err = mt_recording_add_snapshot(w, info, (const struct mt_piece (*)[2])pieces);
	close_err = mt_history_close(history, info, (const struct mt_piece (*)[2])pieces, &loan,
				     !err);
	return err ? err : close_err;
}

int mt_extract_snapshot(const struct mt_extract *x, const struct mtrace_snapshot *snapshot,
			struct mt_snapshot_info *info)
{
	struct mtrace_region *regions = NULL;
	struct mt_piece (*pieces)[2] = NULL;
	size_t count = 0;
	int err, release_err;

	info->tsc = snapshot->tsc;
	info->tsc_end = snapshot->tsc_end;
	info->nr_unswitched = snapshot->nr_unswitched;
	if (snapshot->nr_unswitched)
		mt_warn("%u threads are missing from this snapshot: there was no memory for them",
			snapshot->nr_unswitched);

	err = fill_process(x, info);
	if (!err)
		err = mt_device_describe(x->dev, snapshot->id, &regions, &count);
	if (err)
		goto release;
	info->threads = calloc(count ? count : 1, sizeof(*info->threads));
	pieces = calloc(count ? count : 1, sizeof(*pieces));
	if (!info->threads || !pieces) {
		mt_error("out of memory for a snapshot");
		err = -ENOMEM;
		goto release;
	}
	err = fill_threads(x->dev, regions, count, info, pieces);
	if (!err && x->execed)
		err = name_as_before(info);
	if (!err)
		err = write_snapshot(x->writer, x->history, info, pieces);
release:
	release_err = mt_device_release(x->dev, snapshot->id);
	free(pieces);
	free(regions);
	return err ? err : release_err;
}
