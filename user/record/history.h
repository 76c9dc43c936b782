/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In which snapshot each thread was seen running last. Threads that come to the
 * trigger at about the same time are stopped at it together: the snapshot of the
 * first takes the trace of all, and nothing is left for that of the second, which
 * is therefore given once more what it ran before. Knows nothing of the device.
 */
#ifndef MTRACE_RECORD_HISTORY_H
#define MTRACE_RECORD_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/recording/recording.h"

struct mt_history;

struct mt_history *mt_history_new(void);	/* NULL for want of memory */
void mt_history_free(struct mt_history *history);	/* NULL is allowed */

/* What was lent to a snapshot for the time of its writing. */
struct mt_history_loan {
	const uint8_t *bytes;
	size_t len;
	size_t index;		/* of the thread */
};

/*
 * If the thread that hit the trigger ran no code in @info's own @pieces, and did
 * in an earlier snapshot of @w's: give it the bytes of that one, and what @info
 * says of them. Returns 0, with *@loan to be given back, or -errno after a message.
 */
int mt_history_lend(const struct mt_history *history, const struct mt_recording_writer *w,
		    struct mt_snapshot_info *info, struct mt_piece (*pieces)[2],
		    struct mt_history_loan *loan);

/*
 * @info has been written, or (@written false) has not: remember what threads ran
 * in it, and take the loan back. Returns 0 or -ENOMEM after a message.
 */
int mt_history_close(struct mt_history *history, const struct mt_snapshot_info *info,
		     const struct mt_piece (*pieces)[2], struct mt_history_loan *loan,
		     bool written);

#endif /* MTRACE_RECORD_HISTORY_H */
