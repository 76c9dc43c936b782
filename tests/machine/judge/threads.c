// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that move between processors while they run, and hand each other
 * work. Each takes the time stamp counter as it takes the work over, which must
 * not be earlier than the last of the thread before it.
 *
 *	threads COUNT ROUNDS
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static unsigned int turn, count, rounds;
static uint64_t last_stamp, backwards, sum;

static __attribute__((noinline)) unsigned int churn(unsigned int x, int n)
{
	while (n--)
		x = x & 1 ? x * 3 + 1 : x / 2 + 7919;
	return x;
}

static void move_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		abort();
}

static void *work(void *arg)
{
	const unsigned int me = (uintptr_t)arg, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i, x = me;
	uint64_t stamp;

	for (i = 0; i < rounds; i++) {
		move_to((me + i) % cpus);
		x = churn(x, 500);
		pthread_mutex_lock(&lock);
		while (turn % count != me)
			pthread_cond_wait(&passed, &lock);
		stamp = __rdtsc();
		backwards += stamp < last_stamp;
		move_to((me + i + 1) % cpus);
		x = churn(x, 50);
		last_stamp = __rdtsc();
		backwards += last_stamp < stamp;
		sum += x;
		turn++;
		pthread_cond_broadcast(&passed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[16];
	unsigned int i;

	count = argc == 3 ? strtoul(argv[1], NULL, 0) : 0;
	rounds = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	if (!count || count > 16 || !rounds)
		return 2;
	for (i = 0; i < count; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
			return 2;
	}
	for (i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	printf("threads: sum %lu, %lu stamps went back\n", sum, backwards);
	return backwards != 0;
}
