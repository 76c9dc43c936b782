// SPDX-License-Identifier: GPL-2.0
/* A thread that executes what gives it rights, or what cannot be read. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_sideband.h>

#include "side.h"
#include "trace.h"
#include "user.h"

static const char *program;

static void work_execute(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	load_run(100);
	execl(program, "program", NULL);
	_exit(1);
}

/*
 * Where a program's code is, is told before its exec only to who may know it in
 * any case, and after it if it has not gained rights.
 */
static void check_exec_records(struct session *s, pid_t pid, bool privileged,
			       bool gained)
{
	uint32_t mmaps[3] = {}, execs = 0, at = 0, i;
	struct side side = {};

	side_read(s, &side);
	for (i = 0; i < side.nr; i++) {
		execs += side.records[i]->head.type == MTRACE_RECORD_EXEC;
		mmaps[execs] += side.records[i]->head.type ==
				MTRACE_RECORD_MMAP;
	}
	CHECK_EQ(execs, !gained);
	CHECK_EQ(mmaps[0] > 0, privileged);
	CHECK_EQ(mmaps[1] > 0, !gained);
	CHECK_EQ(side_must(&side, &at, MTRACE_RECORD_EXIT, pid)->exit.how,
		 gained ? MTRACE_EXIT_GAINED : MTRACE_EXIT_EXITED);
	side_free(&side);
}

static void check_exec(bool tracer, uint32_t gained)
{
	struct load *load = load_spawn(1, work_execute);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	int status;

	if (tracer)
		seize(load->pid, 0);
	trace_begin(&s, side_setup(setup_of(MIB(4), 1, 1), KIB(64)), load);
	load_go(load);
	CHECK_EQ(waitpid(load->pid, &status, 0), load->pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(must_status(s.fd).gained, gained);
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
	regions = must_regions(&s, 1, NULL);
	CHECK_EQ(regions->flags, MTRACE_REGION_EXITED);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, 100);
	/* The linker of the new program alone has thousands of branches. */
	if (gained)
		CHECK(stats.tnt < 1000, "%lu branches are too many", stats.tnt);
	else
		CHECK(stats.tnt > 5000, "only %lu branches", stats.tnt);
	check_exec_records(&s, load->pid, !tracer, gained);
	session_close(&s);
}

static void check_exec_as_user(void *gained)
{
	check_exec(true, (uintptr_t)gained);
}

static void make_program(mode_t mode)
{
	static char path[] = "/tmp/mt-test-program";

	CHECK_EQ(system("cp /bin/true /tmp/mt-test-program"), 0);
	CHECK_EQ(chmod(path, mode), 0);
	program = path;
}

TEST(set_uid_exec_ends_the_trace)
{
	make_program(0755);
	run_as_user(check_exec_as_user, (void *)0);
	make_program(04755);
	run_as_user(check_exec_as_user, (void *)1);
	/* Not readable: what ptrace may not show either. */
	make_program(0711);
	run_as_user(check_exec_as_user, (void *)1);
}

/* Stop a thread of the user's where it has executed the program. */
static void execute_and_stop(struct load *load)
{
	int status;

	load_go(load);
	CHECK_EQ(waitpid(load->pid, &status, 0), load->pid);
	CHECK_EQ(status >> 8, SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

static void check_attach_again(void *error)
{
	struct load *load = load_spawn(1, work_execute);
	struct session s;

	seize(load->pid, PTRACE_O_TRACEEXEC);
	trace_begin(&s, setup_of(MIB(1), 1, 1), load);
	execute_and_stop(load);
	CHECK_EQ(must_status(s.fd).gained, !!error);
	if (!error)
		must_detach(&s, load->pid);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, load->pid),
		    (int)(intptr_t)error);
	CHECK_EQ(must_status(s.fd).nr_threads, !error);
	session_close(&s);
	load_end(load);
}

/*
 * What has left for its rights does not come again while it has them. Only a
 * tracer with CAP_SYS_PTRACE lets a set-user-id program have them.
 */
TEST(set_uid_exec_cannot_be_attached)
{
	make_program(0755);
	run_as_user(check_attach_again, (void *)0);
	make_program(0711);
	run_as_user(check_attach_again, (void *)EPERM);
	make_program(04755);
	run_with_caps(1ull << CAP_SYS_PTRACE, check_attach_again,
		      (void *)EPERM);
}

/* With CAP_PERFMON it goes on, though it is not root's. */
TEST(set_uid_exec_with_privilege)
{
	int status;
	pid_t pid;

	make_program(04755);
	pid = fork();
	if (!pid) {
		become_user(1ull << CAP_PERFMON);
		check_exec(false, 0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	as_before();
	CHECK_EQ(status, 0);
}
