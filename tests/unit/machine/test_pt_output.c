// SPDX-License-Identifier: GPL-2.0
/*
 * ToPA and single-range output into a memory of the test's own (SDM 3C, 36.2.6).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pt_model.h"
#include "pt_output.h"

#define MEMORY		(1 << 20)
#define TABLE		0x10000ULL
#define TABLE2		0x11000ULL
#define A		0x20000ULL	/* regions of 4 KiB */
#define B		0x30000ULL
#define C		0x40000ULL	/* of 8 KiB */
#define SIZE_8K		(1ULL << 6)

static uint8_t memory[MEMORY];
static struct pt_msrs msrs;
static struct pt_caps caps;
static struct pt_output out;
static unsigned int pmis;

static int mem_read(void *arg, uint64_t pa, void *buf, size_t len)
{
	(void)arg;
	if (pa + len > MEMORY)
		return -1;
	memcpy(buf, memory + pa, len);
	return 0;
}

static int mem_write(void *arg, uint64_t pa, const void *buf, size_t len)
{
	(void)arg;
	if (pa + len > MEMORY)
		return -1;
	memcpy(memory + pa, buf, len);
	return 0;
}

static void pmi(void *arg)
{
	(void)arg;
	pmis++;
}

static int setup(void **state)
{
	const struct pt_memory mem = { .read = mem_read, .write = mem_write, .pmi = pmi };

	(void)state;
	memset(memory, 0, sizeof(memory));
	pt_msr_reset(&msrs);
	caps = pt_caps;
	pmis = 0;
	pt_output_init(&out, &msrs, &caps, &mem);
	msrs.ctl = CTL_TRACE_EN | CTL_TOPA;
	msrs.output_base = TABLE;
	return 0;
}

static void entry(uint64_t table, unsigned int index, uint64_t val)
{
	memcpy(memory + table + 8 * index, &val, 8);
}

static void pointers(unsigned int index, uint64_t offset)
{
	msrs.output_mask = offset << 32 | index << 7 | 0x7f;
}

static void assert_pointers(uint64_t table, unsigned int index, uint64_t offset)
{
	assert_int_equal(msrs.output_base, table);
	assert_int_equal(msrs.output_mask, offset << 32 | index << 7 | 0x7f);
}

static bool fill(uint8_t byte, size_t len)
{
	static uint8_t buf[65536];

	memset(buf, byte, len);
	return pt_output_write(&out, buf, len);
}

static void assert_filled(uint64_t pa, uint8_t byte, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(memory[pa + i], byte);
}

/* Three regions in a ring: data crosses them, and END leads back. */
static void test_ring(void **state)
{
	(void)state;
	entry(TABLE, 0, A);
	entry(TABLE, 1, C | SIZE_8K);
	entry(TABLE, 2, B);
	entry(TABLE, 3, TABLE | TOPA_END);
	pointers(0, 0);

	assert_true(pt_output_start(&out));
	assert_true(fill(1, 4000));
	assert_pointers(TABLE, 0, 4000);
	assert_true(fill(2, 200));
	assert_filled(A, 1, 4000);
	assert_filled(A + 4000, 2, 96);
	assert_filled(C, 2, 104);
	assert_pointers(TABLE, 1, 104);
	/* exactly to the end: the pointers are at the next region's start */
	assert_true(fill(3, 8192 - 104));
	assert_pointers(TABLE, 2, 0);
	assert_true(fill(4, 4096));
	assert_pointers(TABLE, 0, 0);
	/* more than all of it at once */
	assert_true(fill(5, 16384 + 10));
	assert_pointers(TABLE, 0, 10);
	assert_filled(A, 5, 4096);
	assert_int_equal(memory[A - 1], 0);
	assert_int_equal(memory[A + 4096], 0);
	assert_int_equal(memory[C + 8192], 0);
	assert_int_equal(msrs.status, 0);
	assert_int_equal(pmis, 0);
}

static void test_two_tables(void **state)
{
	(void)state;
	entry(TABLE, 0, A);
	entry(TABLE, 1, TABLE2 | TOPA_END);
	entry(TABLE2, 0, B);
	entry(TABLE2, 1, TABLE | TOPA_END);

	assert_true(pt_output_start(&out));
	assert_true(fill(1, 4096));
	assert_pointers(TABLE2, 0, 0);
	assert_true(fill(2, 4097));
	assert_pointers(TABLE, 0, 1);
	assert_filled(B, 2, 4096);
}

static void test_resume_in_the_middle(void **state)
{
	(void)state;
	entry(TABLE, 0, A);
	entry(TABLE, 1, B);
	entry(TABLE, 2, TABLE | TOPA_END);
	pointers(1, 100);

	assert_true(pt_output_start(&out));
	assert_true(fill(7, 50));
	assert_pointers(TABLE, 1, 150);
	assert_filled(B + 100, 7, 50);
	assert_int_equal(memory[B + 99] | memory[B + 150], 0);
}

static void test_interrupt(void **state)
{
	(void)state;
	entry(TABLE, 0, A | TOPA_INT);
	entry(TABLE, 1, B);
	entry(TABLE, 2, TABLE | TOPA_END);

	assert_true(pt_output_start(&out));
	assert_true(fill(1, 4095));
	assert_int_equal(pmis, 0);
	assert_true(fill(1, 1));
	assert_int_equal(pmis, 1);
	assert_true(fill(1, 4096));
	assert_int_equal(pmis, 1);
}

/* "ToPA STOP": the offset is left at the region's size, the index stays. */
static void test_stop(void **state)
{
	(void)state;
	entry(TABLE, 0, A);
	entry(TABLE, 1, B | TOPA_STOP | TOPA_INT);
	entry(TABLE, 2, C);

	assert_true(pt_output_start(&out));
	assert_false(fill(1, 9000));
	assert_pointers(TABLE, 1, 4096);
	assert_int_equal(msrs.status, STATUS_STOPPED);
	assert_int_equal(pmis, 1);
	assert_filled(B, 1, 4096);
	assert_int_equal(memory[B + 4096] | memory[C], 0);
	assert_false(fill(1, 1));

	/* and is an error once Stopped is cleared */
	msrs.status = 0;
	assert_false(pt_output_start(&out));
	assert_int_equal(msrs.status, STATUS_ERROR);
}

static void assert_error(const char *what)
{
	if (pt_output_start(&out) && !(fill(1, 4096), msrs.status))
		fail_msg("no error: %s", what);
	assert_int_equal(msrs.status, STATUS_ERROR);
	assert_false(fill(1, 1));
}

static void test_errors(void **state)
{
	static const struct {
		const char *what;
		uint64_t table, first, second;
		uint64_t offset;
	} bad[] = {
		{ "reserved bit 1", TABLE, A | PT_BIT(1), 0, 0 },
		{ "reserved bit 3", TABLE, A | PT_BIT(3), 0, 0 },
		{ "reserved bit 5", TABLE, A | PT_BIT(5), 0, 0 },
		{ "reserved bit 10", TABLE, A | PT_BIT(10), 0, 0 },
		{ "beyond MAXPHYADDR", TABLE, A | 1ULL << 40, 0, 0 },
		{ "region not aligned to its size", TABLE, (C + 4096) | SIZE_8K, 0, 0 },
		{ "table not aligned", TABLE + 0x80, A, A, 0 },
		{ "END in entry 0", TABLE, TABLE | TOPA_END, 0, 0 },
		{ "offset at the size", TABLE, A, TABLE | TOPA_END, 4096 },
		{ "END with INT", TABLE, A, TABLE | TOPA_END | TOPA_INT, 0 },
		{ "END with STOP", TABLE, A, TABLE | TOPA_END | TOPA_STOP, 0 },
		{ "END to a table of END", TABLE, A, TABLE2 | TOPA_END, 0 },
		{ "no memory there", 0x8000000, 0, 0, 0 },
	};
	size_t i;

	entry(TABLE2, 0, TABLE | TOPA_END);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setup(state);
		entry(TABLE2, 0, TABLE | TOPA_END);
		msrs.output_base = bad[i].table;
		if (bad[i].table < MEMORY) {
			entry(bad[i].table, 0, bad[i].first);
			entry(bad[i].table, 1, bad[i].second);
		}
		pointers(0, bad[i].offset);
		assert_error(bad[i].what);
	}

	/* only found when it is reached: the first region is written */
	setup(state);
	entry(TABLE, 0, A);
	entry(TABLE, 1, B | PT_BIT(1));
	assert_true(pt_output_start(&out));
	assert_true(fill(1, 4095));
	assert_false(fill(1, 2));
	assert_int_equal(msrs.status, STATUS_ERROR);
	assert_filled(A, 1, 4096);
}

static void test_one_entry_processor(void **state)
{
	(void)state;
	caps.ecx &= ~CAP_ECX_MULTI_ENTRY;
	entry(TABLE, 0, A);
	entry(TABLE, 1, TABLE | TOPA_END);
	assert_true(pt_output_start(&out));
	assert_true(fill(1, 5000));
	assert_pointers(TABLE, 0, 904);

	setup(state);
	caps.ecx &= ~CAP_ECX_MULTI_ENTRY;
	entry(TABLE, 0, A);
	entry(TABLE, 1, B);
	assert_error("a second region");
}

static void test_single_range(void **state)
{
	(void)state;
	msrs.ctl = CTL_TRACE_EN;
	msrs.output_base = A;
	msrs.output_mask = 0xfff;
	assert_true(pt_output_start(&out));
	assert_true(fill(1, 4000));
	assert_int_equal(msrs.output_mask, 4000ULL << 32 | 0xfff);
	assert_true(fill(2, 196));
	assert_int_equal(msrs.output_mask, 100ULL << 32 | 0xfff);
	assert_filled(A, 2, 100);
	assert_filled(A + 100, 1, 3900);

	/* 36.2.6.1: mask not of ones, base not aligned, offset beyond */
	msrs.output_mask = 0x17ff;
	assert_false(pt_output_start(&out));
	setup(state);
	msrs.ctl = CTL_TRACE_EN;
	msrs.output_base = A + 0x800;
	msrs.output_mask = 0xfff;
	assert_false(pt_output_start(&out));
	assert_int_equal(msrs.status, STATUS_ERROR);
	setup(state);
	msrs.ctl = CTL_TRACE_EN;
	msrs.output_base = A;
	msrs.output_mask = 0x1000ULL << 32 | 0xfff;
	assert_false(pt_output_start(&out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ring, setup),
		cmocka_unit_test_setup(test_two_tables, setup),
		cmocka_unit_test_setup(test_resume_in_the_middle, setup),
		cmocka_unit_test_setup(test_interrupt, setup),
		cmocka_unit_test_setup(test_stop, setup),
		cmocka_unit_test_setup(test_errors, setup),
		cmocka_unit_test_setup(test_one_entry_processor, setup),
		cmocka_unit_test_setup(test_single_range, setup),
	};

	return cmocka_run_group_tests_name("pt_output", tests, NULL, NULL);
}
