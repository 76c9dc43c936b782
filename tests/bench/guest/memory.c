// SPDX-License-Identifier: GPL-2.0
/*
 * Prints what the memory is that set-ups of mtrace.ko take beside their regions, in
 * percent of these: "memory PERCENT", COUNT times.
 *
 *	memory REGION COUNT
 *
 * REGION: bytes of a region
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/record/device.h"

#define SESSIONS 4
#define SIZE	 (64ULL << 20)

/* In kB. What each CPU keeps for itself is free, too. */
static long long free_memory(void)
{
	char line[256];
	long long sum = 0, n;
	FILE *file;

	/* Have the CPUs tell what they know. */
	file = fopen("/proc/sys/vm/stat_refresh", "w");
	if (file)
		fclose(file);
	file = fopen("/proc/meminfo", "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemFree: %lld", &n) == 1)
			sum += n;
	if (file)
		fclose(file);
	file = fopen("/proc/zoneinfo", "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %lld", &n) == 1)
			sum += n * 4;
	if (file)
		fclose(file);
	return sum;
}

static int set_up(struct mt_device *dev, uint64_t region)
{
	struct mtrace_setup setup = {
		.size = sizeof(setup),
		.buffer_size = SIZE,
		.max_threads = SIZE / region / 2,
		.max_snapshots = 1,
		.trace_flags = MTRACE_TRACE_USER,
	};

	if (mt_device_open(dev) || mt_device_setup(dev, &setup, false))
		return -1;
	if (dev->setup.region_size == region)
		return 0;
	mt_error("a region has %" PRIu64 " bytes", (uint64_t)dev->setup.region_size);
	return -1;
}

int main(int argc, char **argv)
{
	const uint64_t region = argc == 3 ? strtoull(argv[1], NULL, 0) : 0;
	int n = argc == 3 ? atoi(argv[2]) : 0;
	struct mt_device devices[SESSIONS];
	long long before, taken;
	int i;

	if (!region || region > SIZE / 2)
		return 2;
	/* What the first set-up leaves is no part of others. */
	if (set_up(&devices[0], region))
		return 1;
	mt_device_close(&devices[0]);
	while (n--) {
		before = free_memory();
		for (i = 0; i < SESSIONS; i++)
			if (set_up(&devices[i], region))
				return 1;
		taken = (before - free_memory()) * 1024;
		for (i = 0; i < SESSIONS; i++)
			mt_device_close(&devices[i]);
		printf("memory %g\n", (taken - SESSIONS * (double)SIZE) * 100 / (SESSIONS * (double)SIZE));
	}
	return 0;
}
