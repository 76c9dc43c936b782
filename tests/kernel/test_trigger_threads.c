// SPDX-License-Identifier: GPL-2.0
/* Triggers, and the threads that come, go, and run other programs with them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trigger.h"

TEST(trigger_of_one_thread)
{
	struct mtrace_trigger trigger = breakpoint_at(trigger_here);
	struct mtrace_trigger probe = probe_at(trigger_here);
	struct load *load = load_spawn(2, work_trigger);
	struct session s;

	trace_begin(&s, setup_of(MIB(16), 2, 3), load);
	trigger.tid = load->tids[1];
	probe.tid = load->tids[0];
	CHECK_EQ(must_add_trigger(&s, trigger), 1);
	load_round(load);
	must_next_hit(&s, 1, load->tids[1]);
	CHECK_EQ(must_remove_trigger(&s, 1).hits, 1);
	/* The first one has all its debug registers free. */
	CHECK_EQ(must_add_trigger(&s, probe), 2);
	load_round(load);
	must_next_hit(&s, 2, load->tids[0]);
	CHECK_EQ(must_remove_trigger(&s, 2).hits, 1);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 2);
	load_end(load);
}

/* A new thread comes to it as the first thing that it does. */
static void *born(void *data)
{
	struct load *load = data;

	load->tids[6] = thread_id();
	trigger_go();
	return NULL;
}

static void work_bear(struct load *load, uint32_t index)
{
	pthread_t thread;
	pid_t pid;

	(void)index;
	if (pthread_create(&thread, NULL, born, load))
		_exit(1);
	pthread_join(thread, NULL);
	pid = fork();
	if (!pid) {
		load->tids[7] = thread_id();
		trigger_go();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void check_born(uint32_t flags, bool thread, bool process)
{
	struct mtrace_setup setup = setup_of(MIB(32), 4, 3);
	struct load *load = load_spawn(1, work_bear);
	struct pt_stats stats;
	struct session s;
	uint32_t i, number, snapshots = 0;

	setup.flags = flags;
	trace_begin(&s, setup, load);
	number = must_add_trigger(&s, breakpoint_at(trigger_here));
	load_round(load);
	for (i = 0; i < 2; i++) {
		if (!(i ? process : thread))
			continue;
		must_next_hit(&s, number, load->tids[6 + i]);
		read_thread(&s, ++snapshots, load->tids[6 + i], &stats);
		check_led_there(&stats);
	}
	CHECK_EQ(must_status(s.fd).nr_snapshots, snapshots);
	CHECK_EQ(must_remove_trigger(&s, number).hits, snapshots);
	session_close(&s);
	load_end(load);
}

TEST(trigger_of_threads_to_come)
{
	check_born(0, false, false);
	check_born(MTRACE_SETUP_INHERIT_THREADS, true, false);
	check_born(MTRACE_SETUP_INHERIT_PROCESSES, false, true);
	check_born(MTRACE_SETUP_INHERIT_THREADS |
		   MTRACE_SETUP_INHERIT_PROCESSES, true, true);
}

/* One that is attached comes to those that were there before it. */
TEST(trigger_of_threads_attached)
{
	struct load *load = load_spawn(2, work_trigger);
	struct session s;
	uint32_t number;

	session_open(&s, setup_of(MIB(16), 2, 3));
	must_start(&s);
	number = must_add_trigger(&s, breakpoint_at(trigger_here));
	load_round(load);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	must_attach(&s, load->tids[1]);
	load_round(load);
	must_next_hit(&s, number, load->tids[1]);
	/* Again, and it has the breakpoint once. */
	must_detach(&s, load->tids[1]);
	must_attach(&s, load->tids[1]);
	load_round(load);
	must_next_hit(&s, number, load->tids[1]);
	CHECK_EQ(must_remove_trigger(&s, number).hits, 2);
	load_end(load);
}

/*
 * A program that is executed with other rights than its caller's: it comes to a
 * place that is the same wherever the program itself is loaded.
 */
#define AFTER_EXEC	"after-exec"
#define AFTER_EXEC_DATA	((volatile uint64_t *)0x100000000000)

static void __attribute__((constructor)) after_exec(int argc, char **argv)
{
	if (argc != 1 || strcmp(argv[0], AFTER_EXEC))
		return;
	if (mmap((void *)AFTER_EXEC_DATA, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
	    AFTER_EXEC_DATA)
		_exit(1);
	for (;;) {
		*AFTER_EXEC_DATA = 1;
		usleep(1000);
	}
}

static char set_uid_program[] = "/tmp/mt-test-set-uid";

static void make_set_uid_program(void)
{
	char command[128];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(),
		 set_uid_program);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(chmod(set_uid_program, 04755), 0);
}

static void work_gain(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		_exit(1);
	execl(set_uid_program, AFTER_EXEC, NULL);
	_exit(1);
}

static struct mtrace_trigger watch_after_exec(int i)
{
	struct mtrace_trigger arg = breakpoint_at((void *)AFTER_EXEC_DATA);

	arg.access = MTRACE_ACCESS_WRITE;
	arg.length = 1;
	arg.address += i;
	return arg;
}

/* The kernel drops all events there; the session's has to come again. */
TEST(trigger_stays_over_set_uid_exec)
{
	struct load *load;
	struct session s;
	uint32_t number;

	make_set_uid_program();
	load = load_spawn(1, work_gain);
	trace_begin(&s, setup_of(MIB(8), 1, 1), load);
	number = must_add_trigger(&s, watch_after_exec(0));
	load_go(load);
	must_next_hit(&s, number, load->pid);
	CHECK_EQ(must_status(s.fd).nr_threads, 1);
	must_detach(&s, load->pid);
	must_remove_trigger(&s, number);
	load_end(load);
}

/*
 * A thread and the one that it has borne switch to each other, so that perf
 * exchanges their events, and the elder one ends. With progress[0] the child is
 * on the CPU, with [1] its parent sleeps, with [2] the child comes to it.
 */
static void *outlive(void *data)
{
	struct load *load = data;

	load->tids[6] = thread_id();
	load->progress[0] = 1;
	while (!load->progress[1])
		load_run(100);
	load_run(20000);
	while (!load->progress[2])
		usleep(1000);
	trigger_go();
	load->progress[3] = 1;
	pause();
	return NULL;
}

static void work_bear_and_end(struct load *load, uint32_t index)
{
	pthread_t thread;

	if (!index)
		return;
	pin_to(0);
	if (pthread_create(&thread, NULL, outlive, load))
		_exit(1);
	while (!load->progress[0])
		usleep(1000);
	load->progress[1] = 1;
	usleep(100000);
	pthread_exit(NULL);
}

TEST(trigger_of_a_thread_that_outlives)
{
	struct mtrace_setup setup = setup_of(MIB(16), 4, 3);
	int i;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	for (i = 0; i < 8; i++) {
		struct load *load = load_spawn(2, work_bear_and_end);
		struct session s;
		uint32_t number;

		session_open(&s, setup);
		must_attach(&s, load->tids[1]);
		must_start(&s);
		number = must_add_trigger(&s, breakpoint_at(trigger_here));
		load_go(load);
		WAIT_FOR(must_status(s.fd).nr_threads == 2);
		WAIT_FOR(must_status(s.fd).nr_threads == 1);
		/* Another one comes: what is in nobody any more is let go. */
		must_attach(&s, load->tids[0]);
		load->progress[2] = 1;
		WAIT_FOR(load->progress[3]);
		must_next_hit(&s, number, load->tids[6]);
		CHECK_EQ(must_remove_trigger(&s, number).hits, 1);
		session_close(&s);
		load_end(load);
	}
}
