// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks of the timing packets.
 */
#include "pt_clock.h"

/* n * mul / div, and rounded up; a division of 128 bits is slow. */
static uint64_t mul_div(uint64_t n, uint64_t mul, uint64_t div, bool up)
{
	const uint64_t add = up ? div - 1 : 0;
	uint64_t product;

	if (__builtin_mul_overflow(n, mul, &product) || product + add < add)
		return ((unsigned __int128)n * mul + add) / div;
	return (product + add) / div;
}

static uint64_t tsc_to_art(const struct pt_clock *clock, uint64_t tsc)
{
	return mul_div(tsc, clock->art_num, clock->art_den, false);
}

/* The first TSC value at which the crystal clock shows @art. */
static uint64_t art_to_tsc(const struct pt_clock *clock, uint64_t art)
{
	return mul_div(art, clock->art_den, clock->art_num, true);
}

static void set_tick(struct pt_timer *t, const struct pt_clock *clock, uint64_t tick)
{
	t->mtc_tick = tick;
	t->mtc_due = art_to_tsc(clock, (tick + 1) << t->mtc_freq);
}

void pt_timer_read(struct pt_timer *t, const struct pt_clock *clock)
{
	const uint64_t tsc = clock->tsc(clock->arg);

	if (tsc > t->now)
		t->now = tsc;
}

void pt_timer_restart(struct pt_timer *t, const struct pt_clock *clock)
{
	t->cyc_base = t->now;
	set_tick(t, clock, tsc_to_art(clock, t->now) >> t->mtc_freq);
}

uint64_t pt_timer_mtcs_due(const struct pt_timer *t, const struct pt_clock *clock)
{
	if (t->now < t->mtc_due)
		return 0;
	return (tsc_to_art(clock, t->now) >> t->mtc_freq) - t->mtc_tick;
}

uint8_t pt_timer_next_mtc(struct pt_timer *t, const struct pt_clock *clock, uint64_t *time)
{
	*time = t->mtc_due;
	set_tick(t, clock, t->mtc_tick + 1);
	return t->mtc_tick;
}

void pt_timer_skip_mtcs(struct pt_timer *t, const struct pt_clock *clock, uint64_t n)
{
	set_tick(t, clock, t->mtc_tick + n);
}

uint64_t pt_timer_cycles(const struct pt_timer *t, uint64_t time, uint32_t threshold)
{
	const uint64_t cycles = time > t->cyc_base ? time - t->cyc_base : 0;

	return cycles < threshold ? 0 : cycles;
}

void pt_timer_tma(const struct pt_timer *t, const struct pt_clock *clock, uint16_t *ctc,
		  uint16_t *fast)
{
	const uint64_t art = tsc_to_art(clock, t->now);

	*ctc = art;
	*fast = (t->now - art_to_tsc(clock, art)) & 0x1ff;
}
