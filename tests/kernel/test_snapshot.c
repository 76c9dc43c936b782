// SPDX-License-Identifier: GPL-2.0
/* Snapshots: of whatever runs wherever, described, released, used again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace.h"

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
	trace_begin(&s, setup_of(MIB(8), 1, 3), load);
	load_go(load);
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
	uint32_t i, snapshots = 0;

	trace_begin(&s, setup_of(MIB(32), nr, 1), load);
	load_go(load);
	for (;;) {
		bool last = load->done == nr;

		regions = must_regions(&s, nr, &id);
		for (i = 0; i < nr; i++) {
			const struct mtrace_region *region;

			region = region_of(regions, nr, load->tids[i]);
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

	trace_begin(&s, setup_of(MIB(16), 1, 3), load);
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

TEST(snapshot_without_a_region_is_counted)
{
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint32_t count;
	uint64_t id;

	trace_begin(&s, setup_of(MIB(8), 1, 1), load);
	CHECK_EQ(must_snapshot(&s).missed, 0);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), ENOBUFS);
	load_round(load);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), ENOBUFS);
	CHECK_EQ(must_status(s.fd).nobufs, 2);
	must_release(&s, 1);

	/* Tracing went on, and the next one says how many there were not. */
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.id, 2);
	CHECK_EQ(snapshot.missed, 2);
	regions = must_describe(&s, 2, &count);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	free(regions);
	must_release(&s, 2);
	free(snapshot_regions(&s, &id, &count));
	CHECK_EQ(must_status(s.fd).nobufs, 2);
	load_end(load);
}

/**
 * struct waiter - a process that asks for a snapshot and may have to wait
 * @pid: its number
 * @calls: it is about to
 * @error: what the call gave, 0 for success, -1 while there is nothing
 * @snapshot: and with success
 */
struct waiter {
	pid_t pid;
	volatile int calls;
	volatile int error;
	struct mtrace_snapshot snapshot;
};

static void on_signal(int signal)
{
	(void)signal;
}

static struct waiter *waiter_spawn(const struct session *s)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct waiter *w;
	pid_t pid;

	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(w != MAP_FAILED, "no memory to share");
	w->error = -1;
	w->snapshot.size = sizeof(w->snapshot);
	w->snapshot.flags = MTRACE_SNAPSHOT_WAIT;
	pid = fork();
	if (pid) {
		w->pid = pid;
		return w;
	}
	sigaction(SIGUSR1, &action, NULL);
	w->calls = 1;
	w->error = ioctl(s->fd, MTRACE_IOC_SNAPSHOT, &w->snapshot) ? errno : 0;
	_exit(0);
}

/* Whether it sleeps; in its call nothing else makes it. */
static bool waiter_waits(const struct waiter *w)
{
	char path[64], text[256] = "";
	const char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", w->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		FAIL("%s: %s", path, strerror(errno));
	close(fd);
	end = strrchr(text, ')');
	return w->calls && end && end[2] == 'S';
}

/* It waits until no thread has to be left out, and holds up nobody. */
TEST(snapshot_waits_for_regions)
{
	struct load *load = load_spawn(2, work_calls);
	struct waiter *w;
	struct session s;

	session_open(&s, setup_of(MIB(4), 2, 1));
	CHECK_EQ(s.setup.nr_regions, 4);
	must_attach(&s, load->tids[0]);
	must_start(&s);
	must_snapshot(&s);
	must_attach(&s, load->tids[1]);
	/* One is free for two threads. */
	w = waiter_spawn(&s);
	WAIT_FOR(waiter_waits(w));
	CHECK_EQ(must_status(s.fd).nr_threads, 2);
	CHECK_EQ(w->error, -1);
	load_round(load);
	must_release(&s, 1);
	WAIT_FOR(w->error != -1);
	CHECK_EQ(w->error, 0);
	CHECK_EQ(w->snapshot.id, 2);
	CHECK_EQ(w->snapshot.flags, 0);
	CHECK_EQ(w->snapshot.nr_regions, 2);
	CHECK_EQ(w->snapshot.nr_unswitched, 0);
	/* Who waited has not gone without. */
	CHECK_EQ(w->snapshot.missed, 0);
	CHECK_EQ(must_status(s.fd).nobufs, 0);
	load_end(load);
}

/* So does a thread that goes. */
TEST(snapshot_waits_for_fewer_threads)
{
	struct load *load = load_spawn(2, work_calls);
	struct waiter *w;
	struct session s;

	session_open(&s, setup_of(MIB(4), 2, 1));
	must_attach(&s, load->tids[0]);
	must_snapshot(&s);
	must_attach(&s, load->tids[1]);
	w = waiter_spawn(&s);
	WAIT_FOR(waiter_waits(w));
	must_detach(&s, load->tids[1]);
	WAIT_FOR(w->error != -1);
	CHECK_EQ(w->error, 0);
	CHECK_EQ(w->snapshot.nr_regions, 1);
	load_end(load);
}

TEST(snapshot_waits_until_a_signal)
{
	struct load *load = load_spawn(1, work_calls);
	struct waiter *w;
	struct session s;
	int status;

	trace_begin(&s, setup_of(MIB(4), 1, 1), load);
	must_snapshot(&s);
	w = waiter_spawn(&s);
	WAIT_FOR(waiter_waits(w));
	kill(w->pid, SIGUSR1);
	WAIT_FOR(w->error != -1);
	CHECK_EQ(w->error, EINTR);

	w = waiter_spawn(&s);
	WAIT_FOR(waiter_waits(w));
	kill(w->pid, SIGKILL);
	CHECK_EQ(waitpid(w->pid, &status, 0), w->pid);
	CHECK_EQ(WTERMSIG(status), SIGKILL);

	CHECK_EQ(must_status(s.fd).nr_snapshots, 1);
	must_release(&s, 1);
	CHECK_EQ(must_snapshot(&s).id, 2);
	load_end(load);
}

TEST(snapshot_errors)
{
	struct mtrace_snapshot arg = { .size = sizeof(arg) };
	struct session s;

	session_open(&s, setup_of(MIB(1), 1, 1));
	arg.flags = MTRACE_SNAPSHOT_WAIT << 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &arg), EINVAL);
	arg.flags = 1U << 31;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &arg), EINVAL);
	/* That one does not wait. */
	arg.flags = MTRACE_SNAPSHOT_WAIT;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_NEXT_SNAPSHOT, &arg), EINVAL);
	arg.flags = 0;
	arg.reserved[1] = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &arg), EINVAL);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_NEXT_SNAPSHOT, &arg), EINVAL);
	CHECK_EQ(must_snapshot(&s).id, 1);
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
