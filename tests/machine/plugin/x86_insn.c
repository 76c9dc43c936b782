// SPDX-License-Identifier: GPL-2.0
/*
 * Classification of x86 instructions by their opcode (SDM volume 2, appendix A).
 */
#include "x86_insn.h"

#include <string.h>

static bool is_legacy_prefix(uint8_t b)
{
	switch (b) {
	case 0x26: case 0x2e: case 0x36: case 0x3e:	/* ES, CS, SS, DS */
	case 0x64: case 0x65:				/* FS, GS */
	case 0x66: case 0x67:				/* operand, address size */
	case 0xf0: case 0xf2: case 0xf3:		/* LOCK, REPNE, REP */
		return true;
	default:
		return false;
	}
}

/* INS, OUTS, MOVS, CMPS, STOS, LODS, SCAS */
static bool is_string_op(uint8_t op)
{
	return (op >= 0x6c && op <= 0x6f) || (op >= 0xa4 && op <= 0xa7) ||
	       (op >= 0xaa && op <= 0xaf);
}

/* The target of a relative branch, whose displacement is its last @size bytes. */
static uint64_t relative(const uint8_t *bytes, size_t len, uint64_t ip, size_t size,
			 enum x86_mode mode)
{
	uint64_t target = ip + len;
	int32_t disp32;
	int16_t disp16;

	switch (size) {
	case 1:
		target += (int8_t)bytes[len - 1];
		break;
	case 2:
		memcpy(&disp16, bytes + len - 2, 2);
		target = (target + disp16) & 0xffff;
		break;
	default:
		memcpy(&disp32, bytes + len - 4, 4);
		target += disp32;
	}

	return mode == X86_MODE_64 ? target : target & 0xffffffff;
}

static enum x86_class classify_0f(const uint8_t *op, size_t len)
{
	switch (op[0]) {
	case 0x01:
		if (len < 2)
			return X86_OTHER;
		if (op[1] == 0xf9)
			return X86_RDTSCP;
		if (op[1] == 0xc9)
			return X86_HALT;	/* MWAIT */
		return X86_OTHER;
	case 0x05: case 0x07:			/* SYSCALL, SYSRET */
	case 0x34: case 0x35:			/* SYSENTER, SYSEXIT */
		return X86_FAR;
	case 0xaa:
		return X86_RSM;
	case 0x22:
		return len >= 2 && (op[1] >> 3 & 7) == 3 ? X86_MOV_CR3 : X86_OTHER;
	case 0x30:
		return X86_WRMSR;
	case 0x31:
		return X86_RDTSC;
	case 0x32:
		return X86_RDMSR;
	case 0x33:
		return X86_RDPMC;
	case 0xa2:
		return X86_CPUID;
	default:
		return (op[0] & 0xf0) == 0x80 ? X86_COND : X86_OTHER;
	}
}

static enum x86_class classify_ff(uint8_t modrm)
{
	switch (modrm >> 3 & 7) {
	case 2:
		return X86_CALL_IND;
	case 4:
		return X86_JMP_IND;
	case 3: case 5:
		return X86_FAR;
	default:
		return X86_OTHER;
	}
}

void x86_classify(const uint8_t *bytes, size_t len, uint64_t ip, enum x86_mode mode,
		  struct x86_insn *insn)
{
	const bool long_mode = mode == X86_MODE_64;
	bool opsize = false, rep = false;
	size_t n = 0, disp = 0;
	uint8_t op;

	memset(insn, 0, sizeof(*insn));

	while (n < len && (is_legacy_prefix(bytes[n]) ||
			   (long_mode && (bytes[n] & 0xf0) == 0x40))) {
		opsize |= bytes[n] == 0x66;
		rep |= bytes[n] == 0xf2 || bytes[n] == 0xf3;
		n++;
	}
	if (n >= len)
		return;

	op = bytes[n++];
	insn->rep_string = rep && is_string_op(op);

	/* In 64-bit mode Intel's processors ignore 66H before a near branch. */
	disp = !long_mode && (opsize != (mode == X86_MODE_16)) ? 2 : 4;

	switch (op) {
	case 0x70 ... 0x7f:			/* Jcc rel8 */
	case 0xe0 ... 0xe3:			/* LOOPNE, LOOPE, LOOP, JrCXZ */
		insn->class = X86_COND;
		disp = 1;
		break;
	case 0xe8:
		insn->class = X86_CALL;
		break;
	case 0xe9:
		insn->class = X86_JMP;
		break;
	case 0xeb:
		insn->class = X86_JMP;
		disp = 1;
		break;
	case 0xc2: case 0xc3:
		insn->class = X86_RET;
		break;
	case 0xca: case 0xcb:			/* RETF */
		insn->class = X86_FAR;
		break;
	case 0xcf:
		insn->class = X86_IRET;
		break;
	case 0x9a: case 0xea:			/* far direct, not in 64-bit mode */
		insn->class = long_mode ? X86_OTHER : X86_FAR;
		break;
	case 0xcc: case 0xcd: case 0xf1:	/* INT3, INT n, INT1 */
		insn->class = X86_SOFT_INT;
		break;
	case 0xce:				/* INTO */
		insn->class = long_mode ? X86_OTHER : X86_SOFT_INT;
		break;
	case 0xf4:
		insn->class = X86_HALT;
		break;
	case 0xff:
		if (n < len)
			insn->class = classify_ff(bytes[n]);
		break;
	case 0x0f:
		if (n < len)
			insn->class = classify_0f(bytes + n, len - n);
		break;
	}

	if ((insn->class == X86_COND || insn->class == X86_JMP ||
	     insn->class == X86_CALL) && len >= n - 1 + disp)
		insn->target = relative(bytes, len, ip, disp, mode);
}
