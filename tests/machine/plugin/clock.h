/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine's clock: the TSC of all its processors.
 *
 * It is the host's TSC less a constant, so that it runs evenly whatever QEMU
 * does. QEMU's own TSC, which a saved machine keeps, lies a constant ahead: that
 * is how the clock of a machine that was loaded goes on where it stopped, in
 * step with QEMU's other clocks.
 *
 * Owns: the relation of guest to host time. Must not know: packets, MSRs.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * CPUID.15H: TSC = crystal * 204 / 2. The crystal's frequency is not told (ECX is
 * 0), since it is the host's TSC that decides it.
 */
enum {
	ART_NUMERATOR	= 2,
	ART_DENOMINATOR	= 204,
};

/* Begin at zero, now. Takes 20 ms, to see how fast the host's TSC is. */
void clock_init(void);

/* Core clock (as fast as the TSC) to bus clock of 100 MHz. */
uint8_t clock_ratio(void);

/* Without what a processor added to its own TSC. */
uint64_t clock_tsc(void);

/* QEMU's RDTSC has just given @native. */
void clock_compare(uint64_t native);

/* Is that still wanted, of a machine that was loaded? */
bool clock_is_behind(void);

/* How far QEMU's TSC is ahead; to be saved with the machine. */
int64_t clock_lead(void);

/*
 * The machine is one that was saved at about @tsc, with this lead. Until QEMU's
 * TSC has been seen the time is that of the saving.
 */
void clock_restore(uint64_t tsc, int64_t lead);

#endif
