/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MT_TEST_REGS_H
#define MT_TEST_REGS_H

#include <stdint.h>

#include <linux/mtrace.h>

/* What REGS_LOAD puts into the registers. */
#define REGS_VALUE(n)	(0x0102030405060708ull * (n))

extern volatile uint64_t regs_sp;

/*
 * For an asm statement: loads every register but rax, rdi and rsp, keeps rsp in
 * regs_sp, and sets CF, PF and ZF alone of the arithmetic flags.
 */
#define REGS_LOAD							\
	"mov %%rsp, regs_sp(%%rip)\n"					\
	"xor %%eax, %%eax\n"						\
	"stc\n"								\
	"movabs %[v1], %%rbx\n"						\
	"movabs %[v2], %%rcx\n"						\
	"movabs %[v3], %%rdx\n"						\
	"movabs %[v4], %%rsi\n"						\
	"movabs %[v5], %%rbp\n"						\
	"movabs %[v6], %%r8\n"						\
	"movabs %[v7], %%r9\n"						\
	"movabs %[v8], %%r10\n"						\
	"movabs %[v9], %%r11\n"						\
	"movabs %[v10], %%r12\n"					\
	"movabs %[v11], %%r13\n"					\
	"movabs %[v12], %%r14\n"					\
	"movabs %[v13], %%r15\n"					\
	"mov $42, %%edi\n"
#define REGS_VALUES							\
	[v1] "i"(REGS_VALUE(1)), [v2] "i"(REGS_VALUE(2)),		\
	[v3] "i"(REGS_VALUE(3)), [v4] "i"(REGS_VALUE(4)),		\
	[v5] "i"(REGS_VALUE(5)), [v6] "i"(REGS_VALUE(6)),		\
	[v7] "i"(REGS_VALUE(7)), [v8] "i"(REGS_VALUE(8)),		\
	[v9] "i"(REGS_VALUE(9)), [v10] "i"(REGS_VALUE(10)),		\
	[v11] "i"(REGS_VALUE(11)), [v12] "i"(REGS_VALUE(12)),		\
	[v13] "i"(REGS_VALUE(13))

/* That they are what was put into them; system calls take rcx and r11. */
void regs_check(const struct mtrace_regs *regs);

#endif
