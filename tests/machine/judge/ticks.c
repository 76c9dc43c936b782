// SPDX-License-Identifier: GPL-2.0
/*
 * Takes time stamps itself, between branches and sleeps, to hold a trace's
 * times against.
 *
 *	ticks FILE COUNT
 *
 * FILE: 64-bit numbers: the address of the one RDTSC, COUNT, and what it gave.
 * Every 64th time the program sleeps before, so that it is switched out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const char rdtsc_here[];

static __attribute__((noinline)) uint64_t stamp(void)
{
	uint32_t lo, hi;

	asm volatile(".globl rdtsc_here\nrdtsc_here: rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (uint64_t)hi << 32;
}

/* An unforeseeable branch or two, for packets close to the stamp. */
static __attribute__((noinline)) unsigned int churn(unsigned int x)
{
	int i;

	for (i = 0; i < 20; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + 7919;
	return x;
}

int main(int argc, char **argv)
{
	const uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;
	uint64_t *stamps = calloc(count + 2, sizeof(*stamps));
	unsigned int x = 1;
	uint64_t i;
	FILE *f;

	if (!count || !stamps)
		return 2;
	stamps[0] = (uint64_t)rdtsc_here;
	stamps[1] = count;
	for (i = 0; i < count; i++) {
		if (i % 64 == 63)
			usleep(10000);
		x = churn(x + i);
		stamps[2 + i] = stamp();
	}

	f = fopen(argv[1], "wb");
	if (!f || fwrite(stamps, sizeof(*stamps), count + 2, f) != count + 2 || fclose(f))
		return 1;
	return x == 12345;
}
