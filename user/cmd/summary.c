// SPDX-License-Identifier: GPL-2.0
/* Counting, and the words for it; see the header. */
#include "user/cmd/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/base/log.h"

#define NUMBER_MAX	32

enum mt_outcome mt_outcome_of(const struct mt_decode_stats *stats)
{
	if (stats->segments)
		return MT_OUTCOME_DECODED;
	if (!stats->synced || stats->errors || stats->overflows)
		return MT_OUTCOME_UNDECODED;
	return MT_OUTCOME_IDLE;
}

static void add_stats(struct mt_decode_stats *to, const struct mt_decode_stats *from)
{
	size_t i;

	to->segments += from->segments;
	to->calls += from->calls;
	to->insns += from->insns;
	to->overflows += from->overflows;
	to->errors += from->errors;
	to->synced += from->synced;
	to->skipped += from->skipped;
	for (i = 0; i < MT_DECODE_ERRORS; i++)
		to->errors_by_code[i] += from->errors_by_code[i];
}

static int add_thread(struct mt_summary *summary, pid_t tid)
{
	size_t i;

	for (i = 0; i < summary->threads.count; i++)
		if (summary->threads.data[i] == tid)
			return 0;
	return mt_array_push(&summary->threads, tid);
}

int mt_summary_add(struct mt_summary *summary, pid_t tid, const struct mt_decode_stats *stats,
		   uint64_t slices)
{
	summary->traces++;
	summary->slices += slices;
	switch (mt_outcome_of(stats)) {
	case MT_OUTCOME_DECODED:
		break;
	case MT_OUTCOME_IDLE:
		summary->idle++;
		break;
	case MT_OUTCOME_UNDECODED:
		summary->undecoded++;
		break;
	}
	add_stats(&summary->decode, stats);
	return add_thread(summary, tid);
}

/* "12,345" */
static const char *number(uint64_t value, char buf[NUMBER_MAX])
{
	char digits[NUMBER_MAX];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, value), i;
	char *to = buf;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "no gap", "3 gaps (1 overflow, 2 errors)" */
static void gaps_text(const struct mt_decode_stats *stats, char *to, size_t room)
{
	uint64_t gaps = stats->overflows + stats->errors;
	char text[NUMBER_MAX];
	int len;

	if (!gaps) {
		snprintf(to, room, "no gap");
		return;
	}
	len = snprintf(to, room, "%s gap%s (", number(gaps, text), plural(gaps));
	if (stats->overflows)
		len += snprintf(to + len, room - len, "%s overflow%s%s",
				number(stats->overflows, text), plural(stats->overflows),
				stats->errors ? ", " : "");
	if (stats->errors)
		len += snprintf(to + len, room - len, "%s error%s", number(stats->errors, text),
				plural(stats->errors));
	snprintf(to + len, room - len, ")");
}

void mt_summary_tell(const struct mt_summary *summary, uint64_t snapshots)
{
	const struct mt_decode_stats *stats = &summary->decode;
	char text[4][NUMBER_MAX], gaps[128], undecoded[128] = "", lossy[128] = "";
	uint64_t threads = summary->threads.count;
	size_t i;

	for (i = 0; i < MT_DECODE_ERRORS; i++)
		if (stats->errors_by_code[i])
			mt_warn("%s place%s in the trace cannot be decoded: %s",
				number(stats->errors_by_code[i], text[0]),
				plural(stats->errors_by_code[i]), mt_decode_error((int)i));
	if (summary->idle)
		mt_info("in %s of %s trace%s nothing ran in user mode",
			number(summary->idle, text[0]), number(summary->traces, text[1]),
			plural(summary->traces));
	gaps_text(stats, gaps, sizeof(gaps));
	if (summary->undecoded)
		snprintf(undecoded, sizeof(undecoded),
			 "%s, but nothing is known of %s of %s trace%s",
			 stats->overflows + stats->errors ? "" : " in what was decoded",
			 number(summary->undecoded, text[0]), number(summary->traces, text[1]),
			 plural(summary->traces));
	if (summary->lossy)
		snprintf(lossy, sizeof(lossy), ", but the processor lost parts of %s of %s trace%s",
			 number(summary->lossy, text[0]), number(summary->traces, text[1]),
			 plural(summary->traces));
	mt_info("%s snapshot%s, %s thread%s: %s call%s, %s slice%s, %s%s%s",
		number(snapshots, text[0]), plural(snapshots), number(threads, text[1]),
		plural(threads), number(stats->calls, text[2]), plural(stats->calls),
		number(summary->slices, text[3]), plural(summary->slices), gaps, undecoded,
		lossy);
}

const char *mt_summary_nothing(const struct mt_summary *summary, uint64_t snapshots)
{
	if (!snapshots)
		return "there is no snapshot";
	if (!summary->traces)
		return "no snapshot has any trace";
	if (summary->idle == summary->traces)
		return "nothing ran in user mode in what the snapshots hold";
	return "nothing can be decoded of what the snapshots hold";
}

void mt_summary_free(struct mt_summary *summary)
{
	mt_array_free(&summary->threads);
}
