// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT's MSRs other than IA32_RTIT_CTL: which there are, what may be
 * written to them, what resets them (SDM 3C, 36.2.7 and 36.3.1).
 */
#include "msr_script.h"

/* Tables 36-6 to 36-9, "At Reset"; 36.2.7.1: cold RESET clears all. */
static void test_power_up(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"rd CTL 0\n"
		"rd STATUS 0\n"
		"rd BASE 0\n"
		"rd PTRS 7f		# LowerMask: 7FH at reset\n"
		"rd CR3 0\n"
		"rd 580 0\n"
		"rd 583 0\n"
		"rd 573 not-mine	# not a register of PT\n"
		"wr 10 0 not-mine\n");
}

/* 36.2.7.1; INIT leaves the registers alone: there is no function to test */
static void test_warm_reset(void **state)
{
	static const char all[] =
		"wr BASE 12345000 ok\n"
		"wr PTRS 100000000 ok\n"
		"wr CR3 77000 ok\n"
		"wr STATUS 20 ok\n"
		"wr CTL 2189 ok\n"
		"warm\n";

	(void)state;
	run_script("model skylake\n");
	run_script(all);
	run_script(
		"rd CTL 2188		# EBX[2] = 1: TraceEn alone is cleared\n"
		"rd STATUS 20\n"
		"rd BASE 12345000\n"
		"rd PTRS 10000007f\n"
		"rd CR3 77000\n");

	run_script("model broadwell\n");
	run_script(all);
	run_script(
		"rd CTL 0		# EBX[2] = 0: nothing is preserved\n"
		"rd STATUS 0\n"
		"rd BASE 0\n"
		"rd PTRS 7f\n"
		"rd CR3 0\n");
}

/* 36.2.7.1: while TraceEn is set IA32_RTIT_CTL alone may be written. */
static void test_while_tracing(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"wr CTL 2109 ok\n"
		"wr STATUS 0 gp		# 36.2.7.4\n"
		"wr BASE 0 gp		# 36.2.7.7\n"
		"wr PTRS 7f gp		# 36.2.7.8\n"
		"wr CR3 0 gp		# 36.2.7.6\n"
		"wr 580 0 gp		# 36.2.7.1\n"
		"wr 583 0 gp\n"
		"rd STATUS 0		# reading never faults\n"
		"rd BASE 0\n"
		"rd PTRS 7f\n"
		"rd CR3 0\n"
		"rd 580 0\n"
		"wr CTL 0 ok\n"
		"wr STATUS 0 ok\n"
		"wr BASE 0 ok\n"
		"wr PTRS 7f ok\n"
		"wr CR3 0 ok\n"
		"wr 580 0 ok\n");
}

/* Table 36-7 */
static void test_status(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"wr STATUS 7 ok		# FilterEn, ContextEn, TriggerEn: writes are ignored\n"
		"rd STATUS 0\n"
		"wr STATUS 30 ok	# Error and Stopped: software can write them\n"
		"rd STATUS 30\n"
		"wr STATUS 37 ok\n"
		"rd STATUS 30\n"
		"wr STATUS 8 gp		# bit 3: must be 0\n"
		"rd STATUS 30\n"
		"wr STATUS 40 gp	# PendPSB and PendTopaPMI: reserved if EBX[6] = 0\n"
		"wr STATUS 80 gp\n"
		"wr STATUS 100 gp	# 31:8: must be 0\n"
		"wr STATUS 80000000 gp\n"
		"wr STATUS 1ffff00000000 ok	# PacketByteCnt, 48:32\n"
		"rd STATUS 1ffff00000000\n"
		"wr STATUS 2000000000000 gp	# 63:49: must be 0\n"
		"wr STATUS 8000000000000000 gp\n"
		"wr STATUS 0 ok\n"
		"rd STATUS 0\n"
		"model alderlake	# EBX[6] = 1\n"
		"wr STATUS c0 ok\n"
		"rd STATUS c0\n"
		"wr STATUS 100 gp\n"
		"model broadwell	# EBX[1] = 0: no PacketByteCnt (36.3.1)\n"
		"wr STATUS 100000000 gp\n"
		"wr STATUS 1000000000000 gp\n"
		"wr STATUS 37 ok	# bit 0 too is \"reserved, writes ignored\": table 35-32\n"
		"rd STATUS 30\n");
}

/* Table 36-8; MAXPHYADDR is 40 here */
static void test_output_base(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"wr BASE ffffffff80 ok\n"
		"rd BASE ffffffff80\n"
		"wr BASE f80 ok		# 11:7 are no #GP; with ToPA an operational error\n"
		"wr BASE 40 gp		# 6:0: must be 0\n"
		"wr BASE 1 gp\n"
		"wr BASE 10000000000 gp	# 63:MAXPHYADDR: must be 0\n"
		"wr BASE 8000000000000000 gp\n"
		"rd BASE f80\n");
	pt_caps.phys_bits = 46;
	run_script(
		"wr BASE 10000000000 ok\n"
		"wr BASE 400000000000 gp\n");
}

/* Table 36-9 */
static void test_output_mask_ptrs(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"wr PTRS 0 ok		# LowerMask: forced to 1, writes are ignored\n"
		"rd PTRS 7f\n"
		"wr PTRS ffffffffffffffff ok	# no bit is reserved\n"
		"rd PTRS ffffffffffffffff\n"
		"wr PTRS fffffff000000000 ok\n"
		"rd PTRS fffffff00000007f\n");
}

/* 36.3.1, ECX[0] and ECX[2]: without both there are no output registers. */
static void test_no_output_to_memory(void **state)
{
	(void)state;
	run_script("model skylake\n");
	pt_caps.ecx &= ~(CAP_ECX_TOPA | CAP_ECX_MULTI_ENTRY);
	run_script("wr BASE 0 ok\n"
		   "rd PTRS 7f\n"
		   "wr CTL 100 gp	# table 36-6, ToPA\n");
	pt_caps.ecx &= ~CAP_ECX_SINGLE_RANGE;
	run_script("wr BASE 0 gp\n"
		   "rd BASE gp\n"
		   "wr PTRS 0 gp\n"
		   "rd PTRS gp\n");
}

/* 36.2.7.6 and 36.3.1, EBX[0] */
static void test_cr3_match(void **state)
{
	(void)state;
	run_script(
		"model broadwell\n"
		"wr CR3 1234567000 ok\n"
		"wr CR3 20 ok		# 63:5 hold the value\n"
		"wr CR3 ffffffffffffffe0 ok	# none above is reserved\n"
		"rd CR3 ffffffffffffffe0\n"
		"wr CR3 10 gp		# 4:0 are reserved\n"
		"wr CR3 1 gp\n"
		"rd CR3 ffffffffffffffe0\n");
	pt_caps.ebx &= ~CAP_EBX_CR3_FILTER;
	run_script("wr CR3 0 gp\n"
		   "rd CR3 gp\n");
}

/* 36.2.7.5: a pair for each range that CPUID.(14H,1):EAX[2:0] tells */
static void test_address_ranges(void **state)
{
	static const uint32_t pairs[] = { 0, 1, 2, 3, 4 };
	size_t i;

	(void)state;
	run_script(
		"model skylake		# 2 ranges\n"
		"wr 580 7fffffffffff ok\n"
		"wr 581 ffff800000000000 ok\n"
		"rd 580 7fffffffffff\n"
		"rd 581 ffff800000000000\n"
		"wr 582 800000000000 gp	# not properly sign-extended\n"
		"wr 583 7fff800000000000 gp\n"
		"rd 582 0\n"
		"wr 584 0 gp		# no third\n"
		"rd 585 gp\n"
		"wr 588 0 not-mine\n"
		"model broadwell	# none\n"
		"wr 580 0 gp\n"
		"rd 581 gp\n");

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		uint32_t index;
		uint64_t val;

		run_script("model skylake\n");
		pt_caps.ranges = pairs[i];
		for (index = 0x580; index < 0x588; index++) {
			assert_int_equal(pt_msr_read(&script_msrs, &pt_caps, index, &val),
					 index < 0x580 + 2 * pairs[i] ? PT_MSR_OK : PT_MSR_FAULT);
		}
	}

	/* five-level paging: 57 bits are the linear address */
	run_script("model skylake\n");
	pt_caps.linear_bits = 57;
	run_script("wr 580 800000000000 ok\n"
		   "wr 580 ff11000000000000 ok\n"
		   "wr 580 ff000000000000 ok\n"
		   "wr 580 100000000000000 gp\n");
}

/* 36.2.7.3, and 36.3.1, EBX[1]: when TraceEn brings a PSB+ */
static void test_psb_at_start(void **state)
{
	(void)state;
	run_script("model skylake\n");
	assert_true(pt_msr_psb_at_start(&script_msrs, &pt_caps));
	run_script("wr STATUS 100000000 ok\n");
	assert_false(pt_msr_psb_at_start(&script_msrs, &pt_caps));

	/* PendPSB counts with InjectPsbPmiOnEnable alone. */
	run_script("model alderlake\n"
		   "wr STATUS 100000040 ok\n");
	assert_false(pt_msr_psb_at_start(&script_msrs, &pt_caps));
	run_script("wr CTL 100000000000000 ok\n");
	assert_true(pt_msr_psb_at_start(&script_msrs, &pt_caps));

	run_script("model broadwell\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 1000, false);
	run_script("rd STATUS 0		# EBX[1] = 0: no PacketByteCnt\n");
	assert_true(pt_msr_psb_at_start(&script_msrs, &pt_caps));
}

/* Table 36-7, PacketByteCnt and PendPSB, as TraceEn is cleared */
static void test_progress(void **state)
{
	(void)state;
	run_script("model skylake\n"
		   "wr STATUS 10 ok\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 0x123, true);
	run_script("rd STATUS 12300000010	# Error stays; no PendPSB here\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 0x20000, true);
	run_script("rd STATUS 1ffff00000010	# more than 17 bits hold: not zero\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 0, false);
	run_script("rd STATUS 10\n");

	run_script("model alderlake\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 0x800, true);
	run_script("rd STATUS 80000000000	# bit 56 of CTL is clear: not kept\n"
		   "wr CTL 100000000000000 ok\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 0x800, true);
	run_script("rd STATUS 80000000040\n");
	pt_msr_store_progress(&script_msrs, &pt_caps, 0x10, false);
	run_script("rd STATUS 1000000000	# the PSB was sent: no longer pending\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_up),
		cmocka_unit_test(test_warm_reset),
		cmocka_unit_test(test_while_tracing),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_output_base),
		cmocka_unit_test(test_output_mask_ptrs),
		cmocka_unit_test(test_no_output_to_memory),
		cmocka_unit_test(test_cr3_match),
		cmocka_unit_test(test_address_ranges),
		cmocka_unit_test(test_psb_at_start),
		cmocka_unit_test(test_progress),
	};

	return cmocka_run_group_tests_name("pt_msr", tests, NULL, NULL);
}
