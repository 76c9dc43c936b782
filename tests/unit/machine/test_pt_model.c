// SPDX-License-Identifier: GPL-2.0
/*
 * What each model says in CPUID, against lines copied from dumps of real
 * processors. pt_model.c names the dumps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pt_model.h"

static const struct {
	const char *model;
	uint32_t signature;	/* CPUID.01H:EAX */
	const char *subleaf[2];	/* EAX-EBX-ECX-EDX; a sub-leaf that is not there: zeros */
	uint64_t vmx_misc;	/* MSR 485H */
} dumps[] = {
	{ "broadwell", 0x000306d4, {
		"00000000-00000001-00000001-00000000",
		"00000000-00000000-00000000-00000000" }, 0x300481e5 },
	{ "skylake", 0x000506e3, {
		"00000001-0000000F-00000007-00000000",
		"02490002-003F3FFF-00000000-00000000" }, 0x7004c1e7 },
	{ "icelake", 0x000706e5, {
		"00000001-0000000F-00000007-00000000",
		"02490002-003F1FFF-00000000-00000000" }, 0x7004c1e7 },
	{ "sapphire-rapids", 0x000806f8, {
		"00000001-0000005F-00000007-00000000",
		"02490002-003F003F-00000000-00000000" }, 0x7004c1e7 },
	{ "alderlake", 0x00090672, {
		"00000001-0000005F-00000007-00000000",
		"02490002-003F003F-00000000-00000000" }, 0x7004c1e7 },
};

#define DUMPS	(sizeof(dumps) / sizeof(dumps[0]))

static int select_max(void **state)
{
	(void)state;
	return !pt_model_select("max");
}

/* Before any is selected; so the first test. */
static void test_default(void **state)
{
	(void)state;
	assert_string_equal(pt_model->name, "max");
	assert_memory_equal(&pt_caps, &pt_model->caps, sizeof(pt_caps));
}

static void test_dumps(void **state)
{
	uint32_t i, sub, r[4];
	char line[40];

	(void)state;
	for (i = 0; i < DUMPS; i++) {
		assert_true(pt_model_select(dumps[i].model));
		assert_string_equal(pt_model->name, dumps[i].model);
		assert_int_equal(pt_model->signature, dumps[i].signature);
		for (sub = 0; sub < 2; sub++) {
			pt_msr_cpuid(&pt_caps, sub, r);
			snprintf(line, sizeof(line), "%08X-%08X-%08X-%08X", r[0], r[1], r[2], r[3]);
			assert_string_equal(line, dumps[i].subleaf[sub]);
		}
		/* SDM 3D, A.6: bit 14 */
		assert_int_equal(pt_caps.pt_in_vmx, dumps[i].vmx_misc >> 14 & 1);
	}
}

/* Each model but max is held against a dump, and no other is named. */
static void test_all_are_tested(void **state)
{
	char names[200] = "";
	unsigned int i, j;

	(void)state;
	assert_int_equal(pt_model_count, DUMPS + 1);
	assert_string_equal(pt_models[0].name, "max");
	for (i = 0; i < pt_model_count; i++) {
		strcat(strcat(names, i ? ", " : ""), pt_models[i].name);
		for (j = 0; j < DUMPS && strcmp(dumps[j].model, pt_models[i].name); j++)
			;
		assert_true(i == 0 || j < DUMPS);
	}
	assert_string_equal(names, pt_model_names);
}

/* What no sub-leaf says reads as zeros (SDM 2A, CPUID, leaf 14H). */
static void test_no_more_subleaves(void **state)
{
	uint32_t r[4];

	(void)state;
	pt_msr_cpuid(&pt_caps, 2, r);
	assert_int_equal(r[0] | r[1] | r[2] | r[3], 0);
}

/* "max" offers all that table 36-11 lists, but trace transport and LIPs. */
static void test_max(void **state)
{
	uint32_t r[4];

	(void)state;
	assert_int_equal(pt_model->signature, 0);
	pt_msr_cpuid(&pt_caps, 0, r);
	assert_int_equal(r[0], 1);
	assert_int_equal(r[1], 0x1ff);
	assert_int_equal(r[2], 0x07);
	assert_int_equal(r[3], 0);
	/* table 36-12: "no processors support more than 4 address ranges" */
	pt_msr_cpuid(&pt_caps, 1, r);
	assert_int_equal(r[0], 0x02490004);
	assert_int_equal(r[1], 0x003fffff);
	assert_int_equal(pt_caps.pt_in_vmx, true);
}

/* Nothing that a real processor offers is missing from "max"; that its IPs are LIPs is no offer. */
static void test_max_has_all(void **state)
{
	const struct pt_caps *max = &pt_models[0].caps;
	unsigned int i;

	(void)state;
	for (i = 1; i < pt_model_count; i++) {
		const struct pt_caps *caps = &pt_models[i].caps;

		assert_int_equal(caps->ebx & ~max->ebx, 0);
		assert_int_equal(caps->ecx & ~max->ecx & ~CAP_ECX_LIP, 0);
		assert_int_equal(caps->mtc_map & ~max->mtc_map, 0);
		assert_int_equal(caps->cyc_map & ~max->cyc_map, 0);
		assert_int_equal(caps->psb_map & ~max->psb_map, 0);
		assert_true(caps->ranges <= max->ranges);
	}
}

static void test_unknown(void **state)
{
	(void)state;
	assert_true(pt_model_select("skylake"));
	assert_false(pt_model_select("sky"));
	assert_false(pt_model_select(""));
	assert_string_equal(pt_model->name, "skylake");
	assert_int_equal(pt_caps.ranges, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test_setup(test_dumps, select_max),
		cmocka_unit_test_setup(test_all_are_tested, select_max),
		cmocka_unit_test_setup(test_no_more_subleaves, select_max),
		cmocka_unit_test_setup(test_max, select_max),
		cmocka_unit_test_setup(test_max_has_all, select_max),
		cmocka_unit_test_setup(test_unknown, select_max),
	};

	return cmocka_run_group_tests_name("pt_model", tests, NULL, NULL);
}
