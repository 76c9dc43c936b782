// SPDX-License-Identifier: GPL-2.0
/*
 * The branches of real code, as objdump sees them, and of 32-bit and 16-bit code,
 * by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/decode/insn.h"

static const struct {
	const char *mnemonic;		/* the beginning */
	enum mt_insn_kind kind;
} kinds[] = {
	{ "call", MT_INSN_CALL },
	{ "ret", MT_INSN_RETURN },
	{ "jmp", MT_INSN_JUMP },
	{ "j", MT_INSN_COND },
	{ "loop", MT_INSN_COND },
	{ "syscall", MT_INSN_FAR_CALL },
	{ "sysenter", MT_INSN_FAR_CALL },
	{ "int", MT_INSN_FAR_CALL },
	{ "iret", MT_INSN_FAR_RETURN },
	{ "sysret", MT_INSN_FAR_RETURN },
	{ "lret", MT_INSN_FAR_RETURN },
	{ "lcall", MT_INSN_FAR_CALL },
	{ "ljmp", MT_INSN_FAR_JUMP },
};

static enum mt_insn_kind kind_of(const char *mnemonic)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(mnemonic, kinds[i].mnemonic, strlen(kinds[i].mnemonic)))
			return kinds[i].kind;
	return MT_INSN_OTHER;
}

/* Behind prefixes that objdump writes as words. */
static char *skip_prefixes(char *text)
{
	static const char *const words[] = {
		"bnd ", "notrack ", "repz ", "rep ", "data16 ", "addr32 ", "rex", "cs ", "ds ",
	};
	size_t i;

again:
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncmp(text, words[i], strlen(words[i])))
			continue;
		text += strcspn(text, " ");
		text += strspn(text, " ");
		goto again;
	}
	return text;
}

/* One line of objdump: "  26000:\te8 01 02 03 04 \tcall   26206 <x>". */
static int check_line(char *line)
{
	char *bytes_at = strchr(line, '\t'), *text = bytes_at ? strchr(bytes_at + 1, '\t') : NULL;
	unsigned long address = strtoul(line, NULL, 16), target;
	struct mt_insn insn;
	uint8_t bytes[16];
	size_t len = 0;
	char *p, *end;
	enum mt_insn_kind kind;

	if (!text || strstr(text, "(bad)"))
		return 0;
	*text++ = '\0';
	for (p = bytes_at + 1; len < sizeof(bytes); p = end) {
		unsigned long byte = strtoul(p, &end, 16);

		if (end == p)
			break;
		bytes[len++] = (uint8_t)byte;
	}
	kind = kind_of(skip_prefixes(text));
	insn = mt_insn_classify(bytes, len, 64);
	if (insn.kind != kind)
		fail_msg("%s %s: kind %u, not %u", line, text, insn.kind, kind);
	if (kind == MT_INSN_OTHER)
		return 0;
	if (insn.size != len)
		fail_msg("%s %s: size %u, not %zu", line, text, insn.size, len);
	text = skip_prefixes(text);
	text += strcspn(text, " ");
	if (insn.direct && sscanf(text, " %lx <", &target) == 1 &&
	    address + insn.size + (int64_t)insn.displacement != target)
		fail_msg("%s %s: displacement %d", line, text, insn.displacement);
	return 1;
}

static void test_objdump(void **state)
{
	FILE *f = popen("objdump -d -w $(ldd /bin/ls | sed -n 's/.*=> \\(.*libc.so.6\\) .*/\\1/p') "
			"| head -300000", "r");
	unsigned int count = 0;
	char line[1024];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		count += check_line(line);
	pclose(f);
	print_message("%u branches\n", count);
	assert_true(count > 10000);
}

/* @bytes in @bits are of @kind and @size; then cut off, they are nothing. */
static void check(unsigned int bits, enum mt_insn_kind kind, int displacement, size_t size,
		  const uint8_t *bytes)
{
	struct mt_insn insn = mt_insn_classify(bytes, size, bits);
	size_t len;

	assert_int_equal(insn.kind, kind);
	assert_int_equal(insn.size, kind == MT_INSN_OTHER ? 0 : size);
	assert_int_equal(insn.displacement, displacement);
	for (len = 0; len < size; len++)
		assert_int_equal(mt_insn_classify(bytes, len, bits).kind, MT_INSN_OTHER);
}

#define CHECK(bits, kind, displacement, ...)						\
	check(bits, kind, displacement, sizeof((const uint8_t[]){ __VA_ARGS__ }),		\
	      (const uint8_t[]){ __VA_ARGS__ })

static void test_by_hand(void **state)
{
	(void)state;
	CHECK(64, MT_INSN_CALL, -1, 0xe8, 0xff, 0xff, 0xff, 0xff);
	CHECK(64, MT_INSN_JUMP, -2, 0xeb, 0xfe);
	CHECK(64, MT_INSN_COND, 256, 0x0f, 0x84, 0x00, 0x01, 0x00, 0x00);
	CHECK(64, MT_INSN_CALL, 0, 0xff, 0x14, 0xc5, 0x00, 0x00, 0x00, 0x00); /* *0(,%rax,8) */
	CHECK(64, MT_INSN_CALL, 0, 0x41, 0xff, 0x54, 0x24, 0x18);	/* *0x18(%r12) */
	CHECK(64, MT_INSN_JUMP, 0, 0x3e, 0xff, 0xe0);			/* notrack *%rax */
	CHECK(64, MT_INSN_RETURN, 0, 0xf3, 0xc3);
	CHECK(64, MT_INSN_RETURN, 0, 0xc2, 0x08, 0x00);
	CHECK(64, MT_INSN_FAR_RETURN, 0, 0x48, 0xcf);
	CHECK(64, MT_INSN_FAR_CALL, 0, 0xcd, 0x80);
	CHECK(64, MT_INSN_OTHER, 0, 0xff, 0xc0);			/* inc %eax */
	CHECK(64, MT_INSN_OTHER, 0, 0x48, 0x89, 0xe5);
	CHECK(64, MT_INSN_OTHER, 0, 0x0f, 0x1f, 0x40, 0x00);
	/* in 32 bits 40 is inc %eax, which ends with it */
	CHECK(32, MT_INSN_OTHER, 0, 0x40);
	CHECK(32, MT_INSN_CALL, 5, 0x66, 0xe8, 0x05, 0x00);
	CHECK(32, MT_INSN_JUMP, 0, 0xff, 0x25, 0x00, 0x10, 0x00, 0x00);
	CHECK(32, MT_INSN_FAR_JUMP, 0, 0xea, 0, 0, 0, 0, 0x08, 0x00);
	CHECK(32, MT_INSN_CALL, 0, 0x67, 0xff, 0x16, 0x34, 0x12);	/* *0x1234, 16-bit */
	CHECK(16, MT_INSN_CALL, 5, 0xe8, 0x05, 0x00);
	CHECK(16, MT_INSN_COND, 5, 0x66, 0x0f, 0x84, 0x05, 0x00, 0x00, 0x00);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objdump),
		cmocka_unit_test(test_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
