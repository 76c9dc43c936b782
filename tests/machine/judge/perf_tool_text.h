/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `perf script` says of a trace, as a list of events a processor, from the text of
 *	perf script --itrace=… --ns -F event,tid,cpu,time,ip,addr,flags,insnlen
 *
 * Must not know: what was executed.
 */
#ifndef PERF_TOOL_TEXT_H
#define PERF_TOOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_CPUS 8

/* START and END: a stretch from perf's "tr strt" to "tr end". */
enum kind { INSN, BRANCH, START, END };

struct event {
	uint64_t from;
	uint64_t to;
	uint32_t line;
	uint8_t kind;
	uint8_t len;
	bool where; /* hopped: where control is, not what completed */
};

struct text {
	struct event *events; /* one more than @n, so that each has a next */
	size_t n;
};

struct texts {
	bool one_timeline; /* the text has no processors: all is text 0 */
	bool no_empty; /* leave out stretches in which nothing happened */
	uint64_t leave_out; /* and the branch of this number */
	struct text cpu[TEXT_CPUS];
	uint64_t n_branches;
	uint64_t n_errors; /* of perf's; the first are shown on stdout */
};

/* Returns NULL, or what is wrong with the text, which is then unusable. */
const char *texts_read(struct texts *texts, FILE *f);

#endif
