// SPDX-License-Identifier: GPL-2.0
/*
 * Operational errors of output (SDM 3C, 36.3.9): each malformed ToPA entry of
 * "ToPA Errors" (36.2.6.2), each of "Single-Range Output Errors" (36.2.6.1).
 */
#include "output_script.h"

/*
 * @setup, on @model, must end in an error: at TraceEn, or when the region before
 * the bad entry is full. After it nothing is written, and only software clears
 * STATUS.Error.
 */
static void expect_error(const char *model, const char *setup, bool at_start)
{
	char line[40];

	snprintf(line, sizeof(line), "model %s\n", model);
	run_script(line);
	run_script("pointers 10000 0 0\n"
		   "set-status 700000000	# PacketByteCnt stays\n");
	run_script(setup);
	if (at_start) {
		run_script("start error\n");
	} else {
		run_script("start ok\n"
			   "write 4095 on\n"
			   "status 700000000\n"
			   "write 2 off\n"
			   "memory 20000 4095 1\n"
			   "memory 20fff 1 2\n");
	}
	run_script("status 700000010\n"
		   "write 1 off\n"
		   "end\n"
		   "status 700000010\n");
	assert_false(pt_msr_trigger_en(&script.msrs));
}

static void test_topa_at_start(void **state)
{
	static const char *const bad[] = {
		"entry 10000 0 20000 4K 2	# 1: reserved bit 1\n",
		"entry 10000 0 20000 4K 8	# 1: bit 3\n",
		"entry 10000 0 20000 4K 20	# 1: bit 5\n",
		"entry 10000 0 20000 4K 400	# 1: bit 10\n",
		"entry 10000 0 20000 4K 800	# 1: bit 11\n",
		"entry 10000 0 20000 4K\n"
		"pointers 10080 0 0		# 2a: the table is not 4K-aligned\n",
		"entry 10000 0 21000 8K		# 2b: not aligned to its size\n",
		"entry 10000 0 100000 2M	# 2b\n",
		"entry 10000 0 10000020000 4K	# 2c: beyond MAXPHYADDR, 40 here\n",
		"entry 10000 0 8000000000020000 4K	# 2c\n",
		"entry 10000 0 20000 4K\n"
		"pointers 10000 0 4096		# 3: offset equal to the size\n",
		"entry 10000 0 20000 4K\n"
		"pointers 10000 0 4294967295	# 3: greater\n",
		"entry 10000 0 10000 END	# 4b: END in entry 0\n",
		"entry 10000 0 11000 END	# 4b\n"
		"entry 11000 0 20000 4K\n",
		"pointers 80000000 0 0		# no memory: reads as ones\n",
		"pointers 10000 16777216 0	# no memory, 128 MB into the table\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_error("skylake", bad[i], true);
}

/* The error comes when the problematic entry is reached. */
static void test_topa_later(void **state)
{
	static const char *const bad[] = {
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 30000 4K 2	# 1: reserved bit\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 31000 8K		# 2b\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 10000 END 400	# 1, in an END entry\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 10000010000 END	# 2c, in an END entry\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 10000 END INT	# 4a\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 10000 END STOP	# 4a\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 11000 END\n"
		"entry 11000 0 10000 END	# 4b: END in entry 0\n",
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 80000000 END	# the next table is where no memory is\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_error("skylake", bad[i], false);
}

/* 4c: on a processor with ECX[1] = 0 */
static void test_single_entry(void **state)
{
	(void)state;
	expect_error("broadwell",
		     "entry 10000 0 20000 4K\n"
		     "entry 10000 1 30000 4K	# 4c i: entry 1 with END = 0\n", false);
	expect_error("broadwell",
		     "entry 10000 0 20000 4K\n"
		     "entry 10000 1 11000 END	# 4c ii: it does not match the base\n"
		     "entry 11000 0 30000 4K\n", false);
	expect_error("broadwell",
		     "entry 10000 0 20000 4K\n"
		     "entry 10000 1 30000 4K\n"
		     "pointers 10000 1 0	# the second entry, at once\n", true);

	/* what it does take, and what others take */
	run_script(
		"model broadwell\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 5000 on\n"
		"at 10000 0 904\n"
		"status 0\n"
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 30000 4K\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 5000 on\n"
		"at 10000 1 904\n");
}

/* 3: no illegal offset while Stopped is set, for then TriggerEn is 0 */
static void test_stopped_offset(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K STOP\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 off\n"
		"status 20\n"
		"write 1 off\n"
		"status 20\n");
}

static void test_single_range(void **state)
{
	static const char *const bad[] = {
		"range 20000 17ff 0	# the mask is not contiguous\n",
		"range 20000 107f 0\n",
		"range 20800 fff 0	# base and mask have overlapping bits\n",
		"range 20080 ff 0\n",
		"range 20000 fff 4096	# the offset is greater than the mask\n",
		"range 20000 fff 4294967295\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_error("skylake", bad[i], true);

	run_script("model skylake\n"
		   "range 20000 fff 4095	# the last byte is no error\n"
		   "start ok\n");
}

/* An error of one trace is none of the next, once software has mended it. */
static void test_recovery(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K 2\n"
		"pointers 10000 0 0\n"
		"start error\n"
		"end\n"
		"entry 10000 0 20000 4K\n"
		"set-status 0\n"
		"start ok\n"
		"write 10 on\n"
		"memory 20000 10 1\n"
		"status 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topa_at_start),
		cmocka_unit_test(test_topa_later),
		cmocka_unit_test(test_single_entry),
		cmocka_unit_test(test_stopped_offset),
		cmocka_unit_test(test_single_range),
		cmocka_unit_test(test_recovery),
	};

	return cmocka_run_group_tests_name("pt_output_errors", tests, NULL, NULL);
}
