/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control flow and slices as text, for the timeline's tests: a flow is written by
 * hand, and beside it the tree that must come of it.
 *
 * A flow is a list of events, separated by ';' or ends of lines:
 *
 *	start P			the segment begins at P
 *	call P > P		near call; it returns to 5 bytes behind the first P
 *	ret P > P, jump P > P	near return, jump
 *	syscall P [> P]		FAR_CALL;	async P [> P]	ASYNC
 *	farret P > P		sysret, iret
 *	off P [syscall|async|call|return]	DISABLE
 *	on P [resumed]		ENABLE
 *	gap P, end P
 *
 * and P is "function" or "function+hex": functions are made as they are named, 64
 * KiB each, one behind the other. An event may be followed by "@N" (its TSC;
 * otherwise 100 more than the one before, beginning with 100) and "#N" (its
 * instructions; otherwise 1).
 *
 * Slices come out one a line: two blanks a level, the name, "begin-end" in units of
 * 100 ns (which is the number of the event, from 1), and the flags.
 */
#ifndef TESTS_FLOW_TEXT_H
#define TESTS_FLOW_TEXT_H

#include <ctype.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/timeline/timeline.h"

#define FLOW_FN_SIZE	0x10000ULL
#define FLOW_FN_MAX	64

struct flow_functions {
	struct mt_function fn[FLOW_FN_MAX];
	char names[FLOW_FN_MAX][64];
	unsigned int count;
};

static inline const struct mt_function *flow_find(void *ctx, uint64_t address)
{
	static const struct mt_function unknown = { 1, 2, "[unknown]", "[unknown]" };
	struct flow_functions *fns = ctx;
	uint64_t i = address / FLOW_FN_SIZE;

	return i >= 1 && i <= fns->count ? &fns->fn[i - 1] : &unknown;
}

static inline const struct mt_function *flow_function(struct flow_functions *fns,
						      const char *name)
{
	unsigned int i;

	for (i = 0; i < fns->count; i++)
		if (!strcmp(fns->names[i], name))
			return &fns->fn[i];
	assert_true(fns->count < FLOW_FN_MAX);
	snprintf(fns->names[i], sizeof(fns->names[i]), "%s", name);
	fns->fn[i].name = fns->names[i];
	fns->fn[i].object = "prog";
	fns->fn[i].start = (i + 1) * FLOW_FN_SIZE;
	fns->fn[i].end = (i + 2) * FLOW_FN_SIZE;
	fns->count++;
	return &fns->fn[i];
}

static inline uint64_t flow_place(struct flow_functions *fns, const char *text)
{
	char name[64];
	const char *plus = strchr(text, '+');
	size_t len = plus ? (size_t)(plus - text) : strlen(text);

	assert_true(len > 0 && len < sizeof(name));
	memcpy(name, text, len);
	name[len] = '\0';
	return flow_function(fns, name)->start + (plus ? strtoull(plus + 1, NULL, 16) : 0);
}

static inline unsigned int flow_kind(const char *word)
{
	static const struct {
		const char *word;
		unsigned int kind;
	} kinds[] = {
		{ "start", MT_FLOW_START },	  { "call", MT_FLOW_CALL },
		{ "ret", MT_FLOW_RETURN },	  { "jump", MT_FLOW_JUMP },
		{ "syscall", MT_FLOW_FAR_CALL },  { "farret", MT_FLOW_FAR_RETURN },
		{ "async", MT_FLOW_ASYNC },	  { "off", MT_FLOW_DISABLE },
		{ "on", MT_FLOW_ENABLE },	  { "gap", MT_FLOW_GAP },
		{ "end", MT_FLOW_END },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(word, kinds[i].word))
			return kinds[i].kind;
	fail_msg("no such event: '%s'", word);
	return 0;
}

static inline void flow_word(struct flow_functions *fns, struct mt_flow *ev, const char *word,
			     unsigned int nr, bool *is_target)
{
	uint64_t place;

	if (!nr) {
		ev->kind = flow_kind(word);
		*is_target = ev->kind == MT_FLOW_START || ev->kind == MT_FLOW_ENABLE;
	} else if (!strcmp(word, ">")) {
		*is_target = true;
	} else if (word[0] == '@') {
		ev->tsc = strtoull(word + 1, NULL, 10);
	} else if (word[0] == '#') {
		ev->insns = strtoul(word + 1, NULL, 10);
	} else if (nr > 1 && !strcmp(word, "syscall")) {
		ev->flags |= MT_FLOW_F_SYSCALL;
	} else if (nr > 1 && !strcmp(word, "async")) {
		ev->flags |= MT_FLOW_F_ASYNC;
	} else if (nr > 1 && !strcmp(word, "call")) {
		ev->flags |= MT_FLOW_F_CALL;
	} else if (nr > 1 && !strcmp(word, "return")) {
		ev->flags |= MT_FLOW_F_RETURN;
	} else if (nr > 1 && !strcmp(word, "resumed")) {
		ev->flags |= MT_FLOW_F_RESUMED;
	} else {
		place = flow_place(fns, word);
		if (*is_target)
			ev->to = place;
		else
			ev->from = place;
	}
}

/* Parse @text into @events, which has room for @max; their number. */
static inline unsigned int flow_parse(struct flow_functions *fns, const char *text,
				      struct mt_flow *events, unsigned int max)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *line, *word;
	unsigned int count = 0;
	unsigned int nr;
	uint64_t tsc = 0;
	bool is_target;

	while ((line = strsep(&rest, ";\n"))) {
		struct mt_flow *ev = &events[count];

		nr = 0;
		is_target = false;
		while ((word = strsep(&line, " \t"))) {
			if (!*word)
				continue;
			if (!nr) {
				assert_true(count < max);
				*ev = (struct mt_flow){ .tsc = tsc + 100, .insns = 1 };
			}
			flow_word(fns, ev, word, nr++, &is_target);
		}
		if (!nr)
			continue;
		if (ev->kind == MT_FLOW_CALL)
			ev->next = ev->from + 5;
		tsc = ev->tsc;
		count++;
	}
	free(copy);
	return count;
}

/* What a sink got, as text. */
struct slice_text {
	char *text;
	size_t len;
	FILE *stream;
	bool plain_ns;		/* times in ns, not in units of 100 ns */
	unsigned int begun;
	unsigned int ended;
	struct mt_track track;
};

static const char *const slice_flag_words[] = {
	"no-call", "no-return", "tail-call", "untraced", "syscall", "gap", "async", "trigger",
};

static inline int slice_text_begin(void *ctx, const struct mt_track *track)
{
	struct slice_text *out = ctx;

	out->track = *track;
	out->begun++;
	return 0;
}

static inline int slice_text_slice(void *ctx, const struct mt_slice *slice)
{
	struct slice_text *out = ctx;
	uint64_t unit = out->plain_ns ? 1 : 100;
	unsigned int i;

	fprintf(out->stream, "%*s%s %" PRIu64 "-%" PRIu64, (int)slice->depth * 2, "",
		slice->fn->name, slice->begin_ns / unit, slice->end_ns / unit);
	for (i = 0; i < sizeof(slice_flag_words) / sizeof(slice_flag_words[0]); i++)
		if (slice->flags & 1U << i)
			fprintf(out->stream, " %s", slice_flag_words[i]);
	fputc('\n', out->stream);
	return 0;
}

static inline int slice_text_end(void *ctx)
{
	struct slice_text *out = ctx;

	out->ended++;
	return 0;
}

/* Slices of @flow as text, to be freed. @config: times and trigger, or NULL. */
static inline char *flow_to_text(const char *flow, const struct mt_timeline_config *config,
				 const char *trigger, bool plain_ns)
{
	struct flow_functions *fns = calloc(1, sizeof(*fns));
	struct mt_flow *events = calloc(1024, sizeof(*events));
	struct slice_text out = { .plain_ns = plain_ns };
	const struct mt_sink sink = { slice_text_begin, slice_text_slice, slice_text_end, &out };
	const struct mt_resolver resolver = { flow_find, fns };
	struct mt_timeline_config c = { 0 };
	struct mt_timeline *tl;
	unsigned int count = flow_parse(fns, flow, events, 1024);

	if (config)
		c = *config;
	c.resolver = &resolver;
	c.clock.tsc_khz = 1000000;
	if (trigger)
		c.trigger_address = flow_place(fns, trigger);
	out.stream = open_memstream(&out.text, &out.len);
	assert_int_equal(mt_timeline_new(&c, &tl), 0);
	assert_int_equal(mt_timeline_flow(tl, events, count), 0);
	assert_int_equal(mt_timeline_finish(tl, &sink), 0);
	assert_int_equal(out.begun, 1);
	assert_int_equal(out.ended, 1);
	mt_timeline_free(tl);
	fclose(out.stream);
	free(events);
	free(fns);
	return out.text;
}

static inline void check_flow_with(const char *flow, const struct mt_timeline_config *config,
				   const char *trigger, const char *expected)
{
	char *got = flow_to_text(flow, config, trigger, false);

	assert_string_equal(got, expected);
	free(got);
}

/* The tree of @flow must be @expected. */
static inline void check_flow(const char *flow, const char *expected)
{
	check_flow_with(flow, NULL, NULL, expected);
}

static inline void check_flow_ns(const char *flow, const struct mt_timeline_config *config,
				 const char *expected)
{
	char *got = flow_to_text(flow, config, NULL, true);

	assert_string_equal(got, expected);
	free(got);
}

#endif /* TESTS_FLOW_TEXT_H */
