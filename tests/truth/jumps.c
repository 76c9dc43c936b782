// SPDX-License-Identifier: GPL-2.0
/*
 * setjmp and longjmp: out of a recursion, to an outer frame of a recursion that
 * called setjmp at several depths, and from one function to the next as some
 * programs make coroutines' first halves.
 */
#include <setjmp.h>
#include <stdlib.h>

#include "tests/truth/truth.h"

static volatile unsigned int sink;
static jmp_buf top;
static jmp_buf *volatile inner;
static volatile unsigned int jumping = 1;

static unsigned int small(unsigned int x)
{
	return x + 7;
}

static void climb(unsigned int n)
{
	sink += small(n);
	if (n)
		climb(n - 1);
	else if (jumping)
		longjmp(top, 1);
	sink += small(n);
}

static void from_the_depth(unsigned int n)
{
	if (setjmp(top)) {
		truth_unwound(n + 1);
		sink += small(0);
		return;
	}
	climb(n);
}

/* Each second level keeps a jump buffer; the innermost jumps to the last one. */
static void nested(unsigned int n)
{
	jmp_buf here;
	jmp_buf *const outer = inner;

	sink += small(n);
	if (!n)
		longjmp(*inner, 1);
	if (n & 1) {
		nested(n - 1);
		sink += small(n);
		return;
	}
	inner = &here;
	if (!setjmp(here)) {
		nested(n - 1);
	} else {
		truth_unwound(n);
		sink += small(n);
	}
	inner = outer;
}

static void one_round(unsigned int round)
{
	from_the_depth(round % 30);
	nested(round % 7 + 3);
	sink += small(round);
}

int UNSEEN main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000;
	unsigned int i;

	truth_begin((void *)main);
	for (i = 0; i < rounds; i++) {
		one_round(i);
		if (i == rounds / 2)
			stop_here();
	}
	return 0;
}
