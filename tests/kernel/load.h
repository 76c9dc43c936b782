/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MT_TEST_LOAD_H
#define MT_TEST_LOAD_H

#include <stdint.h>
#include <sys/types.h>

#include "harness.h"

/* Does nothing, and is called by pointer: each call is one TIP packet. */
void load_target(void);

/* Calls load_target() so many times, and branches as often. */
void load_run(uint64_t calls);

/**
 * struct load - a process whose threads do something when they are told to
 * @pid: of the process
 * @tids: of its threads, the first of which is @pid
 * @go: raised by the test to start the next round
 * @done: how many threads have finished the round
 * @progress: how often a thread that works without end has come round
 * @nr: how many threads there are
 *
 * It is in memory that both processes share.
 */
struct load {
	pid_t pid;
	pid_t tids[8];
	volatile uint32_t go;
	volatile uint32_t done;
	volatile uint64_t progress[8];
	uint32_t nr;
	uint32_t stop;
};

struct load *load_spawn(uint32_t threads, void (*work)(struct load *load,
						       uint32_t index));
/* Begin a round of work by all threads, of which @done says who has ended it. */
void load_go(struct load *load);
/* The same, to its end. */
void load_round(struct load *load);
/* One round of @nr loads at once. */
void load_rounds(struct load **loads, int nr);
void load_end(struct load *load);

/* Work for load_spawn(). */
void work_calls(struct load *load, uint32_t index);	/* 20,000 calls */
void work_yield(struct load *load, uint32_t index);	/* with switches */
void work_spin(struct load *load, uint32_t index);	/* until load_end() */

/* The same for all but the last thread, which returns once all others spin. */
void work_spin_but_last(struct load *load, uint32_t index);

void work_ptwrite(struct load *load, uint32_t index);	/* 100 PTWRITEs */

/* How often a thread has left its CPU: all in all, or because it slept. */
long long switches_of(pid_t tid, bool sleeps);

/* What /proc says that it does: R, S, D, ... */
char thread_state(pid_t tid);

/* A thread that sleeps again and again has run, and sleeps, once more. */
void wait_for_sleep(pid_t tid);

/* Where its PTWRITE is, and what that says the ith time. */
extern const char load_ptwrite_here[];
uint64_t load_ptwrite_payload(uint32_t i);

#define WORK_CALLS		20000
#define WORK_PTWRITES		100
#define WORK_YIELDS		2500
#define WORK_CALLS_A_YIELD	12

#endif
