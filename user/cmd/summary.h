/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a recording held, counted while it is decoded and told in one line at the
 * end. A trace is that of one thread in one snapshot.
 */
#ifndef MTRACE_CMD_SUMMARY_H
#define MTRACE_CMD_SUMMARY_H

#include <stdint.h>
#include <sys/types.h>

#include "user/base/array.h"
#include "user/decode/decoder.h"

struct mt_summary {
	MT_ARRAY(pid_t) threads;	/* each once */
	uint64_t traces;		/* that have any bytes; of these ... */
	uint64_t idle;			/* ... nothing ran in, */
	uint64_t undecoded;		/* ... nothing is known of */
	uint64_t lossy;			/* that the processor lost a part of */
	uint64_t slices;
	struct mt_decode_stats decode;	/* of all traces together */
};

/* What became of one trace, by what the decoder counted. */
enum mt_outcome {
	MT_OUTCOME_DECODED,
	MT_OUTCOME_IDLE,	/* whole, and nothing in it */
	MT_OUTCOME_UNDECODED,
};
enum mt_outcome mt_outcome_of(const struct mt_decode_stats *stats);

/* A trace of thread @tid has been decoded. Returns 0 or -ENOMEM. */
int mt_summary_add(struct mt_summary *summary, pid_t tid, const struct mt_decode_stats *stats,
		   uint64_t slices);

/* Tell all, at the end of @snapshots. */
void mt_summary_tell(const struct mt_summary *summary, uint64_t snapshots);

/* Why there is no slice at all. */
const char *mt_summary_nothing(const struct mt_summary *summary, uint64_t snapshots);

void mt_summary_free(struct mt_summary *summary);	/* contents only */

#endif /* MTRACE_CMD_SUMMARY_H */
