/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Brings the module's sideband into the recording while the program runs: a
 * thread waits for records and writes them as they are. Knows of them only
 * which say that others were lost.
 */
#ifndef MTRACE_RECORD_SIDEBAND_H
#define MTRACE_RECORD_SIDEBAND_H

#include <stdint.h>

#include "user/record/device.h"
#include "user/recording/recording.h"

struct mt_sideband;

/* Begin. @dev and @w must outlive it. With a message. */
int mt_sideband_start(struct mt_device *dev, struct mt_recording_writer *w,
		      struct mt_sideband **out);

/* Write what there is now, so that it is there before what comes next. */
void mt_sideband_drain(struct mt_sideband *sideband);

/* Write the rest, and end: returns how many records were lost. NULL is nothing. */
uint64_t mt_sideband_finish(struct mt_sideband *sideband);

#endif /* MTRACE_RECORD_SIDEBAND_H */
