// SPDX-License-Identifier: GPL-2.0
/* What a session is set up with, for wishes and CPUs of all kinds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/record/plan.h"

#define KIB	1024ULL
#define MIB	(1024 * KIB)

/* CPUID leaf 14H of a Skylake: MTC 0, 3, 6, 9; CYC 0 to 11; PSB 0 to 5. */
static const struct mtrace_caps skylake = {
	.size = sizeof(skylake),
	.max_threads = 1024,
	.cpuid14 = { 1, 0xf, 7, 0, 0x02490002, 0x003f1fff, 0, 0 },
	.max_region_size = 128 * MIB,
	.trace_flags = MTRACE_TRACE_FLAGS_ALL,
};

/* Broadwell: neither CYC nor MTC, and the PSB period is fixed. */
static const struct mtrace_caps broadwell = {
	.size = sizeof(broadwell),
	.max_threads = 16,
	.cpuid14 = { 0, 1, 1, 0, 0, 0, 0, 0 },
	.max_region_size = 4 * MIB,
	.trace_flags = MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL | MTRACE_TRACE_TSC |
		       MTRACE_TRACE_NORETCOMP,
};

static struct mt_plan plan(const struct mtrace_caps *caps, uint64_t size, bool multi,
			   uint32_t threads)
{
	struct mt_plan_wish wish = { .snapshot_size = size, .multi_thread = multi,
				     .threads = threads, .page_size = 4096 };
	struct mt_plan made;

	assert_int_equal(mt_plan_make(&wish, caps, &made), 0);
	/* What the module is to be given, whatever the wish. */
	assert_int_equal(made.setup.size, sizeof(made.setup));
	assert_int_equal(made.setup.max_snapshots, 1);
	assert_true(made.setup.buffer_size == 2 * made.snapshot_size);
	assert_true(made.setup.max_threads >= 1 && made.setup.max_threads <= caps->max_threads);
	assert_true((made.setup.max_threads & (made.setup.max_threads - 1)) == 0);
	assert_true(made.share >= 4096 && (made.share & (made.share - 1)) == 0);
	return made;
}

static void test_sizes(void **state)
{
	struct mt_plan made;

	(void)state;
	made = plan(&skylake, 4 * MIB, false, 0);
	assert_true(made.snapshot_size == 4 * MIB && made.share == 4 * MIB);
	assert_int_equal(made.setup.max_threads, 1);
	assert_int_equal(made.setup.flags, MTRACE_SETUP_SIDEBAND);
	made = plan(&skylake, 5000000, false, 0);
	assert_true(made.snapshot_size == 8 * MIB);
	made = plan(&skylake, 1, false, 0);
	assert_true(made.snapshot_size == 4096 && made.share == 4096);
	made = plan(&skylake, 0, false, 0);
	assert_true(made.snapshot_size == 4096);
	made = plan(&skylake, UINT64_MAX, false, 0);
	assert_true(made.snapshot_size == 1ULL << 48 && made.setup.buffer_size == 1ULL << 49);
	assert_true(made.share == 128 * MIB);
}

static void test_threads(void **state)
{
	struct mt_plan made;

	(void)state;
	made = plan(&skylake, 16 * MIB, true, 0);
	assert_int_equal(made.setup.max_threads, 64);
	assert_true(made.share == 256 * KIB);
	assert_int_equal(made.setup.flags, MTRACE_SETUP_INHERIT_THREADS | MTRACE_SETUP_SIDEBAND);
	made = plan(&skylake, 16 * MIB, true, 5);
	assert_int_equal(made.setup.max_threads, 8);
	assert_true(made.share == 2 * MIB);
	made = plan(&skylake, 16 * MIB, true, 1);
	assert_int_equal(made.setup.max_threads, 1);
	/* No less than a page for each. */
	made = plan(&skylake, 64 * KIB, true, 0);
	assert_int_equal(made.setup.max_threads, 16);
	assert_true(made.share == 4096);
	/* No more than the module takes. */
	made = plan(&broadwell, 16 * MIB, true, 1000);
	assert_int_equal(made.setup.max_threads, 16);
	made = plan(&skylake, 16 * MIB, true, UINT32_MAX);
	assert_int_equal(made.setup.max_threads, 1024);
}

/* Returns are not compressed: libipt goes astray on those after a longjmp(). */
#define ALWAYS	(MTRACE_TRACE_USER | MTRACE_TRACE_TSC | MTRACE_TRACE_NORETCOMP)

static void test_packets(void **state)
{
	struct mt_plan_wish wish = { .snapshot_size = 4 * MIB, .page_size = 4096 };
	struct mt_plan made;

	(void)state;
	made = plan(&skylake, 4 * MIB, false, 0);
	assert_int_equal(made.setup.trace_flags, ALWAYS | MTRACE_TRACE_MTC | MTRACE_TRACE_CYC);
	assert_int_equal(made.setup.mtc_freq, 3);
	assert_int_equal(made.setup.cyc_thresh, 1);
	assert_int_equal(made.setup.psb_freq, 3);

	made = plan(&broadwell, 4 * MIB, false, 0);
	assert_int_equal(made.setup.trace_flags, ALWAYS);
	assert_int_equal(made.setup.mtc_freq, 0);
	assert_int_equal(made.setup.cyc_thresh, 0);
	assert_int_equal(made.setup.psb_freq, 0);

	/* With CYC to count between them, small regions are not filled with MTC packets. */
	assert_int_equal(plan(&skylake, 64 * KIB, false, 0).setup.mtc_freq, 9);
	assert_int_equal(plan(&skylake, 128 * KIB, false, 0).setup.mtc_freq, 3);
	assert_int_equal(plan(&skylake, 1024 * KIB, true, 64).setup.mtc_freq, 9);
	wish.timing = MT_TIMING_MTC;
	wish.snapshot_size = 4 * KIB;
	assert_int_equal(mt_plan_make(&wish, &skylake, &made), 0);
	assert_int_equal(made.setup.mtc_freq, 3);
	wish.snapshot_size = 4 * MIB;
	wish.timing = MT_TIMING_TSC;
	assert_int_equal(mt_plan_make(&wish, &skylake, &made), 0);
	assert_int_equal(made.setup.trace_flags, ALWAYS);
	assert_int_equal(made.setup.mtc_freq, 0);
	wish.timing = MT_TIMING_MTC;
	assert_int_equal(mt_plan_make(&wish, &skylake, &made), 0);
	assert_int_equal(made.setup.trace_flags, ALWAYS | MTRACE_TRACE_MTC);
	assert_int_equal(made.setup.mtc_freq, 3);
	assert_int_equal(mt_plan_make(&wish, &broadwell, &made), -EOPNOTSUPP);
	wish.timing = MT_TIMING_CYC;
	assert_int_equal(mt_plan_make(&wish, &broadwell, &made), -EOPNOTSUPP);
}

/*
 * PSBs are 2 KiB << psb_freq apart. A region has eight, or where it is too small for
 * that, as many as there can be: the first of those that are left may be cut.
 */
static void test_psb_period(void **state)
{
	(void)state;
	assert_int_equal(plan(&skylake, 4 * KIB, false, 0).setup.psb_freq, 0);
	assert_int_equal(plan(&skylake, 8 * KIB, false, 0).setup.psb_freq, 0);
	assert_int_equal(plan(&skylake, 16 * KIB, false, 0).setup.psb_freq, 0);
	assert_int_equal(plan(&skylake, 32 * KIB, false, 0).setup.psb_freq, 1);
	assert_int_equal(plan(&skylake, 64 * KIB, false, 0).setup.psb_freq, 2);
	assert_int_equal(plan(&skylake, 128 * KIB, false, 0).setup.psb_freq, 3);
	assert_int_equal(plan(&skylake, 1024 * MIB, false, 0).setup.psb_freq, 3);
}

/* Where the value wanted is not supported, the nearest below is taken, or above. */
static void test_odd_values(void **state)
{
	struct mt_plan_wish wish = { .snapshot_size = 4 * MIB, .page_size = 4096,
				     .timing = MT_TIMING_MTC };
	struct mtrace_caps odd = skylake;
	struct mt_plan made;

	(void)state;
	odd.cpuid14[4] = (1U << (16 + 2)) | (1U << (16 + 5));	/* MTC 2 and 5 */
	odd.cpuid14[5] = (1U << (16 + 4)) | (1U << 3) | (1U << 7);	/* PSB 4; CYC 3 and 7 */
	assert_int_equal(plan(&odd, 4 * MIB, false, 0).setup.mtc_freq, 2);
	assert_int_equal(plan(&odd, 4 * KIB, false, 0).setup.mtc_freq, 5);
	assert_int_equal(mt_plan_make(&wish, &odd, &made), 0);
	assert_int_equal(made.setup.mtc_freq, 2);
	assert_int_equal(plan(&odd, 4 * MIB, false, 0).setup.psb_freq, 4);
	assert_int_equal(plan(&odd, 4 * MIB, false, 0).setup.cyc_thresh, 3);
	odd.cpuid14[4] = 1U << (16 + 9);
	assert_int_equal(mt_plan_make(&wish, &odd, &made), 0);
	assert_int_equal(made.setup.mtc_freq, 9);
	odd.cpuid14[4] = 1U << (16 + 12);
	assert_int_equal(plan(&odd, 4 * MIB, false, 0).setup.mtc_freq, 12);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_psb_period),
		cmocka_unit_test(test_odd_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
