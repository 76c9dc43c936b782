// SPDX-License-Identifier: GPL-2.0
/* Sideband: each kind of record but those of memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "side.h"
#include "trace.h"

static int try_setup(struct mtrace_setup setup)
{
	int fd = open_device(), ret, error;

	ret = ioctl(fd, MTRACE_IOC_SETUP, &setup);
	error = errno;
	close(fd);
	errno = error;
	return ret;
}

TEST(sideband_options)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	struct mtrace_setup got = { .size = sizeof(got) };
	struct session s;
	uint8_t byte;
	int fd;

	CHECK_EQ(must_caps().sideband, MTRACE_SIDEBAND_MMAP |
		 MTRACE_SIDEBAND_MUNMAP | MTRACE_SIDEBAND_MREMAP |
		 MTRACE_SIDEBAND_MPROTECT | MTRACE_SIDEBAND_GROW);
	setup.sideband_size = MTRACE_SIDEBAND_MIN;
	CHECK_ERRNO(try_setup(setup), EINVAL);
	CHECK_ERRNO(try_setup(side_setup(setup, MTRACE_SIDEBAND_MIN / 2)),
		    EINVAL);
	CHECK_ERRNO(try_setup(side_setup(setup, MTRACE_SIDEBAND_MIN + 8)),
		    EINVAL);
	CHECK_ERRNO(try_setup(side_setup(setup, MTRACE_SIDEBAND_MAX * 2)),
		    EINVAL);
	CHECK_ERRNO(try_setup(side_setup(setup, MTRACE_SIDEBAND_MIN)), 0);
	CHECK_ERRNO(try_setup(side_setup(setup, MTRACE_SIDEBAND_MAX)), 0);

	fd = open_device();
	CHECK_ERRNO(read(fd, &byte, 1), EINVAL);
	close(fd);
	setup.sideband_size = 0;
	session_open(&s, setup);
	CHECK_ERRNO(read(s.fd, &byte, 1), EINVAL);
	session_close(&s);
	session_open(&s, side_setup(setup, 0));
	CHECK_EQ(s.setup.sideband_size, MTRACE_SIDEBAND_DEFAULT);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_GET_SETUP, &got), 0);
	CHECK_EQ(got.sideband_size, MTRACE_SIDEBAND_DEFAULT);
	session_close(&s);
}

static void *short_life(void *unused)
{
	prctl(PR_SET_NAME, "short-life");
	return unused;
}

/* A thread and a process; their numbers are told by progress[]. */
static void work_family(struct load *load, uint32_t index)
{
	pthread_t thread;
	pid_t pid;

	(void)index;
	prctl(PR_SET_NAME, "parent");
	pthread_create(&thread, NULL, short_life, NULL);
	pthread_join(thread, NULL);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	load->progress[0] = pid;
}

TEST(sideband_of_threads)
{
	struct load *load = load_spawn(1, work_family);
	struct mtrace_setup setup = setup_of(MIB(4), 4, 1);
	const union record *record, *other;
	struct side side = {};
	uint64_t start, space;
	struct session s;
	uint32_t at = 0;
	pid_t tid;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS |
		      MTRACE_SETUP_INHERIT_PROCESSES;
	start = rdtsc();
	trace_begin(&s, side_setup(setup, 0), load);
	load_round(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 1);
	must_stop(&s);
	must_detach(&s, load->pid);
	side_read(&s, &side);
	CHECK(side.records[0]->head.tsc > start &&
	      side.records[side.nr - 1]->head.tsc < rdtsc(),
	      "the records are of another time");

	record = side_must(&side, &at, MTRACE_RECORD_THREAD, load->pid);
	CHECK_EQ(record->head.pid, load->pid);
	CHECK_EQ(record->thread.how, MTRACE_THREAD_ATTACHED);
	CHECK(!strcmp(record->thread.comm, "kernel-tests"),
	      "its name is '%s'", record->thread.comm);
	space = record->thread.space;
	CHECK(space, "it has no address space");
	record = side_must(&side, &at, MTRACE_RECORD_RUN, getpid());
	CHECK_EQ(record->run.running, 1);
	record = side_must(&side, &at, MTRACE_RECORD_COMM, load->pid);
	CHECK(!strcmp(record->comm.comm, "parent"), "its name is '%s'",
	      record->comm.comm);

	/* A thread: the same process, the same memory. */
	record = side_must(&side, &at, MTRACE_RECORD_FORK, load->pid);
	tid = record->fork.child_tid;
	CHECK(tid > 0 && tid != load->pid, "the child is %d", tid);
	CHECK_EQ(record->fork.child_pid, load->pid);
	CHECK_EQ(record->fork.space, space);
	other = side_must(&side, &at, MTRACE_RECORD_THREAD, tid);
	CHECK_EQ(other->head.pid, load->pid);
	CHECK_EQ(other->thread.space, space);
	CHECK_EQ(other->thread.how, MTRACE_THREAD_FORKED);
	CHECK(!strcmp(other->thread.comm, "parent"), "its name is '%s'",
	      other->thread.comm);
	record = side_must(&side, &at, MTRACE_RECORD_COMM, tid);
	CHECK(!strcmp(record->comm.comm, "short-life"), "its name is '%s'",
	      record->comm.comm);
	record = side_must(&side, &at, MTRACE_RECORD_EXIT, tid);
	CHECK_EQ(record->exit.how, MTRACE_EXIT_EXITED);

	/* A process: another one. */
	at = 0;
	do {
		record = side_must(&side, &at, MTRACE_RECORD_FORK, load->pid);
	} while (record->fork.child_tid == tid);
	tid = load->progress[0];
	CHECK_EQ(record->fork.child_tid, tid);
	CHECK_EQ(record->fork.child_pid, tid);
	CHECK(record->fork.space && record->fork.space != space,
	      "the child has the address space %llu", record->fork.space);
	other = side_must(&side, &at, MTRACE_RECORD_THREAD, tid);
	CHECK_EQ(other->thread.space, record->fork.space);
	CHECK_EQ(other->head.pid, tid);
	record = side_must(&side, &at, MTRACE_RECORD_EXIT, tid);
	CHECK_EQ(record->head.pid, tid);

	record = side_must(&side, &at, MTRACE_RECORD_RUN, getpid());
	CHECK_EQ(record->run.running, 0);
	record = side_must(&side, &at, MTRACE_RECORD_EXIT, load->pid);
	CHECK_EQ(record->exit.how, MTRACE_EXIT_DETACHED);
	CHECK_EQ(at, side.nr);
	CHECK_EQ(side_count(&side, MTRACE_RECORD_LOST, 0), 0);
	CHECK_EQ(side_count(&side, MTRACE_RECORD_LOSS, 0), 0);
	side_free(&side);
	session_close(&s);
	load_end(load);
}

static void work_exec(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	execl("/bin/true", "true", NULL);
}

static void *exec_in_thread(void *unused)
{
	work_exec(unused, 0);
	return unused;
}

static void work_thread_exec(struct load *load, uint32_t index)
{
	pthread_t thread;

	(void)index;
	pthread_create(&thread, NULL, exec_in_thread, load);
	pthread_join(thread, NULL);
}

/* Executable mappings of a space and a file; the file's inode is checked. */
static uint32_t count_mmaps(const struct side *side, uint64_t space,
			    const char *path)
{
	const union record *record;
	uint32_t at = 0, n = 0;
	struct stat st;

	CHECK(!stat(path, &st), "%s: %s", path, strerror(errno));
	while ((record = side_next(side, &at, MTRACE_RECORD_MMAP))) {
		if (record->mmap.space != space ||
		    strcmp(record->mmap.path, path))
			continue;
		CHECK_EQ(record->mmap.ino, st.st_ino);
		CHECK(record->mmap.prot & PROT_EXEC, "it is not executable");
		n++;
	}
	return n;
}

/* The device of the root file system; of an overlay, stat() has another. */
static void root_device(uint32_t *major, uint32_t *minor)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	unsigned int device[2];
	bool found = false;
	char line[1024];

	CHECK(f, "no mountinfo");
	/* The last one is on top of the others. */
	while (fgets(line, sizeof(line), f)) {
		int n = 0;

		if (sscanf(line, "%*d %*d %u:%u / / %n", &device[0], &device[1],
			   &n) < 2 || !n)
			continue;
		*major = device[0];
		*minor = device[1];
		found = true;
	}
	CHECK(found, "there is no root");
	fclose(f);
}

static void check_exec(void (*work)(struct load *load, uint32_t index),
		       bool by_thread)
{
	struct load *load = load_spawn(1, work);
	struct mtrace_setup setup = setup_of(MIB(4), 4, 1);
	uint32_t at = 0, exec_at, comm_at, major = 0, minor = 0;
	const union record *record;
	char program[4096], linker[4096];
	struct side side = {};
	uint64_t before, space;
	pid_t pid = load->pid;
	struct session s;
	struct stat st;

	CHECK(realpath("/bin/true", program), "no /bin/true");
	CHECK(realpath("/lib64/ld-linux-x86-64.so.2", linker), "no ld.so");
	CHECK(!stat(program, &st), "%s: %s", program, strerror(errno));
	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	trace_begin(&s, side_setup(setup, 0), load);
	load_go(load);
	waitpid(pid, NULL, 0);
	WAIT_FOR(must_status(s.fd).nr_threads == 0);
	side_read(&s, &side);

	record = side_must(&side, &at, MTRACE_RECORD_THREAD, pid);
	before = record->thread.space;
	record = side_must(&side, &at, MTRACE_RECORD_EXEC, pid);
	exec_at = at;
	CHECK(!strcmp(record->exec.path, program), "it runs '%s'",
	      record->exec.path);
	CHECK_EQ(record->exec.ino, st.st_ino);
	CHECK(by_thread ? record->exec.old_tid != pid :
			  record->exec.old_tid == pid,
	      "it was %d before", record->exec.old_tid);
	space = record->exec.space;
	CHECK(space && space != before, "it has the same address space");
	root_device(&major, &minor);
	CHECK_EQ(record->exec.major, major);
	CHECK_EQ(record->exec.minor, minor);
	/* The name that /bin/true has, before its code. */
	comm_at = 0;
	do {
		record = side_next(&side, &comm_at, MTRACE_RECORD_COMM);
		CHECK(record, "the new name is not told");
	} while (strcmp(record->comm.comm, "true"));
	CHECK(comm_at < exec_at, "the new name comes after the exec");
	CHECK_EQ(count_mmaps(&side, space, program), 1);
	CHECK_EQ(count_mmaps(&side, space, linker), 1);
	at = 0;
	for (;;) {
		record = side_next(&side, &at, MTRACE_RECORD_MMAP);
		CHECK(record, "[vdso] is not mapped");
		if (!strcmp(record->mmap.path, "[vdso]"))
			break;
	}
	CHECK_EQ(record->mmap.space, space);
	CHECK_EQ(record->mmap.ino, 0);
	/* An address space that ends has no records of that. */
	CHECK_EQ(side_count(&side, MTRACE_RECORD_MUNMAP, pid), 0);
	at = exec_at;
	record = side_must(&side, &at, MTRACE_RECORD_EXIT, pid);
	CHECK_EQ(record->exit.how, MTRACE_EXIT_EXITED);
	side_free(&side);
	session_close(&s);
}

TEST(sideband_of_exec)
{
	check_exec(work_exec, false);
}

TEST(sideband_of_exec_by_another_thread)
{
	check_exec(work_thread_exec, true);
}

/* Where threads wait that must not run when it is not their turn. */
static int gates[2];

static void pass_gate(struct load *load, uint32_t index)
{
	char byte;

	load->progress[index + 4]++;
	if (read(gates[0], &byte, 1) != 1)
		_exit(1);
}

/* All its threads wait at the gate, in the kernel, for the nth time. */
static void wait_at_gate(const struct load *load, uint64_t nth)
{
	uint32_t i;

	for (i = 0; i < load->nr; i++) {
		WAIT_FOR(load->progress[i + 4] == nth);
		while (thread_state(load->tids[i]) != 'S')
			;
	}
}

static void open_gate(const struct load *load)
{
	CHECK_EQ(write(gates[1], "123456789", load->nr), load->nr);
}

#define NAPS 40

/* On each CPU in turn. */
static void work_nap(struct load *load, uint32_t index)
{
	uint32_t i;

	pass_gate(load, index);
	for (i = 0; i < NAPS; i++) {
		pin_to((index + i) % nr_cpus());
		usleep(2000);
	}
	pass_gate(load, index);
}

#define TURNS 200

/* Two take turns on a CPU, and neither waits but by letting the other run. */
static void work_take_turns(struct load *load, uint32_t index)
{
	uint64_t turn;

	pin_to(0);
	pass_gate(load, index);
	for (turn = index; turn < 2 * TURNS; turn += 2) {
		while (load->progress[2] != turn)
			sched_yield();
		load->progress[2]++;
	}
	pass_gate(load, index);
}

/*
 * A thread's switches alternate, and those into a CPU are as many as the module
 * says of its regions, whose last CPU is that of the last. One that sleeps at
 * START and at the snapshot has no others.
 */
static uint32_t check_switches(const struct side *side, pid_t tid,
			       const struct mtrace_region *region)
{
	const union record *record, *before = NULL;
	uint32_t at = 0, in = 0, blocked = 0;

	while ((record = side_next(side, &at, MTRACE_RECORD_SWITCH))) {
		if (record->head.tid != tid)
			continue;
		CHECK(record->sw.how <= MTRACE_SWITCH_BLOCKED, "a switch is %u",
		      record->sw.how);
		CHECK((record->sw.how == MTRACE_SWITCH_IN) ==
		      (!before || before->sw.how != MTRACE_SWITCH_IN),
		      "two switches of %d in the same direction", tid);
		if (record->sw.how != MTRACE_SWITCH_IN)
			CHECK_EQ(record->head.cpu, before->head.cpu);
		CHECK_EQ(record->head.pid, region->pid);
		in += record->sw.how == MTRACE_SWITCH_IN;
		blocked += record->sw.how == MTRACE_SWITCH_BLOCKED;
		if (record->head.tsc < region->end_tsc)
			before = record;
	}
	CHECK(before, "thread %d has no switches", tid);
	CHECK_EQ(in, region->switches);
	CHECK_EQ(before->head.cpu, region->cpu);
	return blocked;
}

static void check_work(void (*work)(struct load *load, uint32_t index),
		       uint32_t threads, struct side *side, uint32_t *blocked)
{
	struct mtrace_region *regions;
	struct load *load;
	uint32_t i;
	struct session s;

	CHECK_ERRNO(pipe(gates), 0);
	load = load_spawn(threads, work);
	load_go(load);
	wait_at_gate(load, 1);
	trace_begin(&s, side_setup(setup_of(MIB(16), threads, 1), 0), load);
	open_gate(load);
	wait_at_gate(load, 2);
	regions = must_regions(&s, threads, NULL);
	side_read(&s, side);
	CHECK_EQ(side_count(side, MTRACE_RECORD_LOST, 0), 0);
	for (i = 0; i < threads; i++)
		blocked[i] = check_switches(side, load->tids[i],
					    region_of(regions, threads,
						      load->tids[i]));
	free(regions);
	session_close(&s);
	load_end(load);
}

TEST(sideband_of_switches_that_wait)
{
	uint32_t blocked[2], at = 0, cpus = 0;
	const union record *record;
	struct side side = {};

	check_work(work_nap, 2, &side, blocked);
	/* A nap is over before it begins where the machine is slow. */
	CHECK(blocked[0] >= NAPS / 2 && blocked[1] >= NAPS / 2,
	      "threads that slept %d times waited %u and %u times", NAPS,
	      blocked[0], blocked[1]);
	while ((record = side_next(&side, &at, MTRACE_RECORD_SWITCH)))
		cpus |= 1 << record->head.cpu;
	CHECK_EQ(cpus, (1 << nr_cpus()) - 1);
	side_free(&side);
}

TEST(sideband_of_switches_that_do_not)
{
	uint32_t blocked[2], at = 0, preempted = 0;
	const union record *record;
	struct side side = {};

	check_work(work_take_turns, 2, &side, blocked);
	while ((record = side_next(&side, &at, MTRACE_RECORD_SWITCH)))
		preempted += record->sw.how == MTRACE_SWITCH_PREEMPTED;
	CHECK(preempted >= 2 * TURNS - 2, "only %u switches are no waits",
	      preempted);
	CHECK(blocked[0] + blocked[1] < TURNS, "they waited %u and %u times",
	      blocked[0], blocked[1]);
	side_free(&side);
}

/* No record but of its own threads, whatever others do. */
TEST(sideband_of_two_sessions)
{
	struct load *loads[3], *load;
	struct session s[2];
	struct side side;
	uint32_t i, j;

	for (i = 0; i < 3; i++)
		loads[i] = load_spawn(2, i ? work_yield : work_family);
	/* Room for all their switches, of which there are many on one CPU. */
	for (i = 0; i < 2; i++)
		trace_begin(&s[i], side_setup(setup_of(MIB(4), 2, 1), MIB(16)),
			    loads[i]);
	load_rounds(loads, 3);
	for (i = 0; i < 2; i++) {
		load = loads[i];
		side = (struct side){};
		side_read(&s[i], &side);
		CHECK(side.nr > 10, "only %u records", side.nr);
		for (j = 0; j < side.nr; j++) {
			const struct mtrace_record *head =
				&side.records[j]->head;

			if (head->type != MTRACE_RECORD_RUN)
				CHECK_EQ(head->pid, load->pid);
		}
		/* The other one's threads had other names. */
		CHECK_EQ(side_count(&side, MTRACE_RECORD_COMM, load->pid) > 0,
			 !i);
		side_free(&side);
	}
	for (i = 0; i < 2; i++)
		session_close(&s[i]);
	for (i = 0; i < 3; i++)
		load_end(loads[i]);
}

static void check_loss(const struct side *side, uint32_t *at, uint32_t what,
		       pid_t tid)
{
	const union record *record = side_must(side, at, MTRACE_RECORD_LOSS,
					       tid);

	CHECK_EQ(record->loss.what, what);
	CHECK_EQ(record->loss.count, 1);
}

TEST(sideband_of_losses)
{
	struct load *load = load_spawn(1, work_family);
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	const union record *record;
	struct side side = {};
	struct session s;
	uint32_t at = 0;

	/* Room for one thread: its children are refused. */
	setup.flags = MTRACE_SETUP_INHERIT_THREADS |
		      MTRACE_SETUP_INHERIT_PROCESSES;
	trace_begin(&s, side_setup(setup, 0), load);
	load_round(load);
	side_read(&s, &side);
	record = side_must(&side, &at, MTRACE_RECORD_FORK, load->pid);
	check_loss(&side, &at, MTRACE_LOSS_REFUSED, record->fork.child_tid);
	record = side_must(&side, &at, MTRACE_RECORD_FORK, load->pid);
	CHECK_EQ(record->fork.child_tid, (pid_t)load->progress[0]);
	check_loss(&side, &at, MTRACE_LOSS_REFUSED, record->fork.child_tid);
	CHECK_EQ(side_count(&side, MTRACE_RECORD_THREAD,
			    record->fork.child_tid), 0);

	side_free(&side);
	session_close(&s);
	load_end(load);
}

TEST(sideband_of_unswitched_threads)
{
	struct load *load = load_spawn(2, work_calls);
	struct mtrace_region *regions;
	uint32_t at = 0;
	struct side side = {};
	struct session s;

	session_open(&s, side_setup(setup_of(MIB(4), 2, 1), 0));
	CHECK_EQ(s.setup.nr_regions, 4);
	must_attach(&s, load->tids[0]);
	must_start(&s);
	must_snapshot(&s);
	must_attach(&s, load->tids[1]);
	/* Two live, one frozen, one free. */
	regions = must_regions(&s, 1, NULL);
	side_read(&s, &side);
	check_loss(&side, &at, MTRACE_LOSS_UNSWITCHED,
		   regions->tid == load->tids[0] ? load->tids[1] :
						   load->tids[0]);
	free(regions);
	side_free(&side);
	session_close(&s);
	load_end(load);
}

TEST(sideband_of_recycled_regions)
{
	struct load *load = load_spawn(1, work_family);
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	uint32_t at = 0, i, n = 0;
	const union record *record;
	struct side side = {};
	struct session s;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	trace_begin(&s, side_setup(setup, 0), load);
	for (i = 0; i < 8; i++)
		load_round(load);
	WAIT_FOR(must_status(s.fd).nr_threads == 1);
	side_read(&s, &side);
	while ((record = side_next(&side, &at, MTRACE_RECORD_LOSS))) {
		CHECK(record->loss.what == MTRACE_LOSS_RECYCLED ||
		      record->loss.what == MTRACE_LOSS_REFUSED,
		      "a loss is %u", record->loss.what);
		n += record->loss.what == MTRACE_LOSS_RECYCLED;
		CHECK_EQ(record->head.pid, load->pid);
	}
	CHECK(n, "no region was given up");
	CHECK_EQ(n, must_status(s.fd).recycled);
	side_free(&side);
	session_close(&s);
	load_end(load);
}

TEST(sideband_of_stops)
{
	struct load *load = load_spawn(1, work_calls);
	struct side side = {};
	struct session s;
	uint32_t at = 0;

	trace_begin(&s, side_setup(trace_stops(setup_of(MIB(1), 1, 1)), 0),
		    load);
	load_round(load);
	must_stop(&s);
	side_read(&s, &side);
	check_loss(&side, &at, MTRACE_LOSS_STOPPED, load->pid);
	CHECK_EQ(must_status(s.fd).stops, 1);
	side_free(&side);
	session_close(&s);
	load_end(load);
}
