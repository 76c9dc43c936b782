/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program under ptrace, run to its end, and what happened to it. The programs
 * are compiled by the test that includes this, into a folder of their own.
 *
 * Owns: struct run, the tracee's callbacks. Must not know: what a test expects.
 */
#ifndef TRACED_PROGRAM_H
#define TRACED_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/log.h"
#include "user/record/tracee.h"
#include "user/record/trigger.h"
#include "user/recording/recording.h"

static char dir[] = "/tmp/mtrace-test-XXXXXX";

/* What happened to one program. */
struct run {
	struct mt_tracee *tracee;
	struct mt_trigger *trigger;
	bool once;		/* disarm at the first hit */
	bool watch;		/* have a trigger without a symbol */
	unsigned int hits;
	unsigned int other_hits;	/* in threads other than the first */
	unsigned int libraries;	/* changes that the linker told of */
	unsigned int execs;
	unsigned int threads;
	unsigned int last_exits;
	unsigned int interrupts;
	int watched_fd;		/* a socket, 0 for none */
	unsigned int watched;	/* times that it was said to have something */
	uint64_t addresses[8];	/* of the first hits */
	int status;
	unsigned int children;
};

static int on_exec(void *ctx, pid_t tid)
{
	struct run *run = ctx;

	run->execs++;
	return run->trigger ? mt_trigger_exec(run->trigger, tid) : 0;
}

static int on_thread(void *ctx, pid_t tid)
{
	struct run *run = ctx;

	assert_int_not_equal(tid, mt_tracee_pid(run->tracee));
	run->threads++;
	return 0;
}

static int on_trap(void *ctx, pid_t tid, const siginfo_t *info)
{
	struct run *run = ctx;
	uint64_t address;
	int event;

	if (!run->trigger)
		return 0;
	event = mt_trigger_trap(run->trigger, tid, info, &address);
	if (event == MT_TRIGGER_HIT) {
		if (run->hits < 8)
			run->addresses[run->hits] = address;
		run->hits++;
		run->other_hits += tid != mt_tracee_pid(run->tracee);
		if (run->once) {
			mt_trigger_disarm(run->trigger);
			mt_tracee_changed(run->tracee, false);
		}
		return 1;
	}
	run->libraries += event == MT_TRIGGER_LOADED || event == MT_TRIGGER_LIBRARIES;
	if (event == MT_TRIGGER_LOADED) {
		int err = mt_tracee_changed(run->tracee, true);

		return err ? err : 1;
	}
	return event == MT_TRIGGER_NONE ? 0 : event < 0 ? event : 1;
}

static int on_last_exit(void *ctx, pid_t tid)
{
	struct run *run = ctx;
	char name[64];

	/* There is memory still to be looked at. */
	snprintf(name, sizeof(name), "/proc/%d/maps", tid);
	assert_int_equal(access(name, R_OK), 0);
	run->last_exits++;
	return 0;
}

static int on_interrupted(void *ctx, int signal)
{
	struct run *run = ctx;

	(void)signal;
	run->interrupts++;
	return 0;
}

static int on_sync(void *ctx, pid_t tid)
{
	struct run *run = ctx;

	return run->trigger ? mt_trigger_sync(run->trigger, tid) : 0;
}

/* One byte of urgent data each time. */
static int on_watched(void *ctx)
{
	struct run *run = ctx;
	char byte;

	assert_int_equal(recv(run->watched_fd, &byte, 1, MSG_OOB), 1);
	run->watched++;
	return 0;
}

static const struct mt_tracee_ops ops = {
	.exec = on_exec,
	.thread = on_thread,
	.trap = on_trap,
	.last_exit = on_last_exit,
	.interrupted = on_interrupted,
	.watched = on_watched,
	.sync = on_sync,
};

static void run_line(struct run *run, const char *symbol, const char *line)
{
	char copy[512], *argv[16];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s/%s", dir, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	if (symbol || run->watch)
		assert_int_equal(mt_trigger_new(symbol, &run->trigger), 0);
	assert_int_equal(mt_tracee_start(argv, &ops, run, &run->tracee), 0);
	if (run->watched_fd)
		mt_tracee_watch(run->tracee, run->watched_fd);
	assert_int_equal(on_exec(run, mt_tracee_pid(run->tracee)), 0);
	assert_int_equal(mt_tracee_run(run->tracee), 0);
	run->status = mt_tracee_status(run->tracee);
	run->children = mt_tracee_children(run->tracee);
	if (symbol && !run->hits)
		mt_trigger_report_never(run->trigger);
	mt_tracee_free(run->tracee);
	mt_trigger_free(run->trigger);
}

static struct run run_program(const char *symbol, bool once, const char *line)
{
	struct run run = { .once = once };

	run_line(&run, symbol, line);
	return run;
}

static void build(const char *name, const char *flags, const char *source)
{
	char path[128], command[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.c", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(source, file);
	fclose(file);
	snprintf(command, sizeof(command), "cc -O1 -g0 -w -o %s/%s %s %s", dir, name, path, flags);
	assert_int_equal(system(command), 0);
}

static int remove_all(void **state)
{
	(void)state;
	return mt_recording_remove(dir);
}

static void check_exit(const struct run *run, int code)
{
	if (!WIFEXITED(run->status) || WEXITSTATUS(run->status) != code)
		fail_msg("status 0x%x, not exit %d", run->status, code);
	assert_int_equal(run->last_exits, 1);
}

/* The low bits of hit()'s address, by nm. */
static uint64_t nm_address(const char *program, const char *symbol)
{
	char command[256];
	unsigned long address = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s/%s | awk '$3 == \"%s\" { print $1 }'", dir,
		 program, symbol);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%lx", &address), 1);
	pclose(pipe);
	return address;
}

/* Calls hit() as often as it is told, and exits with 7. */
/* argv[1] calls of hit(); exits with 7. */
static const char plain[] =
	"#include <stdlib.h>\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"int variable;\n"
	"int main(int c, char **v) { int n = c > 1 ? atoi(v[1]) : 1;\n"
	"  while (n--) hit(); return 7; }\n";

#endif
