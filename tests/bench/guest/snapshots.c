// SPDX-License-Identifier: GPL-2.0
/*
 * Has snapshots taken of a thread that runs on another CPU, two intervals of the
 * machine's counting for each (../../machine/count): LABEL on that CPU, which says
 * how long it was not traced, and LABEL + 1 on the one that asks, the call.
 *
 *	snapshots LABEL COUNT THREADS
 *
 * The thread spins on CPU 1 and makes no system call between the markers; the
 * snapshots are asked for on CPU 0. It is one of THREADS threads of the session;
 * the others sleep.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/machine/count/include/mark.h"
#include "user/base/log.h"
#include "user/record/device.h"
#include "user/record/plan.h"

#define THREADS_MAX 64

/*
 * Of both processes: the turn whose interval has begun, and whose snapshot is taken;
 * and the threads that sleep.
 */
struct turns {
	int begun;
	int taken;
	int nr_sleepers;
	pid_t sleepers[THREADS_MAX];
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

static void wait_for(const int *turn, int value)
{
	while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != value)
		__builtin_ia32_pause();
}

static void *sleeper(void *arg)
{
	struct turns *turns = arg;

	turns->sleepers[__atomic_fetch_add(&turns->nr_sleepers, 1, __ATOMIC_ACQ_REL)] =
		syscall(SYS_gettid);
	while (pause())
		;
	return NULL;
}

static void spin(struct turns *turns, unsigned int label, int count, int threads)
{
	pthread_t thread;
	int i;

	pin(1);
	for (i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, sleeper, turns))
			exit(1);
	wait_for(&turns->begun, -1);
	for (i = 1; i <= count; i++) {
		mark(MARK_BEGIN, label);
		__atomic_store_n(&turns->begun, i, __ATOMIC_RELEASE);
		wait_for(&turns->taken, i);
		mark(MARK_END, label);
	}
	_exit(0);
}

static int set_up(struct mt_device *dev)
{
	const struct mt_plan_wish wish = {
		.snapshot_size = THREADS_MAX << 18,
		.multi_thread = true,
		.threads = THREADS_MAX,
		.timing = MT_TIMING_MTC,
		.page_size = sysconf(_SC_PAGESIZE),
	};
	struct mt_plan plan;

	if (mt_device_open(dev) || mt_plan_make(&wish, &dev->caps, &plan))
		return -1;
	return mt_device_setup(dev, &plan.setup, false);
}

static int attach_all(struct mt_device *dev, const struct turns *turns, pid_t pid)
{
	int i, err;

	err = mt_device_attach(dev, pid);
	for (i = 0; i < turns->nr_sleepers && !err; i++)
		err = mt_device_attach(dev, turns->sleepers[i]);
	return err;
}

static int take(struct mt_device *dev, unsigned int label)
{
	struct mtrace_snapshot snapshot;
	int err;

	mark(MARK_BEGIN, label);
	err = mt_device_snapshot(dev, &snapshot);
	mark(MARK_END, label);
	return err ? err : mt_device_release(dev, snapshot.id);
}

int main(int argc, char **argv)
{
	struct turns *turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const int count = argc == 4 ? atoi(argv[2]) : 0;
	const int threads = argc == 4 ? atoi(argv[3]) : 0;
	struct mt_device dev;
	unsigned int label;
	pid_t pid;
	int i;

	if (count < 1 || threads < 1 || threads > THREADS_MAX || turns == MAP_FAILED)
		return 2;
	label = strtoul(argv[1], NULL, 0);
	if (mark(MARK_ASK, 0) != MARK_ON) {
		mt_error("nothing counts here");
		return 1;
	}
	pin(0);
	if (set_up(&dev))
		return 1;
	pid = fork();
	if (!pid)
		spin(turns, label, count, threads);
	if (pid < 0)
		return 1;
	wait_for(&turns->nr_sleepers, threads - 1);
	if (attach_all(&dev, turns, pid) || mt_device_start(&dev)) {
		kill(pid, SIGKILL);
		return 1;
	}

	__atomic_store_n(&turns->begun, -1, __ATOMIC_RELEASE);
	for (i = 1; i <= count; i++) {
		wait_for(&turns->begun, i);
		if (take(&dev, label + 1)) {
			kill(pid, SIGKILL);
			return 1;
		}
		__atomic_store_n(&turns->taken, i, __ATOMIC_RELEASE);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
