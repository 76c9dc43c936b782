// SPDX-License-Identifier: GPL-2.0
/* Sizes as text, and the rounding of a snapshot's size. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "user/base/size.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "4096", 4096 },
		{ "7B", 7 },
		{ "512K", 512 * 1024 },
		{ "512k", 512 * 1024 },
		{ "512KB", 512 * 1024 },
		{ "512KiB", 512 * 1024 },
		{ "512kib", 512 * 1024 },
		{ "4M", 4194304 },
		{ "4 MiB", 4194304 },
		{ "1.5G", 1610612736 },
		{ "0.5K", 512 },
		{ "0.001K", 1 },
		{ "2.0T", 2199023255552 },
		{ "64P", 72057594037927936 },
		{ "15E", 17293822569102704640ULL },
		{ "15.5E", 17870283321406128128ULL },
		{ "18446744073709551615", UINT64_MAX },
		{ "000000000000000000000000000001", 1 },
	};
	static const char *const bad[] = {
		"", " 1", "-1", "+1", "K", "4X", "4MM", "4MBx", "4M4", "1.", ".5", "1.K", "1.5.5",
		"0x10", "4iB", "1e6", "four", "4M ", "4KK", "nan",
	};
	static const char *const large[] = {
		"18446744073709551616", "16E", "99999999999999999999999999999", "16384P",
		"18446744073709551615K",
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bytes = ~good[i].bytes;
		if (mt_size_parse(good[i].text, &bytes) || bytes != good[i].bytes)
			fail_msg("'%s' is %" PRIu64 ", not %" PRIu64, good[i].text,
				 good[i].bytes, bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (mt_size_parse(bad[i], &bytes) != -EINVAL)
			fail_msg("'%s' was taken for a size", bad[i]);
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		if (mt_size_parse(large[i], &bytes) != -ERANGE)
			fail_msg("'%s' fits in 64 bits?", large[i]);
	}
}

static void check_format(uint64_t bytes, const char *text)
{
	char buf[64];

	mt_size_format(bytes, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

static void test_format(void **state)
{
	(void)state;
	check_format(0, "0 bytes");
	check_format(1, "1 byte");
	check_format(1023, "1023 bytes");
	check_format(1024, "1 KiB");
	check_format(1025, "1025 bytes");
	check_format(65536, "64 KiB");
	check_format(4194304, "4 MiB");
	check_format(1610612736, "1536 MiB");
	check_format(1ULL << 48, "256 TiB");
	check_format(1ULL << 63, "8 EiB");
	check_format(UINT64_MAX, "18446744073709551615 bytes");
}

static void check_round(uint64_t bytes, int what, uint64_t wanted)
{
	assert_int_equal(mt_size_round_pages(&bytes, 4096), what);
	assert_true(bytes == wanted);
}

static void test_round(void **state)
{
	(void)state;
	check_round(0, MT_SIZE_BELOW_PAGE, 4096);
	check_round(1, MT_SIZE_BELOW_PAGE, 4096);
	check_round(4095, MT_SIZE_BELOW_PAGE, 4096);
	check_round(4096, MT_SIZE_EXACT, 4096);
	check_round(4097, MT_SIZE_ROUNDED, 8192);
	check_round(8192, MT_SIZE_EXACT, 8192);
	check_round(12288, MT_SIZE_ROUNDED, 16384);
	check_round(5000000, MT_SIZE_ROUNDED, 8388608);
	check_round(MT_SIZE_MAX - 1, MT_SIZE_ROUNDED, MT_SIZE_MAX);
	check_round(MT_SIZE_MAX, MT_SIZE_EXACT, MT_SIZE_MAX);
	check_round(MT_SIZE_MAX + 1, MT_SIZE_ABOVE_MAX, MT_SIZE_MAX);
	check_round(UINT64_MAX, MT_SIZE_ABOVE_MAX, MT_SIZE_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
