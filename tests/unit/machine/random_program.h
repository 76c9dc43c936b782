/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A random program in three parts, 64-bit user, 32-bit user and kernel code, of
 * functions that end by a return. The first of user code is a loop without end;
 * the first RANDOM_ENTRIES of the kernel are where interrupts, faults and system calls
 * lead, and end by IRET.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include "x86_insn.h"

#define RANDOM_FUNCTIONS	80
#define RANDOM_FUNCTION_INSNS	12
#define RANDOM_ENTRIES		8

struct insn {
	uint64_t ip;
	uint8_t len;
	uint8_t bytes[8];
	enum x86_class class;
	bool ptwrite, mwait;
	unsigned int target;	/* its number, if direct */
};

struct part {
	uint64_t base;
	uint8_t cpl, mode;
	struct insn insns[RANDOM_FUNCTIONS * RANDOM_FUNCTION_INSNS];
	unsigned int count;
	unsigned int start[RANDOM_FUNCTIONS + 1];	/* of each function */
};

enum { USER64, USER32, KERNEL, PARTS };

extern struct part parts[PARTS];

/* What the seed decides: programs, and all else that calls these. */
void random_seed(uint64_t seed);
uint64_t random_bits(void);
uint32_t rnd(uint32_t n);		/* less than @n */
bool chance(uint32_t percent);

void random_program(void);

/* A function that @caller may call. */
unsigned int random_callee(const struct part *p, unsigned int caller, unsigned int distance);

unsigned int function_of(const struct part *p, unsigned int insn);

/* Copies code at @ip, at most @size bytes, returns how many. */
size_t random_program_read(uint64_t ip, uint8_t *buf, size_t size);

#endif
