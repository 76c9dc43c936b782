// SPDX-License-Identifier: GPL-2.0
/*
 * Without privilege a thread is traced as long as the file's owner traces it by
 * ptrace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_sideband.h>

#include "side.h"
#include "trace.h"
#include "user.h"

/* By /proc: who traces a thread by ptrace, or 0. */
static int tracer_of(pid_t tid)
{
	char path[64], line[128];
	int tracer = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "TracerPid: %d", &tracer);
	if (file)
		fclose(file);
	CHECK(tracer >= 0, "%s does not say who traces it", path);
	return tracer;
}

static sem_t seized, enough;

/* What was traced before stays; what comes after is nobody's. */
static void check_detach(void *unused)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint64_t id;

	(void)unused;
	seize(load->pid, 0);
	trace_begin(&s, setup_of(MIB(4), 2, 1), load);
	load_round(load);
	detach(load->pid);
	load_round(load);
	/* Only this call finds out. */
	regions = must_regions(&s, 1, &id);
	CHECK_EQ(regions->flags, MTRACE_REGION_EXITED);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_DETACH, load->pid), ESRCH);
	must_release(&s, id);

	/* Traced again it can be had again. */
	seize(load->pid, 0);
	must_attach(&s, load->pid);
	regions = trace_another(&s, load, &id);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	session_close(&s);
	load_end(load);
}

TEST(unprivileged_ends_with_ptrace)
{
	run_as_user(check_detach, NULL);
}

/* Calls, and between them much time without a packet. */
static void work_slowly(struct load *load, uint32_t index)
{
	static uint8_t bytes[1 << 16];

	pin_to(nr_cpus() - 1);
	while (!__atomic_load_n(&load->stop, __ATOMIC_RELAXED)) {
		void *to = bytes;
		size_t count = sizeof(bytes);

		load_run(1);
		__asm__ volatile("rep stosb"
				 : "+D" (to), "+c" (count)
				 : "a" (0)
				 : "memory");
		load->progress[index]++;
	}
}

static void *seize_and_exit(void *load)
{
	seize(((struct load *)load)->pid, 0);
	sem_post(&seized);
	sem_wait(&enough);
	return NULL;
}

/* What a thread traces it lets go of when it exits. Nothing stops for that. */
static void check_tracer_exit(void *unused)
{
	struct load *load = load_spawn(1, work_slowly);
	struct mtrace_region *regions;
	struct pt_stats stats;
	uint64_t seen;
	pthread_t thread;
	struct session s;

	(void)unused;
	sem_init(&seized, 0, 0);
	sem_init(&enough, 0, 0);
	pin_to(0);
	session_open(&s, setup_of(MIB(4), 1, 1));
	CHECK_EQ(pthread_create(&thread, NULL, seize_and_exit, load), 0);
	sem_wait(&seized);
	must_attach(&s, load->pid);
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	sem_post(&enough);
	pthread_join(thread, NULL);
	/* By ptrace it is nobody's from then on, at the latest. */
	WAIT_FOR(!tracer_of(load->pid));
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 100);

	regions = must_regions(&s, 1, NULL);
	CHECK(!(regions->flags & MTRACE_REGION_WRAPPED), "it wrapped");
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK(stats.hits >= 10 && stats.hits <= seen + 2,
	      "%lu rounds were done until then, and %lu calls are in the trace",
	      seen, stats.hits);
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
	free(regions);
	session_close(&s);
	load_end(load);
}

TEST(unprivileged_ends_with_the_tracing_thread)
{
	/* On one the thread is stopped by who looks. */
	need_two_cpus();
	run_as_user(check_tracer_exit, NULL);
}

/* Let all that stop go on until the round is done. */
static void round_as_tracer(struct load *load)
{
	int status, tries = 0;
	pid_t pid;

	load_go(load);
	while (load->done < load->nr) {
		pid = waitpid(-1, &status, __WALL | WNOHANG);
		if (pid > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL,
			       status >> 16 ? 0 : WSTOPSIG(status));
		if (pid > 0)
			continue;
		CHECK(tries++ < 60000, "the round does not end");
		usleep(1000);
	}
}

/* Each round another name, mapping and child. */
static void work_tell(struct load *load, uint32_t index)
{
	char name[16];
	pid_t pid;

	snprintf(name, sizeof(name), "round %lu", ++load->progress[index]);
	prctl(PR_SET_NAME, name);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		_exit(1);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

/* How many records of a kind there are, and that none has a name in it. */
static uint32_t count_records(int fd, uint16_t type, const char *name)
{
	static uint8_t bytes[1 << 20] __attribute__((aligned(8)));
	const struct mtrace_record *record;
	ssize_t length, at;
	uint32_t count = 0;

	length = read(fd, bytes, sizeof(bytes));
	CHECK(length >= 0 || errno == EAGAIN, "read: %s", strerror(errno));
	for (at = 0; at < length; at += record->size) {
		record = (void *)(bytes + at);
		count += record->type == type;
		CHECK(!memmem(record, record->size, name, strlen(name)),
		      "a record has '%s'", name);
	}
	return count;
}

/* Once the tracer is gone the records end, before any call has found out. */
static void check_records(void *unused)
{
	struct load *load = load_spawn(1, work_tell);
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	static const uint16_t types[] = {
		MTRACE_RECORD_COMM, MTRACE_RECORD_MMAP, MTRACE_RECORD_FORK,
	};
	struct session s;
	size_t i;

	(void)unused;
	setup.flags = MTRACE_SETUP_SIDEBAND;
	session_open(&s, setup);
	fcntl(s.fd, F_SETFL, O_NONBLOCK);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		seize(load->pid, 0);
		must_attach(&s, load->pid);
		round_as_tracer(load);
		CHECK(count_records(s.fd, types[i], "untold"),
		      "there is no record of type %d", types[i]);
		detach(load->pid);
		/* The detach itself may have records. */
		count_records(s.fd, 0, "untold");
		load_round(load);
		CHECK_EQ(count_records(s.fd, types[i], "round"), 0);
		CHECK_EQ(must_status(s.fd).nr_threads, 0);
	}
	session_close(&s);
	load_end(load);
}

TEST(unprivileged_records_end_with_ptrace)
{
	run_as_user(check_records, NULL);
}

/* A file of another process of the same user. */
static int fd_of(pid_t pid, int fd)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);

	CHECK(pidfd >= 0, "pidfd_open: %s", strerror(errno));
	CHECK_ERRNO(fd = syscall(SYS_pidfd_getfd, pidfd, fd, 0), 0);
	close(pidfd);
	return fd;
}

/* The owner dies, its file and its mapping live on: the trace must not. */
static void check_death(void *unused)
{
	struct load *load = load_spawn(1, work_spin);
	uint8_t *before = malloc(MIB(1));
	const uint8_t *map;
	uint64_t seen;
	int ready[2];
	pid_t owner;
	int fd;

	(void)unused;
	/* Where the thread is, so that it is switched now and then. */
	pin_to(1 % nr_cpus());
	CHECK_EQ(pipe(ready), 0);
	load_go(load);
	owner = fork();
	if (!owner) {
		struct session s;

		seize(load->pid, 0);
		trace_begin(&s, setup_of(MIB(1), 1, 1), load);
		seen = load->progress[0];
		WAIT_FOR(load->progress[0] > seen + 10);
		CHECK_EQ(write(ready[1], &s.fd, sizeof(s.fd)), sizeof(s.fd));
		for (;;)
			pause();
	}
	CHECK_EQ(read(ready[0], &fd, sizeof(fd)), sizeof(fd));
	fd = fd_of(owner, fd);
	map = mmap(NULL, MIB(1), PROT_READ, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(before, map, MIB(1));
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 100);
	CHECK(memcmp(before, map, MIB(1)), "the thread is not traced");

	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 100);
	memcpy(before, map, MIB(1));
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 1000);
	CHECK(!memcmp(before, map, MIB(1)), "the thread is traced on");
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_STOP), EPERM);
	load_end(load);
}

TEST(unprivileged_ends_with_its_owner)
{
	run_as_user(check_death, NULL);
}

static void *a_few_calls(void *unused)
{
	load_run(300);
	return unused;
}

static void work_children(struct load *load, uint32_t index)
{
	pthread_t thread;
	pid_t pid;

	(void)load;
	(void)index;
	pthread_create(&thread, NULL, a_few_calls, NULL);
	pthread_join(thread, NULL);
	pid = fork();
	if (!pid) {
		a_few_calls(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void check_children(unsigned long options, uint32_t regions)
{
	struct load *load = load_spawn(1, work_children);
	/* Of children that are not wanted none is refused for want of room. */
	struct mtrace_setup setup = setup_of(MIB(4), regions, 1);
	struct mtrace_snapshot snapshot;
	struct session s;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS |
		      MTRACE_SETUP_INHERIT_PROCESSES;
	seize(load->pid, options);
	trace_begin(&s, setup, load);
	round_as_tracer(load);
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.nr_regions, regions);
	CHECK_EQ(must_status(s.fd).refused_threads, 0);
	session_close(&s);
	load_end(load);
}

static void check_children_of_tracee(void *unused)
{
	(void)unused;
	check_children(0, 1);
	check_children(PTRACE_O_TRACECLONE, 2);
	check_children(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK, 3);
}

/* A child is inherited where the tracer has it as well. */
TEST(unprivileged_children)
{
	run_as_user(check_children_of_tracee, NULL);
}
