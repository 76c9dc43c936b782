// SPDX-License-Identifier: GPL-2.0
/* Snapshots: of whatever runs wherever, described, released, used again. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "pt.h"

/* Nothing of what was in it may be in a region when it is given out again. */
static void check_clean(const struct session *s, uint64_t offset)
{
	const uint64_t *words = (const uint64_t *)(s->map + offset);
	uint64_t i;

	for (i = 0; i < (s->setup.region_size - 16) / sizeof(*words); i++)
		if (words[i])
			FAIL("a released region has %#lx at %#lx", words[i],
			     i * sizeof(*words));
}

/*
 * A thread that runs on another CPU all the time, never asked to wait. Of each
 * two snapshots the first may have wrapped, for it holds all that was written
 * while the test looked at the last; the second comes right after it.
 */
TEST(snapshot_of_a_running_thread)
{
	struct load *load = load_spawn(1, work_spin);
	uint64_t id, seen, hits = 0, end = 0;
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint32_t count;
	int i;

	pin_to(0);
	session_open(&s, setup_of(MIB(8), 1, 3));
	must_attach(&s, load->pid);
	must_start(&s);
	__atomic_add_fetch(&load->go, 1, __ATOMIC_SEQ_CST);
	WAIT_FOR(load->progress[0] > 10);
	for (i = 0; i < 200; i++) {
		must_release(&s, must_snapshot(&s).id);
		seen = load->progress[0];
		while (load->progress[0] == seen)
			;
		regions = snapshot_regions(&s, &id, &count);
		CHECK_EQ(id, 2 * i + 2);
		CHECK_EQ(count, 1);
		/* So does the second, if the host kept this CPU waiting. */
		CHECK_EQ(regions->flags & ~MTRACE_REGION_WRAPPED, 0);
		CHECK(regions->start_tsc >= end, "regions overlap in time");
		end = regions->end_tsc;
		pt_read(&s, regions, (uintptr_t)load_target, &stats);
		CHECK(stats.psb && stats.pge, "round %d has no trace", i);
		hits += stats.hits;
		must_release(&s, id);
		check_clean(&s, regions->offset);
		free(regions);
	}
	CHECK(hits >= 200 * 10, "only %lu calls in all", hits);
	CHECK_EQ(must_status(s.fd).unswitched, 0);
	CHECK_EQ(must_status(s.fd).errors, 0);
	load_end(load);
}

/* Threads that come and go, some on a CPU and some not: no call is missed. */
TEST(snapshots_lose_nothing)
{
	const uint32_t nr = 4;
	struct load *load = load_spawn(nr, work_yield);
	uint64_t id, hits[4] = { 0 };
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint32_t count, i, snapshots = 0;

	session_open(&s, setup_of(MIB(32), nr, 1));
	for (i = 0; i < nr; i++)
		must_attach(&s, load->tids[i]);
	must_start(&s);
	load->done = 0;
	__atomic_add_fetch(&load->go, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		bool last = load->done == nr;

		regions = snapshot_regions(&s, &id, &count);
		CHECK_EQ(count, nr);
		for (i = 0; i < nr; i++) {
			const struct mtrace_region *region;

			region = region_of(regions, count, load->tids[i]);
			CHECK_EQ(region->flags, 0);
			pt_read(&s, region, (uintptr_t)load_target, &stats);
			hits[i] += stats.hits;
		}
		must_release(&s, id);
		free(regions);
		snapshots++;
		if (last)
			break;
	}
	for (i = 0; i < nr; i++)
		CHECK_EQ(hits[i], WORK_YIELDS * WORK_CALLS_A_YIELD);
	CHECK(snapshots >= 3, "only %u snapshots", snapshots);
	load_end(load);
}

TEST(snapshots_are_held)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_region *regions;
	struct mtrace_status status;
	struct pt_stats stats;
	uint32_t count, round;
	struct session s;

	session_open(&s, setup_of(MIB(16), 1, 3));
	must_attach(&s, load->pid);
	must_start(&s);
	for (round = 1; round <= 3; round++) {
		load_round(load);
		CHECK_EQ(must_snapshot(&s).id, round);
	}
	status = must_status(s.fd);
	CHECK_EQ(status.nr_snapshots, 3);
	CHECK_EQ(status.regions_frozen, 3);
	CHECK_EQ(status.regions_live, 1);
	/* In any order, and the others stay as they are. */
	must_release(&s, 2);
	load_round(load);
	for (round = 1; round <= 3; round += 2) {
		regions = must_describe(&s, round, &count);
		CHECK_EQ(count, 1);
		pt_read(&s, regions, (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.hits, WORK_CALLS);
	}
	must_release(&s, 1);
	must_release(&s, 3);
	status = must_status(s.fd);
	CHECK_EQ(status.nr_snapshots, 0);
	CHECK_EQ(status.regions_frozen, 0);
	CHECK_EQ(status.regions_free, s.setup.nr_regions - 1);
	CHECK_EQ(must_snapshot(&s).id, 4);
	load_end(load);
}

TEST(snapshot_finds_too_few_regions)
{
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct load *load = load_spawn(2, work_calls);
	struct session s;

	session_open(&s, setup_of(MIB(4), 2, 1));
	CHECK_EQ(s.setup.nr_regions, 4);
	must_attach(&s, load->tids[0]);
	must_start(&s);
	CHECK_EQ(must_snapshot(&s).nr_regions, 1);
	must_attach(&s, load->tids[1]);
	/* Two live, one frozen, one free. */
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.nr_regions, 1);
	CHECK_EQ(snapshot.nr_unswitched, 1);
	CHECK_EQ(must_status(s.fd).unswitched, 1);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), ENOBUFS);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 2);
	CHECK_EQ(must_status(s.fd).regions_live, 2);
	must_release(&s, 1);
	must_release(&s, 2);
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.id, 3);
	CHECK_EQ(snapshot.nr_regions, 2);
	CHECK_EQ(snapshot.nr_unswitched, 0);
	load_end(load);
}

TEST(snapshot_of_nobody)
{
	struct session s;
	uint32_t count;

	session_open(&s, setup_of(MIB(1), 2, 1));
	CHECK_EQ(must_snapshot(&s).nr_regions, 0);
	must_describe(&s, 1, &count);
	CHECK_EQ(count, 0);
	must_release(&s, 1);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
}

TEST(describe_errors)
{
	struct load *load = load_spawn(2, work_calls);
	struct mtrace_region regions[3];
	struct mtrace_describe arg = {
		.size = sizeof(arg),
		.region_size = sizeof(regions[0]),
		.id = 1,
		.regions = (uintptr_t)regions,
		.count = 1,
	};
	struct session s;

	session_open(&s, setup_of(MIB(4), 2, 1));
	must_attach(&s, load->tids[0]);
	must_attach(&s, load->tids[1]);
	must_snapshot(&s);
	memset(regions, 0xaa, sizeof(regions));
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), ENOSPC);
	CHECK_EQ(arg.count, 2);
	CHECK_EQ(regions[0].tid, (int32_t)0xaaaaaaaa);
	arg.id = 2;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), ENOENT);
	arg.id = 0;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), ENOENT);
	arg.id = 1;
	arg.regions = 0;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), EFAULT);
	arg.regions = (uintptr_t)regions;
	arg.region_size = 72;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), EINVAL);
	arg.region_size = 81;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), EINVAL);
	arg.region_size = 1 << 20;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), EINVAL);

	/* A longer structure of a newer tool: what is unknown is zero. */
	arg.region_size = 120;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &arg), 0);
	CHECK_EQ(arg.count, 2);
	CHECK_EQ(((struct mtrace_region *)((char *)regions + 120))->pid,
		 load->pid);
	CHECK_EQ(((char *)regions)[119], 0);
	CHECK_EQ(((uint8_t *)regions)[239], 0);
	load_end(load);
}
