// SPDX-License-Identifier: GPL-2.0
/*
 * Four threads, each with functions of its own, and one that all use; the first
 * to have done its work hits the trigger.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/truth/truth.h"

#define WORKER(n)								\
	static unsigned int w##n##_leaf(unsigned int x)				\
	{									\
		return x * 3 + n;						\
	}									\
	static unsigned int w##n##_tree(unsigned int x)				\
	{									\
		return x < 2 ? w##n##_leaf(x) :					\
			w##n##_tree(x - 1) + w##n##_tree(x - 2) + shared(x);	\
	}									\
	static void w##n##_round(unsigned int i)				\
	{									\
		sink[n] += w##n##_tree(5 + i % 4);				\
		if (i % 16 == n)						\
			sched_yield();						\
	}

static volatile unsigned int sink[4];
static unsigned int rounds = 300;
static int stopped;

static unsigned int shared(unsigned int x)
{
	return x / 2;
}

WORKER(0)
WORKER(1)
WORKER(2)
WORKER(3)

static void (*const round_of[])(unsigned int) = { w0_round, w1_round, w2_round, w3_round };

static void UNSEEN *work(void *arg)
{
	const unsigned int n = (unsigned int)(uintptr_t)arg;
	unsigned int i;

	truth_thread();
	for (i = 0; i < rounds; i++) {
		round_of[n](i);
		/* Once, so that all others are in the middle of their work. */
		if (i == rounds * 3 / 4 && !__atomic_exchange_n(&stopped, 1, __ATOMIC_SEQ_CST))
			stop_here();
	}
	return NULL;
}

int UNSEEN main(int argc, char **argv)
{
	pthread_t thread[4];
	uintptr_t i;

	if (argc > 1)
		rounds = (unsigned int)atoi(argv[1]);
	truth_begin((void *)main);
	for (i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 1;
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
