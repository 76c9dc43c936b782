// SPDX-License-Identifier: GPL-2.0
/*
 * Which accesses fault, by SDM 3C, 36.2.7 and 36.3.1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pt_model.h"

#define OK	PT_MSR_OK
#define GP	PT_MSR_FAULT

static struct pt_msrs msrs;
static struct pt_caps caps;

static int setup(void **state)
{
	(void)state;
	pt_msr_reset(&msrs);
	caps = pt_caps;
	return 0;
}

static enum pt_msr_result wr(uint32_t index, uint64_t val)
{
	return pt_msr_write(&msrs, &caps, index, val);
}

static uint64_t rd(uint32_t index)
{
	uint64_t val = 0;

	assert_int_equal(pt_msr_read(&msrs, &caps, index, &val), OK);
	return val;
}

static void test_reset(void **state)
{
	uint64_t val;

	(void)state;
	assert_int_equal(rd(MSR_RTIT_CTL), 0);
	assert_int_equal(rd(MSR_RTIT_STATUS), 0);
	assert_int_equal(rd(MSR_RTIT_OUTPUT_BASE), 0);
	assert_int_equal(rd(MSR_RTIT_OUTPUT_MASK), 0x7f);
	assert_int_equal(rd(MSR_RTIT_CR3_MATCH), 0);
	assert_int_equal(pt_msr_read(&msrs, &caps, 0x573, &val), PT_MSR_NOT_MINE);
	assert_int_equal(wr(0x10, 0), PT_MSR_NOT_MINE);
}

static void test_ctl_reserved(void **state)
{
	const uint64_t good = CTL_CYC_EN | CTL_OS | CTL_USER | CTL_CR3_FILTER | CTL_TOPA |
			      CTL_MTC_EN | CTL_TSC_EN | CTL_DIS_RETC | CTL_BRANCH_EN;
	unsigned int i;

	(void)state;
	assert_int_equal(wr(MSR_RTIT_CTL, good), OK);
	assert_int_equal(rd(MSR_RTIT_CTL), good);
	for (i = 0; i < 64; i++) {
		const bool fields = (i >= 14 && i <= 17) || (i >= 19 && i <= 22) ||
				    (i >= 24 && i <= 27);

		if (fields)
			continue;
		assert_int_equal(wr(MSR_RTIT_CTL, 1ULL << i),
				 ((good | CTL_TRACE_EN) >> i & 1) ? OK : GP);
		if (i == 0)
			wr(MSR_RTIT_CTL, 0);
	}
	/* PTWRITE, power events, fabric, ADDR0_CFG: not offered, so reserved */
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_PTW_EN), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_PWR_EVT_EN), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_FABRIC_EN), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, 1ULL << 32), GP);
	/* and with the capability they are not */
	caps.ebx |= CAP_EBX_PTWRITE | CAP_EBX_IP_FILTER;
	caps.ranges = 2;
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_PTW_EN | 1ULL << 32 | 2ULL << 36), OK);
	assert_int_equal(wr(MSR_RTIT_CTL, 3ULL << 32), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, 1ULL << 40), GP);
}

static void test_ctl_encodings(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 16; i++) {
		/* MTC 0, 3, 6, 9; thresholds 0..15; PSB 2K..64K */
		assert_int_equal(wr(MSR_RTIT_CTL, (uint64_t)i << 14),
				 i == 0 || i == 3 || i == 6 || i == 9 ? OK : GP);
		assert_int_equal(wr(MSR_RTIT_CTL, (uint64_t)i << 19), OK);
		assert_int_equal(wr(MSR_RTIT_CTL, (uint64_t)i << 24), i <= 5 ? OK : GP);
	}
}

static void test_ctl_while_tracing(void **state)
{
	const uint64_t on = CTL_TRACE_EN | CTL_USER | CTL_TOPA | CTL_BRANCH_EN;

	(void)state;
	assert_int_equal(wr(MSR_RTIT_CTL, on), OK);
	assert_int_equal(wr(MSR_RTIT_CTL, on), OK);		/* 36.2.7.1, note */
	assert_int_equal(wr(MSR_RTIT_CTL, on | CTL_OS), GP);
	assert_int_equal(rd(MSR_RTIT_CTL), on);
	/* "unless the same write also clears TraceEn" */
	assert_int_equal(wr(MSR_RTIT_CTL, (on | CTL_OS) & ~CTL_TRACE_EN), OK);
	assert_int_equal(wr(MSR_RTIT_CTL, on | CTL_OS), OK);
}

static void test_others_while_tracing(void **state)
{
	static const uint32_t config[] = {
		MSR_RTIT_STATUS, MSR_RTIT_OUTPUT_BASE, MSR_RTIT_OUTPUT_MASK, MSR_RTIT_CR3_MATCH,
	};
	unsigned int i;

	(void)state;
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_TRACE_EN | CTL_TOPA | CTL_BRANCH_EN), OK);
	for (i = 0; i < 4; i++)
		assert_int_equal(wr(config[i], rd(config[i])), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, 0), OK);
	for (i = 0; i < 4; i++)
		assert_int_equal(wr(config[i], rd(config[i])), OK);
}

static void test_output_scheme(void **state)
{
	(void)state;
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_TRACE_EN | CTL_BRANCH_EN), OK);
	assert_int_equal(wr(MSR_RTIT_CTL, 0), OK);
	caps.ecx &= ~CAP_ECX_SINGLE_RANGE;
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_TRACE_EN | CTL_BRANCH_EN), GP);
	caps.ecx &= ~CAP_ECX_TOPA;
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_TOPA), GP);
	assert_int_equal(wr(MSR_RTIT_OUTPUT_BASE, 0), GP);
	assert_int_equal(wr(MSR_RTIT_OUTPUT_MASK, 0), GP);
}

static void test_status(void **state)
{
	(void)state;
	/* table 36-7 */
	assert_int_equal(wr(MSR_RTIT_STATUS, STATUS_FILTER_EN | STATUS_CONTEXT_EN |
					     STATUS_TRIGGER_EN), OK);
	assert_int_equal(rd(MSR_RTIT_STATUS), 0);
	assert_int_equal(wr(MSR_RTIT_STATUS, STATUS_ERROR | STATUS_STOPPED), OK);
	assert_int_equal(rd(MSR_RTIT_STATUS), STATUS_ERROR | STATUS_STOPPED);
	assert_int_equal(wr(MSR_RTIT_STATUS, PT_BIT(3)), GP);
	assert_int_equal(wr(MSR_RTIT_STATUS, PT_BIT(6)), GP);
	assert_int_equal(wr(MSR_RTIT_STATUS, PT_BIT(31)), GP);
	assert_int_equal(wr(MSR_RTIT_STATUS, PT_BIT(49)), GP);
	assert_int_equal(wr(MSR_RTIT_STATUS, 0x1ffffULL << 32), OK);
	assert_int_equal(rd(MSR_RTIT_STATUS), 0x1ffffULL << 32);
	/* PacketByteCnt comes with CPUID.(14H,0):EBX[1] */
	caps.ebx &= ~CAP_EBX_PSB_CYC;
	assert_int_equal(wr(MSR_RTIT_STATUS, 1ULL << 32), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_CYC_EN), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, 1ULL << 24), GP);
}

static void test_addresses(void **state)
{
	(void)state;
	/* tables 36-8 and 36-9; MAXPHYADDR is 40 */
	assert_int_equal(wr(MSR_RTIT_OUTPUT_BASE, 0xffffffff80), OK);
	assert_int_equal(wr(MSR_RTIT_OUTPUT_BASE, 0x40), GP);
	assert_int_equal(wr(MSR_RTIT_OUTPUT_BASE, 1ULL << 40), GP);
	assert_int_equal(wr(MSR_RTIT_OUTPUT_MASK, 0xfffffff000000000), OK);
	assert_int_equal(rd(MSR_RTIT_OUTPUT_MASK), 0xfffffff00000007f);

	/* 36.2.7.6 */
	assert_int_equal(wr(MSR_RTIT_CR3_MATCH, 0x1234567000), OK);
	assert_int_equal(wr(MSR_RTIT_CR3_MATCH, 0x10), GP);
	assert_int_equal(wr(MSR_RTIT_CR3_MATCH, 0x20), OK);
	caps.ebx &= ~CAP_EBX_CR3_FILTER;
	assert_int_equal(wr(MSR_RTIT_CR3_MATCH, 0), GP);
	assert_int_equal(wr(MSR_RTIT_CTL, CTL_CR3_FILTER), GP);

	/* 36.2.7.5: as many pairs as there are ranges */
	assert_int_equal(wr(MSR_RTIT_ADDR0_A, 0), GP);
	caps.ranges = 1;
	assert_int_equal(wr(MSR_RTIT_ADDR0_A + 1, 0xffff800000000000), OK);
	assert_int_equal(wr(MSR_RTIT_ADDR0_A + 1, 0x0000800000000000), GP);
	assert_int_equal(wr(MSR_RTIT_ADDR0_A + 2, 0), GP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reset, setup),
		cmocka_unit_test_setup(test_ctl_reserved, setup),
		cmocka_unit_test_setup(test_ctl_encodings, setup),
		cmocka_unit_test_setup(test_ctl_while_tracing, setup),
		cmocka_unit_test_setup(test_others_while_tracing, setup),
		cmocka_unit_test_setup(test_output_scheme, setup),
		cmocka_unit_test_setup(test_status, setup),
		cmocka_unit_test_setup(test_addresses, setup),
	};

	return cmocka_run_group_tests_name("pt_msr", tests, NULL, NULL);
}
