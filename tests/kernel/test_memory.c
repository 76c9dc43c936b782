// SPDX-License-Identifier: GPL-2.0
/* What memory a session takes, and where: beyond its regions, near its CPUs. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"

/* So many at once, that what the kernel has in reserve elsewhere is little. */
#define SESSIONS	3
#define SIZE		MIB(64)
/* In hundredths of a percent. */
#define MOST_BEYOND	100

/* What each CPU keeps for itself is free, too, and may be much. */
static long long free_memory(void)
{
	long long pages = 0, free;
	char line[256];
	FILE *file;

	/* The same for what CPUs have not told yet. */
	write_text("/proc/sys/vm/stat_refresh", "1");
	free = meminfo("MemFree");
	file = fopen("/proc/zoneinfo", "re");
	while (file && fgets(line, sizeof(line), file)) {
		long long count;

		if (sscanf(line, " count: %lld", &count) == 1)
			pages += count;
	}
	if (!file)
		FAIL("/proc/zoneinfo: %s", strerror(errno));
	fclose(file);
	return free + pages * 4096;
}

/*
 * The memory that sessions take beside their regions, in hundredths of a percent
 * of these. What else happens in the machine is in it, and so the least of some,
 * or the first that is no more than enough.
 */
static long beyond_regions(uint64_t region_size, int tries, long enough)
{
	const uint32_t regions = SIZE / region_size;
	const uint32_t threads = regions > 64 ? regions / 2 : 1;
	long long before, taken;
	long beyond, least = LONG_MAX;
	int fds[SESSIONS], i;

	while (tries-- && least > enough) {
		before = free_memory();
		for (i = 0; i < SESSIONS; i++) {
			struct mtrace_setup setup;

			fds[i] = open_device();
			setup = setup_of(SIZE, threads, regions / threads - 1);
			CHECK_ERRNO(ioctl(fds[i], MTRACE_IOC_SETUP, &setup), 0);
			CHECK_EQ(setup.region_size, region_size);
		}
		taken = before - free_memory();
		for (i = 0; i < SESSIONS; i++)
			close(fds[i]);
		beyond = (taken - SESSIONS * (long long)SIZE) * 10000 /
			 (SESSIONS * (long long)SIZE);
		if (beyond < least)
			least = beyond;
	}
	return least;
}

static void check_beyond_regions(uint64_t least_region)
{
	/* The most that a piece can be, where a region is one. */
	const uint64_t most = has_single_entry() ? MIB(4) : MIB(16);
	uint64_t region;
	long beyond;

	/* What the first set-up leaves is no part of others. */
	beyond_regions(MIB(1), 1, 0);
	for (region = least_region; region <= most; region *= 4) {
		beyond = beyond_regions(region, 5, MOST_BEYOND);
		CHECK(beyond <= MOST_BEYOND,
		      "regions of %lu KiB take %ld.%02ld %% more than they are",
		      region >> 10, beyond / 100, beyond % 100);
	}
}

TEST(memory_beyond_regions)
{
	check_beyond_regions(KIB(128));
}

/* With no two pages together each region has tables and pointers. */
TEST(memory_beyond_regions_in_pieces)
{
	reload_module_of_pieces();
	check_beyond_regions(MIB(1));
	reload_module(NULL);
}

/* How many pages of a part of the mapping are on each node. */
static void count_nodes(const struct session *s, uint64_t offset,
			uint64_t size, uint64_t nodes[2])
{
	const uint64_t nr = size / 4096;
	void **pages = calloc(nr, sizeof(*pages));
	int *status = calloc(nr, sizeof(*status));
	volatile uint8_t seen = 0;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		pages[i] = (void *)(s->map + offset + i * 4096);
		seen = *(const uint8_t *)pages[i];
	}
	(void)seen;
	if (syscall(SYS_move_pages, 0, nr, pages, NULL, status, 0))
		FAIL("move_pages: %s", strerror(errno));
	nodes[0] = 0;
	nodes[1] = 0;
	for (i = 0; i < nr; i++) {
		CHECK(status[i] == 0 || status[i] == 1,
		      "page %lu is on node %d", i, status[i]);
		nodes[status[i]]++;
	}
	free(pages);
	free(status);
}

/* The machine has two nodes with half of the CPUs each. */
static int cpu_of(int node)
{
	return node * nr_cpus() / 2;
}

static void want_two_nodes(void)
{
	if (access("/sys/devices/system/node/node1", F_OK))
		skip("the machine has one node");
}

static void pin_to_all(void)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < nr_cpus(); i++)
		CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		FAIL("sched_setaffinity: %s", strerror(errno));
}

TEST(node_of_the_caller)
{
	uint64_t nodes[2];
	struct session s;
	int node, threads;

	want_two_nodes();
	for (node = 0; node < 2; node++) {
		for (threads = 1; threads <= 4; threads *= 4) {
			pin_to(cpu_of(node));
			session_open(&s, setup_of(MIB(16), threads, 1));
			count_nodes(&s, 0, MIB(16), nodes);
			CHECK_EQ(nodes[node], MIB(16) / 4096);
			session_close(&s);
		}
	}
	/* One thread that may go anywhere is taken to be where the caller is. */
	pin_to(cpu_of(1));
	pin_to_all();
	session_open(&s, setup_of(MIB(16), 1, 3));
	count_nodes(&s, 0, MIB(16), nodes);
	CHECK(!nodes[0] || !nodes[1], "one thread's memory is on two nodes");
}

/* Two threads on two nodes: each has memory of its own, snapshot by snapshot. */
TEST(node_of_the_thread)
{
	struct load *loads[2];
	struct mtrace_region *regions;
	const struct mtrace_region *region;
	uint64_t nodes[2], id;
	struct session s;
	int i, node;

	want_two_nodes();
	for (node = 0; node < 2; node++) {
		pin_to(cpu_of(node));
		loads[node] = load_spawn(1, work_calls);
	}
	pin_to_all();
	session_open(&s, setup_of(MIB(16), 2, 3));
	count_nodes(&s, 0, MIB(16), nodes);
	CHECK_EQ(nodes[0], MIB(16) / 4096 / 2);
	for (node = 0; node < 2; node++)
		must_attach(&s, loads[node]->pid);
	must_start(&s);
	for (i = 0; i < 6; i++) {
		load_rounds(loads, 2);
		regions = must_regions(&s, 2, &id);
		for (node = 0; node < 2; node++) {
			region = region_of(regions, 2, loads[node]->pid);
			CHECK(region->valid, "thread %d has no trace", node);
			count_nodes(&s, region->offset, s.setup.region_size,
				    nodes);
			CHECK_EQ(nodes[node], s.setup.region_size / 4096);
		}
		must_release(&s, id);
		free(regions);
	}
	for (node = 0; node < 2; node++)
		load_end(loads[node]);
}

/* More than a node has: the rest is taken from the other one. */
TEST(node_is_full)
{
	uint64_t size, nodes[2];
	struct session s;

	want_two_nodes();
	for (size = MIB(1); size * 2 <= (uint64_t)meminfo("MemTotal"); size *= 2)
		;
	pin_to(cpu_of(0));
	session_open(&s, setup_of(size, 2, 1));
	count_nodes(&s, 0, size, nodes);
	CHECK(nodes[0] > nodes[1] && nodes[1],
	      "%lu pages are on the caller's node, %lu on the other",
	      nodes[0], nodes[1]);
}
