/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the last instruction of a block does to control flow. libipt's block
 * decoder does not always say, and never says how long it is or where it leads.
 * Only branches are told apart; the length of anything else is not known.
 */
#ifndef MTRACE_DECODE_INSN_H
#define MTRACE_DECODE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_INSN_MAX	15	/* bytes; SDM vol. 2, "Instruction Format" */

enum mt_insn_kind {
	MT_INSN_OTHER,		/* goes on behind itself */
	MT_INSN_CALL,
	MT_INSN_RETURN,
	MT_INSN_JUMP,
	MT_INSN_COND,
	MT_INSN_FAR_CALL,	/* syscall, sysenter, int n, far call, VM entry */
	MT_INSN_FAR_RETURN,	/* sysret, sysexit, iret, far return */
	MT_INSN_FAR_JUMP,
};

struct mt_insn {
	uint8_t kind;		/* enum mt_insn_kind */
	uint8_t size;		/* 0 for OTHER */
	bool direct;		/* the target is in the instruction ... */
	int32_t displacement;	/* ... this far behind its end */
};

/*
 * Classify the instruction in the @len bytes at @bytes; @bits is 64, 32 or 16.
 * What is cut off or no branch is MT_INSN_OTHER.
 */
struct mt_insn mt_insn_classify(const uint8_t *bytes, size_t len, unsigned int bits);

#endif /* MTRACE_DECODE_INSN_H */
