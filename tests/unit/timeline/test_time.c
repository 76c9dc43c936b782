// SPDX-License-Identifier: GPL-2.0
/*
 * Times: from TSC to ns, how events of one TSC share the time up to the next one,
 * and what is given to those before the first and after the last time. All
 * expected times are worked out by hand.
 */
#include <errno.h>

#include "tests/unit/timeline/flow_text.h"

static void test_clock(void **state)
{
	const struct mt_clock ghz3 = { .start_tsc = 1000, .tsc_khz = 3000000 };
	const struct mt_clock odd = { .start_tsc = 0, .tsc_khz = 2496000 };
	const struct mt_clock slow = { .start_tsc = 5, .tsc_khz = 1 };

	(void)state;
	assert_int_equal(mt_clock_ns(&ghz3, 1000), 0);
	assert_int_equal(mt_clock_ns(&ghz3, 1002), 0);
	assert_int_equal(mt_clock_ns(&ghz3, 1003), 1);
	assert_int_equal(mt_clock_ns(&ghz3, 0), 0);
	/* a year at 3 GHz: 94,608,000 * 10^9 ticks, which times 10^6 is no 64-bit number */
	assert_int_equal(mt_clock_ns(&ghz3, 1000 + 94608000000000000ULL), 31536000000000000ULL);
	/* 2^63 ticks of 2.496 GHz: 2^63 * 10^6 / 2496000 */
	assert_int_equal(mt_clock_ns(&odd, 1ULL << 63), 3695261232714253128ULL);
	/* 10^6 ns a tick: what does not fit is the greatest there is */
	assert_int_equal(mt_clock_ns(&slow, 6), 1000000);
	assert_int_equal(mt_clock_ns(&slow, UINT64_MAX), UINT64_MAX);
}

/* Four steps of one instruction from 1000 to 1400: 100 each. */
static void test_shared_evenly(void **state)
{
	(void)state;
	check_flow_ns("start m @1000; call m+10 > a @1000; call a+10 > b @1000; ret b+1 > a+15 @1000\n"
		      "ret a+20 > m+15 @1400; end m+20 @1500", NULL,
		      "m 1000-1500 no-call no-return\n"
		      "  a 1100-1400\n"
		      "    b 1200-1300\n");
}

/* By the instructions of each step: 10, 30 and 60 of 100. */
static void test_shared_by_instructions(void **state)
{
	(void)state;
	check_flow_ns("start m @1000; call m+10 > a @1000 #10; ret a+1 > m+15 @1000 #30\n"
		      "call m+20 > b @2000 #60; end b+1 @3000", NULL,
		      "m 1000-3000 no-call no-return\n"
		      "  a 1100-1400\n"
		      "  b 2000-3000 no-return\n");
}

/* A step without instructions still is one. */
static void test_no_instructions(void **state)
{
	(void)state;
	check_flow_ns("start m @1000; call m+10 > a @1000 #0; ret a+1 > m+15 @1300 #0\n"
		      "end m+20 @1300 #0", NULL,
		      "m 1000-1301 no-call no-return\n"
		      "  a 1150-1300\n");
}

/* What takes long is out of the scope: instructions there get a tick each. */
static void test_syscall_gets_the_rest(void **state)
{
	(void)state;
	check_flow_ns("start m @1000; off m+10 syscall @1000 #10; on m+12 @1000 #0\n"
		      "call m+20 > a @1000 #5; ret a+1 > m+25 @2000 #5; end m+30 @2001", NULL,
		      "m 1000-2001 no-call no-return\n"
		      "  [syscall] 1010-1990 syscall\n"
		      "  a 1995-2000\n");
	/* two of them share it: 1000 - 30 ticks */
	check_flow_ns("start m @1000; off m+10 syscall @1000 #10; on m+12 @1000 #0\n"
		      "off m+14 syscall @1000 #10; on m+16 @1000 #0; call m+20 > a @2000 #10\n"
		      "end a+1 @2001", NULL,
		      "m 1000-2001 no-call no-return\n"
		      "  [syscall] 1010-1495 syscall\n"
		      "  [syscall] 1505-1990 syscall\n"
		      "  a 2000-2001 no-return\n");
	/* more instructions than ticks: nothing is left for it */
	check_flow_ns("start m @1000; off m+10 syscall @1000 #300; on m+12 @1000 #0\n"
		      "call m+20 > a @1100 #100; end a+1 @1101", NULL,
		      "m 1000-1101 no-call no-return\n"
		      "  [syscall] 1075-1075 syscall\n"
		      "  a 1100-1101 no-return\n");
}

/* A time of its own is taken as it is. */
static void test_syscall_with_its_time(void **state)
{
	(void)state;
	check_flow_ns("start m @1000; off m+10 syscall @1100; on m+12 @9000; end m+14 @9001", NULL,
		      "m 1000-9001 no-call no-return\n"
		      "  [syscall] 1100-9000 syscall\n");
}

/* Nothing follows: a tick an instruction, but no more than the last interval. */
static void test_last_group(void **state)
{
	const struct mt_timeline_config near = { .end_tsc = 2010 };

	(void)state;
	check_flow_ns("start m @1000; call m+10 > a @2000; ret a+1 > m+15 @2000 #20\n"
		      "end m+20 @2000 #30", NULL,
		      "m 1000-2050 no-call no-return\n"
		      "  a 2000-2020\n");
	check_flow_ns("start m @1000; call m+10 > a @1010; ret a+1 > m+15 @1010 #20\n"
		      "end m+20 @1010 #20", NULL,
		      "m 1000-1020 no-call no-return\n"
		      "  a 1010-1015\n");
	/* nor than until the trace was stopped */
	check_flow_ns("start m @1000; call m+10 > a @2000; ret a+1 > m+15 @2000 #20\n"
		      "end m+20 @2000 #20", &near,
		      "m 1000-2010 no-call no-return\n"
		      "  a 2000-2005\n");
}

/* Before the first time: a tick an instruction back from it. */
static void test_first_group(void **state)
{
	const struct mt_timeline_config late = { .begin_tsc = 990 };

	(void)state;
	check_flow_ns("start m @0; call m+10 > a @0 #10; ret a+1 > m+15 @1000 #20; end m+20 @1001",
		      NULL,
		      "m 970-1001 no-call no-return\n"
		      "  a 980-1000\n");
	/* but not before the thread was traced: 10 ticks for 30 */
	check_flow_ns("start m @0; call m+10 > a @0 #15; ret a+1 > m+15 @1000 #15; end m+20 @1001",
		      &late,
		      "m 990-1001 no-call no-return\n"
		      "  a 995-1000\n");
}

/* No timing packets at all: the order is kept, from where the trace began. */
static void test_no_time(void **state)
{
	const struct mt_timeline_config config = { .begin_tsc = 5000 };

	(void)state;
	check_flow_ns("start m @0; call m+10 > a @0 #10; ret a+1 > m+15 @0 #20; end m+20 @0 #30",
		      &config,
		      "m 5000-5060 no-call no-return\n"
		      "  a 5010-5030\n");
}

/* A time that goes back is not believed. */
static void test_time_goes_back(void **state)
{
	(void)state;
	check_flow_ns("start m @1000; call m+10 > a @900; ret a+1 > m+15 @1100; end m+20 @1200",
		      NULL,
		      "m 1000-1200 no-call no-return\n"
		      "  a 1050-1100\n");
}

/* The caller found last begins where its segment does, not where the track does. */
static void test_segment_start(void **state)
{
	(void)state;
	check_flow_ns("start x @1000; gap x+1 @1100; start a+5 @2000; call a+6 > c @2000\n"
		      "ret c+1 > a+b @2000; ret a+10 > b+9 @2400; end b+10 @2500", NULL,
		      "x 1000-1100 no-call no-return\n"
		      "[lost trace] 1100-2000 gap\n"
		      "b 2000-2500 no-call no-return\n"
		      "  a 2000-2400 no-call\n"
		      "    c 2133-2266\n");
}

/* A gap shares the time too, where there is none of its own. */
static void test_gap_within_a_group(void **state)
{
	(void)state;
	check_flow_ns("start x @1000; gap x+1 @1000 #50; start a+5 @1000 #0; end a+9 @2000 #50",
		      NULL,
		      "x 1000-1050 no-call no-return\n"
		      "[lost trace] 1050-1950 gap\n"
		      "a 1950-2000 no-call no-return\n");
}

struct spans {
	uint64_t begin, end;
};

static int span_begin(void *ctx, const struct mt_track *track)
{
	struct spans *spans = ctx;

	spans->begin = track->begin_ns;
	spans->end = track->end_ns;
	assert_int_equal(track->snapshot, 7);
	assert_string_equal(track->thread, "worker");
	return 0;
}

static int span_slice(void *ctx, const struct mt_slice *slice)
{
	(void)ctx;
	(void)slice;
	return 0;
}

static int span_end(void *ctx)
{
	(void)ctx;
	return 0;
}

/* The track tells its span when it begins. */
static void test_span_of_the_track(void **state)
{
	struct flow_functions fns = { 0 };
	struct spans spans = { 0 };
	const struct mt_sink sink = { span_begin, span_slice, span_end, &spans };
	const struct mt_resolver resolver = { flow_find, &fns };
	const struct mt_timeline_config config = {
		.resolver = &resolver,
		.track = { .snapshot = 7, .thread = "worker" },
		.clock = { .start_tsc = 1000, .tsc_khz = 2000000 },
	};
	struct mt_timeline_stats stats;
	struct mt_flow events[8];
	struct mt_timeline *tl;
	unsigned int count;

	(void)state;
	count = flow_parse(&fns, "start a @3000; call a+1 > b @4000; gap b+1 @5000; end b+1 @6000",
			   events, 8);
	assert_int_equal(mt_timeline_new(&config, &tl), 0);
	assert_int_equal(mt_timeline_flow(tl, events, count), 0);
	assert_int_equal(mt_timeline_finish(tl, &sink), 0);
	assert_int_equal(spans.begin, 1000);
	assert_int_equal(spans.end, 2500);
	mt_timeline_stats(tl, &stats);
	assert_int_equal(stats.events, 4);
	assert_int_equal(stats.slices, 3);
	assert_int_equal(stats.gaps, 1);
	mt_timeline_free(tl);
}

static void test_no_frequency(void **state)
{
	const struct mt_timeline_config config = { 0 };
	struct mt_timeline *tl;

	(void)state;
	assert_int_equal(mt_timeline_new(&config, &tl), -EINVAL);
}

/* What a sink fails with comes through. */
static int failing_slice(void *ctx, const struct mt_slice *slice)
{
	(void)slice;
	return ++*(int *)ctx == 2 ? -ENOSPC : 0;
}

static int failing_begin(void *ctx, const struct mt_track *track)
{
	(void)ctx;
	(void)track;
	return 0;
}

static void test_sink_fails(void **state)
{
	struct flow_functions fns = { 0 };
	int slices = 0;
	const struct mt_sink sink = { failing_begin, failing_slice, span_end, &slices };
	const struct mt_resolver resolver = { flow_find, &fns };
	const struct mt_timeline_config config = {
		.resolver = &resolver,
		.clock = { .tsc_khz = 1 },
	};
	struct mt_flow events[8];
	struct mt_timeline *tl;
	unsigned int count;

	(void)state;
	count = flow_parse(&fns, "start a; call a+1 > b; call b+1 > c; end c+1", events, 8);
	assert_int_equal(mt_timeline_new(&config, &tl), 0);
	assert_int_equal(mt_timeline_flow(tl, events, count), 0);
	assert_int_equal(mt_timeline_finish(tl, &sink), -ENOSPC);
	assert_int_equal(slices, 2);
	mt_timeline_free(tl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_shared_evenly),
		cmocka_unit_test(test_shared_by_instructions),
		cmocka_unit_test(test_no_instructions),
		cmocka_unit_test(test_syscall_gets_the_rest),
		cmocka_unit_test(test_syscall_with_its_time),
		cmocka_unit_test(test_last_group),
		cmocka_unit_test(test_first_group),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_time_goes_back),
		cmocka_unit_test(test_segment_start),
		cmocka_unit_test(test_gap_within_a_group),
		cmocka_unit_test(test_span_of_the_track),
		cmocka_unit_test(test_no_frequency),
		cmocka_unit_test(test_sink_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
