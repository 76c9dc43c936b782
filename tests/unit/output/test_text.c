// SPDX-License-Identifier: GPL-2.0
/*
 * The text output, byte by byte.
 */
#include "tests/unit/output/feed.h"

static void test_tree(void **state)
{
	const struct mt_snapshot_info info = {
		.number = 2,
		.reason = MT_REASON_TRIGGER,
		.trigger_symbol = (char *)"fib",
	};
	const struct mt_snapshot_info at_exit = { .number = 3, .reason = MT_REASON_EXIT };
	const char *path = feed_path("tree.txt");
	struct feed feed;

	(void)state;
	feed_open(&feed, path);
	assert_int_equal(mt_output_snapshot(feed.output, &info), 0);
	feed_track(&feed, 2, 100, 101, "worker", 1000, 1234567890);
	feed_slice(&feed, "main", 0, 1000, 1234567890, MT_SLICE_F_NO_CALL | MT_SLICE_F_NO_RETURN);
	feed_slice(&feed, "f(int)", 1, 2000, 2999, 0);
	feed_slice(&feed, "[syscall]", 2, 2100, 2110, MT_SLICE_F_SYSCALL);
	feed_slice(&feed, "fib", 1, 1234567000, 1234567890,
		   MT_SLICE_F_TAIL_CALL | MT_SLICE_F_NO_RETURN | MT_SLICE_F_TRIGGER);
	feed_track_end(&feed);
	assert_int_equal(mt_output_snapshot(feed.output, &at_exit), 0);
	feed_track(&feed, 3, 100, 100, "ma\nin", 0, 7);
	feed_slice(&feed, "[lost trace]", 0, 0, 7, MT_SLICE_F_GAP);
	feed_track_end(&feed);
	feed_commit(&feed);
	feed_expect(path,
		    "snapshot 2 (trigger fib) pid 100 tid 101 worker: "
		    "1,234,566,890 ns, from 1,000 ns to 1,234,567,890 ns\n"
		    "     start ns    duration ns  function\n"
		    "        1,000  1,234,566,890  main  -- no-call, no-return\n"
		    "        2,000            999    f(int)\n"
		    "        2,100             10      [syscall]\n"
		    "1,234,567,000            890    fib  -- no-return, tail-call, trigger\n"
		    "\n"
		    "snapshot 3 (exit) pid 100 tid 100 ma?in: 7 ns, from 0 ns to 7 ns\n"
		    "start ns  duration ns  function\n"
		    "       0            7  [lost trace]\n");
}

/* A thread without slices has no times either, and which of two it is is said. */
static void test_no_slices(void **state)
{
	const char *path = feed_path("none.txt");
	struct mt_track track = {
		.snapshot = 1, .pid = 7, .tid = 8, .process = "p", .thread = "t",
		.state = MT_TRACK_IDLE,
	};
	struct feed feed;

	(void)state;
	feed_open(&feed, path);
	assert_int_equal(feed.sink->track_begin(feed.sink->ctx, &track), 0);
	feed_track_end(&feed);
	track.state = MT_TRACK_UNDECODED;
	assert_int_equal(feed.sink->track_begin(feed.sink->ctx, &track), 0);
	feed_track_end(&feed);
	feed_commit(&feed);
	feed_expect(path, "snapshot 1 pid 7 tid 8 t: nothing ran\n"
			  "\n"
			  "snapshot 1 pid 7 tid 8 t: nothing could be decoded\n");
}

/* Each line of a deep stack has a bounded length. */
static void test_deep(void **state)
{
	const char *path = feed_path("deep.txt");
	struct feed feed;
	char *text, *line, *rest;
	char expected[300];
	unsigned int i;
	size_t len;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "t", 0, 9);
	for (i = 0; i < 300; i++)
		feed_slice(&feed, "f", i, 0, 9, 0);
	feed_track_end(&feed);
	feed_commit(&feed);

	text = feed_read(path, &len);
	rest = text;
	strsep(&rest, "\n");
	strsep(&rest, "\n");
	for (i = 0; i < 300; i++) {
		line = strsep(&rest, "\n");
		if (i <= 100)
			snprintf(expected, sizeof(expected), "       0            9  %*sf",
				 (int)i * 2, "");
		else
			snprintf(expected, sizeof(expected), "       0            9  %*s[depth %u] f",
				 200, "", i);
		assert_string_equal(line, expected);
	}
	assert_string_equal(rest, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_no_slices),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, feed_setup, feed_teardown);
}
