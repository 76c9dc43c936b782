/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an x86 instruction does to control flow, as Intel PT sees it, and
 * which few instructions the emulated machine must act upon.
 *
 * Owns: opcode bytes. Must not know: QEMU, packets.
 */
#ifndef X86_INSN_H
#define X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Table 36-26: the mode byte of MODE.Exec, CS.D in bit 1, CS.L & LMA in bit 0 */
enum x86_mode {
	X86_MODE_16 = 0,
	X86_MODE_64 = 1,
	X86_MODE_32 = 2,
};

enum x86_class {
	X86_OTHER,

	/* change of flow instructions, SDM 3C 36.2.1 */
	X86_COND,		/* Jcc, J*CXZ, LOOPcc */
	X86_JMP,		/* near relative */
	X86_CALL,		/* near relative */
	X86_JMP_IND,
	X86_CALL_IND,
	X86_RET,
	X86_FAR,		/* far jump, call, return; system call and return */
	X86_IRET,
	X86_RSM,
	X86_SOFT_INT,		/* INT n, INT3, INT1, INTO */

	/* acted upon by the machine */
	X86_HALT,		/* HLT */
	X86_MWAIT,
	X86_MOV_CR3,
	X86_SET_IF,		/* CLI, STI, POPF: may change RFLAGS.IF */
	X86_LIDT,
	X86_PTWRITE,
	X86_CPUID,
	X86_RDMSR,
	X86_WRMSR,
	X86_RDTSC,
	X86_RDTSCP,
	X86_RDPMC,
};

/* Does it load CS? */
static inline bool x86_is_far(enum x86_class class)
{
	return class == X86_FAR || class == X86_IRET || class == X86_RSM;
}

struct x86_insn {
	enum x86_class class;
	bool rep_string;	/* iterated by a REP prefix: one instruction, many steps */
	uint64_t target;	/* X86_COND, X86_JMP, X86_CALL */
};

/*
 * Classify the instruction of @len bytes, its exact length, at @ip.
 */
void x86_classify(const uint8_t *bytes, size_t len, uint64_t ip, enum x86_mode mode,
		  struct x86_insn *insn);

/* Does it end a basic block for Intel PT? */
static inline bool x86_is_branch(enum x86_class class)
{
	return class >= X86_COND && class <= X86_SOFT_INT;
}

/* Registers as ModRM numbers them: RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 … */
#define X86_NO_REG	0xff

enum x86_segment {
	X86_SEG_FLAT,		/* its base is 0 in 64-bit mode */
	X86_SEG_FS,
	X86_SEG_GS,
};

/* The ModRM operand of an instruction: a register, or where in memory it is. */
struct x86_operand {
	bool is_reg;
	uint8_t reg;		/* if it is one */
	uint8_t base;		/* X86_NO_REG: none */
	uint8_t index;
	uint8_t scale;		/* 1, 2, 4, 8 */
	bool rip_relative;
	int32_t disp;
	uint8_t address_bits;	/* 32 or 64 */
	uint8_t size;		/* of the operand, by REX.W: 4 or 8 bytes */
	enum x86_segment segment;
	uint8_t length;		/* of the instruction, if it has no immediate */
};

/*
 * Decode the operand of an instruction of the map 0FH, 32-bit or 64-bit code.
 * Returns false if the bytes are too few or the addressing is 16-bit.
 */
bool x86_operand(const uint8_t *bytes, size_t len, enum x86_mode mode,
		 struct x86_operand *op);

/*
 * The linear address of a memory operand; @gpr are the 16 registers, @next is the
 * address after the instruction, @segment_base that of op->segment.
 */
uint64_t x86_address(const struct x86_operand *op, const uint64_t gpr[16], uint64_t next,
		     uint64_t segment_base);

#endif
