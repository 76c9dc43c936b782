// SPDX-License-Identifier: GPL-2.0
/*
 * Has snapshots taken of a thread that runs on another CPU, an interval of the
 * machine's counting for each (../../machine/count): how long was it not traced?
 *
 *	snapshots LABEL COUNT
 *
 * The thread spins on CPU 1 and makes no system call between the markers; the
 * snapshots are asked for on CPU 0.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/machine/count/include/mark.h"
#include "user/base/log.h"
#include "user/record/device.h"
#include "user/record/plan.h"

/* Of both processes: the turn whose interval has begun, and whose snapshot is taken. */
struct turns {
	int begun;
	int taken;
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

static void spin(struct turns *turns, unsigned int label, int count)
{
	int i;

	pin(1);
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
		.snapshot_size = 1 << 20,
		.timing = MT_TIMING_MTC,
		.page_size = sysconf(_SC_PAGESIZE),
	};
	struct mt_plan plan;

	if (mt_device_open(dev) || mt_plan_make(&wish, &dev->caps, &plan))
		return -1;
	return mt_device_setup(dev, &plan.setup);
}

int main(int argc, char **argv)
{
	struct turns *turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct mtrace_snapshot snapshot;
	struct mt_device dev;
	int i, count;
	pid_t pid;

	if (argc != 3 || turns == MAP_FAILED)
		return 2;
	count = atoi(argv[2]);
	if (mark(MARK_ASK, 0) != MARK_ON) {
		mt_error("nothing counts here");
		return 1;
	}
	pin(0);
	if (set_up(&dev))
		return 1;
	pid = fork();
	if (!pid)
		spin(turns, strtoul(argv[1], NULL, 0), count);
	if (pid < 0 || mt_device_attach(&dev, pid) || mt_device_start(&dev))
		return 1;

	for (i = 1; i <= count; i++) {
		wait_for(&turns->begun, i);
		if (mt_device_snapshot(&dev, &snapshot) || mt_device_release(&dev, snapshot.id)) {
			kill(pid, SIGKILL);
			return 1;
		}
		__atomic_store_n(&turns->taken, i, __ATOMIC_RELEASE);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
