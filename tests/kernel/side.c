// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "side.h"

/* The shortest that each type can be, by the protocol. */
static const uint16_t sizes[] = {
	[MTRACE_RECORD_LOST] = sizeof(struct mtrace_record_lost),
	[MTRACE_RECORD_RUN] = sizeof(struct mtrace_record_run),
	[MTRACE_RECORD_THREAD] = sizeof(struct mtrace_record_thread),
	[MTRACE_RECORD_EXIT] = sizeof(struct mtrace_record_exit),
	[MTRACE_RECORD_COMM] = sizeof(struct mtrace_record_comm),
	[MTRACE_RECORD_FORK] = sizeof(struct mtrace_record_fork),
	[MTRACE_RECORD_EXEC] = sizeof(struct mtrace_record_exec) + 8,
	[MTRACE_RECORD_SWITCH] = sizeof(struct mtrace_record_switch),
	[MTRACE_RECORD_MMAP] = sizeof(struct mtrace_record_mmap) + 8,
	[MTRACE_RECORD_MUNMAP] = sizeof(struct mtrace_record_munmap),
	[MTRACE_RECORD_LOSS] = sizeof(struct mtrace_record_loss),
};

struct mtrace_setup side_setup(struct mtrace_setup setup, uint32_t size)
{
	setup.flags |= MTRACE_SETUP_SIDEBAND;
	setup.sideband_size = size;
	return setup;
}

static void check_path(const union record *record, const char *path)
{
	const char *end = (const char *)record + record->head.size;

	CHECK(!end[-1], "a path has no end");
	for (path += strlen(path); path < end; path++)
		CHECK(!*path, "there is something behind a path");
}

static void check_record(const union record *record, uint64_t before)
{
	const struct mtrace_record *head = &record->head;
	bool has_path = head->type == MTRACE_RECORD_EXEC ||
			head->type == MTRACE_RECORD_MMAP;

	CHECK(head->type && head->type < sizeof(sizes) / sizeof(sizes[0]),
	      "a record of type %u", head->type);
	CHECK(has_path ? head->size >= sizes[head->type] :
			 head->size == sizes[head->type],
	      "a record of type %u has %u bytes", head->type, head->size);
	CHECK_EQ(head->size % 8, 0);
	CHECK(head->tsc >= before, "a record of type %u is %llu before another",
	      head->type, (unsigned long long)(before - head->tsc));
	CHECK(head->cpu < (uint32_t)nr_cpus(), "a record is of CPU %u",
	      head->cpu);
	if (head->type == MTRACE_RECORD_MMAP)
		check_path(record, record->mmap.path);
	if (head->type == MTRACE_RECORD_EXEC)
		check_path(record, record->exec.path);
}

/* Split what was read into records; the memory may have moved. */
static void split(struct side *side)
{
	const union record *record;
	uint64_t before = 0;
	size_t at = 0;

	side->nr = 0;
	side->records = realloc(side->records,
				side->len / sizeof(struct mtrace_record) *
				sizeof(*side->records) + 1);
	while (at < side->len) {
		record = (const void *)(side->bytes + at);
		CHECK(side->len - at >= sizeof(record->head) &&
		      side->len - at >= record->head.size,
		      "a record is not whole");
		check_record(record, before);
		before = record->head.tsc;
		side->records[side->nr++] = record;
		at += record->head.size;
	}
}

uint32_t side_read(struct session *s, struct side *side)
{
	uint32_t before = side->nr;
	ssize_t n;

	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		side->bytes = realloc(side->bytes, side->len + KIB(64));
		n = read(s->fd, side->bytes + side->len, KIB(64));
		if (n <= 0)
			break;
		side->len += n;
	}
	CHECK(n < 0 && errno == EAGAIN, "read gives %zd, %s", n,
	      strerror(errno));
	fcntl(s->fd, F_SETFL, 0);
	split(side);
	return side->nr - before;
}

void side_free(struct side *side)
{
	free(side->bytes);
	free(side->records);
	memset(side, 0, sizeof(*side));
}

const union record *side_next(const struct side *side, uint32_t *at,
			      uint16_t type)
{
	while (*at < side->nr) {
		const union record *record = side->records[(*at)++];

		if (record->head.type == type)
			return record;
	}
	return NULL;
}

const union record *side_must(const struct side *side, uint32_t *at,
			      uint16_t type, pid_t tid)
{
	const union record *record;

	do {
		record = side_next(side, at, type);
	} while (record && record->head.tid != tid);
	if (!record)
		FAIL("there is no record of type %u of thread %d", type, tid);
	return record;
}

uint32_t side_count(const struct side *side, uint16_t type, pid_t tid)
{
	const union record *record;
	uint32_t at = 0, n = 0;

	while ((record = side_next(side, &at, type)))
		n += record->head.tid == tid;
	return n;
}
