// SPDX-License-Identifier: GPL-2.0
/*
 * Recursion, calls by pointer, calls back from the C library, tail calls.
 *
 * A function that is instrumented makes no tail call: its exit hook comes last (and
 * is itself tail-called where nothing is returned). The tail calls are therefore
 * in assembly, and call the hooks themselves.
 */
#include <stdlib.h>

#include "tests/truth/truth.h"

static volatile unsigned int sink;

static unsigned int fib(unsigned int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static unsigned int is_odd(unsigned int n);

static unsigned int is_even(unsigned int n)
{
	return n ? is_odd(n - 1) : 1;
}

static unsigned int is_odd(unsigned int n)
{
	return n ? is_even(n - 1) : 0;
}

static unsigned int ackermann(unsigned int m, unsigned int n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

static unsigned int add_one(unsigned int x)
{
	return x + 1;
}

static unsigned int twice(unsigned int x)
{
	return add_one(add_one(x));
}

static unsigned int square(unsigned int x)
{
	return x * x;
}

static unsigned int (*const table[])(unsigned int) = { add_one, twice, square, fib };

static void by_pointer(unsigned int round)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		sink += table[(round + i) & 3](i);
}

static int compare(const void *a, const void *b)
{
	const unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

static void sort(unsigned int round)
{
	unsigned int numbers[24];
	unsigned int i;

	for (i = 0; i < 24; i++)
		numbers[i] = (i * 7919 + round * 104729) % 1000;
	qsort(numbers, 24, sizeof(numbers[0]), compare);
	sink += numbers[12];
}

#define TAIL_CALL(name, target)							\
	__asm__(".text\n"							\
		".globl " #name "\n"						\
		".type " #name ", @function\n"					\
		#name ":\n"							\
		"	push %rdi\n"						\
		"	lea " #name "(%rip), %rdi\n"				\
		"	xor %esi, %esi\n"					\
		"	call __cyg_profile_func_enter\n"			\
		"	lea " #name "(%rip), %rdi\n"				\
		"	xor %esi, %esi\n"					\
		"	call __cyg_profile_func_exit\n"				\
		"	pop %rdi\n"						\
		"	test %edi, %edi\n"					\
		"	jmp " #target "\n"					\
		".size " #name ", . - " #name "\n");				\
	unsigned int name(unsigned int)

unsigned int tail_end(unsigned int x);

TAIL_CALL(tail_first, tail_second);
TAIL_CALL(tail_second, tail_end);

unsigned int tail_end(unsigned int x)
{
	return x > 3 ? tail_first(x - 4) : twice(x);
}

static void one_round(unsigned int round)
{
	sink += fib(round % 8 + 2);
	sink += is_even(round % 20);
	sink += ackermann(2, round % 3);
	by_pointer(round);
	sort(round);
	sink += tail_first(round % 16);
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
