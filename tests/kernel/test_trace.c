// SPDX-License-Identifier: GPL-2.0
/* What is in the trace: all of it, in order, and nothing else. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "trace.h"

TEST(trace_of_a_child)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_snapshot snapshot;
	struct mtrace_region *region;
	struct pt_stats stats;
	struct session s;
	uint32_t count;

	trace_begin(&s, setup_of(MIB(8), 1, 1), load);
	load_round(load);
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.id, 1);
	CHECK_EQ(snapshot.nr_regions, 1);
	CHECK_EQ(snapshot.nr_unswitched, 0);
	CHECK(snapshot.tsc_end > snapshot.tsc, "the TSC went backwards");
	region = must_describe(&s, 1, &count);
	CHECK_EQ(count, 1);
	CHECK_EQ(region->tid, load->pid);
	CHECK_EQ(region->pid, load->pid);
	CHECK(!strcmp(region->comm, "kernel-tests"), "its name is '%s'",
	      region->comm);
	CHECK_EQ(region->flags, 0);
	CHECK(region->switches, "it was never switched in");
	CHECK(region->start_tsc > s.setup.start_tsc &&
	      region->start_tsc < region->end_tsc &&
	      region->end_tsc <= snapshot.tsc_end, "its times are not in order");
	pt_read(&s, region, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	CHECK_EQ(stats.kernel, 0);
	CHECK_EQ(stats.ovf, 0);
	CHECK_EQ(stats.tsc, 0);
	CHECK_EQ(must_status(s.fd).errors, 0);
	load_end(load);
}

TEST(stop_and_start_again)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint64_t id;
	uint32_t count;

	session_open(&s, setup_of(MIB(8), 1, 2));
	must_attach(&s, load->pid);
	load_round(load);
	must_start(&s);
	load_round(load);
	must_stop(&s);
	load_round(load);
	must_start(&s);
	load_round(load);
	must_stop(&s);
	/* Of four rounds it ran in two, and can be asked while it is stopped. */
	regions = snapshot_regions(&s, &id, &count);
	pt_read(&s, region_of(regions, count, load->pid),
		(uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, 2 * WORK_CALLS);
	load_end(load);
}

/* A thread that is being traced at that moment is stopped at once. */
TEST(stop_a_running_thread)
{
	struct load *load = load_spawn(1, work_spin);
	struct mtrace_region *regions;
	struct session s;
	uint64_t seen;

	pin_to(0);
	session_open(&s, setup_of(MIB(32), 1, 2));
	must_attach(&s, load->pid);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	must_start(&s);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	must_stop(&s);
	regions = must_regions(&s, 1, NULL);
	CHECK(regions[0].valid, "it was not traced");
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	regions = must_regions(&s, 1, NULL);
	CHECK_EQ(regions[0].valid, 0);
	load_end(load);
}

/*
 * Four threads on two CPUs that give way to each other thousands of times:
 * each trace is whole to the last call.
 */
TEST(continuity_over_switches)
{
	const uint32_t nr = 4;
	struct load *load = load_spawn(nr, work_yield);
	struct mtrace_region *regions;
	uint64_t switches = 0;
	struct session s;
	uint32_t i;

	regions = trace_round(&s, setup_of(MIB(32), nr, 1), load);
	for (i = 0; i < nr; i++) {
		const struct mtrace_region *region;
		struct pt_stats stats;

		region = region_of(regions, nr, load->tids[i]);
		pt_read(&s, region, (uintptr_t)load_target, &stats);
		CHECK_EQ(region->flags, 0);
		CHECK_EQ(stats.hits, WORK_YIELDS * WORK_CALLS_A_YIELD);
		CHECK_EQ(stats.ovf, 0);
		/*
		 * PacketByteCnt goes on, too: PSB comes every 2 KiB of trace
		 * and not with every switch.
		 */
		if (must_caps().cpuid14[1] & 2)
			CHECK(stats.psb <= region->valid / 2048 + 2,
			      "%lu PSB in %llu bytes", stats.psb,
			      region->valid);
		switches += region->switches;
	}
	CHECK(switches > 1000, "only %lu switches", switches);
	load_end(load);
}

/* Regions of one page to one of many tables' entries, all overwritten. */
TEST(wrap)
{
	static const uint64_t sizes[] = { KIB(8), KIB(64), MIB(1) };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct load *load = load_spawn(1, work_calls);
		struct mtrace_region *regions;
		struct pt_stats stats;
		uint64_t id, rounds;
		struct session s;
		uint32_t count;

		trace_begin(&s, setup_of(sizes[i], 1, 1), load);
		CHECK_EQ(s.setup.region_size, sizes[i] / 2);
		/* A call is 3 bytes at least. */
		for (rounds = 0; rounds * WORK_CALLS * 3 < sizes[i]; rounds++)
			load_round(load);
		regions = must_regions(&s, 1, &id);
		CHECK_EQ(regions[0].flags, MTRACE_REGION_WRAPPED);
		CHECK_EQ(regions[0].valid, s.setup.region_size);
		CHECK_EQ(must_status(s.fd).wraps, 1);
		pt_read(&s, regions, (uintptr_t)load_target, &stats);
		CHECK(stats.hits > 100, "only %lu calls", stats.hits);

		/* The next one is not taken for wrapped. */
		must_release(&s, id);
		regions = snapshot_regions(&s, &id, &count);
		CHECK_EQ(regions[0].flags, 0);
		session_close(&s);
		load_end(load);
	}
}

TEST(kernel_is_traced_when_asked)
{
	struct mtrace_setup setup = setup_of(MIB(16), 1, 1);
	struct load *load = load_spawn(1, work_yield);
	struct pt_stats stats;
	struct session s;

	setup.trace_flags |= MTRACE_TRACE_KERNEL;
	pt_read(&s, trace_round(&s, setup, load), (uintptr_t)load_target,
		&stats);
	CHECK(stats.kernel > WORK_YIELDS, "%lu of the kernel", stats.kernel);
	load_end(load);
}

TEST(packets_that_are_asked_for)
{
	struct mtrace_caps caps = must_caps();
	static const struct {
		uint32_t flag;
		size_t offset;
	} cases[] = {
		{ MTRACE_TRACE_TSC, offsetof(struct pt_stats, tsc) },
		{ MTRACE_TRACE_MTC, offsetof(struct pt_stats, mtc) },
		{ MTRACE_TRACE_CYC, offsetof(struct pt_stats, cyc) },
	};
	size_t i, j;

	for (i = 0; i < 3; i++) {
		struct pt_stats stats;

		if (!(caps.trace_flags & cases[i].flag))
			continue;
		trace_work(cases[i].flag, setup_of(MIB(16), 1, 1), work_calls,
			   (uintptr_t)load_target, &stats);
		for (j = 0; j < 3; j++) {
			uint64_t n;

			memcpy(&n, (uint8_t *)&stats + cases[j].offset, 8);
			CHECK(!!n == (i == j), "%lu packets of kind %zu, but "
			      "kind %zu was asked for", n, j, i);
		}
	}
}
