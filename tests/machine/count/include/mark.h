/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The markers by which code in the PT machine, of a program or of the kernel,
 * tells the plugin what to count: CPUID with one of these in EAX, and in ECX the
 * label of an interval, any number.
 *
 * Between BEGIN and END of one label on one vCPU the plugin counts what runs
 * there, and writes a line when the interval ends: docs/PT-MACHINE.md says what
 * is in it. The markers' own CPUIDs are not counted. Both give EAX = MARK_ON, or not if
 * nothing was begun, with 16 intervals open on the vCPU, or ended, with none of the label.
 */
#ifndef COUNT_MARK_H
#define COUNT_MARK_H

#define MARK_ASK   0x4d540000 /* gives EAX = MARK_ON where something counts */
#define MARK_BEGIN 0x4d540001
#define MARK_END   0x4d540002
#define MARK_ON	   0x4d54c0de

static inline unsigned int mark(unsigned int op, unsigned int label)
{
	unsigned int ebx, edx;

	asm volatile("cpuid" : "+a"(op), "=b"(ebx), "+c"(label), "=d"(edx) : : "memory");
	return op;
}

/*
 * An interval of which the numbers are known: between the two CPUIDs are 2 @n + 2
 * instructions, @n of DEC and of JNZ and two MOVs, whatever the compiler does.
 */
static inline void mark_loop(unsigned int label, unsigned long n)
{
	asm volatile("mov %[begin], %%eax\n\t"
		     "mov %[label], %%ecx\n\t"
		     "cpuid\n"
		     "1:\n\t"
		     "dec %[n]\n\t"
		     "jnz 1b\n\t"
		     "mov %[end], %%eax\n\t"
		     "mov %[label], %%ecx\n\t"
		     "cpuid"
		     : [n] "+r"(n)
		     : [begin] "i"(MARK_BEGIN), [end] "i"(MARK_END), [label] "r"(label)
		     : "rax", "rbx", "rcx", "rdx", "cc", "memory");
}

#endif
