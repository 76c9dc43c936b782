// SPDX-License-Identifier: GPL-2.0
/*
 * The CSV output, byte by byte.
 */
#include "tests/unit/output/feed.h"

#define HEADER	"snapshot,pid,tid,depth,start_ns,duration_ns,function,object,address,flags\n"

static void test_empty(void **state)
{
	const char *path = feed_path("empty.csv");
	struct feed feed;

	(void)state;
	feed_open(&feed, path);
	feed_commit(&feed);
	feed_expect(path, HEADER);
}

static void test_slices(void **state)
{
	const char *path = feed_path("slices.csv");
	struct feed feed;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 3, 100, 101, "worker", 0, 5000);
	feed_slice(&feed, "main", 0, 0, 5000, MT_SLICE_F_NO_CALL | MT_SLICE_F_NO_RETURN);
	feed_slice(&feed, "fib", 1, 10, 4010, 0);
	feed_slice(&feed, "[syscall]", 2, 4000, 4010, MT_SLICE_F_SYSCALL);
	feed_track_end(&feed);
	feed_track(&feed, 4, 100, 100, "main", 18446744073709551614ULL, 18446744073709551615ULL);
	feed_slice(&feed, "late", 0, 18446744073709551614ULL, 18446744073709551615ULL,
		   MT_SLICE_F_TRIGGER);
	feed_track_end(&feed);
	feed_commit(&feed);
	feed_expect(path, HEADER
		    "3,100,101,0,0,5000,main,/usr/bin/prog,0x1000,no-call no-return\n"
		    "3,100,101,1,10,4000,fib,/usr/bin/prog,0x1000,\n"
		    "3,100,101,2,4000,10,[syscall],/usr/bin/prog,0x1000,syscall\n"
		    "4,100,100,0,18446744073709551614,1,late,/usr/bin/prog,0x1000,trigger\n");
}

static void test_quoting(void **state)
{
	const char *path = feed_path("quoting.csv");
	struct feed feed;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "t", 0, 10);
	feed_slice(&feed, "f(int, char)", 0, 0, 10, 0);
	feed_slice(&feed, "operator\"\"_ms", 1, 0, 1, 0);
	feed_slice(&feed, "a\nb", 1, 1, 2, 0);
	feed_slice(&feed, "\"", 1, 2, 3, 0);
	feed_slice(&feed, "plain name", 1, 3, 4, 0);
	feed_slice(&feed, "\xff\xc3\xa9", 1, 4, 5, 0);
	feed_track_end(&feed);
	feed_commit(&feed);
	feed_expect(path, HEADER
		    "1,1,1,0,0,10,\"f(int, char)\",/usr/bin/prog,0x1000,\n"
		    "1,1,1,1,0,1,\"operator\"\"\"\"_ms\",/usr/bin/prog,0x1000,\n"
		    "1,1,1,1,1,1,\"a\nb\",/usr/bin/prog,0x1000,\n"
		    "1,1,1,1,2,1,\"\"\"\",/usr/bin/prog,0x1000,\n"
		    "1,1,1,1,3,1,plain name,/usr/bin/prog,0x1000,\n"
		    "1,1,1,1,4,1,\xff\xc3\xa9,/usr/bin/prog,0x1000,\n");
}

static void test_flags(void **state)
{
	const char *path = feed_path("flags.csv");
	struct feed feed;

	(void)state;
	feed_open(&feed, path);
	feed_track(&feed, 1, 1, 1, "t", 0, 10);
	feed_slice(&feed, "f", 0, 0, 10, 0xff);
	feed_track_end(&feed);
	feed_commit(&feed);
	feed_expect(path, HEADER
		    "1,1,1,0,0,10,f,/usr/bin/prog,0x1000,"
		    "no-call no-return tail-call untraced syscall gap async trigger\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_quoting),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, feed_setup, feed_teardown);
}
