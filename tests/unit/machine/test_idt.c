// SPDX-License-Identifier: GPL-2.0
/*
 * Which vector a handler belongs to. Gates as SDM 3A, figures 7-2 and 7-8 (formats of
 * an interrupt gate in 32-bit and in 64-bit mode) have them.
 */
#include "annotated.h"
#include "idt.h"
#include "vcpu.h"

#define BASE	0xfffffe0000000000ULL

static uint8_t memory[4096];
static unsigned int reads;

bool virt_read(uint64_t va, void *buf, size_t len)
{
	reads++;
	if (va < BASE || va + len > BASE + sizeof(memory))
		return false;
	memcpy(buf, memory + (va - BASE), len);
	return true;
}

static void gate(unsigned int at, const char *text)
{
	annotated_bytes(text, memory + at);
}

static void test_long_mode(void **state)
{
	struct idt idt;

	(void)state;
	memset(memory, 0, sizeof(memory));
	gate(14 * 16, "40 0c	# offset 15:0\n"
		      "10 00	# selector\n"
		      "00 8e	# IST 0, present, interrupt gate\n"
		      "60 81	# offset 31:16\n"
		      "ff ff ff ff	# offset 63:32\n"
		      "00 00 00 00");
	gate(2 * 16, "80 0c 10 00 03 8e 60 81 ff ff ff ff 00 00 00 00");
	gate(3 * 16, "90 0c 10 00 00 0e 60 81 ff ff ff ff 00 00 00 00	# not present");
	idt_load(&idt, BASE, 4095);

	assert_int_equal(idt_vector(&idt, 0xffffffff81600c40, true), 14);
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c80, true), 2);
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c90, true), -1);
	assert_int_equal(idt_vector(&idt, 0x81600c40, true), -1);

	/* The second time one look is enough, and what was true no longer is seen. */
	reads = 0;
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c40, true), 14);
	assert_int_equal(reads, 1);
	gate(14 * 16, "50");
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c40, true), -1);
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c50, true), 14);
}

static void test_protected_mode(void **state)
{
	struct idt idt;

	(void)state;
	memset(memory, 0, sizeof(memory));
	gate(0x80 * 8, "34 12 08 00 00 ee 10 c0	# c0101234H, DPL 3");
	idt_load(&idt, BASE, 2047);
	assert_int_equal(idt_vector(&idt, 0xc0101234, false), 0x80);
}

static void test_limit(void **state)
{
	struct idt idt;

	(void)state;
	memset(memory, 0, sizeof(memory));
	gate(2 * 16, "80 0c 10 00 03 8e 60 81 ff ff ff ff 00 00 00 00");
	idt_load(&idt, BASE, 2 * 16 + 14);
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c80, true), -1);
	idt_load(&idt, BASE, 2 * 16 + 15);
	assert_int_equal(idt_vector(&idt, 0xffffffff81600c80, true), 2);
	memset(&idt, 0, sizeof(idt));
	assert_int_equal(idt_vector(&idt, 0, true), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_mode),
		cmocka_unit_test(test_protected_mode),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests_name("idt", tests, NULL, NULL);
}
