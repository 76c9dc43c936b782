// SPDX-License-Identifier: GPL-2.0
/*
 * The plugin's part of a saved machine: what is written comes back, and nothing
 * else does.
 */
#include "annotated.h"
#include "clock.h"
#include "pt_model.h"
#include "saved.h"
#include "vcpu.h"

#define FILE_NAME	"test_saved.out"

static struct vcpu vcpus[2];
static uint64_t restored_tsc;
static int64_t restored_lead;

struct vcpu *vcpu_if_used(unsigned int index)
{
	return index < 2 ? &vcpus[index] : NULL;
}

bool virt_read(uint64_t va, void *buf, size_t len)
{
	(void)va, (void)buf, (void)len;
	return false;
}

uint64_t clock_tsc(void)
{
	return 0x123456789abcULL;
}

int64_t clock_lead(void)
{
	return -428707500;
}

void clock_restore(uint64_t tsc, int64_t lead)
{
	restored_tsc = tsc;
	restored_lead = lead;
}

static int setup(void **state)
{
	unsigned int i;

	(void)state;
	memset(vcpus, 0, sizeof(vcpus));
	for (i = 0; i < 2; i++) {
		vcpus[i].index = i;
		vcpus[i].tsc_adjust = -(uint64_t)i;
		vcpus[i].tsc_aux = 0x1001 + i;
		idt_load(&vcpus[i].idt, 0xfffffe0000000000ULL + i, 4095 - i);
		vcpus[i].msrs.ctl = CTL_TOPA | CTL_BRANCH_EN;
		vcpus[i].msrs.status = 5ULL << 32;
		vcpus[i].msrs.output_base = 0x1234000 + 0x1000 * i;
		vcpus[i].msrs.output_mask = 0x70000007f;
		vcpus[i].msrs.cr3_match = 0x7654320;
		vcpus[i].msrs.addr[7] = 0xffff800000000000ULL;
		vcpus[i].pmu.counter[3] = 77 + i;
		vcpus[i].pmu.global_ctrl = 0x70000000f;
	}
	pt_caps.phys_bits = 39;
	pt_caps.linear_bits = 57;
	saved_setup(FILE_NAME);
	remove(FILE_NAME);
	return 0;
}

static void test_round_trip(void **state)
{
	struct vcpu before[2], after = { 0 };
	unsigned int i;

	(void)state;
	memcpy(before, vcpus, sizeof(before));
	assert_true(saved_write());
	pt_caps.phys_bits = 40;
	pt_caps.linear_bits = 48;

	assert_true(saved_read(FILE_NAME));
	assert_int_equal(pt_caps.phys_bits, 39);
	assert_int_equal(pt_caps.linear_bits, 57);
	assert_true(restored_tsc == 0x123456789abcULL);
	assert_true(restored_lead == -428707500);
	for (i = 0; i < 2; i++) {
		memset(&after, 0xff, sizeof(after));
		after.index = i;
		saved_restore(&after);
		assert_true(after.tsc_adjust == before[i].tsc_adjust);
		assert_true(after.tsc_aux == before[i].tsc_aux);
		assert_true(after.idt.base == before[i].idt.base);
		assert_int_equal(after.idt.limit, before[i].idt.limit);
		assert_memory_equal(&after.msrs, &before[i].msrs, sizeof(after.msrs));
		assert_memory_equal(&after.pmu, &before[i].pmu, sizeof(after.pmu));
	}

	/* A processor that was not saved stays as it is. */
	memset(&after, 0, sizeof(after));
	after.index = 2;
	saved_restore(&after);
	assert_true(after.msrs.output_base == 0 && after.idt.limit == 0);
}

/* What a trace has under way is not in the file. */
static void test_tracing(void **state)
{
	(void)state;
	vcpus[1].msrs.ctl |= CTL_TRACE_EN;
	assert_false(saved_write());
	assert_null(fopen(FILE_NAME, "r"));
}

static void test_nowhere(void **state)
{
	(void)state;
	saved_setup(NULL);
	assert_false(saved_write());
	saved_setup("no-such-folder/file");
	assert_false(saved_write());
	assert_false(saved_read("no-such-folder/file"));
}

/* Lines that are cut, longer than they may be, of no known name; another header. */
static void test_bad_files(void **state)
{
	static const char *const bad[] = {
		"", "ptemu 0\n", "ptemu 1\n", "ptemu 1\ncpu 0 1 2\n",
		"ptemu 1\nclock 1\n", "ptemu 1\ncpu 64 1\n", "ptemu 1\ncolour 3\n",
	};
	char text[4096];
	size_t len, i;
	FILE *f;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f = fopen(FILE_NAME, "w");
		fputs(bad[i], f);
		fclose(f);
		if (saved_read(FILE_NAME))
			fail_msg("%s", bad[i]);
	}

	assert_true(saved_write());
	f = fopen(FILE_NAME, "r");
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	f = fopen(FILE_NAME, "w");
	fwrite(text, 1, len - 1, f);
	fputs(" 1\n", f);
	fclose(f);
	assert_false(saved_read(FILE_NAME));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bad_files, setup),
		cmocka_unit_test_setup(test_round_trip, setup),
		cmocka_unit_test_setup(test_tracing, setup),
		cmocka_unit_test_setup(test_nowhere, setup),
	};

	return cmocka_run_group_tests_name("saved", tests, NULL, NULL);
}
