// SPDX-License-Identifier: GPL-2.0
/*
 * The machine's clock goes on from where QEMU's is, less the lead. It runs while it
 * is looked at: what is wanted is a lower bound, and that it is not far above.
 */
#include "annotated.h"
#include "clock.h"
#include "pt_fault.h"

/* Far more than this test takes, in the ticks of any processor. */
#define SOON	1000000000000ULL

static void assert_just_after(uint64_t tsc, uint64_t wanted)
{
	if (tsc < wanted || tsc - wanted > SOON)
		fail_msg("%lu is not soon after %lu", tsc, wanted);
}

static void test_power_on(void **state)
{
	uint64_t first;

	(void)state;
	clock_init();
	first = clock_tsc();
	assert_just_after(first, 0);
	assert_true(clock_tsc() >= first);
	assert_true(clock_ratio() > 0);
}

static void test_restore(void **state)
{
	const uint64_t saved = 1ULL << 50, passed = 1ULL << 45;

	(void)state;
	clock_restore(saved, -500);
	assert_just_after(clock_tsc(), saved);
	assert_true(clock_is_behind());

	/* QEMU's TSC shows how long the machine ran on after it was saved. */
	clock_compare(saved + passed - 500);
	assert_false(clock_is_behind());
	assert_just_after(clock_tsc(), saved + passed);
	assert_true(clock_lead() <= -500 && clock_lead() > -500 - (int64_t)SOON);

	/* Later comparisons do not move it. */
	clock_compare(saved + passed + (1ULL << 48));
	assert_just_after(clock_tsc(), saved + passed);
}

static void test_jumps(void **state)
{
	uint64_t before, second;

	(void)state;
	clock_init();
	second = clock_ratio() * 100000000ULL;
	clock_restore(100 * second, 0);
	before = clock_tsc();
	pt_faults.n[PT_FAULT_JUMP] = 500;
	/* Half a second for each of the hundred; the ratio is rounded to 100 MHz. */
	assert_true(clock_tsc() - before > 45 * second);
	assert_true(clock_tsc() - before < 60 * second);
	pt_faults.n[PT_FAULT_JUMP] = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_on),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_jumps),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
