/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One snapshot's way from the device to the recording. Knows nothing of when, why
 * and by whom one is taken.
 */
#ifndef MTRACE_RECORD_EXTRACT_H
#define MTRACE_RECORD_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/record/code.h"
#include "user/record/device.h"
#include "user/record/history.h"
#include "user/recording/recording.h"

/* Where a snapshot comes from and goes to. */
struct mt_extract {
	struct mt_device *dev;
	struct mt_recording_writer *writer;
	struct mt_code *code;
	struct mt_history *history;
	pid_t pid;	/* the process whose maps go with it ... */
	pid_t tid;	/* ... read by this live thread of it; 0: there is none */
	bool execed;	/* it is of what ran before an exec: with the maps last known */
};

/*
 * Write @snapshot of the device's session to the recording, and release it. @info
 * has the reason and the trigger; the rest of it is filled, for the caller to free,
 * also on failure. Returns 0 or -errno after a message.
 */
int mt_extract_snapshot(const struct mt_extract *x, const struct mtrace_snapshot *snapshot,
			struct mt_snapshot_info *info);

/* The bytes of a frozen region in @buffer, in time order. */
void mt_extract_pieces(const uint8_t *buffer, uint64_t region_size,
		       const struct mtrace_region *region, struct mt_piece pieces[2]);

#endif /* MTRACE_RECORD_EXTRACT_H */
