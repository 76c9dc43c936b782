// SPDX-License-Identifier: GPL-2.0
/*
 * TSC to nanoseconds. Ticks times 10^6 pass 64 bits after 1.7 hours at 3 GHz, so
 * the product is taken in 128 bits; dividing first would lose the nanoseconds.
 */
#include "user/timeline/clock.h"

uint64_t mt_clock_ns(const struct mt_clock *clock, uint64_t tsc)
{
	unsigned __int128 ns;

	if (tsc <= clock->start_tsc)
		return 0;
	ns = (unsigned __int128)(tsc - clock->start_tsc) * 1000000 / clock->tsc_khz;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}
