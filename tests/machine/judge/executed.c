// SPDX-License-Identifier: GPL-2.0
/*
 * The logs of executed program counters.
 */
#include "executed.h"
#include "../plugin/pclog.h"

#include <stdlib.h>

struct window {
	uint64_t tsc;
	uint64_t cr3;
	uint64_t session;		/* from TraceEn set to cleared; unique */
	const uint8_t *begin;
	const uint8_t *end;
	unsigned int cpu;
};

static struct window *windows, *chosen;
static size_t n_windows, n_chosen;
static struct executed_choice choice;

static bool get_number(const uint8_t **pos, const uint8_t *end, uint64_t *n)
{
	unsigned int shift = 0;

	*n = 0;
	while (*pos < end && shift < 64) {
		const uint8_t b = *(*pos)++;

		*n |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
		shift += 7;
	}
	return false;
}

static void add_window(const struct window *window)
{
	if (!(n_windows & (n_windows - 1)))
		windows = realloc(windows, (n_windows ? 2 * n_windows : 1) * sizeof(*windows));
	if (!windows)
		abort();
	windows[n_windows++] = *window;
}

const char *executed_add_log(unsigned int cpu, const uint8_t *data, size_t size)
{
	const uint8_t *pos = data, *const end = data + size;
	struct window window = { .cpu = cpu };
	static uint64_t session;
	uint64_t n, val[3];

	session++;
	while (pos < end) {
		const uint8_t *const at = pos;
		unsigned int i, values;

		if (!(*pos & 1)) {
			while (pos < end && *pos++ & 0x80)
				;
			continue;
		}
		if (!get_number(&pos, end, &n))
			return "is cut off";
		values = n >> 1 <= PCLOG_TRACE_OFF ? 3 : 2;
		for (i = 0; i < values; i++) {
			if (!get_number(&pos, end, &val[i]))
				return "is cut off";
		}
		window.end = at;
		if (window.begin)
			add_window(&window);
		window.begin = NULL;
		if (n >> 1 == PCLOG_PACKETS_ON) {
			window.tsc = val[0];
			window.cr3 = val[1];
			window.session = session;
			window.begin = pos;
		} else if (n >> 1 == PCLOG_TRACE_ON) {
			session++;
		}
	}
	window.end = end;
	if (window.begin)
		add_window(&window);
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc;
}

bool executed_choose(const struct executed_choice *c)
{
	bool right = true;
	size_t i;

	choice = *c;
	free(chosen);
	chosen = calloc(n_windows + 1, sizeof(*chosen));
	n_chosen = 0;
	for (i = 0; i < n_windows; i++) {
		const struct window *w = &windows[i];

		if (w->tsc < choice.span[0] || w->tsc > choice.span[1] ||
		    (choice.cpu >= 0 && w->cpu != (unsigned int)choice.cpu))
			continue;
		chosen[n_chosen++] = *w;
		right &= !choice.cr3 || (choice.cr3 ^ w->cr3) >> 12 == 0;
	}
	qsort(chosen, n_chosen, sizeof(*chosen), by_time);
	return right;
}

size_t executed_windows(void)
{
	return n_chosen;
}

static bool in_ranges(const struct executed_range *range, unsigned int n, uint64_t ip)
{
	while (n--) {
		if (ip >= range[n].begin && ip <= range[n].end)
			return true;
	}
	return false;
}

bool executed_next(struct executed_pos *pos, uint64_t *ip)
{
	for (; pos->window < n_chosen; pos->window++, pos->at = NULL) {
		const struct window *const w = &chosen[pos->window];
		uint64_t n;

		if (!pos->at) {
			pos->at = w->begin;
			pos->last = 0;
		}
		while (pos->stopped != w->session && get_number(&pos->at, w->end, &n)) {
			n >>= 1;
			pos->last += n >> 1 ^ -(n & 1);
			if (in_ranges(choice.stop, choice.n_stop, pos->last)) {
				pos->stopped = w->session;
			} else if (!choice.n_filter ||
				   in_ranges(choice.filter, choice.n_filter, pos->last)) {
				*ip = pos->last;
				return true;
			}
			pos->skipped++;
		}
	}
	return false;
}
