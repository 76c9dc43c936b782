// SPDX-License-Identifier: GPL-2.0
/*
 * flags INSTRUCTION [SECONDS]: runs it over and over, and tells of each time when
 * the flags of the system are not what they were. An interrupt saves them right
 * behind it, and an operand in their place would come back to the program.
 *
 * Static, for the emulated machine: each of the instructions is one that QEMU
 * does not do as the machine wants it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* DF, NT, AC, ID: what a program may have, and what has no effect at once. */
#define OPERAND		0x00244400u
#define SYSTEM_FLAGS	0x003f7700u

/*
 * POPF has QEMU know the flags themselves. CMP leaves them to be found out from its
 * operands, of which one has bits of flags, in the same block. TEST ends that.
 */
#define ONCE(instruction)						\
	__asm__ volatile("pushfq; popfq\n\t"				\
			 "cmp %k1, %k2\n\t"				\
			 instruction "\n\t"				\
			 "test %%eax, %%eax\n\t"			\
			 "pushfq; pop %0\n\t"				\
			 "pushq $0x202; popfq"				\
			 : "=&r"(flags)					\
			 : "r"(OPERAND), "r"(0), "r"((uint64_t)1)	\
			 : "rax", "rbx", "rcx", "rdx", "cc", "memory")

static uint64_t run_once(const char *name)
{
	uint64_t flags;

	if (!strcmp(name, "rdtscp"))
		ONCE("rdtscp");
	else if (!strcmp(name, "cpuid"))
		ONCE("mov $0x14, %%eax; xor %%ecx, %%ecx; cmp %k1, %k2; cpuid");
	else if (!strcmp(name, "ptwrite"))
		ONCE("ptwrite %3");
	else
		exit(2);
	return flags;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 10);
	unsigned long times = 0, wrong = 0;
	uint64_t flags, last = 0, was;
	int i;

	if (argc < 2)
		return 2;
	was = run_once(argv[1]) & SYSTEM_FLAGS;
	while (time(NULL) < end)
		for (i = 0; i < 100000; i++, times++) {
			flags = run_once(argv[1]) & SYSTEM_FLAGS;
			if (flags == was)
				continue;
			wrong++;
			last = flags;
		}
	printf("%s: %lu of %lu wrong\n", argv[1], wrong, times);
	if (wrong)
		printf("last %#lx, not %#lx\n", last, was);
	return wrong != 0;
}
