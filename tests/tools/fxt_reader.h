/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A strict reader of the Fuchsia trace format, written from its specification
 * (fuchsia.dev, "Fuchsia trace format") and not from our writer, whose judge it
 * is. It reads what such a writer should use, and fails on all else: a wrong record
 * size, a reserved bit, a reference to nothing, text that is not UTF-8, slices
 * that do not nest, a thread without a name, an argument that is not known.
 *
 * To be used by including it.
 */
#ifndef TESTS_TOOLS_FXT_READER_H
#define TESTS_TOOLS_FXT_READER_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event, with the arguments that our writer documents. */
struct fxt_event {
	bool instant;
	uint64_t pid, tid;
	uint64_t begin, end;
	unsigned int depth;
	char *category;
	char *name;
	bool has_address, has_object, has_call_site, has_flags, has_snapshot, has_symbol;
	uint64_t address, call_site, snapshot;
	char *object, *flags, *symbol;
};

struct fxt_thread {
	uint64_t pid, tid;
	char *name;
	uint64_t last;		/* time of its last event */
	size_t *open;		/* events[] that are open */
	size_t nr_open, room;
};

struct fxt_process {
	uint64_t pid;
	char *name;
};

struct fxt_trace {
	struct fxt_event *events;
	size_t nr_events;
	struct fxt_thread *threads;
	size_t nr_threads;
	struct fxt_process *processes;
	size_t nr_processes;
	unsigned int string_records, thread_records;

	/* the reader's state */
	char *strings[0x8000];
	struct { uint64_t pid, tid; bool set; } refs[256];
	const uint8_t *record;
	size_t words, at, offset;
	struct fxt_event pending;	/* the event being read */
	jmp_buf failed;
	char error[200];
};

__attribute__((noreturn, format(printf, 2, 3)))
static inline void fxt_fail(struct fxt_trace *t, const char *fmt, ...)
{
	int n = snprintf(t->error, sizeof(t->error), "record at byte %zu: ", t->offset);
	va_list args;

	va_start(args, fmt);
	vsnprintf(t->error + n, sizeof(t->error) - (size_t)n, fmt, args);
	va_end(args);
	longjmp(t->failed, 1);
}

static inline void *fxt_more(struct fxt_trace *t, void *array, size_t count, size_t size)
{
	array = realloc(array, (count + 1) * size);
	if (!array)
		fxt_fail(t, "out of memory");
	memset((char *)array + count * size, 0, size);
	return array;
}

static inline uint64_t fxt_word(struct fxt_trace *t)
{
	uint64_t word;

	if (t->at >= t->words)
		fxt_fail(t, "is shorter than what it holds");
	memcpy(&word, t->record + t->at++ * 8, 8);
	return word;
}

static inline uint64_t fxt_bits(uint64_t word, unsigned int first, unsigned int last)
{
	return word << (63 - last) >> (63 - last + first);
}

static inline void fxt_zero(struct fxt_trace *t, uint64_t word, unsigned int first,
			    unsigned int last)
{
	if (fxt_bits(word, first, last))
		fxt_fail(t, "reserved bits %u to %u are set", first, last);
}

static inline bool fxt_is_utf8(const uint8_t *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t n, i;

	while (len) {
		n = *s < 0x80 ? 1 : *s >= 0xc0 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 :
		    *s >= 0xf0 && *s < 0xf8 ? 4 : 0;
		if (!n || n > len)
			return false;
		code = n == 1 ? *s : *s & (0xff >> (n + 1));
		for (i = 1; i < n; i++) {
			if (s[i] >> 6 != 2)
				return false;
			code = code << 6 | (s[i] & 0x3f);
		}
		if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return false;
		s += n;
		len -= n;
	}
	return true;
}

static inline char *fxt_stream(struct fxt_trace *t, size_t len)
{
	size_t words = (len + 7) / 8;
	const uint8_t *from = t->record + t->at * 8;
	char *text;
	size_t i;

	if (t->words - t->at < words)
		fxt_fail(t, "is shorter than the string in it");
	for (i = len; i < words * 8; i++)
		if (from[i])
			fxt_fail(t, "padding is not zero");
	if (!fxt_is_utf8(from, len) || memchr(from, 0, len))
		fxt_fail(t, "string is not UTF-8");
	text = strndup((const char *)from, len);
	t->at += words;
	return text;
}

static inline char *fxt_string(struct fxt_trace *t, uint64_t ref)
{
	static char empty[] = "";

	if (!ref)
		return empty;
	if (ref & 0x8000)
		fxt_fail(t, "inline strings are not used");
	if (!t->strings[ref])
		fxt_fail(t, "string %" PRIu64 " is not in the table", ref);
	return t->strings[ref];
}

static inline struct fxt_process *fxt_process(struct fxt_trace *t, uint64_t pid)
{
	size_t i;

	for (i = 0; i < t->nr_processes; i++)
		if (t->processes[i].pid == pid)
			return &t->processes[i];
	return NULL;
}

static inline struct fxt_thread *fxt_thread(struct fxt_trace *t, uint64_t tid)
{
	size_t i;

	for (i = 0; i < t->nr_threads; i++)
		if (t->threads[i].tid == tid)
			return &t->threads[i];
	return NULL;
}

static inline void fxt_string_record(struct fxt_trace *t, uint64_t header)
{
	uint64_t index = fxt_bits(header, 16, 30);
	uint64_t len = fxt_bits(header, 32, 46);

	fxt_zero(t, header, 31, 31);
	fxt_zero(t, header, 47, 63);
	if (!index || !len)
		fxt_fail(t, "string record without an index or a string");
	if (len > 32000)
		fxt_fail(t, "string of %" PRIu64 " bytes", len);
	free(t->strings[index]);
	t->strings[index] = NULL;
	t->strings[index] = fxt_stream(t, len);
	t->string_records++;
}

static inline void fxt_thread_record(struct fxt_trace *t, uint64_t header)
{
	uint64_t index = fxt_bits(header, 16, 23);

	fxt_zero(t, header, 24, 63);
	if (!index)
		fxt_fail(t, "thread record without an index");
	t->refs[index].pid = fxt_word(t);
	t->refs[index].tid = fxt_word(t);
	t->refs[index].set = true;
	if ((t->refs[index].pid | t->refs[index].tid) >> 32)
		fxt_fail(t, "viewers cut a process or thread id to 32 bits");
	t->thread_records++;
}

/* One argument: its name is returned, its value is a word or a string. */
static inline const char *fxt_argument(struct fxt_trace *t, unsigned int *type, uint64_t *value,
				       char **string)
{
	size_t begin = t->at;
	uint64_t header = fxt_word(t);
	const char *name = fxt_string(t, fxt_bits(header, 16, 31));

	*type = (unsigned int)fxt_bits(header, 0, 3);
	*string = NULL;
	switch (*type) {
	case 2:
		*value = fxt_bits(header, 32, 63);
		break;
	case 4:
		fxt_zero(t, header, 32, 63);
		*value = fxt_word(t);
		if (*value <= UINT32_MAX)
			fxt_fail(t, "a small number as 64 bits");
		break;
	case 6:
		fxt_zero(t, header, 48, 63);
		*string = fxt_string(t, fxt_bits(header, 32, 47));
		break;
	case 7:
	case 8:
		fxt_zero(t, header, 32, 63);
		*value = fxt_word(t);
		break;
	default:
		fxt_fail(t, "argument of type %u", *type);
	}
	if (t->at - begin != fxt_bits(header, 4, 15))
		fxt_fail(t, "argument %s has a wrong size", name);
	return name;
}

static inline void fxt_kernel_object(struct fxt_trace *t, uint64_t header)
{
	uint64_t type = fxt_bits(header, 16, 23);
	char *name = fxt_string(t, fxt_bits(header, 24, 39));
	uint64_t nr = fxt_bits(header, 40, 43);
	uint64_t koid = fxt_word(t);
	struct fxt_process *process;
	struct fxt_thread *thread;
	unsigned int arg_type;
	uint64_t pid;
	char *string;

	fxt_zero(t, header, 44, 63);
	if (type == 1 && !nr) {
		process = fxt_process(t, koid);
		if (!process) {
			t->processes = fxt_more(t, t->processes, t->nr_processes,
						sizeof(*t->processes));
			process = &t->processes[t->nr_processes++];
		}
		free(process->name);
		process->pid = koid;
		process->name = strdup(name);
		return;
	}
	if (type != 2 || nr != 1)
		fxt_fail(t, "kernel object of type %" PRIu64 ", %" PRIu64 " arguments", type, nr);
	if (strcmp(fxt_argument(t, &arg_type, &pid, &string), "process") || arg_type != 8)
		fxt_fail(t, "a thread's argument is not the koid of its process");
	if (!fxt_process(t, pid))
		fxt_fail(t, "thread of a process that has no name");
	thread = fxt_thread(t, koid);
	if (!thread) {
		t->threads = fxt_more(t, t->threads, t->nr_threads, sizeof(*t->threads));
		thread = &t->threads[t->nr_threads++];
		thread->tid = koid;
		thread->pid = pid;
	}
	if (thread->pid != pid)
		fxt_fail(t, "thread %" PRIu64 " changes its process", koid);
	free(thread->name);
	thread->name = strdup(name);
}

static inline void fxt_event_argument(struct fxt_trace *t, struct fxt_event *event)
{
	const struct {
		const char *name;
		unsigned int type;
		bool instant;
		bool *has;
		uint64_t *value;
		char **string;
	} known[] = {
		{ "address", 7, false, &event->has_address, &event->address, NULL },
		{ "object", 6, false, &event->has_object, NULL, &event->object },
		{ "call_site", 7, false, &event->has_call_site, &event->call_site, NULL },
		{ "flags", 6, false, &event->has_flags, NULL, &event->flags },
		{ "symbol", 6, true, &event->has_symbol, NULL, &event->symbol },
		{ "snapshot", 2, event->instant, &event->has_snapshot, &event->snapshot, NULL },
		{ "snapshot", 4, event->instant, &event->has_snapshot, &event->snapshot, NULL },
	};
	unsigned int type;
	uint64_t value = 0;
	char *string;
	const char *name = fxt_argument(t, &type, &value, &string);
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) || type != known[i].type ||
		    event->instant != known[i].instant)
			continue;
		if (*known[i].has)
			fxt_fail(t, "argument %s is given twice", name);
		*known[i].has = true;
		if (known[i].string)
			*known[i].string = strdup(string);
		else
			*known[i].value = value;
		return;
	}
	fxt_fail(t, "argument %s of type %u is not known", name, type);
}

static inline void fxt_event_begin(struct fxt_trace *t, struct fxt_thread *thread,
				   struct fxt_event *event)
{
	const struct fxt_event *outer;

	if (!*event->name)
		fxt_fail(t, "slice without a name");
	if (!event->has_address || !event->has_object || !event->has_snapshot)
		fxt_fail(t, "slice without an address, object or snapshot");
	event->depth = (unsigned int)thread->nr_open;
	if (thread->nr_open) {
		outer = &t->events[thread->open[thread->nr_open - 1]];
		if (outer->snapshot != event->snapshot)
			fxt_fail(t, "slice within one of another snapshot");
	}
	if (thread->nr_open == thread->room) {
		thread->room = thread->room ? thread->room * 2 : 64;
		thread->open = realloc(thread->open, thread->room * sizeof(*thread->open));
	}
	thread->open[thread->nr_open++] = t->nr_events;
}

static inline void fxt_keep(struct fxt_trace *t)
{
	/* Doubled, not grown one by one: there may be millions. */
	if (!(t->nr_events & (t->nr_events - 1)))
		t->events = realloc(t->events, (t->nr_events ? t->nr_events * 2 : 1) *
				    sizeof(*t->events));
	if (!t->events)
		fxt_fail(t, "out of memory");
	t->events[t->nr_events++] = t->pending;
	memset(&t->pending, 0, sizeof(t->pending));
}

static inline void fxt_free_event(struct fxt_event *event)
{
	free(event->category);
	free(event->name);
	free(event->object);
	free(event->flags);
	free(event->symbol);
}

static inline void fxt_event_record(struct fxt_trace *t, uint64_t header)
{
	uint64_t type = fxt_bits(header, 16, 19);
	uint64_t nr = fxt_bits(header, 20, 23);
	uint64_t ref = fxt_bits(header, 24, 31);
	struct fxt_event *event = &t->pending;
	struct fxt_thread *thread;
	uint64_t i;

	if (type != 0 && type != 2 && type != 3)
		fxt_fail(t, "event of type %" PRIu64, type);
	if (!ref || !t->refs[ref].set)
		fxt_fail(t, "thread %" PRIu64 " is not in the table", ref);
	event->instant = !type;
	event->pid = t->refs[ref].pid;
	event->tid = t->refs[ref].tid;
	event->begin = fxt_word(t);
	if (event->begin >> 63)
		fxt_fail(t, "time is over the viewers' limit");
	thread = fxt_thread(t, event->tid);
	if (!thread || thread->pid != event->pid)
		fxt_fail(t, "event of a thread that has no name");
	if (event->begin < thread->last)
		fxt_fail(t, "time goes back by %" PRIu64 " ns on thread %" PRIu64,
			 thread->last - event->begin, event->tid);
	thread->last = event->begin;
	if (type == 3) {
		if (nr || !thread->nr_open)
			fxt_fail(t, "end with arguments, or of nothing");
		t->events[thread->open[--thread->nr_open]].end = event->begin;
		memset(event, 0, sizeof(*event));
		return;
	}
	event->category = strdup(fxt_string(t, fxt_bits(header, 32, 47)));
	event->name = strdup(fxt_string(t, fxt_bits(header, 48, 63)));
	for (i = 0; i < nr; i++)
		fxt_event_argument(t, event);
	if (event->instant)
		event->end = event->begin;
	else
		fxt_event_begin(t, thread, event);
	fxt_keep(t);
}

static inline void fxt_one_record(struct fxt_trace *t, size_t index)
{
	uint64_t header = fxt_word(t);
	unsigned int type = header & 15;

	if (!index) {
		if (header != 0x0016547846040010ULL)
			fxt_fail(t, "is not the magic number");
	} else if (index == 1) {
		fxt_zero(t, header, 16, 63);
		if (type != 1 || fxt_word(t) != 1000000000)
			fxt_fail(t, "is not the initialization record, with 10^9 ticks a second");
	} else if (type == 2) {
		fxt_string_record(t, header);
	} else if (type == 3) {
		fxt_thread_record(t, header);
	} else if (type == 4) {
		fxt_event_record(t, header);
	} else if (type == 7) {
		fxt_kernel_object(t, header);
	} else {
		fxt_fail(t, "is of type %u", type);
	}
	if (t->at != t->words)
		fxt_fail(t, "is longer than what it holds");
}

/* Read all of a trace into *@t; false, with @t->error, if anything is wrong in it. */
static inline bool fxt_read(struct fxt_trace *t, const uint8_t *bytes, size_t len)
{
	uint64_t header;
	size_t index = 0;
	size_t i;

	memset(t, 0, sizeof(*t));
	if (setjmp(t->failed))
		return false;
	if (len % 8 || len < 24)
		fxt_fail(t, "the file is cut off");
	for (t->offset = 0; t->offset < len; t->offset += t->words * 8) {
		memcpy(&header, bytes + t->offset, 8);
		t->record = bytes + t->offset;
		t->words = fxt_bits(header, 4, 15);
		t->at = 0;
		if (!t->words || t->words * 8 > len - t->offset)
			fxt_fail(t, "its size is %zu words", t->words);
		fxt_one_record(t, index++);
	}
	for (i = 0; i < t->nr_threads; i++)
		if (t->threads[i].nr_open)
			fxt_fail(t, "%zu slices of thread %" PRIu64 " have no end",
				 t->threads[i].nr_open, t->threads[i].tid);
	return true;
}

static inline void fxt_free(struct fxt_trace *t)
{
	size_t i;

	for (i = 0; i < t->nr_events; i++)
		fxt_free_event(&t->events[i]);
	fxt_free_event(&t->pending);
	for (i = 0; i < t->nr_threads; i++) {
		free(t->threads[i].name);
		free(t->threads[i].open);
	}
	for (i = 0; i < t->nr_processes; i++)
		free(t->processes[i].name);
	for (i = 0; i < sizeof(t->strings) / sizeof(t->strings[0]); i++)
		free(t->strings[i]);
	free(t->events);
	free(t->threads);
	free(t->processes);
}

#endif /* TESTS_TOOLS_FXT_READER_H */
