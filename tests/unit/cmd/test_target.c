// SPDX-License-Identifier: GPL-2.0
/* --session and --pid: which numbers are taken, and that one of them is enough. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/cmd/target.h"

static void test_numbers(void **state)
{
	static const struct {
		int key;
		const char *value;
		uint32_t want;	/* 0: it is refused */
	} values[] = {
		{ MT_KEY_SESSION, "1", 1 },
		{ MT_KEY_SESSION, "4294967295", 4294967295u },
		{ MT_KEY_SESSION, "007", 7 },
		{ MT_KEY_SESSION, "4294967296", 0 },
		{ MT_KEY_SESSION, "18446744073709551617", 0 },
		{ MT_KEY_SESSION, "0", 0 },
		{ MT_KEY_SESSION, "-1", 0 },
		{ MT_KEY_SESSION, "+1", 0 },
		{ MT_KEY_SESSION, " 1", 0 },
		{ MT_KEY_SESSION, "1 ", 0 },
		{ MT_KEY_SESSION, "0x1", 0 },
		{ MT_KEY_SESSION, "", 0 },
		{ MT_KEY_SESSION, "one", 0 },
		{ MT_KEY_PID, "1", 1 },
		{ MT_KEY_PID, "2147483647", 2147483647 },
		{ MT_KEY_PID, "2147483648", 0 },
		{ MT_KEY_PID, "0", 0 },
		{ MT_KEY_PID, "-5", 0 },
		{ MT_KEY_PID, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct mt_netlink_target target = { 0 };
		int err = mt_cmd_take_target(&target, values[i].key, values[i].value);

		assert_int_equal(err, values[i].want ? 0 : -EINVAL);
		assert_int_equal(target.session,
				 values[i].key == MT_KEY_SESSION ? values[i].want : 0);
		assert_int_equal(target.pid, values[i].key == MT_KEY_PID ? values[i].want : 0);
	}
}

static void test_not_both(void **state)
{
	struct mt_netlink_target target = { 0 };

	(void)state;
	assert_int_equal(mt_cmd_take_target(&target, MT_KEY_SESSION, "1"), 0);
	/* The last of one kind counts, as with other options. */
	assert_int_equal(mt_cmd_take_target(&target, MT_KEY_SESSION, "2"), 0);
	assert_int_equal(target.session, 2);
	assert_int_equal(mt_cmd_take_target(&target, MT_KEY_PID, "1"), -EINVAL);
	target = (struct mt_netlink_target){ 0 };
	assert_int_equal(mt_cmd_take_target(&target, MT_KEY_PID, "1"), 0);
	assert_int_equal(mt_cmd_take_target(&target, MT_KEY_SESSION, "1"), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_not_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
