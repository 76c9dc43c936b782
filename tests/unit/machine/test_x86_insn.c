// SPDX-License-Identifier: GPL-2.0
/*
 * Classification of instructions. Bytes as the SDM's volume 2 gives them.
 */
#include "annotated.h"
#include "x86_insn.h"

#define M64	X86_MODE_64
#define M32	X86_MODE_32
#define M16	X86_MODE_16

static const struct {
	const char *bytes;
	enum x86_mode mode;
	enum x86_class class;
	uint64_t target;	/* from 0x1000 */
} table[] = {
	{ "90			# nop", M64, X86_OTHER, 0 },
	{ "74 fe			# je .", M64, X86_COND, 0x1000 },
	{ "7f 10			# jg", M64, X86_COND, 0x1012 },
	{ "0f 85 00 01 00 00	# jne rel32", M64, X86_COND, 0x1106 },
	{ "2e 0f 84 fa ff ff ff	# je with a hint", M64, X86_COND, 0x1001 },
	{ "e0 fe			# loopne", M64, X86_COND, 0x1000 },
	{ "e2 fe			# loop", M64, X86_COND, 0x1000 },
	{ "e3 05			# jrcxz", M64, X86_COND, 0x1007 },
	{ "67 e3 05		# jecxz", M64, X86_COND, 0x1008 },
	{ "eb 05			# jmp", M64, X86_JMP, 0x1007 },
	{ "e9 00 10 00 00		# jmp rel32", M64, X86_JMP, 0x2005 },
	{ "e8 00 00 00 00		# call +0", M64, X86_CALL, 0x1005 },
	{ "e8 fb ef ff ff		# call back", M64, X86_CALL, 0 },
	{ "66 e8 00 00 00 00	# 66H is ignored in 64-bit mode", M64, X86_CALL, 0x1006 },
	{ "66 e8 00 00		# call rel16", M32, X86_CALL, 0x1004 },
	{ "e8 00 00		# call rel16", M16, X86_CALL, 0x1003 },
	{ "e9 00 f0 ff ff		# jmp rel32 wraps", M32, X86_JMP, 0x5 },
	{ "ff d0			# call *%rax", M64, X86_CALL_IND, 0 },
	{ "41 ff d3		# call *%r11", M64, X86_CALL_IND, 0 },
	{ "ff 15 00 00 00 00	# call *0(%rip)", M64, X86_CALL_IND, 0 },
	{ "f2 ff e0		# bnd jmp *%rax", M64, X86_JMP_IND, 0 },
	{ "3e ff e0		# notrack jmp *%rax", M64, X86_JMP_IND, 0 },
	{ "ff 24 c5 00 00 00 00	# jmp *0(,%rax,8)", M64, X86_JMP_IND, 0 },
	{ "ff 18			# lcall *(%rax)", M64, X86_FAR, 0 },
	{ "48 ff 28		# ljmp *(%rax)", M64, X86_FAR, 0 },
	{ "ff 30			# push (%rax)", M64, X86_OTHER, 0 },
	{ "ff c0			# inc %eax", M64, X86_OTHER, 0 },
	{ "c3			# ret", M64, X86_RET, 0 },
	{ "f3 c3			# repz ret", M64, X86_RET, 0 },
	{ "c2 08 00		# ret $8", M64, X86_RET, 0 },
	{ "cb			# lret", M64, X86_FAR, 0 },
	{ "48 cf			# iretq", M64, X86_IRET, 0 },
	{ "0f aa			# rsm", M64, X86_RSM, 0 },
	{ "0f 05			# syscall", M64, X86_FAR, 0 },
	{ "48 0f 07		# sysretq", M64, X86_FAR, 0 },
	{ "0f 34			# sysenter", M64, X86_FAR, 0 },
	{ "0f 35			# sysexit", M64, X86_FAR, 0 },
	{ "9a 00 00 00 00 33 00	# lcall", M32, X86_FAR, 0 },
	{ "ea 00 00 00 00 33 00	# ljmp", M32, X86_FAR, 0 },
	{ "cc			# int3", M64, X86_SOFT_INT, 0 },
	{ "cd 80			# int $0x80", M64, X86_SOFT_INT, 0 },
	{ "f1			# int1", M64, X86_SOFT_INT, 0 },
	{ "ce			# into", M32, X86_SOFT_INT, 0 },
	{ "ce			# no instruction", M64, X86_OTHER, 0 },
	{ "f4			# hlt", M64, X86_HALT, 0 },
	{ "0f 01 c9		# mwait", M64, X86_MWAIT, 0 },
	{ "0f 01 18		# lidt (%rax)", M64, X86_LIDT, 0 },
	{ "0f 01 d8		# vmrun: /3 with a register", M64, X86_OTHER, 0 },
	{ "0f 01 10		# lgdt (%rax)", M64, X86_OTHER, 0 },
	{ "fa			# cli", M64, X86_SET_IF, 0 },
	{ "fb			# sti", M64, X86_SET_IF, 0 },
	{ "9d			# popf", M64, X86_SET_IF, 0 },
	{ "f3 0f ae e0		# ptwrite %eax", M64, X86_PTWRITE, 0 },
	{ "f3 48 0f ae e0		# ptwrite %rax", M64, X86_PTWRITE, 0 },
	{ "f3 49 0f ae 24 24	# ptwriteq (%r12)", M64, X86_PTWRITE, 0 },
	{ "64 f3 0f ae 20		# ptwritel %fs:(%rax)", M64, X86_PTWRITE, 0 },
	{ "0f ae 20		# xsave (%rax)", M64, X86_OTHER, 0 },
	{ "66 f3 0f ae e0	# 66H: #UD", M64, X86_OTHER, 0 },
	{ "f0 f3 0f ae 20	# LOCK: #UD", M64, X86_OTHER, 0 },
	{ "f3 f2 0f ae e0		# F2H counts: umwait's line, /4", M64, X86_OTHER, 0 },
	{ "f3 0f ae d0		# wrfsbase %eax", M64, X86_OTHER, 0 },
	{ "0f 22 d8		# mov %rax, %cr3", M64, X86_MOV_CR3, 0 },
	{ "41 0f 22 da		# mov %r10, %cr3", M64, X86_MOV_CR3, 0 },
	{ "0f 22 e0		# mov %rax, %cr4", M64, X86_OTHER, 0 },
	{ "0f 20 d8		# mov %cr3, %rax", M64, X86_OTHER, 0 },
	{ "0f a2			# cpuid", M64, X86_CPUID, 0 },
	{ "0f 30			# wrmsr", M64, X86_WRMSR, 0 },
	{ "0f 32			# rdmsr", M64, X86_RDMSR, 0 },
	{ "0f 31			# rdtsc", M64, X86_RDTSC, 0 },
	{ "0f 01 f9		# rdtscp", M64, X86_RDTSCP, 0 },
	{ "0f 33			# rdpmc", M64, X86_RDPMC, 0 },
	{ "0f 0b			# ud2", M64, X86_OTHER, 0 },
	{ "0f af c3		# imul, with a byte like ret", M64, X86_OTHER, 0 },
	{ "b8 74 fe c3 cc		# mov, with bytes like branches", M64, X86_OTHER, 0 },
	{ "40			# inc %eax", M32, X86_OTHER, 0 },
	{ "48			# only a prefix", M64, X86_OTHER, 0 },
};

static void test_classes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint8_t bytes[16];
		const size_t len = annotated_bytes(table[i].bytes, bytes);
		struct x86_insn insn;

		x86_classify(bytes, len, 0x1000, table[i].mode, &insn);
		if (insn.class != table[i].class || insn.target != table[i].target)
			fail_msg("%s: class %d, target %lx", table[i].bytes, insn.class,
				 insn.target);
	}
}

static void test_string_instructions(void **state)
{
	static const struct {
		const char *bytes;
		bool rep_string;
	} strings[] = {
		{ "f3 a4		# rep movsb", true },
		{ "f3 48 a5	# rep movsq", true },
		{ "f3 48 ab	# rep stosq", true },
		{ "f2 ae		# repne scasb", true },
		{ "66 f3 a5	# rep movsw", true },
		{ "f3 6e		# rep outsb", true },
		{ "a4		# movsb", false },
		{ "f3 90		# pause", false },
		{ "f3 a8 01	# rep test: no string instruction", false },
		{ "f3 0f ae f8	# not one either", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		uint8_t bytes[16];
		const size_t len = annotated_bytes(strings[i].bytes, bytes);
		struct x86_insn insn;

		x86_classify(bytes, len, 0x1000, X86_MODE_64, &insn);
		if (insn.rep_string != strings[i].rep_string)
			fail_msg("%s", strings[i].bytes);
	}
}

/*
 * Operands, as "Intel 64 and IA-32", volume 2, 2.1.5 and 2.2.1 have them. The
 * registers hold 100H times their number plus one; next is 400000H.
 */
static void test_operands(void **state)
{
	static const struct {
		const char *bytes;
		enum x86_mode mode;
		uint64_t address;	/* or the register's number */
		uint8_t length;
		uint8_t size;
		bool is_reg;
		enum x86_segment segment;
	} operands[] = {
		{ "f3 0f ae e0		# ptwrite %eax", M64, 0, 4, 4, true, 0 },
		{ "f3 48 0f ae e7	# ptwrite %rdi", M64, 7, 5, 8, true, 0 },
		{ "f3 49 0f ae e7	# ptwrite %r15", M64, 15, 5, 8, true, 0 },
		{ "f3 0f ae 20		# ptwritel (%rax)", M64, 0x100, 4, 4, false, 0 },
		{ "f3 48 0f ae 63 f8	# ptwriteq -8(%rbx)", M64, 0x3f8, 6, 8, false, 0 },
		{ "f3 49 0f ae a1 00 10 00 00	# ptwriteq 0x1000(%r9)", M64,
		  0x1a00, 9, 8, false, 0 },
		{ "f3 0f ae 25 10 00 00 00	# ptwritel 0x10(%rip)", M64,
		  0x400010, 8, 4, false, 0 },
		{ "f3 0f ae 24 25 10 00 00 00	# ptwritel 0x10", M64,
		  0x10, 9, 4, false, 0 },
		{ "f3 0f ae 24 24	# ptwritel (%rsp)", M64, 0x500, 5, 4, false, 0 },
		{ "f3 41 0f ae 24 24	# ptwritel (%r12)", M64, 0xd00, 6, 4, false, 0 },
		{ "f3 0f ae 64 8b 04	# ptwritel 4(%rbx,%rcx,4)", M64,
		  0xc04, 6, 4, false, 0 },
		{ "f3 42 0f ae 64 a3 04	# ptwritel 4(%rbx,%r12,4)", M64,
		  0x3804, 7, 4, false, 0 },
		{ "f3 0f ae 24 cd f0 ff ff ff	# ptwritel -16(,%rcx,8)", M64,
		  0xff0, 9, 4, false, 0 },
		{ "f3 0f ae 65 00	# ptwritel 0(%rbp)", M64, 0x600, 5, 4, false, 0 },
		{ "f3 41 0f ae 65 00	# ptwritel 0(%r13)", M64, 0xe00, 6, 4, false, 0 },
		{ "64 f3 0f ae 20	# ptwritel %fs:(%rax)", M64,
		  0x70000100, 5, 4, false, X86_SEG_FS },
		{ "65 f3 48 0f ae 20	# ptwriteq %gs:(%rax)", M64,
		  0x70000100, 6, 8, false, X86_SEG_GS },
		{ "67 f3 0f ae 60 ff	# ptwritel -1(%eax)", M64, 0xff, 6, 4, false, 0 },
		{ "f3 0f ae 25 10 00 00 80	# ptwritel 0x80000010", M32,
		  0x80000010, 8, 4, false, 0 },
		{ "f3 0f ae a0 00 ff ff ff	# ptwritel -0x100(%eax) is 0", M32,
		  0, 8, 4, false, 0 },
		{ "0f 01 1d 00 01 00 00	# lidt 0x100(%rip)", M64,
		  0x400100, 7, 4, false, 0 },
	};
	uint64_t gpr[16];
	size_t i;

	(void)state;
	for (i = 0; i < 16; i++)
		gpr[i] = 0x100 * (i + 1);

	for (i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		uint8_t bytes[16];
		const size_t len = annotated_bytes(operands[i].bytes, bytes);
		struct x86_operand op;
		uint64_t address;

		if (!x86_operand(bytes, len, operands[i].mode, &op))
			fail_msg("%s", operands[i].bytes);
		address = op.is_reg ? op.reg :
			  x86_address(&op, gpr, 0x400000, op.segment ? 0x70000000 : 0);
		if (op.is_reg != operands[i].is_reg || address != operands[i].address ||
		    op.length != operands[i].length || op.size != operands[i].size ||
		    op.segment != operands[i].segment)
			fail_msg("%s: %lx, %u bytes", operands[i].bytes, address,
				 op.length);
	}
}

/* Bytes that are cut, and 16-bit addressing, are refused. */
static void test_operands_refused(void **state)
{
	static const struct {
		const char *bytes;
		enum x86_mode mode;
	} refused[] = {
		{ "f3 0f ae		# no ModRM", M64 },
		{ "f3 0f ae 24		# no SIB", M64 },
		{ "f3 0f ae 25 10 00 00	# displacement cut", M64 },
		{ "67 f3 0f ae 20	# 16-bit address", M32 },
		{ "f3 0f ae 20		# 16-bit code", M16 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		uint8_t bytes[16];
		const size_t len = annotated_bytes(refused[i].bytes, bytes);
		struct x86_operand op;

		if (x86_operand(bytes, len, refused[i].mode, &op))
			fail_msg("%s", refused[i].bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_string_instructions),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_operands_refused),
	};

	return cmocka_run_group_tests_name("x86_insn", tests, NULL, NULL);
}
