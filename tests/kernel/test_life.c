// SPDX-License-Identifier: GPL-2.0
/* Ends of all kinds, neighbours, and CPUs that come and go. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msr.h"
#include "side.h"
#include "trace.h"

/* Trace a thread until it has been seen to run, then wait for the end. */
static void own_session(struct load *load, uint32_t *ready)
{
	struct session s;
	uint64_t seen;

	session_open(&s, setup_of(MIB(16), 1, 1));
	must_attach(&s, load->pid);
	must_start(&s);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	__atomic_store_n(ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static void check_killed_owner(int signal)
{
	struct load *load = load_spawn(1, work_spin);
	struct mtrace_region *regions;
	struct msrs before;
	struct session s;
	uint64_t seen;
	uint32_t *ready;
	pid_t owner;

	pin_to(0);
	read_msrs(&before);
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	owner = fork();
	if (!owner)
		own_session(load, ready);
	WAIT_FOR(__atomic_load_n(ready, __ATOMIC_SEQ_CST));
	/* The thread runs all the time, so its CPU is seen tracing. */
	WAIT_FOR(read_msr(1 % nr_cpus(), MSR_RTIT_CTL) & 1 || nr_cpus() == 1);
	kill(owner, signal);
	waitpid(owner, NULL, 0);
	check_msrs_as(&before);

	/* The thread goes on, and is nobody's. */
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	session_open(&s, setup_of(MIB(16), 1, 1));
	must_start(&s);
	must_attach(&s, load->pid);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	regions = must_regions(&s, 1, NULL);
	CHECK(regions->valid, "it is not traced again");
	session_close(&s);
	check_msrs_as(&before);
	load_end(load);
}

TEST(owner_is_killed)
{
	check_killed_owner(SIGKILL);
	check_killed_owner(SIGSEGV);
}

/* All at once: who traces and who is traced die together, again and again. */
TEST(all_are_killed)
{
	struct msrs before;
	int i;

	read_msrs(&before);
	for (i = 0; i < 20; i++) {
		struct load *load = load_spawn(4, work_yield);
		uint32_t j, count;
		pid_t owner;

		owner = fork();
		if (!owner) {
			struct mtrace_setup setup = setup_of(MIB(4), 8, 1);
			struct session s;
			uint64_t id;

			setup.flags = MTRACE_SETUP_INHERIT_THREADS |
				      MTRACE_SETUP_INHERIT_PROCESSES;
			session_open(&s, setup);
			for (j = 0; j < 4; j++)
				must_attach(&s, load->tids[j]);
			must_start(&s);
			load_go(load);
			for (;;) {
				free(snapshot_regions(&s, &id, &count));
				must_release(&s, id);
				load->progress[7]++;
			}
		}
		WAIT_FOR(load->progress[7] >= 3);
		kill(i & 1 ? owner : load->pid, SIGKILL);
		kill(i & 1 ? load->pid : owner, SIGKILL);
		waitpid(owner, NULL, 0);
		load_end(load);
		check_msrs_as(&before);
	}
}

static long perf_open(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = pmu_type(),
		.disabled = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
}

TEST(perf_is_kept_out)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	struct session s;
	int cpu;
	long fd;

	CHECK(pmu_type(), "the kernel has no PMU intel_pt");
	session_open(&s, setup);
	CHECK_ERRNO(perf_open(0, -1), EBUSY);
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		CHECK_ERRNO(perf_open(-1, cpu), EBUSY);
	session_close(&s);
	CHECK_ERRNO(fd = perf_open(0, -1), 0);
	close(fd);
}

TEST(perf_was_first)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	long by_task, by_cpu;
	int fd = open_device();

	CHECK_ERRNO(by_task = perf_open(0, -1), 0);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EBUSY);
	close(by_task);
	CHECK_ERRNO(by_cpu = perf_open(-1, nr_cpus() - 1), 0);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EBUSY);
	/* On the CPUs before that one the reservation is undone. */
	CHECK_EQ(must_status(fd).regions_free, 0);
	close(by_cpu);
	CHECK_ERRNO(by_task = perf_open(0, -1), 0);
	close(by_task);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}

/* Who does not tell the PMU does not reserve; who comes later and does, does. */
TEST(perf_is_kept_out_later)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	struct session first, second;
	long fd;

	setup.pmu_type = 0;
	session_open(&first, setup);
	CHECK_ERRNO(fd = perf_open(0, -1), 0);
	close(fd);
	setup.pmu_type = pmu_type();
	session_open(&second, setup);
	CHECK_ERRNO(perf_open(0, -1), EBUSY);
	session_close(&second);
	session_close(&first);
	CHECK_ERRNO(fd = perf_open(0, -1), 0);
	close(fd);
}

/* With pieces of one page a table describes 2 MiB less a page of a region. */
static void check_chained(uint64_t region, bool wraps)
{
	struct load *load = load_spawn(1, work_calls);
	uint64_t id, one, i, rounds;
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;

	session_open(&s, setup_of(2 * region, 1, 1));
	CHECK_EQ(s.setup.region_size, region);
	must_attach(&s, load->pid);
	must_start(&s);
	/* What one round writes says how many fill it by so much. */
	load_round(load);
	regions = must_regions(&s, 1, &id);
	one = regions->valid;
	must_release(&s, id);
	rounds = region / one * (wraps ? 5 : 2) / 3;
	CHECK(rounds > 4, "a round writes %lu bytes", one);
	for (i = 0; i < rounds; i++)
		load_round(load);
	regions = must_regions(&s, 1, &id);
	CHECK_EQ(regions->flags, wraps ? MTRACE_REGION_WRAPPED : 0);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	if (!wraps)
		CHECK_EQ(stats.hits, rounds * WORK_CALLS);
	CHECK(regions->valid > region / 2, "only %#llx bytes", regions->valid);
	session_close(&s);
	load_end(load);
}

TEST(chained_tables)
{
	reload_module_of_pieces();
	CHECK_EQ(read_number("/sys/module/mtrace/parameters/chunk_order"), 0);
	check_chained(MIB(8), false);
	check_chained(MIB(4), true);
	reload_module(NULL);
}

static void set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	if (!write_text(path, online ? "1" : "0"))
		FAIL("%s: %s", path, strerror(errno));
}

static void work_calls_unpinned(struct load *load, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < 100 || !load->stop; i++) {
		load_run(200);
		load->progress[index]++;
	}
}

static void bind_to(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_ERRNO(sched_setaffinity(tid, sizeof(set), &set), 0);
}

/* The last CPU goes and comes back while two threads are traced. */
TEST(cpus_come_and_go)
{
	struct load *load = load_spawn(2, work_calls_unpinned);
	struct mtrace_region *regions;
	int last = nr_cpus() - 1;
	struct pt_stats stats;
	struct msrs before;
	struct session s;
	uint32_t i, round;
	uint64_t id, seen[2];
	long fd;

	need_two_cpus();
	read_msrs(&before);
	session_open(&s, setup_of(MIB(1), 2, 1));
	for (i = 0; i < 2; i++)
		must_attach(&s, load->tids[i]);
	must_start(&s);
	load_go(load);
	for (round = 0; round < 6; round++) {
		set_online(last, round & 1);
		/* One that must run on the CPU that has come back. */
		if (round & 1)
			bind_to(load->tids[1], last);
		for (i = 0; i < 2; i++)
			seen[i] = load->progress[i];
		WAIT_FOR(load->progress[0] > seen[0] + 2 &&
			 load->progress[1] > seen[1] + 2);
		regions = must_regions(&s, 2, &id);
		for (i = 0; i < 2; i++) {
			pt_read(&s, &regions[i], (uintptr_t)load_target,
				&stats);
			CHECK(stats.hits, "a thread is not traced");
			if (!(round & 1))
				CHECK(regions[i].cpu != (uint32_t)last,
				      "a thread ran on a CPU that is offline");
		}
		if (round & 1)
			CHECK_EQ(region_of(regions, 2, load->tids[1])->cpu,
				 last);
		must_release(&s, id);
		/* perf is kept out of a CPU that comes back, too. */
		if (round & 1) {
			CHECK_ERRNO(fd = perf_open(-1, last), EBUSY);
			close(fd);
		}
	}
	CHECK_EQ(must_status(s.fd).errors, 0);
	load_end(load);
	session_close(&s);
	check_msrs_as(&before);
}

/* The thread by which a CPU goes, and is given back: of the name "cpuhp/N". */
static pid_t thread_of_hotplug(int cpu)
{
	char path[64], want[32], comm[32] = "";
	FILE *file;
	pid_t pid;

	snprintf(want, sizeof(want), "cpuhp/%d\n", cpu);
	for (pid = 2; pid < 1000; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = 0;
		fclose(file);
		if (!strcmp(comm, want))
			return pid;
	}
	FAIL("there is no %s", want);
}

/* What takes the CPU away is traced on it at that very moment. */
TEST(cpus_go_under_who_is_traced)
{
	struct mtrace_setup setup = setup_of(MIB(32), 1, 1);
	int last = nr_cpus() - 1, round;
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct msrs before;
	struct session s;
	uint64_t id;

	need_two_cpus();
	read_msrs(&before);
	setup.trace_flags = MTRACE_TRACE_KERNEL;
	session_open(&s, setup);
	must_attach(&s, thread_of_hotplug(last));
	must_start(&s);
	for (round = 0; round < 2; round++) {
		set_online(last, false);
		regions = must_regions(&s, 1, &id);
		CHECK_EQ(regions[0].flags, 0);
		pt_read(&s, regions, 0, &stats);
		CHECK(stats.kernel, "it is not traced");
		must_release(&s, id);
		set_online(last, true);
	}
	CHECK_EQ(must_status(s.fd).errors, 0);
	session_close(&s);
	check_msrs_as(&before);
}

/* A CPU goes while the session is closed and opened: none is left claimed. */
TEST(cpus_go_while_sessions_end)
{
	int last = nr_cpus() - 1, i;
	struct msrs before;
	struct session s;

	need_two_cpus();
	read_msrs(&before);
	for (i = 0; i < 4; i++) {
		session_open(&s, setup_of(MIB(1), 1, 1));
		set_online(last, false);
		if (i & 1)
			set_online(last, true);
		session_close(&s);
		if (!(i & 1))
			set_online(last, true);
		check_msrs_as(&before);
		CHECK_ERRNO(close(perf_open(-1, last)), 0);
	}
}

static void set_test_module(bool there)
{
	const char *module = getenv("MTRACE_HALT_KO");
	int fd;

	if (!there) {
		CHECK_ERRNO(syscall(SYS_delete_module, "mt_halt", O_NONBLOCK),
			    0);
		return;
	}
	CHECK(module, "MTRACE_HALT_KO does not say where mt_halt.ko is");
	fd = open(module, O_RDONLY | O_CLOEXEC);
	CHECK_ERRNO(syscall(SYS_finit_module, fd, "", 0), 0);
	close(fd);
}

#define SLEEP	"/sys/module/mt_halt/parameters/"

/*
 * The machine shall sleep. When all have prepared for it nothing is traced; then
 * the registers are cleared, as a sleeping CPU's are, and the sleep is refused.
 */
TEST(registers_are_lost_in_sleep)
{
	struct mtrace_setup setup = setup_of(MIB(4), 3, 1);
	struct load *load = load_spawn(2, work_spin);
	const struct mtrace_region *region;
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct msrs before;
	struct session s;
	uint64_t id, seen[2];
	uint32_t count;
	int i, cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++)
		write_msr(cpu, MSR_RTIT_OUTPUT_BASE, 0x7000);
	read_msrs(&before);
	set_test_module(true);
	/* The filter must be written again as well. */
	if (must_caps().nr_ranges) {
		setup.nr_ranges = 1;
		setup.range[0].kind = MTRACE_RANGE_FILTER;
		setup.range[0].start = (uintptr_t)load_target;
		setup.range[0].end = (uintptr_t)load_target + 1;
	}
	session_open(&s, setup);
	for (i = 0; i < 2; i++)
		must_attach(&s, load->tids[i]);
	/* Who sends it to sleep is running then. */
	must_attach(&s, getpid());
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10 && load->progress[1] > 10);
	CHECK(!write_text("/sys/power/state", "freeze"), "it has slept");
	CHECK_EQ(read_number(SLEEP "slept"), 1);
	CHECK_EQ(read_number(SLEEP "tracing"), 0);

	must_release(&s, must_snapshot(&s).id);
	for (i = 0; i < 2; i++)
		seen[i] = load->progress[i];
	WAIT_FOR(load->progress[0] > seen[0] + 10 &&
		 load->progress[1] > seen[1] + 10);
	regions = snapshot_regions(&s, &id, &count);
	for (i = 0; i < 2; i++) {
		region = region_of(regions, count, load->tids[i]);
		pt_read(&s, region, (uintptr_t)load_target, &stats);
		CHECK(stats.hits + stats.entries, "a thread is not traced");
		CHECK(stats.lowest >= setup.range[0].start,
		      "%#lx is not in the filter's range", stats.lowest);
	}
	CHECK_EQ(must_status(s.fd).errors, 0);
	session_close(&s);
	load_end(load);
	/* Not as the sleep left them: perf thinks that they are its own. */
	check_msrs_as(&before);
	set_test_module(false);
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		write_msr(cpu, MSR_RTIT_OUTPUT_BASE, 0);
}

/*
 * Who writes the memory of a machine that hibernates has all prepared for it by
 * opening the device for that, and then runs on for some time.
 */
TEST(sessions_begin_before_sleep)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint64_t id;
	int fd;

	fd = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == EPERM))
		skip("this kernel does not hibernate");
	CHECK(fd >= 0, "/dev/snapshot: %s", strerror(errno));
	trace_begin(&s, setup_of(MIB(4), 1, 1), load);
	regions = trace_another(&s, load, &id);
	CHECK_EQ(regions->valid, 0);
	must_release(&s, id);
	/* It sleeps no more, and all is traced that has been begun. */
	close(fd);
	regions = trace_another(&s, load, &id);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	session_close(&s);
	load_end(load);
}

/*
 * The machine goes to sleep, or tries to: the file system that its root is on
 * refuses, after tracing was paused. Afterwards it goes on where it was.
 */
TEST(sleep_and_wake)
{
	struct load *load = load_spawn(1, work_spin);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint64_t seen;

	pin_to(0);
	session_open(&s, setup_of(MIB(2), 1, 1));
	must_attach(&s, load->pid);
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	write_text("/sys/class/rtc/rtc0/wakealarm", "0");
	CHECK(write_text("/sys/class/rtc/rtc0/wakealarm", "+5"),
	      "no clock can wake the machine: %s", strerror(errno));
	if (!write_text("/sys/power/state", "freeze"))
		CHECK(errno == EOPNOTSUPP, "it cannot sleep: %s",
		      strerror(errno));
	/* What was traced before is not counted. */
	must_release(&s, must_snapshot(&s).id);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	regions = must_regions(&s, 1, NULL);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK(stats.hits, "it is not traced any more");
	CHECK_EQ(must_status(s.fd).errors, 0);
	load_end(load);
}
