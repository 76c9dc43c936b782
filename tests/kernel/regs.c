// SPDX-License-Identifier: GPL-2.0
#include "harness.h"
#include "regs.h"

/* The stack's pointer of the thread that has loaded its registers last. */
volatile uint64_t regs_sp;

void regs_check(const struct mtrace_regs *regs)
{
	CHECK_EQ(regs->bx, REGS_VALUE(1));
	CHECK_EQ(regs->dx, REGS_VALUE(3));
	CHECK_EQ(regs->si, REGS_VALUE(4));
	CHECK_EQ(regs->di, 42);
	CHECK_EQ(regs->bp, REGS_VALUE(5));
	CHECK_EQ(regs->r8, REGS_VALUE(6));
	CHECK_EQ(regs->r9, REGS_VALUE(7));
	CHECK_EQ(regs->r10, REGS_VALUE(8));
	CHECK_EQ(regs->r12, REGS_VALUE(10));
	CHECK_EQ(regs->r13, REGS_VALUE(11));
	CHECK_EQ(regs->r14, REGS_VALUE(12));
	CHECK_EQ(regs->r15, REGS_VALUE(13));
	/* Of SF, ZF, PF, CF and OF. */
	CHECK_EQ(regs->flags & 0x8c5, 0x045);
}
