// SPDX-License-Identifier: GPL-2.0
/*
 * Takes time stamps itself, between branches and sleeps, to hold a trace's
 * times against.
 *
 *	ticks FILE COUNT [migrate]
 *
 * FILE: 64-bit numbers: the address of the one RDTSC, COUNT, and what it gave.
 * Every 64th time the program sleeps before, so that it is switched out; with
 * "migrate" it goes to the next processor before every 16th.
 */
#include <sched.h>
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

static void go_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		abort();
}

int main(int argc, char **argv)
{
	const uint64_t count = argc >= 3 ? strtoull(argv[2], NULL, 0) : 0;
	uint64_t *stamps = calloc(count + 2, sizeof(*stamps));
	const unsigned int cpus = argc > 3 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
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
		if (cpus && i % 16 == 15)
			go_to(i / 16 % cpus);
		x = churn(x + i);
		stamps[2 + i] = stamp();
	}

	f = fopen(argv[1], "wb");
	if (!f || fwrite(stamps, sizeof(*stamps), count + 2, f) != count + 2 || fclose(f))
		return 1;
	return x == 12345;
}
