// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots that the module takes by itself when a thread ends: by its exit, and
 * by a signal that kills its process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "regs.h"
#include "trace.h"

#define NR_THREADS	3
#define LAST_CALLS	1000

/* The exit of one thread. The system call takes rax, rcx and r11. */
static void __attribute__((noinline, noclone)) leave(void)
{
	__asm__ volatile(REGS_LOAD
			 "mov $60, %%eax\n"
			 "syscall\n"
			 ".globl end_behind_exit\n"
			 "end_behind_exit: ud2"
			 : : REGS_VALUES : "memory");
	__builtin_unreachable();
}

/* A write to where nothing is. */
static void __attribute__((noinline, noclone)) fault(void)
{
	__asm__ volatile(REGS_LOAD
			 "movabs %[v0], %%rax\n"
			 ".globl end_fault\n"
			 "end_fault: movb $0, 0"
			 : : [v0] "i"(REGS_VALUE(14)), REGS_VALUES : "memory");
	__builtin_unreachable();
}

extern const char end_behind_exit[], end_fault[];

/* The last thread ends by something, once all others are at work. */
static void __attribute__((noinline, noclone))
work_until(struct load *load, uint32_t index, void (*end)(void))
{
	work_spin_but_last(load, index);
	load_run(LAST_CALLS);
	end();
}

static void work_leave(struct load *load, uint32_t index)
{
	work_until(load, index, leave);
}

static void work_fault(struct load *load, uint32_t index)
{
	work_until(load, index, fault);
}

static void end_begin(struct session *s, const struct load *load,
		      uint32_t flags)
{
	struct mtrace_setup setup = setup_of(MIB(32), NR_THREADS, 1);

	setup.flags = flags;
	trace_begin(s, setup, load);
}

static void await_death(const struct load *load)
{
	siginfo_t info;

	if (waitid(P_PID, load->pid, &info, WEXITED | WNOWAIT))
		FAIL("waitid: %s", strerror(errno));
}

/* The threads that spin on other CPUs are in it, too, and go on. */
static void check_others(const struct session *s, const struct load *load,
			 const struct mtrace_snapshot *snapshot,
			 const struct mtrace_region *regions, uint32_t count)
{
	const struct mtrace_region *region;
	struct pt_stats stats;
	uint32_t i;

	CHECK_EQ(count, NR_THREADS);
	for (i = 0; i < NR_THREADS - 1; i++) {
		region = region_of(regions, count, load->tids[i]);
		CHECK_EQ(region->flags & ~MTRACE_REGION_WRAPPED, 0);
		CHECK(region->end_tsc >= snapshot->tsc &&
		      region->end_tsc <= snapshot->tsc_end,
		      "frozen at %llu, not from %llu to %llu",
		      region->end_tsc, snapshot->tsc, snapshot->tsc_end);
		pt_read(s, region, (uintptr_t)load_target, &stats);
		CHECK(stats.hits, "nothing of thread %u", i);
	}
}

TEST(exit_takes_a_snapshot)
{
	struct load *load = load_spawn(NR_THREADS, work_leave);
	struct mtrace_snapshot snapshot;
	const struct mtrace_region *region;
	struct mtrace_region *regions;
	struct pt_stats stats;
	uint64_t seen, id;
	struct session s;
	uint32_t count;

	end_begin(&s, load, MTRACE_SETUP_SNAPSHOT_AT_EXIT);
	load_go(load);
	snapshot = must_next_snapshot(&s);
	CHECK_EQ(snapshot.id, 1);
	CHECK_EQ(snapshot.reason, MTRACE_REASON_EXIT);
	CHECK_EQ(snapshot.tid, load->tids[NR_THREADS - 1]);
	CHECK_EQ(snapshot.pid, load->pid);
	CHECK_EQ(snapshot.signal, 0);
	CHECK_EQ(snapshot.trigger, 0);
	CHECK_EQ(snapshot.nr_unswitched, 0);
	CHECK_EQ(snapshot.regs.ip, (uintptr_t)end_behind_exit);
	regs_check(&snapshot.regs);

	regions = must_describe(&s, 1, &count);
	check_others(&s, load, &snapshot, regions, count);
	region = region_of(regions, count, snapshot.tid);
	CHECK_EQ(region->flags, MTRACE_REGION_EXITED);
	pt_read(&s, region, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, LAST_CALLS);
	CHECK_EQ(stats.last, (uintptr_t)leave);
	CHECK_EQ(stats.since, 0);
	free(regions);

	/* The others go on, and are traced. */
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen);
	must_release(&s, 1);
	regions = snapshot_regions(&s, &id, &count);
	CHECK_EQ(id, 2);
	CHECK_EQ(count, NR_THREADS - 1);
	pt_read(&s, region_of(regions, count, load->tids[0]),
		(uintptr_t)load_target, &stats);
	CHECK(stats.hits, "nothing was traced behind it");
	free(regions);
	load_end(load);
}

/* Each of many that exit at once is in one of the snapshots, with its end. */
TEST(exits_at_once)
{
	const uint32_t nr = 6;
	struct mtrace_setup setup = setup_of(MIB(64), nr, nr);
	struct load *load = load_spawn(nr, work_calls);
	struct mtrace_snapshot snapshot;
	struct mtrace_region *regions;
	uint64_t hits[6] = { 0 };
	struct pt_stats stats;
	struct session s;
	uint32_t count, i, j, k, ended = 0;

	setup.flags = MTRACE_SETUP_SNAPSHOT_AT_EXIT;
	trace_begin(&s, setup, load);
	load_round(load);
	load->stop = 1;
	load_go(load);
	for (i = 1; i <= nr; i++) {
		snapshot = must_next_snapshot(&s);
		CHECK_EQ(snapshot.id, i);
		CHECK_EQ(snapshot.reason, MTRACE_REASON_EXIT);
		regions = must_describe(&s, i, &count);
		for (j = 0; j < count; j++) {
			pt_read(&s, &regions[j], (uintptr_t)load_target,
				&stats);
			for (k = 0; k < nr; k++)
				if (load->tids[k] == regions[j].tid)
					hits[k] += stats.hits;
			ended += !!(regions[j].flags & MTRACE_REGION_EXITED);
		}
		free(regions);
	}
	for (k = 0; k < nr; k++)
		CHECK_EQ(hits[k], WORK_CALLS);
	CHECK(ended >= 1 && ended <= nr, "%u ended", ended);
	CHECK_EQ(must_status(s.fd).nobufs, 0);
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
	load_end(load);
}

TEST(exit_without_tracing)
{
	struct load *load = load_spawn(2, work_calls);
	struct mtrace_setup setup = setup_of(MIB(8), 2, 1);
	struct session s;

	setup.flags = MTRACE_SETUP_SNAPSHOT_AT_EXIT |
		      MTRACE_SETUP_SNAPSHOT_AT_SIGNAL;
	trace_begin(&s, setup, load);
	must_stop(&s);
	kill(load->pid, SIGKILL);
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	load_end(load);
}

/* By what is the process killed, but by itself? */
static void check_killed(int signal, int expected,
			 void (*work)(struct load *load, uint32_t index))
{
	struct load *load = load_spawn(NR_THREADS, work);
	struct mtrace_snapshot snapshot;
	const struct mtrace_region *region;
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint32_t count, i;

	end_begin(&s, load, MTRACE_SETUP_SNAPSHOT_AT_SIGNAL);
	load_go(load);
	if (signal) {
		for (i = 0; i < NR_THREADS; i++)
			WAIT_FOR(load->progress[i] > 10);
		kill(load->pid, signal);
	}
	snapshot = must_next_snapshot(&s);
	CHECK_EQ(snapshot.reason, MTRACE_REASON_SIGNAL);
	CHECK_EQ(snapshot.signal, expected);
	CHECK_EQ(snapshot.pid, load->pid);
	regions = must_describe(&s, 1, &count);
	CHECK_EQ(count, NR_THREADS);
	region = region_of(regions, count, snapshot.tid);
	CHECK_EQ(region->flags & ~MTRACE_REGION_WRAPPED, 0);
	pt_read(&s, region, (uintptr_t)load_target, &stats);
	if (work == work_fault) {
		check_others(&s, load, &snapshot, regions, count);
		CHECK_EQ(snapshot.tid, load->tids[NR_THREADS - 1]);
		CHECK_EQ(snapshot.regs.ip, (uintptr_t)end_fault);
		CHECK_EQ(snapshot.regs.ax, REGS_VALUE(14));
		CHECK_EQ(snapshot.regs.cx, REGS_VALUE(2));
		CHECK_EQ(snapshot.regs.r11, REGS_VALUE(9));
		regs_check(&snapshot.regs);
		/* The last that it did is to call what cannot be done. */
		CHECK_EQ(stats.hits, LAST_CALLS);
		CHECK_EQ(stats.last, (uintptr_t)fault);
		CHECK_EQ(stats.since, 0);
		CHECK_EQ(stats.last_fup, (uintptr_t)end_fault);
	} else if (work == work_spin) {
		/* An interrupt took it to where it learnt of its death. */
		CHECK_EQ(stats.last_fup, snapshot.regs.ip);
	}
	free(regions);

	/* Its other threads die of that, too, but it is one death. */
	await_death(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 1);
	CHECK_EQ(must_status(s.fd).nobufs, 0);
	CHECK_EQ(must_snapshot(&s).id, 2);
	session_close(&s);
	load_end(load);
}

static void work_abort(struct load *load, uint32_t index)
{
	if (index)
		work_spin(load, index);
	abort();
}

TEST(signal_that_kills)
{
	check_killed(0, SIGSEGV, work_fault);
	check_killed(0, SIGABRT, work_abort);
	check_killed(SIGTERM, SIGTERM, work_spin);
	check_killed(SIGKILL, SIGKILL, work_spin);
	check_killed(SIGRTMIN, SIGRTMIN, work_spin);
}

static void handle(int signal)
{
	(void)signal;
}

/* Signals that do not kill, and deaths without a signal. */
static void work_survive(struct load *load, uint32_t index)
{
	struct sigaction action = { .sa_handler = handle };

	if (index)
		work_spin(load, index);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	signal(SIGTERM, SIG_IGN);
	raise(SIGUSR1);
	raise(SIGSEGV);
	raise(SIGTERM);
	raise(SIGCHLD);
	raise(SIGURG);
	raise(SIGWINCH);
	raise(SIGCONT);
}

static void work_exec(struct load *load, uint32_t index)
{
	work_survive(load, index);
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static void work_exit_group(struct load *load, uint32_t index)
{
	work_survive(load, index);
	_exit(SIGSEGV);
}

static void check_survives(void (*work)(struct load *load, uint32_t index))
{
	struct load *load = load_spawn(NR_THREADS, work);
	struct session s;

	end_begin(&s, load, MTRACE_SETUP_SNAPSHOT_AT_SIGNAL);
	kill(load->pid, SIGSTOP);
	kill(load->pid, SIGCONT);
	load_go(load);
	await_death(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	CHECK_EQ(must_status(s.fd).nobufs, 0);
	session_close(&s);
	load_end(load);
}

TEST(signal_that_does_not_kill)
{
	check_survives(work_exec);
	check_survives(work_exit_group);
}

/* A tracer takes it away before it can kill; then it lets another one pass. */
TEST(signal_of_a_tracer)
{
	struct load *load = load_spawn(1, work_fault);
	struct session s;
	int status;

	load->nr = 1;
	end_begin(&s, load, MTRACE_SETUP_SNAPSHOT_AT_SIGNAL);
	if (ptrace(PTRACE_SEIZE, load->pid, 0, 0))
		FAIL("ptrace: %s", strerror(errno));
	kill(load->pid, SIGTERM);
	CHECK_EQ(waitpid(load->pid, &status, 0), load->pid);
	CHECK_EQ(WSTOPSIG(status), SIGTERM);
	ptrace(PTRACE_CONT, load->pid, 0, 0);
	kill(load->pid, SIGHUP);
	CHECK_EQ(waitpid(load->pid, &status, 0), load->pid);
	CHECK_EQ(WSTOPSIG(status), SIGHUP);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	ptrace(PTRACE_CONT, load->pid, 0, SIGHUP);
	CHECK_EQ(must_next_snapshot(&s).signal, SIGHUP);
	load_end(load);
}

/* One death that finds no region is counted once. */
TEST(signal_without_a_region)
{
	struct load *load = load_spawn(NR_THREADS, work_spin);
	struct mtrace_snapshot snapshot;
	struct session s;

	end_begin(&s, load, MTRACE_SETUP_SNAPSHOT_AT_SIGNAL);
	CHECK_EQ(s.setup.nr_regions, 2 * 4);
	/* Eight regions: three live, three frozen; two, which are taken. */
	must_snapshot(&s);
	CHECK_EQ(must_snapshot(&s).nr_unswitched, 1);
	load_go(load);
	kill(load->pid, SIGTERM);
	await_death(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	CHECK_EQ(must_status(s.fd).nobufs, 1);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 2);
	must_release(&s, 1);
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.id, 3);
	CHECK_EQ(snapshot.missed, 1);
	load_end(load);
}
