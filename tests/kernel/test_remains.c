// SPDX-License-Identifier: GPL-2.0
/* Threads that come and go in masses, and what is left of them: nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "msr.h"
#include "pt.h"

/*
 * Tasks that the kernel itself makes and buries meanwhile, and objects that the
 * allocator counts as in use because they are in a CPU's cache. A test makes
 * ten times as many at least.
 */
#define TASKS_OF_OTHERS	60

static long long tasks(void)
{
	FILE *file = fopen("/proc/slabinfo", "re");
	long long active = -1;
	char line[256];

	write_text("/sys/kernel/slab/task_struct/shrink", "1");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "task_struct %lld", &active);
	if (file)
		fclose(file);
	CHECK(active > 0, "/proc/slabinfo says nothing of task_struct");
	return active;
}

struct remains {
	struct msrs msrs;
	long long tasks;
};

static void look_before(struct remains *before)
{
	/* Orphans are buried here, and not by the harness when all is over. */
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	read_msrs(&before->msrs);
	before->tasks = tasks();
}

/* All threads are gone: so are their regions, one snapshot later. */
static void check_session(struct session *s)
{
	struct mtrace_status status;

	WAIT_FOR(must_status(s->fd).nr_threads == 0);
	must_release(s, must_snapshot(s).id);
	status = must_status(s->fd);
	CHECK_EQ(status.regions_free, s->setup.nr_regions);
	CHECK_EQ(status.regions_live + status.regions_frozen, 0);
	CHECK_EQ(status.nr_snapshots, 0);
	CHECK_EQ(status.errors, 0);
}

/* The session is closed: its threads, their tasks and the registers are free. */
static void check_nothing_remains(const struct remains *before)
{
	long long now;
	int tries;

	/* A task is freed some time after it is gone and buried. */
	for (tries = 0; tries < 2400; tries++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		now = tasks();
		if (now < before->tasks + TASKS_OF_OTHERS)
			break;
		usleep(50000);
	}
	CHECK(now < before->tasks + TASKS_OF_OTHERS,
	      "of %lld tasks there are %lld now", before->tasks, now);
	check_msrs_as(&before->msrs);
	CHECK_EQ(read_number("/sys/module/mtrace/refcnt"), 0);
}

#define SHORT_THREADS	10000
#define AT_ONCE		8

static void *nothing(void *unused)
{
	return unused;
}

static void work_short_threads(struct load *load, uint32_t index)
{
	pthread_t threads[AT_ONCE];
	pthread_attr_t attr;
	int i, j;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (i = 0; i < SHORT_THREADS / AT_ONCE; i++) {
		for (j = 0; j < AT_ONCE; j++)
			if (pthread_create(&threads[j], &attr, nothing, NULL))
				_exit(1);
		for (j = 0; j < AT_ONCE; j++)
			pthread_join(threads[j], NULL);
		load->progress[index] += AT_ONCE;
	}
}

TEST(nothing_remains_of_short_threads)
{
	struct mtrace_setup setup = setup_of(MIB(2), 16, 1);
	struct mtrace_status status;
	struct remains before;
	struct load *load;
	struct session s;

	look_before(&before);
	load = load_spawn(1, work_short_threads);
	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	session_open(&s, setup);
	must_attach(&s, load->pid);
	must_start(&s);
	load_round(load);
	CHECK_EQ(load->progress[0], SHORT_THREADS);
	/* That they were traced shows by what was given up of them. */
	status = must_status(s.fd);
	CHECK(status.recycled + status.refused_threads > SHORT_THREADS - 100,
	      "only %llu were traced and %llu refused", status.recycled,
	      status.refused_threads);
	load_end(load);
	check_session(&s);
	session_close(&s);
	check_nothing_remains(&before);
}

#define BOMB_MAX	700
#define BOMB_TRACED	128

/* Each makes two more, while there are not too many, and lives for a while. */
static void bomb(struct load *load)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (__atomic_add_fetch(&load->progress[1], 1,
				       __ATOMIC_SEQ_CST) > BOMB_MAX)
			break;
		if (!fork()) {
			bomb(load);
			_exit(0);
		}
	}
	load_run(100);
	while (wait(NULL) > 0)
		;
}

static void work_bomb(struct load *load, uint32_t index)
{
	(void)index;
	setpgid(0, 0);
	bomb(load);
}

static void session_of_bomb(struct session *s, struct load *load)
{
	struct mtrace_setup setup = setup_of(MIB(4), BOMB_TRACED, 1);

	setup.flags = MTRACE_SETUP_INHERIT_THREADS |
		      MTRACE_SETUP_INHERIT_PROCESSES;
	session_open(s, setup);
	must_attach(s, load->pid);
	must_start(s);
}

TEST(nothing_remains_of_a_fork_bomb)
{
	struct mtrace_status status;
	struct remains before;
	struct load *load;
	struct session s;

	look_before(&before);
	load = load_spawn(1, work_bomb);
	session_of_bomb(&s, load);
	load_round(load);
	CHECK(load->progress[1] > BOMB_MAX, "it was no bomb");
	status = must_status(s.fd);
	/* Children of one that was refused are not asked for. */
	CHECK(status.refused_threads + status.recycled, "there was room for all");
	load_end(load);
	check_session(&s);
	session_close(&s);
	check_nothing_remains(&before);
}

/* In the midst of it the owner is killed, then the bomb. */
TEST(nothing_remains_of_a_killed_owner)
{
	struct remains before;
	struct load *load;
	struct session s;
	pid_t owner;
	int i;

	look_before(&before);
	for (i = 0; i < 4; i++) {
		load = load_spawn(1, work_bomb);
		owner = fork();
		if (!owner) {
			session_of_bomb(&s, load);
			load_go(load);
			for (;;)
				must_release(&s, must_snapshot(&s).id);
		}
		WAIT_FOR(load->progress[1] > 100);
		kill(owner, SIGKILL);
		waitpid(owner, NULL, 0);
		check_msrs_as(&before.msrs);
		kill(-load->pid, SIGKILL);
		load_end(load);
	}
	check_nothing_remains(&before);
}

#define EXECS	200

static void work_execs(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	(void)index;
	for (i = 0; i < EXECS; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

TEST(nothing_remains_of_execs)
{
	struct mtrace_setup setup = setup_of(MIB(4), 16, 1);
	struct mtrace_status status;
	struct remains before;
	struct load *load;
	struct session s;

	look_before(&before);
	load = load_spawn(1, work_execs);
	/* The filter by CR3 has each be switched at its exec. */
	if (cpuid14(0, 1) & 1)
		setup.trace_flags |= MTRACE_TRACE_CR3;
	setup.flags = MTRACE_SETUP_INHERIT_PROCESSES;
	session_open(&s, setup);
	must_attach(&s, load->pid);
	must_start(&s);
	load_round(load);
	status = must_status(s.fd);
	CHECK(status.recycled + status.refused_threads + 32 > EXECS,
	      "only %llu were traced and %llu refused", status.recycled,
	      status.refused_threads);
	load_end(load);
	check_session(&s);
	session_close(&s);
	check_nothing_remains(&before);
}

#define MOVES	400

/* To the next CPU after each few calls. */
static void work_move(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	for (i = 0; i < MOVES; i++) {
		pin_to((index + i) % nr_cpus());
		load_run(10);
	}
}

/* Some move while others are frozen; whole is what each of them did. */
TEST(nothing_remains_of_moving_threads)
{
	struct mtrace_region *regions;
	uint64_t id, hits = 0;
	struct pt_stats stats;
	struct remains before;
	struct load *load;
	struct session s;
	uint32_t count, i;
	bool last;

	look_before(&before);
	load = load_spawn(4, work_move);
	session_open(&s, setup_of(MIB(8), 4, 1));
	for (i = 0; i < 4; i++)
		must_attach(&s, load->tids[i]);
	must_start(&s);
	load_go(load);
	do {
		last = load->done == 4;
		regions = snapshot_regions(&s, &id, &count);
		for (i = 0; i < count; i++) {
			pt_read(&s, &regions[i], (uintptr_t)load_target,
				&stats);
			hits += stats.hits;
		}
		free(regions);
		must_release(&s, id);
		usleep(1000);
	} while (!last);
	CHECK_EQ(hits, 4 * MOVES * 10);
	load_end(load);
	check_session(&s);
	session_close(&s);
	check_nothing_remains(&before);
}
