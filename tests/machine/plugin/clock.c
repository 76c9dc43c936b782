// SPDX-License-Identifier: GPL-2.0
/*
 * The machine's clock.
 */
#include "clock.h"
#include "pt_fault.h"

#include <time.h>
#include <x86intrin.h>

/* Comparisons with QEMU's clock: the first ones do, since the lead is constant. */
#define COMPARISONS	1000

static uint64_t base;		/* the host's TSC when the machine's was 0 */
static double frequency;
static int64_t lead;
static bool restored;		/* and QEMU's TSC has not been seen yet */
static unsigned int compared;

static double host_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

void clock_init(void)
{
	const double begin = host_seconds();
	double seconds;

	base = __rdtsc();
	do {
		seconds = host_seconds() - begin;
	} while (seconds < 0.02);
	frequency = (__rdtsc() - base) / seconds;
}

uint8_t clock_ratio(void)
{
	return frequency / 100e6 + 0.5;
}

uint64_t clock_tsc(void)
{
	uint64_t tsc = __rdtsc() - __atomic_load_n(&base, __ATOMIC_RELAXED);
	const uint64_t jump_ms = pt_faults.n[PT_FAULT_JUMP];

	/* The fault "jump": so many ms more for each second that has passed. */
	if (jump_ms)
		tsc += (uint64_t)(tsc / frequency) * (uint64_t)(jump_ms * frequency / 1000);
	return tsc;
}

void clock_compare(uint64_t native)
{
	const uint64_t host = __rdtsc();
	int64_t ahead;

	if (__atomic_load_n(&compared, __ATOMIC_RELAXED) >= COMPARISONS)
		return;
	__atomic_add_fetch(&compared, 1, __ATOMIC_RELAXED);

	if (__atomic_exchange_n(&restored, false, __ATOMIC_RELAXED))
		__atomic_store_n(&base, host - (native - lead), __ATOMIC_RELAXED);

	/* The host may have slept between the two readings: the greatest is right. */
	ahead = native - (host - base);
	if (compared == 1 || ahead > __atomic_load_n(&lead, __ATOMIC_RELAXED))
		__atomic_store_n(&lead, ahead, __ATOMIC_RELAXED);
}

bool clock_is_behind(void)
{
	return __atomic_load_n(&restored, __ATOMIC_RELAXED);
}

int64_t clock_lead(void)
{
	return __atomic_load_n(&lead, __ATOMIC_RELAXED);
}

void clock_restore(uint64_t tsc, int64_t saved_lead)
{
	base = __rdtsc() - tsc;
	lead = saved_lead;
	restored = true;
}
