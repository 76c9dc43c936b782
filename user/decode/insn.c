// SPDX-License-Identifier: GPL-2.0
/*
 * Branch instructions of x86: SDM vol. 2, appendix A (opcode map).
 */
#include "user/decode/insn.h"

#include <string.h>

struct reader {
	const uint8_t *bytes;
	size_t len;
	size_t pos;
	unsigned int bits;
	bool operand_prefix;	/* 66 */
	bool address_prefix;	/* 67 */
};

static const struct mt_insn other = { .kind = MT_INSN_OTHER };

static bool take(struct reader *r, uint8_t *byte)
{
	if (r->pos >= r->len)
		return false;
	*byte = r->bytes[r->pos++];
	return true;
}

/* Legacy prefixes, then REX; leaves the first byte of the opcode in *@opcode. */
static bool take_prefixes(struct reader *r, uint8_t *opcode)
{
	while (take(r, opcode)) {
		switch (*opcode) {
		case 0x66:
			r->operand_prefix = true;
			continue;
		case 0x67:
			r->address_prefix = true;
			continue;
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65:
		case 0xf0: case 0xf2: case 0xf3:
			continue;
		}
		if (r->bits == 64 && (*opcode & 0xf0) == 0x40)
			continue;
		return true;
	}
	return false;
}

/* Bytes of an immediate that has the operand's size: near branches and pointers. */
static size_t operand_bytes(const struct reader *r)
{
	if (r->bits == 64)
		return 4;	/* 66 is ignored by Intel's near branches */
	return (r->bits == 16) != r->operand_prefix ? 2 : 4;
}

static struct mt_insn plain(struct reader *r, enum mt_insn_kind kind, size_t immediate)
{
	if (r->len - r->pos < immediate)
		return other;
	return (struct mt_insn) { .kind = kind, .size = (uint8_t)(r->pos + immediate) };
}

static struct mt_insn direct(struct reader *r, enum mt_insn_kind kind, size_t immediate)
{
	struct mt_insn insn = plain(r, kind, immediate);
	const uint8_t *p = r->bytes + r->pos;
	int16_t word;

	if (insn.kind == MT_INSN_OTHER)
		return insn;
	insn.direct = true;
	if (immediate == 1) {
		insn.displacement = (*p ^ 0x80) - 0x80;	/* its sign extended */
	} else if (immediate == 2) {
		memcpy(&word, p, sizeof(word));
		insn.displacement = word;
	} else {
		memcpy(&insn.displacement, p, sizeof(insn.displacement));
	}
	return insn;
}

/* Skip what follows a ModRM byte: SIB and displacement. */
static bool skip_operand(struct reader *r, uint8_t modrm)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7;
	size_t displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	uint8_t sib;

	if (mod == 3)
		return true;
	if (r->bits != 64 && (r->bits == 16) != r->address_prefix) {
		/* 16-bit addressing: no SIB, [disp16] for mod 0, rm 6 */
		if (mod == 2 || (mod == 0 && rm == 6))
			displacement = 2;
	} else {
		if (rm == 4) {
			if (!take(r, &sib))
				return false;
			if (mod == 0 && (sib & 7) == 5)
				displacement = 4;
		} else if (mod == 0 && rm == 5) {
			displacement = 4;
		}
	}
	if (r->len - r->pos < displacement)
		return false;
	r->pos += displacement;
	return true;
}

/* ff /2 to /5 */
static struct mt_insn group5(struct reader *r)
{
	static const uint8_t kinds[8] = {
		[2] = MT_INSN_CALL, [3] = MT_INSN_FAR_CALL,
		[4] = MT_INSN_JUMP, [5] = MT_INSN_FAR_JUMP,
	};
	uint8_t modrm;

	if (!take(r, &modrm) || !skip_operand(r, modrm))
		return other;
	if (kinds[(modrm >> 3) & 7] == MT_INSN_OTHER)
		return other;
	return plain(r, kinds[(modrm >> 3) & 7], 0);
}

static struct mt_insn two_byte(struct reader *r)
{
	uint8_t opcode, modrm;

	if (!take(r, &opcode))
		return other;
	if ((opcode & 0xf0) == 0x80)
		return direct(r, MT_INSN_COND, operand_bytes(r));
	switch (opcode) {
	case 0x05:		/* syscall */
	case 0x34:		/* sysenter */
		return plain(r, MT_INSN_FAR_CALL, 0);
	case 0x07:		/* sysret */
	case 0x35:		/* sysexit */
		return plain(r, MT_INSN_FAR_RETURN, 0);
	case 0x01:
		if (!take(r, &modrm))
			return other;
		if (modrm == 0xc2 || modrm == 0xc3)	/* vmlaunch, vmresume */
			return plain(r, MT_INSN_FAR_RETURN, 0);
		if (modrm == 0xc1)
			return plain(r, MT_INSN_FAR_CALL, 0);	/* vmcall */
	}
	return other;
}

struct mt_insn mt_insn_classify(const uint8_t *bytes, size_t len, unsigned int bits)
{
	struct reader r = {
		.bytes = bytes,
		.len = len < MT_INSN_MAX ? len : MT_INSN_MAX,
		.bits = bits,
	};
	uint8_t opcode;

	if (!take_prefixes(&r, &opcode))
		return other;
	if ((opcode & 0xf0) == 0x70)
		return direct(&r, MT_INSN_COND, 1);
	switch (opcode) {
	case 0x0f:
		return two_byte(&r);
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:	/* loop, jcxz */
		return direct(&r, MT_INSN_COND, 1);
	case 0xe8:
		return direct(&r, MT_INSN_CALL, operand_bytes(&r));
	case 0xe9:
		return direct(&r, MT_INSN_JUMP, operand_bytes(&r));
	case 0xeb:
		return direct(&r, MT_INSN_JUMP, 1);
	case 0xc3:
		return plain(&r, MT_INSN_RETURN, 0);
	case 0xc2:
		return plain(&r, MT_INSN_RETURN, 2);
	case 0xff:
		return group5(&r);
	case 0xcb: case 0xcf:				/* lret, iret */
		return plain(&r, MT_INSN_FAR_RETURN, 0);
	case 0xca:
		return plain(&r, MT_INSN_FAR_RETURN, 2);
	case 0xcc: case 0xce: case 0xf1:		/* int3, into, int1 */
		return plain(&r, MT_INSN_FAR_CALL, 0);
	case 0xcd:
		return plain(&r, MT_INSN_FAR_CALL, 1);
	case 0x9a:					/* not in 64-bit mode */
		return plain(&r, MT_INSN_FAR_CALL, operand_bytes(&r) + 2);
	case 0xea:
		return plain(&r, MT_INSN_FAR_JUMP, operand_bytes(&r) + 2);
	}
	return other;
}
