// SPDX-License-Identifier: GPL-2.0
/*
 * How long a program stands still when it comes to the trigger, beside how long it
 * takes itself to write as many bytes: the same work is done, then stop_here() is
 * called, then a file is written, all by turns.
 *
 *	stop BYTES FILE COUNT
 *
 * Run under `mtrace-user run --multi-snapshot -t stop_here`. Prints for each turn
 * "stop TICKS write TICKS", times by RDTSC. BYTES: what a snapshot holds.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

void stop_here(void);

void __attribute__((noinline, noclone)) stop_here(void)
{
	asm volatile("" ::: "memory");
}

/* A bit of trace a turn of the loop, and more than that for each eighth turn. */
static unsigned int fill(uint64_t branches)
{
	unsigned int x = 1;
	uint64_t i;

	for (i = 0; i < branches; i++) {
		x = x * 1664525 + 1013904223;
		if (x & 0x10000)
			asm volatile("nop");
	}
	return x;
}

static uint64_t timed_write(const char *path, const void *bytes, size_t len)
{
	const uint64_t begin = __rdtsc();
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || close(fd)) {
		perror(path);
		exit(1);
	}
	return __rdtsc() - begin;
}

int main(int argc, char **argv)
{
	const size_t len = argc == 4 ? strtoull(argv[1], NULL, 0) : 0;
	const int count = argc == 4 ? atoi(argv[3]) : 0;
	char *bytes = malloc(len + 1);
	int i;

	if (!len || count < 1 || !bytes)
		return 2;
	for (i = 0; i < (int)len; i++)
		bytes[i] = i;
	for (i = 0; i < count; i++) {
		uint64_t begin, stopped;

		/* Two branches a turn, six in a byte; so the region wraps. */
		fill(len * 4);
		begin = __rdtsc();
		stop_here();
		stopped = __rdtsc() - begin;
		printf("stop %lu write %lu\n", stopped, timed_write(argv[2], bytes, len));
		unlink(argv[2]);
	}
	return 0;
}
