// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

struct start {
	struct load *load;
	void (*work)(struct load *load, uint32_t index);
	uint32_t index;
};

static volatile uint32_t bits = 1;

void __attribute__((noinline, noclone)) load_target(void)
{
	__asm__ volatile("");
}

static void (*volatile target)(void) = load_target;

void load_run(uint64_t calls)
{
	uint32_t x = bits;

	while (calls--) {
		x = x * 1103515245 + 12345;
		if (x & 0x10000)
			bits = x;
		target();
	}
}

void work_calls(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	load_run(WORK_CALLS);
}

/* Two threads on a CPU that yield in turn switch each time. */
void work_yield(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	pin_to(index / 2 % nr_cpus());
	for (i = 0; i < WORK_YIELDS; i++) {
		load_run(WORK_CALLS_A_YIELD);
		sched_yield();
	}
}

void work_spin(struct load *load, uint32_t index)
{
	pin_to((index + 1) % nr_cpus());
	while (!__atomic_load_n(&load->stop, __ATOMIC_RELAXED)) {
		load_run(20);
		load->progress[index]++;
	}
}

void work_spin_but_last(struct load *load, uint32_t index)
{
	uint32_t i;

	if (index != load->nr - 1)
		work_spin(load, index);
	for (i = 0; i < load->nr - 1; i++)
		while (load->progress[i] < 10)
			usleep(500);
}

uint64_t load_ptwrite_payload(uint32_t i)
{
	return 0x0123456789abcdefull * (i + 1);
}

static void __attribute__((noinline, noclone)) ptwrite(uint64_t payload)
{
	__asm__ volatile(".globl load_ptwrite_here\n"
			 "load_ptwrite_here: ptwrite %0" : : "r"(payload));
}

void work_ptwrite(struct load *load, uint32_t index)
{
	uint32_t i;

	(void)load;
	(void)index;
	for (i = 0; i < WORK_PTWRITES; i++)
		ptwrite(load_ptwrite_payload(i));
}

static void *body(void *data)
{
	struct start *start = data;
	struct load *load = start->load;
	uint32_t seen = 0;
	unsigned int naps;

	load->tids[start->index] = thread_id();
	__atomic_add_fetch(&load->done, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		/* Who waits long is not to have the CPU from who is at work. */
		for (naps = 0; load->go == seen; naps++)
			usleep(naps < 20 ? 500 : 10000);
		seen++;
		if (__atomic_load_n(&load->stop, __ATOMIC_RELAXED))
			return NULL;
		start->work(load, start->index);
		__atomic_add_fetch(&load->done, 1, __ATOMIC_SEQ_CST);
	}
}

struct load *load_spawn(uint32_t threads,
			void (*work)(struct load *load, uint32_t index))
{
	struct start start[8];
	struct load *load;
	pthread_t thread;
	uint32_t i;
	pid_t pid;

	load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (load == MAP_FAILED)
		FAIL("no memory to share");
	load->nr = threads;
	pid = fork();
	if (pid < 0)
		FAIL("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 0; i < threads; i++)
			start[i] = (struct start){ load, work, i };
		for (i = 1; i < threads; i++)
			if (pthread_create(&thread, NULL, body, &start[i]))
				_exit(1);
		body(&start[0]);
		_exit(0);
	}
	load->pid = pid;
	WAIT_FOR(load->done == threads);
	return load;
}

void load_go(struct load *load)
{
	load->done = 0;
	__atomic_add_fetch(&load->go, 1, __ATOMIC_SEQ_CST);
}

void load_rounds(struct load **loads, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		load_go(loads[i]);
	for (i = 0; i < nr; i++)
		WAIT_FOR(loads[i]->done == loads[i]->nr);
}

void load_round(struct load *load)
{
	load_rounds(&load, 1);
}

void load_end(struct load *load)
{
	kill(load->pid, SIGKILL);
	waitpid(load->pid, NULL, 0);
	munmap(load, sizeof(*load));
}

long long switches_of(pid_t tid, bool sleeps)
{
	long long n, sum = 0;
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	CHECK(file, "no %s", path);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %lld", &n) == 1 ||
		    (!sleeps &&
		     sscanf(line, "nonvoluntary_ctxt_switches: %lld", &n) == 1))
			sum += n;
	fclose(file);
	return sum;
}

char thread_state(pid_t tid)
{
	char path[64], line[256] = "", state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, line, sizeof(line) - 1) > 0, "no %s", path);
	close(fd);
	CHECK(sscanf(strrchr(line, ')'), ") %c", &state) == 1, "%s says '%s'",
	      path, line);
	return state;
}

void wait_for_sleep(pid_t tid)
{
	long long sleeps = switches_of(tid, true);

	/* The switch of the last that is counted may be yet to come. */
	WAIT_FOR(switches_of(tid, true) > sleeps + 1);
}
