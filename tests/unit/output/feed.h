/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slices made by hand, and a folder of its own, for the tests of the outputs.
 */
#ifndef TESTS_OUTPUT_FEED_H
#define TESTS_OUTPUT_FEED_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "user/output/output.h"

struct feed {
	struct mt_output *output;
	const struct mt_sink *sink;
};

static char feed_folder[64];

/* A path in the test's own folder, good until the fourth next call. */
static inline const char *feed_path(const char *name)
{
	static char paths[4][160];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", feed_folder, name);
	return path;
}

static inline int feed_setup(void **state)
{
	(void)state;
	strcpy(feed_folder, "/tmp/mtrace-output-XXXXXX");
	return mkdtemp(feed_folder) ? 0 : -1;
}

static inline int feed_teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", feed_folder);
	return system(command);
}

static inline void feed_open(struct feed *feed, const char *path)
{
	assert_int_equal(mt_output_open(&path, 1, &feed->output), 0);
	feed->sink = mt_output_sink(feed->output);
}

static inline void feed_track(struct feed *feed, uint64_t snapshot, int pid, int tid,
			      const char *name, uint64_t begin, uint64_t end)
{
	const struct mt_track track = {
		.snapshot = snapshot,
		.pid = pid,
		.tid = tid,
		.process = "prog",
		.thread = name,
		.begin_ns = begin,
		.end_ns = end,
	};

	assert_int_equal(feed->sink->track_begin(feed->sink->ctx, &track), 0);
}

static inline void feed_slice(struct feed *feed, const char *name, uint32_t depth,
			      uint64_t begin, uint64_t end, uint32_t flags)
{
	const struct mt_function fn = { 0x1000, 0x2000, name, "/usr/bin/prog" };
	const struct mt_slice slice = {
		.fn = &fn,
		.address = 0x1000,
		.call_site = depth ? 0x1234 : 0,
		.begin_ns = begin,
		.end_ns = end,
		.depth = depth,
		.flags = flags,
	};

	assert_int_equal(feed->sink->slice(feed->sink->ctx, &slice), 0);
}

static inline void feed_track_end(struct feed *feed)
{
	assert_int_equal(feed->sink->track_end(feed->sink->ctx), 0);
}

static inline void feed_commit(struct feed *feed)
{
	assert_int_equal(mt_output_commit(feed->output), 0);
	mt_output_close(feed->output);
}

/* All of a file, uncompressed, terminated; NULL where there is none. */
static inline char *feed_read(const char *path, size_t *len)
{
	gzFile file = gzopen(path, "rb");
	size_t room = 1 << 16;
	char *text;
	int n;

	if (!file)
		return NULL;
	text = malloc(room + 1);
	*len = 0;
	while ((n = gzread(file, text + *len, (unsigned int)(room - *len))) > 0) {
		*len += (size_t)n;
		if (*len == room)
			text = realloc(text, (room *= 2) + 1);
	}
	assert_int_equal(n, 0);
	assert_int_equal(gzclose(file), Z_OK);
	text[*len] = '\0';
	return text;
}

static inline void feed_expect(const char *path, const char *expected)
{
	size_t len;
	char *text = feed_read(path, &len);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

/* What @call says on stderr, to be freed. */
static inline char *stderr_of(int (*call)(void *ctx), void *ctx, int *result)
{
	const char *path = feed_path("stderr");
	int saved = dup(2);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	char *text;
	size_t len;

	dup2(fd, 2);
	close(fd);
	*result = call(ctx);
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	text = feed_read(path, &len);
	unlink(path);
	return text;
}

#endif /* TESTS_OUTPUT_FEED_H */
