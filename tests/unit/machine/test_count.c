// SPDX-License-Identifier: GPL-2.0
/*
 * Counts between markers; the values wanted are worked out by hand.
 */
#include "annotated.h"
#include "count.h"
#include "pt_msr.h"

#define FILE_NAME	"test_count.out"

static void assert_file(const char *wanted)
{
	char text[4096];
	FILE *f = fopen(FILE_NAME, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	assert_string_equal(text, wanted);
}

static int setup(void **state)
{
	static struct count count;

	assert_true(count_setup(FILE_NAME));
	count_init(&count, 3);
	*state = &count;
	return 0;
}

/* { at CPL 0, at CPL 3 } */
#define INSNS(kernel, user)	((const uint64_t[]) { kernel, user })

static void test_interval(void **state)
{
	struct count *count = *state;

	assert_true(count_begin(count, 7, INSNS(100, 20)));
	count_msr(count, MSR_RTIT_CTL, true);
	count_msr(count, MSR_RTIT_CTL, true);
	count_msr(count, MSR_RTIT_STATUS, false);
	count_msr(count, 0x10, false);
	count_msr(count, MSR_RTIT_ADDR3_B, true);
	assert_true(count_end(count, 7, INSNS(1100, 25)));
	assert_file("label 7 cpu 3 user 5 kernel 1000 off 0"
		    " wrmsr_570 2 rdmsr_571 1 wrmsr_587 1\n");
}

/*
 * TraceEn is cleared by the kernel's instruction 11 (10 have completed), and set
 * by its 31st: 12 to 30 ran in between. After the 41st cleared it, 42 to 60 ran.
 */
static void test_off(void **state)
{
	struct count *count = *state;

	count_begin(count, 1, INSNS(0, 0));
	count_trace(count, true, INSNS(5, 0));
	count_trace(count, false, INSNS(10, 0));
	count_trace(count, true, INSNS(30, 50));
	count_trace(count, false, INSNS(40, 50));
	count_end(count, 1, INSNS(60, 50));
	assert_file("label 1 cpu 3 user 50 kernel 60 off 38\n");
}

/* TraceEn was cleared by instruction 11; of 12 to 1015 without it the interval has 1001 to 1015. */
static void test_off_before(void **state)
{
	struct count *count = *state;

	count_trace(count, false, INSNS(10, 0));
	count_begin(count, 1, INSNS(1000, 0));
	count_begin(count, 2, INSNS(1010, 0));
	count_trace(count, true, INSNS(1015, 0));
	count_end(count, 2, INSNS(1020, 0));
	count_end(count, 1, INSNS(1030, 0));
	assert_file("label 2 cpu 3 user 0 kernel 10 off 5\n"
		    "label 1 cpu 3 user 0 kernel 30 off 15\n");
}

static void test_nested(void **state)
{
	struct count *count = *state;

	count_begin(count, 1, INSNS(0, 0));
	count_begin(count, 2, INSNS(0, 10));
	count_begin(count, 2, INSNS(0, 20));
	assert_true(count_end(count, 2, INSNS(0, 25)));
	assert_true(count_end(count, 1, INSNS(0, 30)));
	assert_false(count_end(count, 1, INSNS(0, 30)));
	assert_file("label 2 cpu 3 user 5 kernel 0 off 0\n"
		    "label 1 cpu 3 user 30 kernel 0 off 0\n");
}

static void test_open(void **state)
{
	struct count *count = *state;
	uint32_t label;

	for (label = 0; label < COUNT_OPEN; label++)
		assert_true(count_begin(count, label, INSNS(0, label)));
	assert_false(count_begin(count, label, INSNS(0, 0)));
	for (label = 0; label < COUNT_OPEN; label++) {
		if (label != 9)
			count_end(count, label, INSNS(0, 100));
	}
	assert_true(count_setup(FILE_NAME));
	count_finish(count, INSNS(1, 100));
	assert_file("label 9 cpu 3 user 91 kernel 1 off 0 open 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_interval, setup),
		cmocka_unit_test_setup(test_off, setup),
		cmocka_unit_test_setup(test_off_before, setup),
		cmocka_unit_test_setup(test_nested, setup),
		cmocka_unit_test_setup(test_open, setup),
	};

	return cmocka_run_group_tests_name("count", tests, NULL, NULL);
}
