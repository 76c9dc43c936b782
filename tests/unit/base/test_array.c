// SPDX-License-Identifier: GPL-2.0
/* The growable array. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "user/base/array.h"

static void test_push(void **state)
{
	MT_ARRAY(uint64_t) array = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(mt_array_push(&array, i * 3), 0);
	assert_int_equal(array.count, 10000);
	assert_true(array.room >= array.count);
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(array.data[i] == i * 3);
	mt_array_free(&array);
	assert_null(array.data);
	assert_int_equal(array.count, 0);
	assert_int_equal(array.room, 0);
}

static void test_reserve_refuses_what_overflows(void **state)
{
	void *data = NULL;
	size_t room = 0;

	(void)state;
	assert_int_equal(mt_array_reserve(&data, &room, SIZE_MAX, 1), -ENOMEM);
	assert_int_equal(mt_array_reserve(&data, &room, SIZE_MAX / 4, 16), -ENOMEM);
	assert_null(data);
	assert_int_equal(room, 0);
	assert_int_equal(mt_array_reserve(&data, &room, 100, 16), 0);
	assert_true(room >= 100);
	assert_int_equal(mt_array_reserve(&data, &room, SIZE_MAX / 16 + 1, 16), -ENOMEM);
	assert_true(room >= 100);
	free(data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push),
		cmocka_unit_test(test_reserve_refuses_what_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
