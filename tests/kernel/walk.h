/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of which it is known what it executes, and the judge who decodes a
 * trace instruction by instruction and tells whether it did.
 */
#ifndef MT_TEST_WALK_H
#define MT_TEST_WALK_H

#include "harness.h"
#include "load.h"

/* A walk of so many steps; they differ by @seed. */
#define WALK_STEPS	20000
void walk_run(uint64_t steps, uint32_t seed);

/* Work for load_spawn(): a walk, the seed of which is the thread's index. */
void work_walk(struct load *load, uint32_t index);
/* The same, from CPU to CPU, giving way to others. */
void work_walk_about(struct load *load, uint32_t index);

/* Bytes of trace that one step gives with NORETCOMP, at least. */
#define WALK_STEP_BYTES	18

/**
 * struct walk - how far a thread's walk has been seen
 * @seed: of the thread's walks
 * @x: the state of the walk that it is in
 * @step: steps begun in that
 * @insns: instructions since this step began
 * @odd: which way it took
 * @inside: it is in a walk, and all of it was seen
 * @walks: walks that were seen whole
 * @steps: steps of all walks, those only in part seen included
 * @left: where the trace went off, 0 where that is not known
 */
struct walk {
	uint32_t seed, x;
	uint64_t step, insns;
	bool odd, inside;
	uint64_t walks, steps;
	uint64_t left;
};

/*
 * Follow one more piece of the thread's trace. Every instruction of a walk must
 * be the one that comes after the one before, in this piece or the last. With
 * @gap the piece does not follow on the last one: what it begins with is not
 * judged up to the beginning of a walk. With @cut the end of the piece need not
 * be whole.
 */
void walk_follow(struct walk *walk, const uint8_t *bytes, uint64_t size,
		 bool gap, bool cut);

#endif
