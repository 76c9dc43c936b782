// SPDX-License-Identifier: GPL-2.0
/*
 * ToPA and single-range output: where bytes go, STOP, and the pointers after it
 * (SDM 3C, 36.2.6).
 */
#include "output_script.h"

/* 36.2.6.2: regions one after another, and END leads back */
static void test_ring(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 40000 8K\n"
		"entry 10000 2 30000 4K\n"
		"entry 10000 3 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4000 on\n"
		"at 10000 0 4000\n"
		"write 200 on\n"
		"memory 20000 4000 1\n"
		"memory 20fa0 96 2\n"
		"memory 40000 104 2\n"
		"at 10000 1 104\n"
		"write 8088 on		# exactly to the end: the next region's start\n"
		"at 10000 2 0\n"
		"write 4096 on		# and through END\n"
		"at 10000 0 0\n"
		"write 16394 on		# more than all of it at once\n"
		"at 10000 0 10\n"
		"memory 2000a 4086 5\n"
		"memory 20000 10 5\n"
		"memory 40000 8192 5\n"
		"memory 1ffff 1 0	# nothing beside the regions\n"
		"memory 21000 1 0\n"
		"memory 3ffff 1 0\n"
		"memory 42000 1 0\n"
		"memory 31000 1 0\n"
		"status 0\n"
		"pmis 0\n");
}

/* 36.2.6.2, END: the address is the next table's; its size field is ignored */
static void test_two_tables(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 11000 END 3c0\n"
		"entry 11000 0 30000 4K\n"
		"entry 11000 1 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 on\n"
		"at 11000 0 0\n"
		"write 4097 on\n"
		"at 10000 0 1\n"
		"memory 30000 4096 2\n");
}

/* Tables through END entries alone: from one to the next until a region */
static void test_end_at_start(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 11000 END\n"
		"entry 11000 0 30000 4K\n"
		"pointers 10000 1 5\n"
		"start ok\n"
		"at 11000 0 5\n"
		"write 1 on\n"
		"memory 30005 1 1\n");
}

/* The pointers say where output goes on, and entries are read anew. */
static void test_resume(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 30000 4K\n"
		"entry 10000 2 10000 END\n"
		"pointers 10000 1 100\n"
		"start ok\n"
		"write 50 on\n"
		"end\n"
		"at 10000 1 150\n"
		"memory 30064 50 1\n"
		"memory 30063 1 0\n"
		"memory 30096 1 0\n"
		"write 50 off		# no output with TraceEn = 0\n"
		"at 10000 1 150\n"
		"entry 10000 1 50000 4K\n"
		"start ok\n"
		"write 1 on\n"
		"memory 50096 1 3\n");
}

/* Table 36-3, Size: sizes are 4K << n, and a region may be anywhere. */
static void test_sizes(void **state)
{
	static const char *const names[] = {
		"4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M",
	};
	char text[400];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text),
			 "model skylake\n"
			 "entry 10000 0 200000 %s\n"
			 "entry 10000 1 10000 END\n"
			 "pointers 10000 0 0\n"
			 "start ok\n"
			 "write %u on\n"
			 "at 10000 0 %u\n"
			 "write 1 on\n"
			 "at 10000 0 0\n", names[i], (4096U << i) - 1, (4096U << i) - 1);
		run_script(text);
	}
}

/* Bytes in the order given, over the ends of regions; a region at any 4 KiB. */
static void test_order(void **state)
{
	static uint8_t bytes[10000];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7 + i / 256;
	run_script(
		"model skylake\n"
		"entry 10000 0 21000 4K\n"
		"entry 10000 1 33000 4K\n"
		"entry 10000 2 45000 4K\n"
		"pointers 10000 0 0\n"
		"start ok\n");
	assert_true(pt_output_write(&script.out, bytes, sizeof(bytes)));
	assert_memory_equal(script.memory + 0x21000, bytes, 4096);
	assert_memory_equal(script.memory + 0x33000, bytes + 4096, 4096);
	assert_memory_equal(script.memory + 0x45000, bytes + 8192, sizeof(bytes) - 8192);
}

/* "ToPA STOP": the index stays, the offset is the region's size. */
static void test_stop(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 30000 4K STOP\n"
		"entry 10000 2 40000 4K\n"
		"pointers 10000 0 0\n"
		"set-status 500000000	# PacketByteCnt is not the output's\n"
		"start ok\n"
		"write 8191 on\n"
		"status 500000000\n"
		"write 100 off		# after the last byte output ceases: the rest is lost\n"
		"status 500000020\n"
		"at 10000 1 4096\n"
		"memory 30fff 1 2\n"
		"memory 31000 1 0\n"
		"memory 40000 1 0\n"
		"write 1 off\n"
		"at 10000 1 4096\n"
		"end\n"
		"at 10000 1 4096\n"
		"set-status 0\n"
		"start error		# \"would produce an operational error\"\n"
		"status 10\n");
	assert_false(pt_msr_trigger_en(&script.msrs));
}

/* 36.2.6.1: trace_store_phys_addr = base + (offset & mask) */
static void test_single_range(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"range 20000 fff 0\n"
		"start ok\n"
		"write 4000 on\n"
		"at-range fff 4000\n"
		"write 196 on\n"
		"at-range fff 100\n"
		"memory 20000 100 2\n"
		"memory 20064 3900 1\n"
		"memory 20fa0 96 2\n"
		"memory 21000 1 0\n"
		"write 3996 on		# exactly to its end\n"
		"at-range fff 0\n"
		"status 0\n"
		"pmis 0\n");
}

/* The least range is 128 bytes: LowerMask alone, which reads as ones. */
static void test_least_range(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"range 20080 7f 0\n"
		"start ok\n"
		"write 130 on\n"
		"at-range 7f 2\n"
		"memory 20080 128 1\n"
		"memory 2007f 1 0\n"
		"memory 20100 1 0\n");
}

/*
 * 36.2.6.4 and table 36-5: stores to where none are taken are dropped, and
 * output may go on behind it.
 */
static void test_no_memory_behind(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 80000000 4K\n"
		"entry 10000 2 30000 4K\n"
		"entry 10000 3 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 on\n"
		"write 4096 on\n"
		"at 10000 2 0\n"
		"write 10 on\n"
		"memory 20000 4096 1\n"
		"memory 30000 10 3\n"
		"status 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_two_tables),
		cmocka_unit_test(test_end_at_start),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_single_range),
		cmocka_unit_test(test_least_range),
		cmocka_unit_test(test_no_memory_behind),
	};

	return cmocka_run_group_tests_name("pt_output", tests, NULL, NULL);
}
