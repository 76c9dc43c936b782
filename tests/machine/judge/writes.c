// SPDX-License-Identifier: GPL-2.0
/*
 * PTWRITE in all its forms, between branches. A processor that lacks it kills
 * the program.
 *
 *	writes COUNT
 */
#include <stdint.h>
#include <stdlib.h>

static __attribute__((noinline)) uint64_t step(uint64_t x)
{
	const uint64_t in_memory[2] = { x * 3, ~x };
	const uint64_t *p = in_memory;

	asm volatile("ptwrite %0" :: "r"(x));
	asm volatile("ptwrite %k0" :: "r"(x));
	asm volatile("ptwriteq (%0)" :: "r"(p), "m"(in_memory));
	asm volatile("ptwritel 8(%0)" :: "r"(p), "m"(in_memory));
	asm volatile("ptwriteq (%0,%1,8)" :: "r"(p), "r"(x & 1), "m"(in_memory));
	return x & 1 ? x * 3 + 1 : x / 2 + 7919;
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 0;
	uint64_t x = 1ULL << 63 | 12345;
	int i;

	for (i = 0; i < count; i++)
		x = step(x);
	return x == 0;
}
