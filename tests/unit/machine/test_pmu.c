// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU that only stores, and the interrupt of a filled ToPA region.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vcpu.h"

#define LVTPC	0xfee00340ULL
#define ICR	0xfee00300ULL

static struct pmu pmu;
static uint32_t lvtpc, icr;

int phys_read(void *arg, uint64_t pa, void *buf, size_t len)
{
	(void)arg;
	assert_int_equal(pa, LVTPC);
	assert_int_equal(len, 4);
	memcpy(buf, &lvtpc, 4);
	return 0;
}

int phys_write(void *arg, uint64_t pa, const void *buf, size_t len)
{
	(void)arg;
	assert_int_equal(len, 4);
	if (pa == LVTPC)
		memcpy(&lvtpc, buf, 4);
	else if (pa == ICR)
		memcpy(&icr, buf, 4);
	else
		fail();
	return 0;
}

static int setup(void **state)
{
	(void)state;
	pmu_reset(&pmu);
	lvtpc = 0;
	icr = 0;
	return 0;
}

static uint64_t rd(uint32_t index)
{
	uint64_t val = ~0ULL;

	assert_true(pmu_msr_read(&pmu, index, &val));
	return val;
}

static void test_cpuid(void **state)
{
	uint32_t r[4];

	(void)state;
	/* SDM 2A, CPUID leaf 0AH: version, counters, width, events not available */
	pmu_cpuid(r);
	assert_int_equal(r[0] & 0xff, 2);
	assert_int_equal(r[0] >> 8 & 0xff, 8);
	assert_int_equal(r[0] >> 16 & 0xff, 48);
	assert_int_equal(r[3] & 0x1f, 3);
	assert_int_equal(r[3] >> 5 & 0xff, 48);
}

static void test_storage(void **state)
{
	uint64_t val;

	(void)state;
	assert_true(pmu_msr_write(&pmu, 0xc1, 0xffffffff80000000));
	assert_int_equal(rd(0xc1), 0x0000ffff80000000);
	assert_true(pmu_msr_write(&pmu, 0xc8, 5));
	assert_int_equal(rd(0xc8), 5);
	assert_true(pmu_msr_write(&pmu, 0x186, 0x4300c0));
	assert_int_equal(rd(0x186), 0x4300c0);
	assert_true(pmu_msr_write(&pmu, 0x30b, 0x123456789));
	assert_int_equal(rd(0x30b), 0x123456789);
	assert_false(pmu_msr_write(&pmu, 0xc9, 0));
	assert_false(pmu_msr_read(&pmu, 0x18e, &val));
	assert_false(pmu_msr_read(&pmu, 0x30c, &val));

	assert_true(pmu_rdpmc(&pmu, 7, &val));
	assert_int_equal(val, 5);
	assert_true(pmu_rdpmc(&pmu, 1 << 30 | 2, &val));
	assert_int_equal(val, 0x123456789);
	assert_false(pmu_rdpmc(&pmu, 8, &val));
	assert_false(pmu_rdpmc(&pmu, 1 << 30 | 3, &val));
}

static void test_interrupt(void **state)
{
	(void)state;
	/* LVTPC: NMI, not masked. ICR: NMI to self. */
	lvtpc = 0x400;
	pmu_raise_topa(&pmu);
	assert_int_equal(rd(0x38e), 1ULL << 55);
	assert_int_equal(icr, 0x40400);
	assert_int_equal(lvtpc, 0x10400);

	/* masked by delivery: no second one */
	icr = 0;
	pmu_raise_topa(&pmu);
	assert_int_equal(icr, 0);

	/* IA32_PERF_GLOBAL_OVF_CTRL clears the status, which cannot be written */
	assert_true(pmu_msr_write(&pmu, 0x38e, 0));
	assert_int_equal(rd(0x38e), 1ULL << 55);
	assert_true(pmu_msr_write(&pmu, 0x390, 1ULL << 55));
	assert_int_equal(rd(0x38e), 0);

	/* a fixed interrupt has its vector */
	lvtpc = 0x42;
	pmu_raise_topa(&pmu);
	assert_int_equal(icr, 0x40042);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cpuid, setup),
		cmocka_unit_test_setup(test_storage, setup),
		cmocka_unit_test_setup(test_interrupt, setup),
	};

	return cmocka_run_group_tests_name("pmu", tests, NULL, NULL);
}
