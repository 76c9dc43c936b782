// SPDX-License-Identifier: GPL-2.0
/*
 * The Fuchsia trace output, read back by a reader that was written from the
 * specification; and that reader, which must fail on what is wrong.
 */
#include "tests/tools/fxt_reader.h"
#include "tests/unit/output/feed.h"

#define OBJECT	"/usr/bin/prog"

static struct fxt_trace trace;

static uint8_t *read_back(const char *path, size_t *len)
{
	uint8_t *bytes = (uint8_t *)feed_read(path, len);

	assert_non_null(bytes);
	if (!fxt_read(&trace, bytes, *len))
		fail_msg("%s: %s", path, trace.error);
	return bytes;
}

static void expect_event(size_t index, const char *category, const char *name,
			 unsigned int depth, uint64_t begin, uint64_t end, const char *flags)
{
	const struct fxt_event *event;

	assert_true(index < trace.nr_events);
	event = &trace.events[index];
	assert_string_equal(event->category, category);
	assert_string_equal(event->name, name);
	assert_int_equal(event->depth, depth);
	assert_int_equal(event->begin, begin);
	assert_int_equal(event->end, end);
	assert_int_equal(event->has_flags, flags != NULL);
	if (flags)
		assert_string_equal(event->flags, flags);
}

/* The first bytes, as the specification gives them. */
static void test_head(void **state)
{
	static const uint8_t head[24] = {
		0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00,	/* magic */
		0x21, 0, 0, 0, 0, 0, 0, 0,			/* initialization, 2 words */
		0x00, 0xca, 0x9a, 0x3b, 0, 0, 0, 0,		/* 10^9 */
	};
	const char *path = feed_path("head.fxt");
	struct feed feed;
	uint8_t *bytes;
	size_t len;

	(void)state;
	feed_open(&feed, path);
	feed_commit(&feed);
	bytes = read_back(path, &len);
	assert_int_equal(len, sizeof(head));
	assert_memory_equal(bytes, head, sizeof(head));
	free(bytes);
	fxt_free(&trace);
}

static void write_sample(const char *path)
{
	const struct mt_snapshot_info info = {
		.number = 1,
		.reason = MT_REASON_TRIGGER,
		.trigger_symbol = (char *)"fib",
	};
	struct feed feed;

	feed_open(&feed, path);
	assert_int_equal(mt_output_snapshot(feed.output, &info), 0);
	feed_track(&feed, 1, 100, 100, "prog", 0, 5000);
	feed_slice(&feed, "main", 0, 0, 5000, MT_SLICE_F_NO_CALL | MT_SLICE_F_NO_RETURN);
	feed_slice(&feed, "a", 1, 10, 2000, 0);
	feed_slice(&feed, "[syscall]", 2, 20, 2000, MT_SLICE_F_SYSCALL);
	feed_slice(&feed, "fib", 1, 2000, 5000, MT_SLICE_F_NO_RETURN | MT_SLICE_F_TRIGGER);
	feed_track_end(&feed);
	feed_track(&feed, 1, 100, 101, "worker", 50, 60);
	feed_slice(&feed, "[lost trace]", 0, 50, 60, MT_SLICE_F_GAP);
	feed_track_end(&feed);
	feed_track(&feed, 5000000000ULL, 100, 101, "renamed", 70, 80);
	feed_slice(&feed, "f", 0, 70, 80, 0);
	feed_track_end(&feed);
	feed_commit(&feed);
}

static void check_sample(void)
{
	assert_int_equal(trace.nr_events, 7);
	expect_event(0, "function", "main", 0, 0, 5000, "no-call no-return");
	expect_event(1, "function", "a", 1, 10, 2000, NULL);
	expect_event(2, "scope", "[syscall]", 2, 20, 2000, "syscall");
	expect_event(3, "function", "fib", 1, 2000, 5000, "no-return trigger");
	expect_event(4, "trigger", "trigger", 0, 2000, 2000, NULL);
	expect_event(5, "gap", "[lost trace]", 0, 50, 60, "gap");
	expect_event(6, "function", "f", 0, 70, 80, NULL);

	assert_int_equal(trace.events[1].address, 0x1000);
	assert_int_equal(trace.events[1].call_site, 0x1234);
	assert_string_equal(trace.events[1].object, OBJECT);
	assert_false(trace.events[0].has_call_site);
	assert_true(trace.events[4].instant);
	assert_string_equal(trace.events[4].symbol, "fib");
	assert_int_equal(trace.events[4].snapshot, 1);
	assert_int_equal(trace.events[6].snapshot, 5000000000ULL);
	assert_int_equal(trace.events[3].tid, 100);
	assert_int_equal(trace.events[5].tid, 101);
	assert_int_equal(trace.events[5].pid, 100);

	assert_int_equal(trace.nr_processes, 1);
	assert_string_equal(trace.processes[0].name, "prog");
	assert_int_equal(trace.nr_threads, 2);
	assert_int_equal(trace.threads[0].tid, 100);
	assert_string_equal(trace.threads[0].name, "prog");
	assert_string_equal(trace.threads[1].name, "renamed");
	assert_int_equal(trace.thread_records, 2);
}

static void test_sample(void **state)
{
	const char *path = feed_path("sample.fxt");
	size_t len;

	(void)state;
	write_sample(path);
	free(read_back(path, &len));
	check_sample();
	fxt_free(&trace);
}

static void test_compressed(void **state)
{
	const char *path = feed_path("sample.fxt.gz");
	unsigned char magic[2];
	FILE *file;
	size_t len;

	(void)state;
	write_sample(path);
	file = fopen(path, "rb");
	assert_int_equal(fread(magic, 1, 2, file), 2);
	fclose(file);
	assert_int_equal(magic[0], 0x1f);
	assert_int_equal(magic[1], 0x8b);
	free(read_back(path, &len));
	check_sample();
	fxt_free(&trace);
}

/* More names than the string table has numbers: old ones are given out again. */
static void test_many_strings(void **state)
{
	const char *path = feed_path("strings.fxt");
	const unsigned int names = 40000;
	struct feed feed;
	char name[32];
	unsigned int round, i, k = 0;
	size_t len;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "t", 0, 10 * names);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < names; i++, k++) {
			snprintf(name, sizeof(name), "function_%u", i);
			feed_slice(&feed, name, 0, k, k + 1, 0);
		}
	}
	feed_track_end(&feed);
	feed_commit(&feed);
	free(read_back(path, &len));
	assert_int_equal(trace.nr_events, 2 * names);
	assert_true(trace.string_records > 32767);
	for (i = 0; i < 2 * names; i++) {
		snprintf(name, sizeof(name), "function_%u", i % names);
		assert_string_equal(trace.events[i].name, name);
		assert_string_equal(trace.events[i].object, OBJECT);
		assert_string_equal(trace.events[i].category, "function");
	}
	fxt_free(&trace);
}

static void test_many_threads(void **state)
{
	const char *path = feed_path("threads.fxt");
	const unsigned int threads = 600;
	struct feed feed;
	char name[32];
	unsigned int i;
	size_t len;

	(void)state;
	feed_open(&feed, path);
	for (i = 0; i < 2 * threads; i++) {
		snprintf(name, sizeof(name), "thread %u", i % threads);
		feed_track(&feed, 1 + i / threads, 1000, 1000 + (int)(i % threads), name, i, i + 1);
		feed_slice(&feed, name, 0, i, i + 1, 0);
		feed_track_end(&feed);
	}
	feed_commit(&feed);
	free(read_back(path, &len));
	assert_int_equal(trace.nr_threads, threads);
	assert_int_equal(trace.nr_events, 2 * threads);
	for (i = 0; i < 2 * threads; i++) {
		snprintf(name, sizeof(name), "thread %u", i % threads);
		assert_string_equal(trace.events[i].name, name);
		assert_int_equal(trace.events[i].tid, 1000 + i % threads);
		assert_string_equal(trace.threads[i % threads].name, name);
	}
	fxt_free(&trace);
}

/* Names are cut where the format's limit is, but not within a character. */
static void test_long_names(void **state)
{
	const char *path = feed_path("long.fxt");
	const size_t huge = 100000;
	char *name = malloc(huge + 1);
	struct feed feed;
	size_t len;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "t", 0, 10);
	memset(name, 'n', huge);
	name[huge] = '\0';
	feed_slice(&feed, name, 0, 0, 1, 0);
	name[32000] = '\0';
	feed_slice(&feed, name, 0, 1, 2, 0);
	/* 31,999 bytes and a character of two */
	memcpy(name + 31999, "\xc3\xa9", 3);
	feed_slice(&feed, name, 0, 2, 3, 0);
	feed_track_end(&feed);
	feed_commit(&feed);
	free(read_back(path, &len));
	assert_int_equal(trace.nr_events, 3);
	assert_int_equal(strlen(trace.events[0].name), 32000);
	assert_int_equal(strlen(trace.events[1].name), 32000);
	assert_int_equal(strlen(trace.events[2].name), 31999);
	fxt_free(&trace);
	free(name);
}

/* The format holds UTF-8 only; a file's bytes may be anything. */
static void test_odd_names(void **state)
{
	static const struct {
		const char *name;
		const char *expected;
	} cases[] = {
		{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
		{ "a\xff" "b", "a?b" },
		{ "\xc0\x80", "??" },			/* not the shortest form */
		{ "\xed\xa0\x80", "???" },		/* a surrogate */
		{ "\xf4\x90\x80\x80", "????" },		/* beyond the last */
		{ "\xe2\x82", "??" },			/* cut off */
		{ "a\nb\x01\x7f", "a?b??" },
		{ "\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7" },
	};
	const char *path = feed_path("odd.fxt");
	const size_t count = sizeof(cases) / sizeof(cases[0]);
	struct feed feed;
	size_t i, len;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "\xfe", 0, 100);
	for (i = 0; i < count; i++)
		feed_slice(&feed, cases[i].name, 0, i, i + 1, 0);
	feed_track_end(&feed);
	feed_commit(&feed);
	free(read_back(path, &len));
	assert_int_equal(trace.nr_events, count);
	for (i = 0; i < count; i++)
		assert_string_equal(trace.events[i].name, cases[i].expected);
	assert_string_equal(trace.threads[0].name, "?");
	fxt_free(&trace);
}

/* A stack a million deep is written and read. */
static void test_deep(void **state)
{
	const char *path = feed_path("deep.fxt");
	const unsigned int depth = 1000000;
	struct feed feed;
	unsigned int i;
	size_t len;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "t", 0, 3 * depth);
	for (i = 0; i < depth; i++)
		feed_slice(&feed, "f", i, i, 3 * depth - i, 0);
	feed_track_end(&feed);
	feed_commit(&feed);
	free(read_back(path, &len));
	assert_int_equal(trace.nr_events, depth);
	expect_event(depth - 1, "function", "f", depth - 1, depth - 1, 2 * depth + 1, NULL);
	fxt_free(&trace);
}

static size_t record_bytes(const uint8_t *record)
{
	return (size_t)(record[0] >> 4 | record[1] << 4) * 8;
}

/* A header that is damaged, and a file that is cut off, must be seen. */
static void test_reader_sees_damage(void **state)
{
	const char *path = feed_path("damage.fxt");
	unsigned int records = 0, open = 0;
	uint8_t *bytes, *copy;
	size_t len, i, cut;

	(void)state;
	write_sample(path);
	bytes = read_back(path, &len);
	fxt_free(&trace);
	copy = malloc(len);
	for (i = 0; i < len; i += record_bytes(bytes + i), records++) {
		/* a size that is one off, a type that is another */
		memcpy(copy, bytes, len);
		copy[i] ^= 0x10;
		assert_false(fxt_read(&trace, copy, len));
		fxt_free(&trace);
		copy[i] = (uint8_t)((bytes[i] & 0xf0) | 9);
		assert_false(fxt_read(&trace, copy, len));
		fxt_free(&trace);

		/* cut before this record: right only where no slice is open */
		assert_int_equal(fxt_read(&trace, bytes, i), i >= 24 && !open);
		fxt_free(&trace);
		for (cut = i + 1; cut < i + record_bytes(bytes + i); cut++) {
			assert_false(fxt_read(&trace, bytes, cut));
			fxt_free(&trace);
		}
		if ((bytes[i] & 15) == 4)
			open += (bytes[i + 2] & 15) == 2 ? 1U : (bytes[i + 2] & 15) == 3 ? -1U : 0;
	}
	assert_true(records > 20);
	free(copy);
	free(bytes);
}

/* A reader that accepts what our writer must never write would prove nothing. */
static void test_reader_rejects(void **state)
{
	static const uint64_t head[] = { 0x0016547846040010ULL, 0x21, 1000000000 };
	static const struct {
		const char *why;
		uint64_t words[4];
		size_t count;
	} cases[] = {
		{ "end of nothing", { 0x0000000001030024ULL, 5 }, 2 },
		{ "string 0", { 0x0000000100000022ULL, 'x' }, 2 },
		{ "padding", { 0x0000000100010022ULL, 'x' | 'y' << 8 }, 2 },
		{ "bad UTF-8", { 0x0000000100010022ULL, 0xff }, 2 },
		{ "reserved bits", { 0x0001000100010022ULL, 'x' }, 2 },
		{ "thread 0", { 0x0000000000000033ULL, 1, 1 }, 3 },
		{ "wide pid", { 0x0000000000010033ULL, 1ULL << 32, 1 }, 3 },
		{ "unknown string", { 0x0000000005010027ULL, 1 }, 2 },
		{ "thread without process", { 0x0000000000020027ULL, 1 }, 2 },
		{ "log record", { 0x19 }, 1 },
		{ "a second initialization", { 0x21, 1000000000 }, 2 },
	};
	uint64_t words[8];
	size_t i;

	(void)state;
	memcpy(words, head, sizeof(head));
	assert_true(fxt_read(&trace, (uint8_t *)words, sizeof(head)));
	fxt_free(&trace);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(words + 3, cases[i].words, cases[i].count * 8);
		if (fxt_read(&trace, (uint8_t *)words, (3 + cases[i].count) * 8))
			fail_msg("the reader takes: %s", cases[i].why);
		fxt_free(&trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_many_strings),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_reader_sees_damage),
		cmocka_unit_test(test_reader_rejects),
	};

	return cmocka_run_group_tests(tests, feed_setup, feed_teardown);
}
