/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the steps of a decoder (blocks of instructions and what happened between
 * them) to mt_flow events. Where a branch went is known only by what comes next,
 * so the last branch waits until then. Knows nothing of libipt.
 */
#ifndef MTRACE_DECODE_BUILDER_H
#define MTRACE_DECODE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/decode/decoder.h"
#include "user/decode/flow.h"
#include "user/decode/insn.h"

#define MT_BUILDER_BATCH	256

struct mt_builder {
	mt_flow_fn fn;
	void *ctx;
	struct mt_decode_stats *stats;
	uint64_t end_tsc;
	int err;			/* what fn returned; nothing is done any more */

	bool open;			/* in a segment: since START, until GAP or END */
	bool waiting;			/* for where @branch went */
	struct mt_insn branch;
	uint64_t branch_ip;
	uint64_t branch_tsc;
	uint64_t branch_offset;
	uint64_t branch_insns;

	uint64_t ip;			/* last that is known */
	uint64_t resume;		/* where tracing goes on if it is just resumed */
	uint64_t tsc;
	uint64_t offset;
	uint64_t insns;			/* since the last event */

	unsigned int count;
	struct mt_flow events[MT_BUILDER_BATCH];
};

/* The time, and the place in the bytes, of what is told next. */
void mt_builder_time(struct mt_builder *b, uint64_t tsc);

/* The time told last is that of the last branch. */
void mt_builder_branch_time(struct mt_builder *b);

void mt_builder_offset(struct mt_builder *b, uint64_t offset);

/* Execution is at @ip: a waiting branch went there, or a segment begins. */
void mt_builder_at(struct mt_builder *b, uint64_t ip);

/* @insns ran, the last of them @last at @ip. */
void mt_builder_block(struct mt_builder *b, unsigned int insns, uint64_t ip,
		      const struct mt_insn *last);

/* Tracing begins (again) at @ip. */
void mt_builder_enabled(struct mt_builder *b, uint64_t ip);

/* The last instruction stopped it, on its way to @to (0 where that is unknown). */
void mt_builder_disabled(struct mt_builder *b, uint64_t to);

/* It was stopped before the instruction at @at ran. */
void mt_builder_async_disabled(struct mt_builder *b, uint64_t at, uint64_t to);

/* From @from, before that ran, on at @to: an interrupt, or (@abort) a TSX abort. */
void mt_builder_async_branch(struct mt_builder *b, uint64_t from, uint64_t to, bool abort);

/* What follows is unknown: packets were lost, or @error (a code, 0: overflow). */
void mt_builder_gap(struct mt_builder *b, int error);

/* The bytes are at their end. Returns 0, or what fn returned. */
int mt_builder_end(struct mt_builder *b);

#endif /* MTRACE_DECODE_BUILDER_H */
