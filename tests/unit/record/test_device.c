// SPDX-License-Identifier: GPL-2.0
/* What is said where the device cannot be opened, and a region's bytes in order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/record/device.h"
#include "user/record/extract.h"

static void check(int err, bool has_pt, const char *what, const char *remedy)
{
	char line[512];

	mt_device_explain(err, has_pt, line, sizeof(line));
	if (!strstr(line, what) || !strstr(line, remedy) || strchr(line, '\n'))
		fail_msg("said: %s", line);
}

static void test_explain(void **state)
{
	(void)state;
	check(-ENOENT, false, "no Intel Processor Trace", "tests/machine/run");
	check(-ENODEV, false, "no Intel Processor Trace", "tests/machine/run");
	check(-ENOENT, true, "not loaded", "modprobe mtrace");
	check(-ENODEV, true, "not loaded", "insmod mtrace.ko");
	check(-EACCES, true, "no permission", "CAP_PERFMON");
	check(-EPERM, false, "no permission", "run as root");
	check(-EPERM, true, "no permission", "unprivileged=1");
	check(-EMFILE, true, "/dev/mtrace", "Too many open files");
}

static void check_missing(uint32_t missing, const char *wanted)
{
	char line[1024], all[1024];

	mt_device_missing(missing, line, sizeof(line));
	snprintf(all, sizeof(all), "this CPU cannot trace with the options asked for: it has %s; "
		 "leave out what needs that, or try --timing tsc", wanted);
	assert_string_equal(line, all);
}

static void test_missing(void **state)
{
	char line[1024], tiny[16];

	(void)state;
	check_missing(MTRACE_CAP_PTWRITE, "no PTWRITE");
	check_missing(MTRACE_CAP_EVENT | MTRACE_CAP_IP_FILTER,
		      "no filter by address, no event trace");
	check_missing(1U << 31, "not what the module calls 0x80000000");
	check_missing(1U << 31 | MTRACE_CAP_POWER,
		      "no power events, not what the module calls 0x80000000");
	/* The longest that there can be is not cut off, and a short line is a line. */
	mt_device_missing(UINT32_MAX, line, sizeof(line));
	assert_non_null(strstr(line, "--timing tsc"));
	mt_device_missing(UINT32_MAX, tiny, sizeof(tiny));
	assert_int_equal(strlen(tiny), sizeof(tiny) - 1);
}

static void check_pieces(uint64_t head, uint64_t valid, uint32_t flags, const char *wanted)
{
	static const char buffer[] = "................abcdefghijklmnop";
	struct mtrace_region region = { .offset = 16, .head = head, .valid = valid,
					.flags = flags };
	struct mt_piece pieces[2];
	char got[64] = "";

	mt_extract_pieces((const uint8_t *)buffer, 16, &region, pieces);
	for (int i = 0; i < 2; i++)
		strncat(got, pieces[i].bytes ? pieces[i].bytes : "", pieces[i].len);
	assert_string_equal(got, wanted);
}

static void test_pieces(void **state)
{
	(void)state;
	check_pieces(0, 0, 0, "");
	check_pieces(3, 3, 0, "abc");
	check_pieces(16, 16, 0, "abcdefghijklmnop");
	check_pieces(3, 16, MTRACE_REGION_WRAPPED, "defghijklmnopabc");
	check_pieces(0, 16, MTRACE_REGION_WRAPPED, "abcdefghijklmnop");
	check_pieces(16, 16, MTRACE_REGION_WRAPPED, "abcdefghijklmnop");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
