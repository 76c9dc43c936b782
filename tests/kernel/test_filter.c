// SPDX-License-Identifier: GPL-2.0
/* Ranges of addresses: what of a thread is traced. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msr.h"
#include "trace.h"

/* Functions that are each alone in a section, whose ends the linker knows. */
#define AREA(name_)							\
	extern const char __start_code_##name_[], __stop_code_##name_[];	\
	static void __attribute__((noinline, noclone, used,		\
				   section("code_" #name_)))		\
	area_##name_(void)						\
	{								\
		__asm__ volatile("");					\
	}

AREA(0)
AREA(1)
AREA(2)
AREA(3)

#define AREAS	4
#define CALLS	500
#define KERNEL_HALF	0xffff800000000000ull

static const struct {
	void (*function)(void);
	const char *start, *stop;
} areas[AREAS] = {
	{ area_0, __start_code_0, __stop_code_0 },
	{ area_1, __start_code_1, __stop_code_1 },
	{ area_2, __start_code_2, __stop_code_2 },
	{ area_3, __start_code_3, __stop_code_3 },
};

static void call_areas(unsigned int first, unsigned int last)
{
	void (*volatile function)(void);
	unsigned int i;

	for (i = first; i <= last; i++) {
		function = areas[i].function;
		function();
	}
}

/* Each area so many times. */
static void work_areas(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	(void)index;
	for (i = 0; i < CALLS; i++)
		call_areas(0, AREAS - 1);
}

/* Area 0, then 3 once, then 0 again. */
static void work_to_stop(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	(void)index;
	for (i = 0; i < 2 * CALLS; i++) {
		call_areas(0, 0);
		if (i == CALLS - 1)
			call_areas(3, 3);
	}
}

/* All on one CPU, and each lets the other run at each turn. */
static void work_areas_by_turns(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	(void)index;
	pin_to(0);
	for (i = 0; i < CALLS; i++) {
		call_areas(0, AREAS - 1);
		sched_yield();
	}
}

static uint32_t nr_ranges(void)
{
	return must_caps().nr_ranges;
}

static void need_range(void)
{
	if (!nr_ranges())
		skip("this CPU has no address filter");
}

static struct mtrace_range range_of(unsigned int area, uint32_t kind)
{
	return (struct mtrace_range){
		.start = (uintptr_t)areas[area].start,
		.end = (uintptr_t)areas[area].stop - 1,
		.kind = kind,
	};
}

static struct mtrace_setup filter_of(unsigned int area)
{
	struct mtrace_setup setup = setup_of(MIB(2), 1, 1);

	setup.nr_ranges = 1;
	setup.range[0] = range_of(area, MTRACE_RANGE_FILTER);
	return setup;
}

/* That a trace has the calls of an area, and that nothing is outside of it. */
static void check_only_area(const struct session *s,
			    const struct mtrace_region *region,
			    unsigned int area)
{
	struct pt_stats stats;

	pt_read(s, region, (uintptr_t)areas[area].function, &stats);
	/* An interrupt just there makes one more. */
	CHECK(stats.entries >= CALLS && stats.entries < CALLS + CALLS / 10,
	      "area %u was called %lu times, not %d", area, stats.entries,
	      CALLS);
	CHECK(stats.lowest >= (uintptr_t)areas[area].start &&
	      stats.highest < (uintptr_t)areas[area].stop,
	      "area %u is %p to %p, but there is %#lx to %#lx", area,
	      areas[area].start, areas[area].stop, stats.lowest,
	      stats.highest);
}

TEST(filter_none)
{
	struct mtrace_setup setup = filter_of(0);
	uint32_t nr = nr_ranges(), i;
	int fd = open_device();

	if (nr == MTRACE_MAX_RANGES)
		skip("this CPU has all ranges that there can be");
	for (i = 0; i <= nr; i++)
		setup.range[i] = range_of(i, MTRACE_RANGE_FILTER);
	setup.nr_ranges = nr + 1;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EOPNOTSUPP);
	CHECK_EQ(setup.missing, nr ? MTRACE_CAP_RANGES : MTRACE_CAP_IP_FILTER);
	memset(&setup.range[nr], 0, sizeof(setup.range[0]));
	setup.nr_ranges = nr;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}

static void check_range(int want, uint32_t flags, uint64_t start, uint64_t end,
			uint32_t kind, const char *what)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	int fd = open_device(), got;

	setup.trace_flags = flags;
	setup.nr_ranges = 1;
	setup.range[0] = (struct mtrace_range){ start, end, kind, 0 };
	got = ioctl(fd, MTRACE_IOC_SETUP, &setup) ? errno : 0;
	CHECK(got == want, "%s: errno %d, not %d", what, got, want);
	close(fd);
}

TEST(filter_bad_ranges)
{
	const uint32_t user = MTRACE_TRACE_USER, kernel = MTRACE_TRACE_KERNEL;
	struct mtrace_setup setup;
	int fd;

	need_range();
	check_range(0, user, 0x1000, 0x1000, 1, "one byte");
	check_range(0, user, 0, 0x7fffffffefff, 2, "all of user code");
	check_range(EINVAL, user, 0x1001, 0x1000, 1, "its end before its start");
	check_range(EINVAL, user, 0x1000, 0x2000, 0, "no kind");
	check_range(EINVAL, user, 0x1000, 0x2000, 3, "a kind that there is not");
	check_range(EINVAL, user, 0x1000, KERNEL_HALF - 1, 1, "not canonical");
	check_range(EINVAL, kernel, 1ull << 62, ~0ull, 1, "not canonical");
	check_range(EINVAL, kernel, KERNEL_HALF - 1, ~0ull, 1, "not canonical");
	check_range(EINVAL, user, KERNEL_HALF, ~0ull, 1, "of the kernel");
	check_range(EINVAL, user, 0, ~0ull, 1, "of the kernel, too");
	check_range(0, kernel, KERNEL_HALF, ~0ull, 1, "the kernel's");
	check_range(0, user | kernel, 0, ~0ull, 1, "all");

	fd = open_device();
	setup = filter_of(0);
	setup.range[0].pad = 1;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EINVAL);
	setup = filter_of(0);
	setup.range[1] = range_of(1, MTRACE_RANGE_FILTER);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EINVAL);
	CHECK_EQ(must_status(fd).regions_free, 0);
}

TEST(filter_one_range)
{
	struct load *load;
	struct session s;
	uint32_t area;

	need_range();
	load = load_spawn(1, work_areas);
	for (area = 0; area < AREAS; area++) {
		check_only_area(&s, trace_round(&s, filter_of(area), load),
				area);
		session_close(&s);
	}
	load_end(load);
}

/* As many as there are: the last areas, so that the first has none. */
TEST(filter_all_ranges)
{
	struct mtrace_setup setup = setup_of(MIB(2), 1, 1);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct load *load;
	struct session s;
	uint32_t first, i;

	need_range();
	load = load_spawn(1, work_areas);
	setup.nr_ranges = nr_ranges();
	first = AREAS - setup.nr_ranges;
	for (i = first; i < AREAS; i++)
		setup.range[i - first] = range_of(i, MTRACE_RANGE_FILTER);
	regions = trace_round(&s, setup, load);
	for (i = 0; i < AREAS; i++) {
		pt_read(&s, regions, (uintptr_t)areas[i].function, &stats);
		if (i < first)
			CHECK_EQ(stats.entries + stats.hits, 0);
		else
			CHECK(stats.entries >= CALLS, "area %u: %lu calls", i,
			      stats.entries);
	}
	load_end(load);
}

TEST(filter_the_kernel)
{
	struct mtrace_setup setup = setup_of(MIB(32), 1, 1);
	struct pt_stats stats;
	struct load *load;
	struct session s;

	need_range();
	load = load_spawn(1, work_areas_by_turns);
	setup.trace_flags |= MTRACE_TRACE_KERNEL;
	setup.nr_ranges = 1;
	setup.range[0] = (struct mtrace_range){
		KERNEL_HALF, ~0ull, MTRACE_RANGE_FILTER, 0
	};
	pt_read(&s, trace_round(&s, setup, load), 0, &stats);
	CHECK(stats.kernel > CALLS, "%lu of the kernel", stats.kernel);
	CHECK(stats.lowest >= KERNEL_HALF, "something at %#lx", stats.lowest);
	load_end(load);
}

static struct mtrace_setup stop_at(unsigned int area)
{
	struct mtrace_setup setup = setup_of(MIB(4), 1, 2);

	setup.nr_ranges = 1;
	setup.range[0] = range_of(area, MTRACE_RANGE_STOP);
	return setup;
}

/* What is before the stop is kept, over switches, until the next snapshot. */
TEST(filter_stop)
{
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct load *load;
	struct session s;
	uint32_t count, i;
	uint64_t id;

	need_range();
	load = load_spawn(1, work_to_stop);
	trace_begin(&s, stop_at(3), load);
	for (i = 1; i <= 2; i++) {
		load_round(load);
		load_round(load);
		regions = snapshot_regions(&s, &id, &count);
		CHECK_EQ(regions->flags, MTRACE_REGION_STOPPED);
		pt_read(&s, regions, (uintptr_t)areas[0].function, &stats);
		CHECK_EQ(stats.hits, CALLS);
		CHECK_EQ(stats.stop, 1);
		CHECK_EQ(stats.after_stop, 0);
		CHECK_EQ(must_status(s.fd).stops, i);
		must_release(&s, id);
	}
	CHECK_EQ(must_status(s.fd).errors, 0);
	load_end(load);
}

/* Runs without end, and comes to area 3 when it is told to. */
static void work_spin_to_stop(struct load *load, uint32_t index)
{
	pin_to((index + 1) % nr_cpus());
	while (!__atomic_load_n(&load->stop, __ATOMIC_RELAXED)) {
		load_run(20);
		if (load->progress[1] == 1) {
			call_areas(3, 3);
			load->progress[1] = 2;
		}
		load->progress[0]++;
	}
}

/* A thread that has stopped and runs on is traced again by a snapshot. */
TEST(filter_stop_a_running_thread)
{
	struct mtrace_setup setup = stop_at(3);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct load *load;
	struct session s;
	uint32_t count;
	uint64_t id, seen;

	need_range();
	pin_to(0);
	load = load_spawn(1, work_spin_to_stop);
	setup.buffer_size = MIB(8);
	trace_begin(&s, setup, load);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	load->progress[1] = 1;
	WAIT_FOR(load->progress[1] == 2);
	regions = snapshot_regions(&s, &id, &count);
	CHECK_EQ(regions->flags & MTRACE_REGION_STOPPED, MTRACE_REGION_STOPPED);
	must_release(&s, id);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	regions = snapshot_regions(&s, &id, &count);
	CHECK_EQ(regions->flags & MTRACE_REGION_STOPPED, 0);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK(stats.hits, "it was not traced again");
	load_end(load);
}

/* Two sessions and two ranges on one CPU, which must have each in turn. */
TEST(filter_by_turns)
{
	struct mtrace_region *regions;
	struct load *loads[3];
	struct session s[3];
	uint32_t count;
	uint64_t id;
	int i;

	need_range();
	for (i = 0; i < 3; i++)
		loads[i] = load_spawn(1, work_areas_by_turns);
	for (i = 0; i < 3; i++) {
		/* The third has no range. */
		trace_begin(&s[i], i < 2 ? filter_of(i) :
					   setup_of(MIB(8), 1, 1), loads[i]);
	}
	load_rounds(loads, 3);
	for (i = 0; i < 3; i++) {
		struct pt_stats stats;

		regions = snapshot_regions(&s[i], &id, &count);
		CHECK(regions->switches > CALLS / 20, "%u switches",
		      regions->switches);
		if (i < 2) {
			check_only_area(&s[i], regions, i);
			continue;
		}
		pt_read(&s[i], regions, (uintptr_t)areas[3].function, &stats);
		CHECK_EQ(stats.hits, CALLS);
	}
	for (i = 0; i < 3; i++)
		load_end(loads[i]);
}

/* The registers of filters are given back as they were found. */
TEST(filter_registers_are_restored)
{
	uint32_t nr = nr_ranges(), i;
	struct mtrace_setup setup = nr ? filter_of(0) : setup_of(MIB(2), 1, 1);
	uint32_t flags = must_caps().trace_flags & MTRACE_TRACE_CR3;
	struct msrs zero, before;
	struct load *load;
	struct session s;
	int cpu;

	if (!nr && !flags)
		skip("this CPU has no filter at all");
	read_msrs(&zero);
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < 2 * nr; i++)
			write_msr(cpu, MSR_RTIT_ADDR0_A + i,
				  0x10000 * (cpu + 1) + 0x1000 * i);
		if (flags)
			write_msr(cpu, MSR_RTIT_CR3_MATCH, 0x123000 + cpu * 32);
	}
	read_msrs(&before);

	pin_to(0);
	load = load_spawn(1, work_spin);
	setup.trace_flags |= flags;
	trace_begin(&s, setup, load);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	cpu = 1 % nr_cpus();
	if (nr)
		CHECK_EQ(read_msr(cpu, MSR_RTIT_ADDR0_A), setup.range[0].start);
	if (nr)
		CHECK_EQ(read_msr(cpu, MSR_RTIT_ADDR0_A + 1),
			 setup.range[0].end);
	if (flags)
		CHECK(read_msr(cpu, MSR_RTIT_CR3_MATCH) !=
		      before.value[cpu][3], "CR3_MATCH is as it was before");
	session_close(&s);
	check_msrs_as(&before);
	load_end(load);

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < 2 * nr; i++)
			write_msr(cpu, MSR_RTIT_ADDR0_A + i, 0);
		if (flags)
			write_msr(cpu, MSR_RTIT_CR3_MATCH, 0);
	}
	check_msrs_as(&zero);
}
