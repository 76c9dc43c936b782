/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One snapshot's way from the device to the recording. Knows nothing of when and
 * why one is taken.
 */
#ifndef MTRACE_RECORD_EXTRACT_H
#define MTRACE_RECORD_EXTRACT_H

#include "user/record/code.h"
#include "user/record/device.h"
#include "user/record/history.h"
#include "user/recording/recording.h"

/*
 * Take a snapshot of @dev's session, write it to @w with the maps of process @pid,
 * read by its live thread @tid (as last known, after an exec), and release it.
 * @info has the reason and the trigger; the rest of it is filled, for the caller to
 * free, also on failure.
 * Returns 0; -ENOBUFS if no memory was free for it; another -errno. After a
 * message.
 */
int mt_extract_snapshot(struct mt_device *dev, struct mt_recording_writer *w,
			struct mt_code *code, struct mt_history *history, pid_t pid, pid_t tid,
			struct mt_snapshot_info *info);

/* The bytes of a frozen region in @buffer, in time order. */
void mt_extract_pieces(const uint8_t *buffer, uint64_t region_size,
		       const struct mtrace_region *region, struct mt_piece pieces[2]);

#endif /* MTRACE_RECORD_EXTRACT_H */
