// SPDX-License-Identifier: GPL-2.0
/*
 * The text form of faults, and when one is due.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pt_fault.h"

static int no_faults(void **state)
{
	(void)state;
	memset(&pt_faults, 0, sizeof(pt_faults));
	return 0;
}

/* What is counted in KiB is kept in bytes. */
static void test_parse(void **state)
{
	static const struct {
		const char *text;
		enum pt_fault_kind kind;
		uint64_t n;
	} good[] = {
		{ "overflow:1000", PT_FAULT_OVERFLOW, 1000 },
		{ "pmi-lost:2", PT_FAULT_PMI_LOST, 2 },
		{ "pmi-late:1", PT_FAULT_PMI_LATE, 1024 },
		{ "stop:64", PT_FAULT_STOP, 65536 },
		{ "readonly:4294967295", PT_FAULT_READONLY, 4294967295ULL * 1024 },
		{ "jump:500", PT_FAULT_JUMP, 500 },
	};
	char names[200] = "";
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		strcat(names, i ? ", " : "");
		strncat(names, good[i].text, strcspn(good[i].text, ":"));
		assert_int_equal(pt_faults.n[good[i].kind], 0);
		assert_null(pt_fault_parse(good[i].text));
		assert_int_equal(pt_faults.n[good[i].kind], good[i].n);
	}
	assert_int_equal(i, PT_FAULT_KINDS);
	assert_string_equal(pt_fault_names, names);
}

/* One message; it names what was wrong and what to give instead. */
static void test_bad_text(void **state)
{
	static const struct {
		const char *text, *culprit, *advice;
	} bad[] = {
		{ "", "\"\"", "overflow, pmi-lost, pmi-late, stop, readonly, jump" },
		{ "overflo:1", "\"overflo:1\"", "overflow, pmi-lost" },
		{ "overflows:1", "\"overflows:1\"", "overflow, pmi-lost" },
		{ ":1", "\":1\"", "overflow, pmi-lost" },
		{ "stop", "\"stop\"", "a number of KiB after a colon" },
		{ "stop:", "\"stop:\"", "number of KiB must be from 1 to 4294967295" },
		{ "stop:0", "\"stop:0\"", "from 1 to 4294967295" },
		{ "stop:-1", "\"stop:-1\"", "from 1 to 4294967295" },
		{ "stop: 1", "\"stop: 1\"", "from 1 to 4294967295" },
		{ "stop:1k", "\"stop:1k\"", "from 1 to 4294967295" },
		{ "stop:0x10", "\"stop:0x10\"", "from 1 to 4294967295" },
		{ "pmi-lost:4294967296", "\"pmi-lost:429", "number of PMIs must be from 1" },
		{ "jump:99999999999999999999", "\"jump:9999", "number of ms must be from 1" },
	};
	size_t i, kind;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *message = pt_fault_parse(bad[i].text);

		assert_non_null(message);
		assert_non_null(strstr(message, bad[i].culprit));
		assert_non_null(strstr(message, bad[i].advice));
	}
	for (kind = 0; kind < PT_FAULT_KINDS; kind++)
		assert_int_equal(pt_faults.n[kind], 0);

	assert_null(pt_fault_parse("stop:1"));
	assert_string_equal(pt_fault_parse("stop:2"), "fault \"stop\" is given twice: leave one");
	assert_int_equal(pt_faults.n[PT_FAULT_STOP], 1024);
}

static void test_due(void **state)
{
	uint64_t count = 0;
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++)
		assert_false(pt_fault_due(PT_FAULT_OVERFLOW, &count, 1));
	assert_int_equal(count, 0);

	assert_null(pt_fault_parse("overflow:3"));
	for (i = 1; i <= 9; i++)
		assert_int_equal(pt_fault_due(PT_FAULT_OVERFLOW, &count, 1), i % 3 == 0);
	/* more than N at once is one fault */
	assert_true(pt_fault_due(PT_FAULT_OVERFLOW, &count, 7));
	assert_false(pt_fault_due(PT_FAULT_OVERFLOW, &count, 2));
	assert_false(pt_fault_due(PT_FAULT_STOP, &count, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_parse, no_faults),
		cmocka_unit_test_setup(test_bad_text, no_faults),
		cmocka_unit_test_setup(test_due, no_faults),
	};

	return cmocka_run_group_tests_name("pt_fault", tests, NULL, NULL);
}
