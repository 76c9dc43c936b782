// SPDX-License-Identifier: GPL-2.0
/*
 * The text of perf script, read line by line.
 */
#include "perf_tool_text.h"

#include <stdlib.h>
#include <string.h>

#define ERRORS_SHOWN 3
#define WORDS	     16

static bool address(const char *word, uint64_t *val)
{
	char *end;

	*val = strtoull(word, &end, 16);
	return end != word && (!*end || *end == '\n');
}

/* What stands behind the event's name: "[FLAG…] [()] ADDR IP ilen: N" or "[FLAG…] [()] FROM => TO ilen: N" */
static bool parse_words(struct event *event, char *words, bool branch)
{
	char *word[WORDS], *save, *w;
	unsigned int n = 0, i, ilen = 0, arrow = 0;

	event->where = false;
	event->kind = branch ? BRANCH : INSN;
	for (w = strtok_r(words, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
		if (n == WORDS)
			return false;
		word[n++] = w;
	}
	for (i = 0; i < n; i++) {
		if (!strcmp(word[i], "ilen:"))
			ilen = i;
		else if (!strcmp(word[i], "=>"))
			arrow = i;
		else if (!strcmp(word[i], "async"))
			event->where = true;
		else if (branch && !strcmp(word[i], "strt"))
			event->kind = START;
		else if (branch && !strcmp(word[i], "end"))
			event->kind = END;
	}
	if (!ilen || ilen + 2 != n)
		return false;
	event->len = atoi(word[ilen + 1]);
	if (!branch)
		return address(word[ilen - 1], &event->from);
	return arrow && address(word[arrow - 1], &event->from) &&
	       address(word[arrow + 1], &event->to);
}

static bool append(struct texts *texts, struct text *text, const struct event *event)
{
	if (texts->no_empty && text->n && event->kind == END &&
	    text->events[text->n - 1].kind == START) {
		text->n--;
		return true;
	}
	if (!(text->n & (text->n - 1))) {
		struct event *const events =
			realloc(text->events, (text->n ? 2 * text->n : 2) * sizeof(*events));

		if (!events)
			return false;
		text->events = events;
	}
	text->events[text->n++] = *event;
	return true;
}

const char *texts_read(struct texts *texts, FILE *f)
{
	const struct event last = {.kind = END};
	struct event event = {.line = 0};
	const char *problem = NULL;
	char *line = NULL, *words;
	bool psb = false;
	unsigned int cpu;
	size_t size = 0;

	while (!problem && getline(&line, &size, f) > 0) {
		bool branch = true;

		event.line++;
		if (strstr(line, " psb:")) {
			psb = true;
			continue;
		}
		if (strstr(line, "trace error")) {
			if (texts->n_errors++ < ERRORS_SHOWN)
				printf("line %u: %s", event.line, line);
			continue;
		}
		words = strstr(line, " branches:");
		if (!words) {
			branch = false;
			words = strstr(line, " instructions:");
		}
		if (!words)
			continue;
		words = strpbrk(words + 1, " \n");
		cpu = 0;
		if (!texts->one_timeline &&
		    (sscanf(line, "%*d [%u]", &cpu) != 1 || cpu >= TEXT_CPUS))
			problem = "a line has no processor";
		else if (!words || !parse_words(&event, words, branch))
			problem = "a line is not as asked for";
		if (problem)
			break;
		/* The FUP in PSB+ looks like a target. */
		event.where |= psb && event.kind == INSN;
		psb = false;
		if (branch && texts->n_branches++ == texts->leave_out)
			continue;
		if (!append(texts, &texts->cpu[cpu], &event))
			problem = "it is too long";
	}
	free(line);
	texts->no_empty = false;
	for (cpu = 0; !problem && cpu < TEXT_CPUS; cpu++) {
		if (!append(texts, &texts->cpu[cpu], &last))
			problem = "it is too long";
		texts->cpu[cpu].n--;
	}
	return problem;
}
