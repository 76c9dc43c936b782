/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one way from values of the TSC to the nanoseconds of a recording. Knows
 * nothing of packets: who asks brings a TSC.
 */
#ifndef MTRACE_TIMELINE_CLOCK_H
#define MTRACE_TIMELINE_CLOCK_H

#include <stdint.h>

struct mt_clock {
	uint64_t start_tsc;	/* mt_meta.start_tsc: 0 ns */
	uint32_t tsc_khz;	/* mt_meta.tsc_khz, not 0 */
};

/*
 * Nanoseconds from the start to @tsc, rounded down; 0 for a @tsc before the
 * start, UINT64_MAX where the result does not fit. Never decreases as @tsc grows.
 */
uint64_t mt_clock_ns(const struct mt_clock *clock, uint64_t tsc);

#endif /* MTRACE_TIMELINE_CLOCK_H */
