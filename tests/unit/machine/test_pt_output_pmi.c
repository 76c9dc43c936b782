// SPDX-License-Identifier: GPL-2.0
/*
 * When a ToPA PMI is signalled ("ToPA PMI", SDM 3C, 36.2.6.2; table 36-7), and
 * what the faults of output do.
 */
#include "output_script.h"

/* INT: "when the corresponding trace output region is filled" */
static void test_interrupt(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 30000 4K\n"
		"entry 10000 2 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4095 on\n"
		"pmis 0\n"
		"write 1 on\n"
		"pmis 1\n"
		"status 0		# no PendTopaPMI without InjectPsbPmiOnEnable\n"
		"write 4096 on		# a region without INT\n"
		"pmis 1\n"
		"write 9000 on		# round again, and past it\n"
		"pmis 2\n");
}

/* Table 36-3, INT: "the STOP will happen before the INT" */
static void test_stop_and_interrupt(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K STOP INT\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 off\n"
		"pmis 1\n"
		"status 20\n");
	assert_int_equal(script.pmi_status, 0x20);
}

/* A region that was filled interrupts even if the entry behind it is bad. */
static void test_error_and_interrupt(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 30000 4K 2\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 off\n"
		"pmis 1\n"
		"status 10\n");
}

/*
 * "ToPA PMI and Single Output Region ToPA Implementation": before the output
 * wraps; here 512 bytes before, Linux's TOPA_PMI_MARGIN
 */
static void test_single_entry(void **state)
{
	(void)state;
	run_script(
		"model broadwell\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 3583 on\n"
		"pmis 0\n"
		"write 1 on\n"
		"pmis 1\n"
		"write 512 on		# it is filled: no second one\n"
		"at 10000 0 0\n"
		"pmis 1\n"
		"write 3584 on		# the next pass\n"
		"pmis 2\n"
		"end\n"
		"start ok		# resumed within the margin\n"
		"pmis 2\n"
		"write 1 on\n"
		"pmis 3\n");
}

/* There STOP is for who cannot take the PMI in time. */
static void test_single_entry_stop(void **state)
{
	(void)state;
	run_script(
		"model broadwell\n"
		"entry 10000 0 20000 8K STOP INT\n"
		"entry 10000 1 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 7680 on\n"
		"pmis 1\n"
		"status 0\n"
		"write 600 off\n"
		"pmis 1\n"
		"status 20\n"
		"at 10000 0 8192\n");
}

/* Table 36-7, PendTopaPMI, on a processor with EBX[6]; bit 56 of CTL */
static void test_pending_pmi(void **state)
{
	(void)state;
	run_script(
		"model alderlake\n"
		"ctl 100000000002101	# TraceEn, ToPA, BranchEn, InjectPsbPmiOnEnable\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 30000 4K\n"
		"pointers 10000 0 0\n"
		"set-status 40\n"
		"start ok\n"
		"write 4096 on\n"
		"pmis 1\n"
		"status c0\n"
		"end\n"
		"set-status 80\n"
		"start ok		# TraceEn 0 -> 1: a PMI is pended\n"
		"pmis 2\n"
		"status 80		# software clears the bit, not the processor\n"
		"end\n"
		"set-status 0\n"
		"start ok\n"
		"pmis 2\n"
		"end\n"
		"ctl 2101		# bit 56 clear: the bit is ignored\n");
	script.msrs.status = STATUS_PEND_TOPA_PMI;
	run_script("start ok\n"
		   "pmis 2\n");
}

static void test_pmi_lost(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"fault pmi-lost:3\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 on\n"
		"pmis 1\n"
		"write 4096 on\n"
		"pmis 2\n"
		"write 4096 on		# the third\n"
		"pmis 2\n"
		"end\n"
		"start ok		# the count goes on in the next trace\n"
		"write 8192 on\n"
		"pmis 4\n"
		"write 4096 on\n"
		"pmis 4\n");
	assert_int_equal(script.out.count.pmi_lost, 2);
	assert_int_equal(script.out.count.pmi, 4);
}

static void test_pmi_late(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"fault pmi-late:2\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 30000 8K\n"
		"entry 10000 2 40000 4K INT STOP\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 4096 on\n"
		"pmis 0\n"
		"write 2047 on\n"
		"pmis 0\n"
		"write 1 on		# 2 KiB later\n"
		"pmis 1\n"
		"write 6144 on\n"
		"write 4096 off		# nothing more will come: now, not never\n"
		"pmis 2\n"
		"status 20\n");

	run_script(
		"model skylake\n"
		"fault pmi-late:64\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 12288 on		# three that wait are one\n"
		"pmis 0\n"
		"end			# TraceEn is cleared\n"
		"pmis 1\n");
	assert_int_equal(script.out.count.pmi_late, 1);
}

/* The region in use is taken for one with STOP. */
static void test_fault_stop(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"fault stop:10\n"
		"entry 10000 0 20000 4K\n"
		"entry 10000 1 30000 4K\n"
		"entry 10000 2 40000 4K\n"
		"entry 10000 3 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 10239 on\n"
		"write 1 on		# 10 KiB, in the third region\n"
		"end			# a restart does not forget it\n"
		"start ok\n"
		"write 3000 off\n"
		"status 20\n"
		"at 10000 2 4096	# as for STOP\n"
		"set-status 0\n"
		"end\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 8191 on		# the next region is as it was\n"
		"write 100 off		# 20 KiB in all: the last byte of this region\n"
		"status 20\n"
		"at 10000 1 4096\n");
	assert_int_equal(script.out.count.stopped, 2);

	run_script(
		"model skylake\n"
		"fault stop:1\n"
		"range 20000 fff 0\n"
		"start ok\n"
		"write 4095 on\n"
		"write 10 off		# of a single range its end\n"
		"status 20\n"
		"at-range fff 4096\n"
		"memory 20000 1 1\n");
}

/* Memory stays as it is, the pointers move on. */
static void test_fault_readonly(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"fault readonly:5\n"
		"entry 10000 0 20000 4K INT\n"
		"entry 10000 1 30000 4K\n"
		"entry 10000 2 10000 END\n"
		"pointers 10000 0 0\n"
		"start ok\n"
		"write 5000 on\n"
		"write 1000 on		# the limit is in the middle\n"
		"memory 30388 120 2\n"
		"memory 30400 1 0\n"
		"at 10000 1 1904\n"
		"write 4096 on\n"
		"at 10000 0 1904\n"
		"memory 20000 4096 1\n"
		"end\n"
		"start ok		# for good\n"
		"write 4096 on\n"
		"at 10000 1 1904\n"
		"memory 20000 4096 1\n"
		"pmis 2\n"
		"status 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_stop_and_interrupt),
		cmocka_unit_test(test_error_and_interrupt),
		cmocka_unit_test(test_single_entry),
		cmocka_unit_test(test_single_entry_stop),
		cmocka_unit_test(test_pending_pmi),
		cmocka_unit_test(test_pmi_lost),
		cmocka_unit_test(test_pmi_late),
		cmocka_unit_test(test_fault_stop),
		cmocka_unit_test(test_fault_readonly),
	};

	return cmocka_run_group_tests_name("pt_output_pmi", tests, NULL, NULL);
}
