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

static enum x86_class classify_0f(const uint8_t *op, size_t len, bool f3_alone)
{
	switch (op[0]) {
	case 0x01:
		if (len < 2)
			return X86_OTHER;
		if (op[1] == 0xf9)
			return X86_RDTSCP;
		if (op[1] == 0xc9)
			return X86_MWAIT;
		/* LIDT: /3 with a memory operand */
		return (op[1] >> 3 & 7) == 3 && op[1] < 0xc0 ? X86_LIDT : X86_OTHER;
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
	case 0xae:				/* F3 0F AE /4; #UD with 66H or LOCK */
		return f3_alone && len >= 2 && (op[1] >> 3 & 7) == 4 ? X86_PTWRITE : X86_OTHER;
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
	bool opsize = false, lock = false, rep = false, repe = false;
	size_t n = 0, disp = 0;
	uint8_t op;

	memset(insn, 0, sizeof(*insn));

	while (n < len && (is_legacy_prefix(bytes[n]) ||
			   (long_mode && (bytes[n] & 0xf0) == 0x40))) {
		opsize |= bytes[n] == 0x66;
		lock |= bytes[n] == 0xf0;
		rep |= bytes[n] == 0xf2 || bytes[n] == 0xf3;
		/* Of F2H and F3H the last counts where it selects an opcode. */
		if (bytes[n] == 0xf2 || bytes[n] == 0xf3)
			repe = bytes[n] == 0xf3;
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
	case 0x9d: case 0xfa: case 0xfb:	/* POPF, CLI, STI */
		insn->class = X86_SET_IF;
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
			insn->class = classify_0f(bytes + n, len - n,
						   repe && !opsize && !lock);
		break;
	}

	if ((insn->class == X86_COND || insn->class == X86_JMP ||
	     insn->class == X86_CALL) && len >= n - 1 + disp)
		insn->target = relative(bytes, len, ip, disp, mode);
}

/* Fields of a prefix REX, 0 if there is none. */
#define REX_W(rex)	((rex) & 8)
#define REX_X(rex)	((rex) << 2 & 8)
#define REX_B(rex)	((rex) << 3 & 8)

/* SDM volume 2, 2.1.5, tables 2-2 and 2-3 */
static bool memory_operand(const uint8_t *bytes, size_t len, size_t n, uint8_t rex,
			   enum x86_mode mode, struct x86_operand *op)
{
	const uint8_t mod = bytes[n] >> 6, rm = bytes[n] & 7;
	size_t disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	uint8_t sib;

	n++;
	op->base = rm | REX_B(rex);
	op->index = X86_NO_REG;
	op->scale = 1;

	if (rm == 4) {
		if (n >= len)
			return false;
		sib = bytes[n++];
		op->base = (sib & 7) | REX_B(rex);
		op->index = (sib >> 3 & 7) | REX_X(rex);
		op->scale = 1 << (sib >> 6);
		if (op->index == 4)
			op->index = X86_NO_REG;
		if ((sib & 7) == 5 && mod == 0) {
			op->base = X86_NO_REG;
			disp = 4;
		}
	} else if (rm == 5 && mod == 0) {
		op->base = X86_NO_REG;
		op->rip_relative = mode == X86_MODE_64;
		disp = 4;
	}

	if (n + disp > len)
		return false;
	if (disp == 1)
		op->disp = (int8_t)bytes[n];
	else if (disp)
		memcpy(&op->disp, bytes + n, 4);
	op->length = n + disp;
	return true;
}

bool x86_operand(const uint8_t *bytes, size_t len, enum x86_mode mode,
		 struct x86_operand *op)
{
	uint8_t rex = 0, address_bits = mode == X86_MODE_64 ? 64 : 32;
	size_t n = 0;

	memset(op, 0, sizeof(*op));
	for (; n < len && is_legacy_prefix(bytes[n]); n++) {
		if (bytes[n] == 0x64)
			op->segment = X86_SEG_FS;
		else if (bytes[n] == 0x65)
			op->segment = X86_SEG_GS;
		else if (bytes[n] == 0x67)
			address_bits >>= 1;
	}
	if (mode == X86_MODE_64 && n < len && (bytes[n] & 0xf0) == 0x40)
		rex = bytes[n++];
	if (n + 3 > len || bytes[n] != 0x0f || mode == X86_MODE_16)
		return false;
	n += 2;

	op->size = REX_W(rex) ? 8 : 4;
	op->address_bits = address_bits;
	op->is_reg = bytes[n] >= 0xc0;
	if (op->is_reg) {
		op->reg = (bytes[n] & 7) | REX_B(rex);
		op->length = n + 1;
		return true;
	}
	return address_bits != 16 && memory_operand(bytes, len, n, rex, mode, op);
}

uint64_t x86_address(const struct x86_operand *op, const uint64_t gpr[16], uint64_t next,
		     uint64_t segment_base)
{
	uint64_t addr = (int64_t)op->disp;

	if (op->rip_relative)
		addr += next;
	if (op->base != X86_NO_REG)
		addr += gpr[op->base];
	if (op->index != X86_NO_REG)
		addr += gpr[op->index] * op->scale;
	if (op->address_bits == 32)
		addr &= 0xffffffff;
	return addr + segment_base;
}
