/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clocks that the timing packets tell (SDM 3C, 36.3.6, 36.4.2.11-14).
 *
 * One clock drives all, the TSC. The core crystal clock (ART), which CTC counts,
 * is TSC * num / den, as CPUID 15H says; the core clock, which CYC counts, runs
 * at the TSC's rate, as CBR says.
 *
 * Owns: what was told of time, and so which MTC and CYC are due.
 * Must not know: packets' bytes, what else is due.
 */
#ifndef PT_CLOCK_H
#define PT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pt_clock {
	uint64_t (*tsc)(void *arg);
	void *arg;
	uint32_t art_num;	/* CPUID.15H:EAX */
	uint32_t art_den;	/* CPUID.15H:EBX */
	uint8_t cbr;		/* core to bus ratio */
};

struct pt_timer {
	uint64_t now;		/* TSC */
	uint64_t cyc_base;	/* TSC of the last CYC packet */
	uint64_t mtc_tick;	/* the last that was told */
	uint64_t mtc_due;	/* TSC of the next */
	unsigned int mtc_freq;	/* one MTC each 2^mtc_freq crystal clocks */
};

/* Read the clock. Time never goes back. */
void pt_timer_read(struct pt_timer *t, const struct pt_clock *clock);

/* The cycle counter is zero now, and no MTC is due: TraceEn was set, or a sleep ended. */
void pt_timer_restart(struct pt_timer *t, const struct pt_clock *clock);

/* How many MTCs fell due by now. */
uint64_t pt_timer_mtcs_due(const struct pt_timer *t, const struct pt_clock *clock);

/* The next of them: its payload, and the TSC at which its tick came. */
uint8_t pt_timer_next_mtc(struct pt_timer *t, const struct pt_clock *clock, uint64_t *time);

/* Leave out @n of them. */
void pt_timer_skip_mtcs(struct pt_timer *t, const struct pt_clock *clock, uint64_t n);

/*
 * The cycles that a CYC at @time tells, 0 if none is due: one a cycle at most,
 * and none before @threshold cycles have passed (36.3.6.3).
 */
uint64_t pt_timer_cycles(const struct pt_timer *t, uint64_t time, uint32_t threshold);

/* CTC and FastCounter of a TMA, table 36-32. */
void pt_timer_tma(const struct pt_timer *t, const struct pt_clock *clock, uint16_t *ctc,
		  uint16_t *fast);

#endif
