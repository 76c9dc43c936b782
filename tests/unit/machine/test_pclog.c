// SPDX-License-Identifier: GPL-2.0
/*
 * The log of executed program counters: what counts as executed, and its format
 * (see pclog.h).
 */
#include "annotated.h"
#include "pclog.h"

#include <unistd.h>

static struct pclog *begin(void)
{
	return pclog_open("test_pclog.tmp", 0);
}

static void expect(struct pclog *log, const char *text, int line)
{
	uint8_t buf[4096];
	size_t n;
	FILE *f;

	pclog_close(log);
	f = fopen("test_pclog.tmp.0", "rb");
	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	unlink("test_pclog.tmp.0");
	assert_bytes(buf, n, text, __FILE__, line);
}
#define EXPECT(log, text)	expect(log, text, __LINE__)

static void test_format(void **state)
{
	struct pclog *log = begin();

	(void)state;
	pclog_trace(log, true, 0x1000, 0x7f, 5);
	pclog_packets(log, true, 0x2000, 6);
	pclog_insn(log, 0x100, false);
	pclog_insn(log, 0x103, false);
	pclog_insn(log, 0x0f3, true);
	pclog_packets(log, false, 0x2000, 7);
	pclog_insn(log, 0x500, false);		/* PacketEn is clear */
	pclog_trace(log, false, 0x1000, 0x8000007f, 8);
	EXPECT(log, "03 05 80 20 7f		# marker 1: TSC 5, base 0x1000, mask 0x7f\n"
		    "07 06 80 40			# marker 3: TSC 6, CR3 0x2000\n"
		    "80 08			# +0x100: zigzag 0x200, doubled 0x400\n"
		    "0c				# +3: zigzag 6, doubled 12\n"
		    "3e				# -16: zigzag 31, doubled 62\n"
		    "09 07 80 40			# marker 4\n"
		    "05 08 80 20 ff 80 80 80 08	# marker 2\n");
}

static void test_executed(void **state)
{
	struct pclog *log = begin();

	(void)state;
	pclog_packets(log, true, 0, 0);
	pclog_insn(log, 10, false);
	/* a fault, and the same again */
	pclog_insn(log, 11, false);
	pclog_event(log, 11, true);
	pclog_insn(log, 11, false);
	/* a string instruction, iterated and interrupted */
	pclog_insn(log, 12, false);
	pclog_insn(log, 12, false);
	pclog_event(log, 12, false);
	pclog_insn(log, 12, false);
	/* an interrupt before 13: 12 has completed */
	pclog_event(log, 13, false);
	/* a branch to itself, three times, then an interrupt before a fourth */
	pclog_insn(log, 13, true);
	pclog_insn(log, 13, true);
	pclog_insn(log, 13, true);
	pclog_event(log, 13, false);
	/* a branch that faults */
	pclog_insn(log, 14, true);
	pclog_event(log, 14, true);
	EXPECT(log, "07 00 00	# PacketEn\n"
		    "28		# 10\n"
		    "04		# 11\n"
		    "04		# 12\n"
		    "04 00 00	# 13, 13, 13\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_executed),
	};

	return cmocka_run_group_tests_name("pclog", tests, NULL, NULL);
}
