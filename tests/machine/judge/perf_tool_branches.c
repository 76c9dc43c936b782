// SPDX-License-Identifier: GPL-2.0
/*
 * Holds what `perf script` decoded against the machine's log of executed
 * program counters: every instruction, every branch and every stretch of trace.
 *
 *	perf_tool_branches [OPTION…] BEGIN END LOG… <TEXT
 *
 * TEXT is the output of
 *	perf script --itrace=i1ibe --ns -F event,tid,cpu,time,ip,addr,flags,insnlen
 * LOG the plugin's pclog files, one a vCPU in their order; pclog.h says what
 * "executed" means. BEGIN and END are TSCs around the recording.
 *
 * Control flow must be whole: an instruction stands where the one before it
 * ended or a branch led; a branch leaves from the instruction before it, or,
 * if it is an interrupt, from the instruction that was to come. The sequence
 * must be the log's. A stretch from perf's "tr strt" to "tr end" is a window
 * of PacketEn in the log, and none may be missing on either side.
 *
 * -t		the text has no processor: the windows of all in order of time
 * -s		a snapshot, that is, not from the beginning: each piece must be a
 *		contiguous part of the log; a piece begins where an instruction
 *		is outside a stretch
 * -g		sampled: as -s, and each stretch is a piece
 * -h		hopped, without TNT packets: an instruction is a target of TIP, and
 *		must be executed after the one before it; windows are compared as
 *		ever, but need not end in the text. Here the text is that of
 *		--itrace=i1ibep, to know the FUP in PSB+
 * -b		the text is of --itrace=be, without instructions: between two branches
 *		the log must go straight on, by 1 to 15 bytes a step
 * -r A,B	only what is executed from A to B, B included, was traced
 * -x A,B	the trace stops for good once an instruction there is reached
 * -n N		fewer instructions than this are a failure
 * -i N		change the log's Nth program counter first: must be found
 * -d N		leave out the Nth branch of the text: must be found
 *
 * Prints the first difference, or the counts. Exit status: 0 equal, 1
 * different, 2 the input is unusable.
 */
#include "executed.h"
#include "perf_tool_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool snapshot, sampled, hopped, no_insns;

static void __attribute__((noreturn, format(printf, 1, 2))) unusable(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "perf_tool_branches: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

/* One more element in an array that grows by doubling. */
static void *one_more(void *array, size_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	array = realloc(array, (n ? 2 * n : 1) * size);
	if (!array)
		unusable("out of memory");
	return array;
}

/* ---- what was executed ---- */

/* A time in which PacketEn was set: what was executed, ips[first] and on. */
struct window {
	size_t first;
	size_t n;
};

struct log {
	struct window *windows;
	size_t n_windows;
};

static uint64_t *ips;
static size_t n_ips;
static struct log logs[EXECUTED_LOGS];
static struct executed_choice choice;
static struct texts texts = {.leave_out = UINT64_MAX};

static void add_range(struct executed_range *ranges, unsigned int *n, const char *arg)
{
	struct executed_range *const r = &ranges[*n];

	if (*n == EXECUTED_RANGES || sscanf(arg, "%" SCNx64 ",%" SCNx64, &r->begin, &r->end) != 2)
		unusable("'%s' is not a range, or one too many", arg);
	++*n;
}

static void map_log(unsigned int cpu, const char *path)
{
	const int fd = open(path, O_RDONLY);
	const char *problem = NULL;
	struct stat st;
	uint8_t *data;

	if (fd < 0 || fstat(fd, &st))
		unusable("%s: %s", path, strerror(errno));
	if (st.st_size) {
		data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			unusable("%s: %s", path, strerror(errno));
		problem = executed_add_log(cpu, data, st.st_size);
	}
	if (problem)
		unusable("%s %s", path, problem);
	close(fd);
}

static void open_window(struct log *log)
{
	log->windows = one_more(log->windows, log->n_windows, sizeof(*log->windows));
	log->windows[log->n_windows++] = (struct window){.first = n_ips};
}

/*
 * What one processor executed, or all if @cpu is negative. Address ranges make
 * windows of windows, of which none is empty.
 */
static void read_executed(struct log *log, int cpu)
{
	struct executed_pos pos = {0};
	uint64_t ip, skipped = 0;
	size_t window = SIZE_MAX;

	choice.cpu = cpu;
	executed_choose(&choice);
	while (executed_next(&pos, &ip)) {
		while (!texts.no_empty && window + 1 < pos.window) {
			open_window(log);
			window++;
		}
		if (window != pos.window || skipped != pos.skipped)
			open_window(log);
		window = pos.window;
		skipped = pos.skipped;
		ips = one_more(ips, n_ips, sizeof(*ips));
		ips[n_ips++] = ip;
		log->windows[log->n_windows - 1].n++;
	}
	while (!texts.no_empty && log->n_windows < executed_windows())
		open_window(log);
}

/* ---- comparison ---- */

/* Where the comparison is: in perf's text, in the log, and in the control flow. */
struct place {
	const struct event *event;
	size_t window;
	size_t insn; /* of the window */
	bool open; /* in a stretch */
	bool known; /* @at */
	bool branched; /* @last cannot be the source any more */
	uint64_t at; /* what is to be executed now */
	uint64_t last; /* was executed */
};

static const struct event *wrong_event;
static char wrong[256];

static bool __attribute__((format(printf, 2, 3)))
differs(const struct place *p, const char *fmt, ...)
{
	va_list ap;

	wrong_event = p->event;
	va_start(ap, fmt);
	vsnprintf(wrong, sizeof(wrong), fmt, ap);
	va_end(ap);
	return false;
}

static bool leaves(const struct place *p, uint64_t from)
{
	return !p->known || from == p->at || (!p->branched && from == p->last);
}

static bool step(const struct log *log, struct place *p)
{
	const struct event *const e = p->event;
	const struct window *w = &log->windows[p->window];

	switch (e->kind) {
	case START:
		if (p->open)
			return differs(p, "a stretch begins in another");
		if (p->window == log->n_windows)
			return differs(p, "the machine traced no more");
		p->open = true;
		p->known = true;
		p->branched = true;
		p->at = e->to;
		p->insn = 0;
		return true;
	case INSN:
		if (!p->open || p->insn == w->n)
			return differs(p, "decoded %" PRIx64 ", but the machine did not go on",
				       e->from);
		if (ips[w->first + p->insn] != e->from)
			return differs(p, "decoded %" PRIx64 ", executed %" PRIx64, e->from,
				       ips[w->first + p->insn]);
		if (p->known && e->from != p->at)
			return differs(p, "no branch to %" PRIx64 " from %" PRIx64, e->from,
				       p->last);
		p->insn++;
		p->last = e->from;
		p->branched = false;
		p->known = true;
		p->at = e->from + e->len;
		return true;
	case BRANCH:
		if (!p->open)
			return differs(p, "a branch outside a stretch");
		if (!leaves(p, e->from))
			return differs(p,
				       "a branch from %" PRIx64 ", but control was at %" PRIx64
				       " after %" PRIx64,
				       e->from, p->at, p->last);
		p->known = true;
		p->branched = true;
		p->at = e->to;
		return true;
	case END:
		if (!p->open)
			return differs(p, "a stretch ends that did not begin");
		if (e->from && !leaves(p, e->from))
			return differs(p,
				       "the stretch ends at %" PRIx64
				       ", but control was at %" PRIx64 " after %" PRIx64,
				       e->from, p->at, p->last);
		if (p->insn != w->n)
			return differs(p, "the stretch ends, but the machine went on to %" PRIx64,
				       ips[w->first + p->insn]);
		p->open = false;
		p->window++;
		return true;
	}
	return false;
}

/* Straight on to @from: the last that was executed, or the one that was to come. */
static bool straight_to(const struct log *log, struct place *p, uint64_t from)
{
	const struct window *const w = &log->windows[p->window];

	for (;;) {
		const uint64_t next = p->insn < w->n ? ips[w->first + p->insn] : 0;
		const bool here = p->known ? from == p->at : from - p->last - 1 < 15;

		if (!next || !(p->known ? next == p->at : next - p->last - 1 < 15))
			return here || !from ||
			       differs(p,
				       "a branch from %" PRIx64 ", but executed %" PRIx64
				       " after %" PRIx64,
				       from, next, p->last);
		p->insn++;
		p->last = next;
		p->known = false;
		if (next == from)
			return true;
	}
}

static bool step_branch(const struct log *log, struct place *p)
{
	const struct event *const e = p->event;

	if (p->open && e->kind != START) {
		if (!straight_to(log, p, e->from))
			return false;
		/* Where it left from was looked at. */
		p->branched = false;
		p->last = e->from;
	}
	return step(log, p);
}

static bool hop(const struct log *log, struct place *p)
{
	const struct event *const e = p->event;
	const struct window *w;

	if (e->kind == START) {
		p->window += p->open;
		if (p->window == log->n_windows)
			return differs(p, "the machine traced no more");
		p->open = true;
		p->known = true;
		p->at = e->to;
		p->insn = 0;
		return true;
	}
	if (!p->open)
		return differs(p, "outside a stretch");
	w = &log->windows[p->window];
	/* The beginning is said twice; it may not have completed. */
	if (p->known && e->kind == INSN && e->from == p->at) {
		p->known = false;
		return true;
	}
	if (e->kind == END) {
		p->window++;
		p->open = false;
	} else if (e->kind == INSN && !e->where && !(e[1].where && e[1].from == e->from)) {
		/* (A target at which an event came did not complete.) */
		while (p->insn < w->n && ips[w->first + p->insn] != e->from)
			p->insn++;
		if (p->insn++ == w->n)
			return differs(p, "%" PRIx64 " was not executed", e->from);
	}
	return true;
}

/* From @p over @n events; how many were equal. */
static size_t follow(const struct log *log, struct place *p, size_t n)
{
	const struct event *const begin = p->event;

	for (; p->event < begin + n; p->event++) {
		if (!(hopped ? hop(log, p) : no_insns ? step_branch(log, p) : step(log, p)))
			break;
	}
	return p->event - begin;
}

/* The events from @e up to the next piece of a snapshot. */
static size_t piece(const struct event *e, size_t n, size_t *insns)
{
	bool open = e->kind != START, head = open;
	size_t i;

	*insns = 0;
	for (i = 0; i < n; i++) {
		switch (e[i].kind) {
		case START:
			open = true;
			break;
		case END:
			open = false;
			head = false;
			if (sampled)
				return i + 1;
			break;
		default:
			if (!open)
				return i;
			*insns += head && e[i].kind == INSN;
		}
	}
	return n;
}

/* Finds the part of the log from *@window on that is the piece @e. */
static bool find_piece(const struct log *log, const struct event *e, size_t n, size_t insns,
		       size_t *window)
{
	size_t best = 0, w;

	for (w = *window; w < log->n_windows; w++) {
		const bool head = e->kind != START;
		struct place p = {
			.event = e,
			.window = w,
			.open = head,
			.branched = true,
		};
		const struct event *const event = wrong_event;
		char text[sizeof(wrong)];
		size_t equal;

		/* What has no beginning is the end of a window. */
		if (head && log->windows[w].n < insns)
			continue;
		if (head)
			p.insn = log->windows[w].n - insns;
		memcpy(text, wrong, sizeof(wrong));
		equal = follow(log, &p, n);
		if (equal == n) {
			*window = p.window;
			return true;
		}
		/* The best attempt is the one to show. */
		if (equal >= best) {
			best = equal;
		} else {
			memcpy(wrong, text, sizeof(wrong));
			wrong_event = event;
		}
	}
	return false;
}

static bool compare_pieces(const struct log *log, const struct text *text, size_t *pieces)
{
	size_t i = 0, window = 0;

	while (i < text->n) {
		size_t insns;
		const size_t n = piece(text->events + i, text->n - i, &insns);

		snprintf(wrong, sizeof(wrong), "no window of the log is long enough");
		wrong_event = text->events + i;
		if (!find_piece(log, text->events + i, n, insns, &window))
			return false;
		++*pieces;
		i += n;
	}
	return true;
}

static bool compare_whole(const struct log *log, const struct text *text)
{
	struct place p = {.event = text->events};

	if (follow(log, &p, text->n) < text->n)
		return false;
	p.window += hopped && p.open;
	if (p.window < log->n_windows)
		return differs(
			&p,
			"perf's text ends, but the machine went on: window %zu of %zu, to %" PRIx64,
			p.window, log->n_windows, ips[log->windows[p.window].first]);
	return true;
}

static void show(const struct text *text, unsigned int cpu)
{
	static const char *const names[] = {"insn", "branch", "start", "end"};
	const struct event *e, *const end = text->events + text->n;

	for (e = wrong_event - text->events > 8 ? wrong_event - 8 : text->events;
	     e < wrong_event + 3 && e < end; e++)
		printf("%s line %u: %s %" PRIx64 " => %" PRIx64 ", %u bytes\n",
		       e == wrong_event ? "->" : "  ", e->line, names[e->kind], e->from, e->to,
		       e->len);
	printf("CPU %u: %s\n", cpu, wrong);
}

int main(int argc, char **argv)
{
	uint64_t change = UINT64_MAX, insns = 0, least = 1;
	size_t i, windows = 0, pieces = 0;
	const char *problem;
	unsigned int cpu, n_logs;
	bool equal = true;
	int opt;

	while ((opt = getopt(argc, argv, "btsghr:x:n:i:d:")) != -1) {
		switch (opt) {
		case 't':
			texts.one_timeline = true;
			break;
		case 'g':
			sampled = true;
			snapshot = true;
			break;
		case 'b':
			no_insns = true;
			break;
		case 'h':
			hopped = true;
			break;
		case 's':
			snapshot = true;
			break;
		case 'r':
			add_range(choice.filter, &choice.n_filter, optarg);
			break;
		case 'x':
			add_range(choice.stop, &choice.n_stop, optarg);
			break;
		case 'n':
			least = strtoull(optarg, NULL, 0);
			break;
		case 'i':
			change = strtoull(optarg, NULL, 0);
			break;
		case 'd':
			texts.leave_out = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 3 || argc - optind > 2 + EXECUTED_LOGS)
		unusable("usage: see the head of perf_tool_branches.c");
	choice.span[0] = strtoull(argv[optind], NULL, 0);
	choice.span[1] = strtoull(argv[optind + 1], NULL, 0);
	texts.no_empty = choice.n_filter || choice.n_stop;
	n_logs = argc - optind - 2;
	for (cpu = 0; cpu < n_logs; cpu++)
		map_log(cpu, argv[optind + 2 + cpu]);
	if (texts.one_timeline)
		read_executed(&logs[0], -1);
	for (cpu = 0; !texts.one_timeline && cpu < n_logs; cpu++)
		read_executed(&logs[cpu], cpu);
	if (change < n_ips)
		ips[change] ^= 1;
	problem = texts_read(&texts, stdin);
	if (problem)
		unusable("the text: %s", problem);

	for (cpu = 0; cpu < EXECUTED_LOGS; cpu++) {
		const struct text *const text = &texts.cpu[cpu];

		for (i = 0; i < text->n; i++)
			insns += text->events[i].kind == INSN;
		windows += logs[cpu].n_windows;
		if (snapshot ? compare_pieces(&logs[cpu], text, &pieces)
			     : compare_whole(&logs[cpu], text))
			continue;
		show(text, cpu);
		equal = false;
	}
	printf("%" PRIu64 " instructions, %" PRIu64 " branches, %zu windows, %" PRIu64 " errors",
	       insns, texts.n_branches, windows, texts.n_errors);
	if (snapshot)
		printf(", %zu pieces", pieces);
	printf("\n");
	return !equal || texts.n_errors || (no_insns ? texts.n_branches : insns) < least;
}
