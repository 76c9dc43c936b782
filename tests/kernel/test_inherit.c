// SPDX-License-Identifier: GPL-2.0
/* Threads that traced threads make, and threads that end. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "pt.h"

#define CALLS_OF_A_CHILD 300

static void *calls(void *unused)
{
	load_run(CALLS_OF_A_CHILD);
	return unused;
}

/* A thread, and a process that makes a thread itself: three that are new. */
static void work_family(struct load *load, uint32_t index)
{
	pthread_t thread;
	pid_t pid;

	pthread_create(&thread, NULL, calls, NULL);
	pthread_join(thread, NULL);
	pid = fork();
	if (!pid) {
		calls(NULL);
		pthread_create(&thread, NULL, calls, NULL);
		pthread_join(thread, NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	load->progress[index] = pid;
}

static void check_family(uint32_t flags, uint32_t threads, uint32_t processes)
{
	struct load *load = load_spawn(1, work_family);
	struct mtrace_setup setup = setup_of(MIB(8), 8, 1);
	uint32_t count, i, same = 0, others = 0;
	struct mtrace_region *regions;
	struct mtrace_status status;
	struct pt_stats stats;
	struct session s;
	uint64_t id;

	setup.flags = flags;
	session_open(&s, setup);
	must_attach(&s, load->pid);
	must_start(&s);
	load_round(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 1);
	regions = snapshot_regions(&s, &id, &count);
	for (i = 0; i < count; i++) {
		if (regions[i].tid == load->pid)
			continue;
		if (regions[i].pid == load->pid)
			same++;
		else if (regions[i].pid == (int)load->progress[0])
			others++;
		CHECK_EQ(regions[i].flags, MTRACE_REGION_EXITED);
		CHECK(!strcmp(regions[i].comm, "kernel-tests"),
		      "a child's name is '%s'", regions[i].comm);
		pt_read(&s, &regions[i], (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.hits, CALLS_OF_A_CHILD);
	}
	CHECK_EQ(same, threads);
	CHECK_EQ(others, processes);
	CHECK_EQ(count, 1 + threads + processes);
	status = must_status(s.fd);
	CHECK_EQ(status.refused_threads, 0);
	CHECK_EQ(status.recycled, 0);
	must_release(&s, id);
	status = must_status(s.fd);
	CHECK_EQ(status.regions_live, 1);
	CHECK_EQ(status.regions_free, s.setup.nr_regions - 1);
	session_close(&s);
	load_end(load);
}

TEST(children_are_traced_as_asked)
{
	check_family(0, 0, 0);
	check_family(MTRACE_SETUP_INHERIT_THREADS, 1, 0);
	/* The new process's own thread is not asked for. */
	check_family(MTRACE_SETUP_INHERIT_PROCESSES, 0, 1);
	check_family(MTRACE_SETUP_INHERIT_THREADS |
		     MTRACE_SETUP_INHERIT_PROCESSES, 1, 2);
}

static void work_many(struct load *load, uint32_t index)
{
	pthread_t threads[6];
	int i;

	(void)load;
	(void)index;
	for (i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, calls, NULL);
	for (i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

static void work_hold(struct load *load, uint32_t index)
{
	pid_t pids[6];
	int i;

	for (i = 0; i < 6; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			while (!load->progress[1])
				usleep(500);
			_exit(0);
		}
	}
	load->progress[index] = 1;
	for (i = 0; i < 6; i++)
		waitpid(pids[i], NULL, 0);
}

/* Of six children that live at the same time there is room for three. */
TEST(children_beyond_the_limit_are_counted)
{
	struct mtrace_setup setup = setup_of(MIB(4), 4, 1);
	struct load *load = load_spawn(1, work_hold);
	struct mtrace_status status;
	struct session s;

	setup.flags = MTRACE_SETUP_INHERIT_PROCESSES;
	session_open(&s, setup);
	must_attach(&s, load->pid);
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0]);
	status = must_status(s.fd);
	CHECK_EQ(status.nr_threads, 4);
	CHECK_EQ(status.regions_live, 4);
	CHECK_EQ(status.refused_threads, 3);
	CHECK_EQ(must_snapshot(&s).nr_regions, 4);
	load->progress[1] = 1;
	WAIT_FOR(load->done == 1);
	WAIT_FOR(must_status(s.fd).nr_threads == 1);
	load_end(load);
}

#define MANY_ROUNDS	334	/* of six threads: 2,004 */

/* More threads than regions by far come and go, none at a snapshot. */
TEST(short_threads_leave_nothing_behind)
{
	struct mtrace_setup setup = setup_of(MIB(8), 16, 1);
	struct load *load = load_spawn(1, work_many);
	struct mtrace_status status;
	struct mtrace_region *regions;
	struct pt_stats stats;
	uint32_t count, i;
	struct session s;
	uint64_t id;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	session_open(&s, setup);
	must_attach(&s, load->pid);
	must_start(&s);
	for (i = 0; i < MANY_ROUNDS; i++)
		load_round(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 1);
	status = must_status(s.fd);
	CHECK_EQ(status.regions_live + status.regions_free, s.setup.nr_regions);
	CHECK(status.regions_free >= 16, "only %u regions are free",
	      status.regions_free);
	/* Whatever was not kept for the snapshot was given up, and counted. */
	regions = snapshot_regions(&s, &id, &count);
	CHECK_EQ(status.recycled + status.refused_threads + count - 1,
		 MANY_ROUNDS * 6);
	for (i = 0; i < count; i++) {
		pt_read(&s, &regions[i], (uintptr_t)load_target, &stats);
		if (regions[i].tid != load->pid)
			CHECK_EQ(stats.hits, CALLS_OF_A_CHILD);
	}
	must_release(&s, id);
	status = must_status(s.fd);
	CHECK_EQ(status.nr_snapshots, 0);
	CHECK_EQ(status.regions_frozen, 0);
	CHECK_EQ(status.regions_live, 1);
	CHECK_EQ(status.regions_free, s.setup.nr_regions - 1);
	load_end(load);
	/* The last one's region is part of one more snapshot. */
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	CHECK_EQ(must_status(s.fd).regions_live, 1);
	must_release(&s, must_snapshot(&s).id);
	CHECK_EQ(must_status(s.fd).regions_free, s.setup.nr_regions);
}

static void work_exec(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	load_run(100);
	execl("/bin/true", "a-new-name", NULL);
}

TEST(exec_goes_on_being_traced)
{
	struct load *load = load_spawn(1, work_exec);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	pid_t pid = load->pid;

	session_open(&s, setup_of(MIB(16), 1, 1));
	must_attach(&s, pid);
	must_start(&s);
	load_go(load);
	waitpid(pid, NULL, 0);
	regions = must_regions(&s, 1, NULL);
	CHECK_EQ(regions->tid, pid);
	CHECK_EQ(regions->flags, MTRACE_REGION_EXITED);
	CHECK(!strcmp(regions->comm, "true"), "its name is '%s'",
	      regions->comm);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, 100);
	/* What ld.so and libc do is much more than what was before. */
	CHECK(stats.tnt > 5000, "only %lu branches", stats.tnt);
}

static void *exec_in_thread(void *unused)
{
	execl("/bin/true", "a-new-name", NULL);
	return unused;
}

static void work_thread_exec(struct load *load, uint32_t index)
{
	pthread_t thread;

	(void)index;
	pthread_create(&thread, NULL, exec_in_thread, load);
	pthread_join(thread, NULL);
}

/* A thread that is not the first one execs and takes over the first's id. */
TEST(exec_by_another_thread)
{
	struct mtrace_setup setup = setup_of(MIB(32), 4, 1);
	struct load *load = load_spawn(1, work_thread_exec);
	struct mtrace_region *regions;
	struct pt_stats stats;
	uint32_t i;
	pid_t pid = load->pid;
	struct session s;
	uint64_t id, tnt = 0;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	session_open(&s, setup);
	must_attach(&s, pid);
	must_start(&s);
	load_go(load);
	waitpid(pid, NULL, 0);
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	regions = must_regions(&s, 2, &id);
	for (i = 0; i < 2; i++) {
		pt_read(&s, &regions[i], (uintptr_t)load_target, &stats);
		if (!strcmp(regions[i].comm, "true")) {
			CHECK_EQ(regions[i].tid, pid);
			tnt = stats.tnt;
		}
	}
	CHECK(tnt > 5000, "the new program has %lu branches", tnt);
}
