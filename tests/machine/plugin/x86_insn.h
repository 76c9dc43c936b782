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
	X86_HALT,		/* HLT, MWAIT */
	X86_MOV_CR3,
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

#endif
