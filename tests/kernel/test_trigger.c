// SPDX-License-Identifier: GPL-2.0
/* Triggers: breakpoints and probes that have a snapshot taken where they are. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "regs.h"
#include "trigger.h"

#define NR_THREADS	3

/* What is watched, and what follows the instruction that accesses it. */
static volatile uint64_t trigger_data __attribute__((aligned(8)));
extern const char trigger_written[], trigger_read[], trigger_behind_call[];

/* What a probe counts, in a part of the file that is mapped to be written. */
static volatile uint16_t trigger_semaphore = 1;

static struct mtrace_trigger watch_of(uint32_t access, uint32_t length)
{
	struct mtrace_trigger arg = breakpoint_at((const void *)&trigger_data);

	arg.access = access;
	arg.length = length;
	return arg;
}

/* The last thread comes to it, once all others are at work. */
static void work_last_triggers(struct load *load, uint32_t index)
{
	work_spin_but_last(load, index);
	work_trigger(load, index);
}

static bool is_stopped(pid_t pid)
{
	char path[64], text[256] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		FAIL("%s: %s", path, strerror(errno));
	fclose(file);
	end = strrchr(text, ')');
	return !end || strchr("Tt", end[2]);
}

/* All of what a trigger is, by a breakpoint and by a probe. */
static void check_trigger(struct mtrace_trigger trigger)
{
	struct load *load = load_spawn(NR_THREADS, work_last_triggers);
	const uint32_t last = NR_THREADS - 1;
	pid_t tid = load->tids[last];
	const struct mtrace_region *region;
	struct mtrace_snapshot snapshot;
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	struct iovec here, there;
	uint64_t sp = 0;
	uint32_t count, i, number;

	trace_begin(&s, setup_of(MIB(64), NR_THREADS, 4), load);
	number = must_add_trigger(&s, trigger);
	CHECK_EQ(number, 1);
	load_go(load);
	snapshot = must_next_hit(&s, number, tid);
	CHECK_EQ(snapshot.id, 1);
	CHECK_EQ(snapshot.pid, load->pid);
	CHECK_EQ(snapshot.nr_unswitched, 0);

	/* The registers, all of them. */
	CHECK_EQ(snapshot.regs.ip, (uintptr_t)trigger_here);
	CHECK_EQ(snapshot.regs.ax, (uintptr_t)trigger_here);
	CHECK_EQ(snapshot.regs.cx, REGS_VALUE(2));
	CHECK_EQ(snapshot.regs.r11, REGS_VALUE(9));
	regs_check(&snapshot.regs);
	here = (struct iovec){ &sp, sizeof(sp) };
	there = (struct iovec){ (void *)&regs_sp, sizeof(sp) };
	CHECK_EQ(process_vm_readv(load->pid, &here, 1, &there, 1, 0),
		 sizeof(sp));
	CHECK_EQ(snapshot.regs.sp, sp);

	/* Its trace ends where it came to it; the others' do at that moment. */
	regions = must_describe(&s, 1, &count);
	CHECK_EQ(count, NR_THREADS);
	for (i = 0; i < NR_THREADS; i++) {
		region = region_of(regions, count, load->tids[i]);
		CHECK_EQ(region->flags & ~MTRACE_REGION_WRAPPED, 0);
		CHECK(region->end_tsc >= snapshot.tsc &&
		      region->end_tsc <= snapshot.tsc_end,
		      "thread %u was frozen at %llu, not from %llu to %llu", i,
		      region->end_tsc, snapshot.tsc, snapshot.tsc_end);
		pt_read(&s, region, (uintptr_t)load_target, &stats);
		if (i != last) {
			CHECK(stats.hits, "nothing of thread %u", i);
			continue;
		}
		CHECK_EQ(stats.hits, TRIGGER_CALLS);
		check_led_there(&stats);
	}
	free(regions);

	/* It has not been stopped, and is traced further. */
	WAIT_FOR(load->progress[last] == 1);
	CHECK(!is_stopped(tid), "the thread is stopped");
	free(must_describe(&s, must_snapshot(&s).id, &count));
	read_thread(&s, 2, tid, &stats);
	CHECK_EQ(stats.hits, 0);
	CHECK(stats.tnt || stats.tip, "nothing was traced behind the trigger");

	trigger.number = 1;
	trigger.hits = 1;
	must_stop(&s);
	snapshot = (struct mtrace_snapshot){ .size = sizeof(snapshot) };
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_NEXT_SNAPSHOT, &snapshot), EAGAIN);
	{
		struct mtrace_trigger told = must_remove_trigger(&s, number);

		CHECK(!memcmp(&told, &trigger, sizeof(told)),
		      "the trigger is told to have been another");
	}
	session_close(&s);
	load_end(load);
}

TEST(trigger_by_a_breakpoint)
{
	check_trigger(breakpoint_at(trigger_here));
}

TEST(trigger_by_a_probe)
{
	check_trigger(probe_at(trigger_here));
}

/* Leaves its CPU to nobody, from the trigger on until load_end(). */
static void work_realtime(struct load *load, uint32_t index)
{
	struct sched_param parameter = { .sched_priority = 50 };

	pin_to(nr_cpus() - 1);
	if (sched_setscheduler(0, SCHED_FIFO, &parameter))
		_exit(1);
	load_run(TRIGGER_CALLS);
	trigger_go();
	for (;;)
		load->progress[index]++;
}

/* The owner is told even so: it is on another CPU. */
TEST(trigger_in_a_realtime_thread)
{
	static const char limit[] = "/proc/sys/kernel/sched_rt_runtime_us";
	struct load *load;
	struct pollfd poller = { .events = POLLPRI };
	struct pt_stats stats;
	struct session s;
	char was[32];
	int told;

	need_two_cpus();
	snprintf(was, sizeof(was), "%lld", read_number(limit));
	pin_to(0);
	load = load_spawn(1, work_realtime);
	trace_begin(&s, setup_of(MIB(32), 1, 1), load);
	must_add_trigger(&s, breakpoint_at(trigger_here));
	/* The kernel's own limit would give the CPU to others now and then. */
	CHECK(write_text(limit, "-1"), "%s: %s", limit, strerror(errno));
	load_go(load);
	WAIT_FOR(load->progress[0]);
	poller.fd = s.fd;
	told = poll(&poller, 1, 30000);
	kill(load->pid, SIGKILL);
	CHECK(write_text(limit, was), "%s: %s", limit, strerror(errno));
	CHECK_EQ(told, 1);
	must_next_hit(&s, 1, load->pid);
	read_thread(&s, 1, load->pid, &stats);
	CHECK_EQ(stats.hits, TRIGGER_CALLS);
	session_close(&s);
	load_end(load);
}

/* Who runs the file without being in the session has no part in it. */
TEST(trigger_by_a_probe_is_for_the_session)
{
	struct load *load = load_spawn(2, work_trigger);
	struct mtrace_trigger probe = probe_at(trigger_here);
	struct mtrace_trigger data = probe_at((void *)&trigger_semaphore);
	struct session s;
	uint32_t number;

	session_open(&s, setup_of(MIB(8), 2, 1));
	must_attach(&s, load->tids[0]);
	must_start(&s);
	probe.ref_offset = data.address;
	number = must_add_trigger(&s, probe);
	CHECK_EQ(trigger_semaphore, 2);
	trigger_go();
	load_round(load);
	must_next_hit(&s, number, load->tids[0]);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 1);
	CHECK_EQ(must_remove_trigger(&s, number).hits, 1);
	CHECK_EQ(trigger_semaphore, 1);
	/* It is gone with the session, too. */
	must_add_trigger(&s, probe);
	CHECK_EQ(trigger_semaphore, 2);
	session_close(&s);
	CHECK_EQ(trigger_semaphore, 1);
	load_round(load);
	load_end(load);
}

/* Over and over: of nothing that it calls is anything lost or told twice. */
static void work_triggers(struct load *load, uint32_t index)
{
	int i;

	pin_to(index % nr_cpus());
	for (i = 0; i < 15; i++) {
		load_run(TRIGGER_CALLS);
		trigger_go();
	}
	load->progress[index]++;
}

static void check_concurrent(struct mtrace_trigger trigger)
{
	const uint32_t nr = 4;
	struct load *load = load_spawn(nr, work_triggers);
	uint64_t hits[4] = { 0 };
	bool led[4] = { false };
	struct mtrace_snapshot snapshot;
	struct mtrace_region *regions;
	uint32_t count, i, j, missed = 0, snapshots = 0, number;
	struct pt_stats stats;
	struct session s;
	bool last;

	trace_begin(&s, setup_of(MIB(64), nr, 15), load);
	number = must_add_trigger(&s, trigger);
	load_go(load);
	for (;;) {
		last = load->done == nr;
		if (last && snapshots + must_status(s.fd).nobufs == nr * 15)
			break;
		snapshot = must_next_snapshot(&s);
		snapshots++;
		missed += snapshot.missed;
		CHECK_EQ(snapshot.id, snapshots);
		CHECK_EQ(snapshot.regs.ip, (uintptr_t)trigger_here);
		regions = must_describe(&s, snapshot.id, &count);
		for (i = 0; i < count; i++) {
			for (j = 0; j < nr; j++)
				if (load->tids[j] == regions[i].tid)
					break;
			CHECK_EQ(regions[i].flags, 0);
			pt_read(&s, &regions[i], (uintptr_t)load_target,
				&stats);
			hits[j] += stats.hits;
			/* Else it has run nothing since the one before. */
			if (stats.tip || stats.tnt)
				led[j] = stats.last == (uintptr_t)trigger_here &&
					 !stats.since;
		}
		region_of(regions, count, snapshot.tid);
		for (j = 0; j < nr; j++)
			if (load->tids[j] == snapshot.tid)
				CHECK(led[j], "the trace of thread %u ends elsewhere",
				      j);
		must_release(&s, snapshot.id);
		free(regions);
	}
	snapshot = must_snapshot(&s);
	missed += snapshot.missed;
	regions = must_describe(&s, snapshot.id, &count);
	for (j = 0; j < nr; j++) {
		pt_read(&s, region_of(regions, count, load->tids[j]),
			(uintptr_t)load_target, &stats);
		CHECK_EQ(hits[j] + stats.hits, 15 * TRIGGER_CALLS);
	}
	free(regions);
	CHECK_EQ(must_status(s.fd).nobufs, missed);
	trigger = must_remove_trigger(&s, number);
	CHECK_EQ(trigger.hits, nr * 15);
	CHECK_EQ(trigger.missed, missed);
	session_close(&s);
	load_end(load);
}

TEST(trigger_on_all_cpus)
{
	check_concurrent(breakpoint_at(trigger_here));
	check_concurrent(probe_at(trigger_here));
}

TEST(trigger_without_a_region)
{
	struct load *load = load_spawn(1, work_trigger);
	struct mtrace_snapshot snapshot;
	struct mtrace_trigger told;
	struct pt_stats stats;
	struct session s;
	uint32_t number;

	trace_begin(&s, setup_of(MIB(8), 1, 1), load);
	number = must_add_trigger(&s, breakpoint_at(trigger_here));
	load_round(load);
	load_round(load);
	load_round(load);
	CHECK_EQ(must_status(s.fd).nobufs, 2);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 1);
	CHECK_EQ(must_next_hit(&s, number, load->pid).missed, 0);
	must_release(&s, 1);
	load_round(load);
	snapshot = must_next_hit(&s, number, load->pid);
	CHECK_EQ(snapshot.id, 2);
	CHECK_EQ(snapshot.missed, 2);
	/* The trace went on all the time. */
	read_thread(&s, 2, load->pid, &stats);
	CHECK_EQ(stats.hits, 3 * TRIGGER_CALLS);
	check_led_there(&stats);
	told = must_remove_trigger(&s, number);
	CHECK_EQ(told.hits, 4);
	CHECK_EQ(told.missed, 2);
	load_end(load);
}

TEST(trigger_for_one_snapshot)
{
	struct mtrace_trigger trigger = breakpoint_at(trigger_here);
	struct load *load = load_spawn(2, work_trigger);
	struct session s;
	uint32_t i, number;

	trigger.flags = MTRACE_TRIGGER_ONESHOT;
	trace_begin(&s, setup_of(MIB(8), 2, 1), load);
	number = must_add_trigger(&s, trigger);
	/* A hit that finds no region is not the one. */
	must_snapshot(&s);
	load_round(load);
	CHECK_EQ(must_status(s.fd).nobufs, 2);
	must_release(&s, 1);
	load_round(load);
	load_round(load);
	CHECK_EQ(must_next_snapshot(&s).trigger, number);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 1);
	/* Soon the threads have all their debug registers again. */
	trigger.flags = 0;
	for (i = 0; i < 4; i++) {
		trigger.address++;
		WAIT_FOR(!ioctl(s.fd, MTRACE_IOC_ADD_TRIGGER, &trigger));
		trigger.number = 0;
	}
	CHECK_EQ(must_remove_trigger(&s, number).hits, 3);
	load_end(load);
}

TEST(trigger_without_tracing)
{
	struct load *load = load_spawn(1, work_trigger);
	struct session s;
	uint32_t number;

	trace_begin(&s, setup_of(MIB(8), 1, 1), load);
	number = must_add_trigger(&s, breakpoint_at(trigger_here));
	must_stop(&s);
	load_round(load);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	must_start(&s);
	load_round(load);
	must_next_hit(&s, number, load->pid);
	must_detach(&s, load->pid);
	load_round(load);
	CHECK_EQ(must_remove_trigger(&s, number).hits, 1);
	load_end(load);
}

/* Accesses of user code, each told behind its instruction. */
static void __attribute__((noinline, noclone))
work_access(struct load *load, uint32_t index)
{
	(void)index;
	__asm__ volatile("movl $7, 4+trigger_data(%%rip)\n"
			 ".globl trigger_written\n"
			 "trigger_written: nop\n" : : : "memory");
	load->progress[0]++;
	__asm__ volatile("mov trigger_data(%%rip), %%rax\n"
			 ".globl trigger_read\n"
			 "trigger_read: nop\n" : : : "rax", "memory");
	load->progress[1]++;
}

TEST(trigger_by_data)
{
	struct load *load = load_spawn(1, work_access);
	struct mtrace_trigger trigger;
	struct session s;

	trace_begin(&s, setup_of(MIB(16), 1, 3), load);
	/* The upper half alone is written. */
	CHECK_EQ(must_add_trigger(&s, watch_of(MTRACE_ACCESS_WRITE, 4)), 1);
	trigger = watch_of(MTRACE_ACCESS_WRITE, 4);
	trigger.address += 4;
	CHECK_EQ(must_add_trigger(&s, trigger), 2);
	load_round(load);
	CHECK_EQ(must_next_hit(&s, 2, load->pid).regs.ip,
		 (uintptr_t)trigger_written);
	CHECK_EQ(must_remove_trigger(&s, 1).hits, 0);
	CHECK_EQ(must_remove_trigger(&s, 2).hits, 1);
	CHECK_EQ(must_add_trigger(&s, watch_of(MTRACE_ACCESS_READWRITE, 8)), 3);
	load_round(load);
	CHECK_EQ(must_next_hit(&s, 3, load->pid).regs.ip,
		 (uintptr_t)trigger_written);
	CHECK_EQ(must_next_hit(&s, 3, load->pid).regs.ip,
		 (uintptr_t)trigger_read);
	CHECK_EQ(must_remove_trigger(&s, 3).hits, 2);
	load_end(load);
}

/* The kernel writes it for the thread, and reads it. */
static void __attribute__((noinline, noclone))
work_kernel_access(struct load *load, uint32_t index)
{
	uint64_t value = 5;
	int pipes[2];
	long ret;

	(void)index;
	if (pipe(pipes) || write(pipes[1], &value, 8) != 8)
		_exit(1);
	__asm__ volatile("syscall\n"
			 ".globl trigger_behind_call\n"
			 "trigger_behind_call:\n"
			 : "=a"(ret)
			 : "a"(0), "D"(pipes[0]), "S"(&trigger_data), "d"(8)
			 : "rcx", "r11", "memory");
	load->progress[0] = ret;
	if (write(pipes[1], (const void *)&trigger_data, 8) != 8)
		_exit(1);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(trigger_by_data_in_the_kernel)
{
	struct load *load = load_spawn(1, work_kernel_access);
	struct mtrace_snapshot snapshot;
	struct session s;

	trace_begin(&s, setup_of(MIB(32), 1, 7), load);
	CHECK_EQ(must_add_trigger(&s, watch_of(MTRACE_ACCESS_WRITE, 8)), 1);
	load_round(load);
	CHECK_EQ(load->progress[0], 8);
	snapshot = must_next_hit(&s, 1, load->pid);
	CHECK_EQ(snapshot.regs.ip, (uintptr_t)trigger_behind_call);
	CHECK_EQ(snapshot.regs.si, (uintptr_t)&trigger_data);
	CHECK(must_remove_trigger(&s, 1).hits >= 1, "no hits");
	/* The read() writes it, the write() reads it. */
	while (must_status(s.fd).nr_snapshots > 1)
		must_next_hit(&s, 1, load->pid);
	must_release(&s, 1);
	CHECK_EQ(must_add_trigger(&s, watch_of(MTRACE_ACCESS_READWRITE, 8)), 2);
	load_round(load);
	CHECK(must_remove_trigger(&s, 2).hits >= 2,
	      "the kernel's reading is no hit");
	load_end(load);
}

TEST(trigger_finds_no_register)
{
	struct load *load = load_spawn(1, work_trigger);
	struct load *held = load_spawn(1, work_trigger);
	struct mtrace_trigger trigger;
	struct session s;
	int status;
	long i;

	trace_begin(&s, setup_of(MIB(16), 2, 1), load);
	for (i = 0; i < 4; i++)
		must_add_trigger(&s, breakpoint_at(trigger_here + i));
	trigger = breakpoint_at(trigger_here + 4);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_ADD_TRIGGER, &trigger), ENOSPC);
	CHECK_EQ(trigger.number, 0);
	CHECK_EQ(must_remove_trigger(&s, 3).number, 3);
	CHECK_EQ(must_add_trigger(&s, trigger), 5);
	for (i = 1; i <= 5; i++)
		if (i != 3 && i != 1)
			must_remove_trigger(&s, i);

	/* A debugger has them all; when it has one less there is room. */
	if (ptrace(PTRACE_ATTACH, held->pid, 0, 0) ||
	    waitpid(held->pid, &status, 0) != held->pid)
		FAIL("ptrace: %s", strerror(errno));
	for (i = 0; i < 4; i++)
		if (ptrace(PTRACE_POKEUSER, held->pid,
			   offsetof(struct user, u_debugreg) + 8 * i, 4096) ||
		    ptrace(PTRACE_POKEUSER, held->pid,
			   offsetof(struct user, u_debugreg) + 8 * 7,
			   (2L << (2 * (i + 1))) - 1))
			FAIL("debug registers: %s", strerror(errno));
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, held->pid), ENOSPC);
	CHECK_EQ(must_status(s.fd).nr_threads, 1);
	ptrace(PTRACE_DETACH, held->pid, 0, 0);
	load_end(held);
	/* What could not be done has left nothing. */
	load_round(load);
	must_next_hit(&s, 1, load->pid);
	load_end(load);
}

/* Hit by all threads while session, threads and triggers come and go. */
TEST(trigger_while_all_ends)
{
	int i;

	for (i = 0; i < 6; i++) {
		struct load *load = load_spawn(4, work_triggers);
		struct mtrace_setup setup = setup_of(MIB(16), 8, 1);
		struct session s;

		setup.flags = MTRACE_SETUP_INHERIT_THREADS |
			      MTRACE_SETUP_SNAPSHOT_AT_EXIT |
			      MTRACE_SETUP_SNAPSHOT_AT_SIGNAL;
		trace_begin(&s, setup, load);
		must_add_trigger(&s, breakpoint_at(trigger_here));
		must_add_trigger(&s, probe_at(trigger_here));
		load_go(load);
		WAIT_FOR(must_status(s.fd).nr_snapshots);
		if (i % 3 == 0)
			must_detach(&s, load->tids[3]);
		if (i % 3 == 1)
			must_remove_trigger(&s, 1 + i % 2);
		if (i % 2)
			load_end(load);
		session_close(&s);
		if (!(i % 2))
			load_end(load);
	}
}

TEST(trigger_errors)
{
	struct load *load = load_spawn(1, work_trigger);
	const struct mtrace_trigger good = breakpoint_at(trigger_here);
	struct mtrace_trigger arg = good;
	int fd = open_device(), unread, i;
	struct session s;

	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_ADD_TRIGGER, &arg), EINVAL);
	trace_begin(&s, setup_of(MIB(8), 1, 1), load);
#define CHECK_ADD(assignment, error) do {				\
	arg = good;							\
	assignment;							\
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_ADD_TRIGGER, &arg), error);	\
} while (0)
	CHECK_ADD(arg.flags = MTRACE_TRIGGER_ONESHOT << 1, EINVAL);
	CHECK_ADD(arg.kind = 0, EINVAL);
	CHECK_ADD(arg.kind = MTRACE_TRIGGER_UPROBE + 1, EINVAL);
	CHECK_ADD(arg.access = 0, EINVAL);
	CHECK_ADD(arg.access = MTRACE_ACCESS_READWRITE + 1, EINVAL);
	CHECK_ADD(arg.length = 1, EINVAL);
	CHECK_ADD(arg.ref_offset = 8, EINVAL);
	CHECK_ADD(arg.fd = 1, EINVAL);
	CHECK_ADD(arg.number = 1, EINVAL);
	CHECK_ADD(arg.hits = 1, EINVAL);
	CHECK_ADD(arg.missed = 1, EINVAL);
	CHECK_ADD(arg.reserved[2] = 1, EINVAL);
	CHECK_ADD(arg.tid = -1, EINVAL);
	CHECK_ADD(arg.tid = getpid(), ESRCH);
	CHECK_ADD(arg.tid = 1 << 22, ESRCH);
	/* Addresses of the kernel, or that are none. */
	CHECK_ADD(arg.address = 0xffffffff81000000, EINVAL);
	CHECK_ADD(arg.address = 0x0000800000000000, EINVAL);
	CHECK_ADD(arg.address = 0x0000fffffffffff8, EINVAL);
	CHECK_ADD(arg = watch_of(MTRACE_ACCESS_WRITE, 3), EINVAL);
	CHECK_ADD(arg = watch_of(MTRACE_ACCESS_WRITE, 0), EINVAL);
	CHECK_ADD(arg = watch_of(MTRACE_ACCESS_WRITE, 16), EINVAL);
	CHECK_ADD((arg = watch_of(MTRACE_ACCESS_WRITE, 8), arg.address += 4),
		  EINVAL);
	CHECK_ADD((arg = probe_at(trigger_here), arg.access = 1), EINVAL);
	CHECK_ADD((arg = probe_at(trigger_here), arg.length = 1), EINVAL);
	CHECK_ADD((arg = probe_at(trigger_here), arg.fd = -1), EBADF);
	for (i = 0; i < 2; i++) {
		unread = i ? open("/proc/self/exe", O_PATH) :
			     open("/tmp/mt-test-unread", O_CREAT | O_WRONLY, 0600);
		CHECK(unread >= 0, "open: %s", strerror(errno));
		CHECK_ADD((arg = probe_at(trigger_here), arg.fd = unread),
			  EBADF);
	}
	CHECK_ADD((arg = probe_at(trigger_here), arg.fd = s.fd), EINVAL);
	CHECK_ADD((arg = probe_at(trigger_here), arg.address = 1ull << 40),
		  EINVAL);
	/* An INT3. */
	CHECK_ADD((arg = probe_at(trigger_here), arg.address--), EOPNOTSUPP);

	arg = (struct mtrace_trigger){ .size = sizeof(arg), .number = 1 };
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_REMOVE_TRIGGER, &arg), ENOENT);
	CHECK_EQ(must_add_trigger(&s, good), 1);
	arg.flags = MTRACE_TRIGGER_ONESHOT;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_REMOVE_TRIGGER, &arg), EINVAL);
	arg.flags = 0;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_REMOVE_TRIGGER, &arg), 0);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_REMOVE_TRIGGER, &arg), EINVAL);
	arg = (struct mtrace_trigger){ .size = sizeof(arg), .number = 1 };
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_REMOVE_TRIGGER, &arg), ENOENT);
	load_round(load);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
	load_end(load);
}
