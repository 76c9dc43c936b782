// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel code of which it is known what the PT machine must count: loading the
 * module runs it, on the CPU that loads it. ../check has the numbers, worked out
 * by hand from what is here. It takes Processor Trace for itself, so nothing else
 * may use it then.
 */
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/module.h>

#include "mark.h"

#define LABEL_LOOP  11
#define LABEL_MSRS  12
#define LABEL_OFF   13
#define LABEL_EMPTY 14

#define OUTPUT_BASE 0x560
#define OUTPUT_MASK 0x561
#define CTL	    0x570
#define STATUS	    0x571

static unsigned long loops = 1000;
module_param(loops, ulong, 0444);

/* The kernel's own have other names on other kernels. */
static u64 read_msr(u32 msr)
{
	u32 lo, hi;

	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return lo | (u64)hi << 32;
}

static void write_msr(u32 msr, u64 val)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)val), "d"((u32)(val >> 32)) : "memory");
}

/* Three writes of OUTPUT_BASE, one of OUTPUT_MASK, two reads of STATUS, one of CTL. */
static void counted_msrs(u64 base)
{
	mark(MARK_BEGIN, LABEL_MSRS);
	write_msr(OUTPUT_BASE, 0);
	write_msr(OUTPUT_BASE, base);
	read_msr(STATUS);
	write_msr(OUTPUT_MASK, PAGE_SIZE - 1);
	read_msr(STATUS);
	write_msr(OUTPUT_BASE, base);
	read_msr(CTL);
	mark(MARK_END, LABEL_MSRS);
}

/*
 * Tracing is switched on, off, on: between the last two WRMSRs are the 2 n instructions
 * of the loop and the MOV behind it. It is on when the interval ends. Neither user nor
 * kernel is selected, so that nothing is written.
 */
static void counted_off(unsigned long n)
{
	asm volatile("mov %[begin], %%eax\n\t"
		     "mov %[label], %%ecx\n\t"
		     "cpuid\n\t"
		     "mov %[ctl], %%ecx\n\t"
		     "xor %%edx, %%edx\n\t"
		     "mov $1, %%eax\n\t"
		     "wrmsr\n\t"
		     "nop\n\t"
		     "nop\n\t"
		     "xor %%eax, %%eax\n\t"
		     "wrmsr\n"
		     "1:\n\t"
		     "dec %[n]\n\t"
		     "jnz 1b\n\t"
		     "mov $1, %%eax\n\t"
		     "wrmsr\n\t"
		     "nop\n\t"
		     "mov %[end], %%eax\n\t"
		     "mov %[label], %%ecx\n\t"
		     "cpuid\n\t"
		     "mov %[ctl], %%ecx\n\t"
		     "xor %%edx, %%edx\n\t"
		     "xor %%eax, %%eax\n\t"
		     "wrmsr"
		     : [n] "+r"(n)
		     : [begin] "i"(MARK_BEGIN), [end] "i"(MARK_END), [label] "i"(LABEL_OFF),
		       [ctl] "i"(CTL)
		     : "rax", "rbx", "rcx", "rdx", "cc", "memory");
}

/* The two MOVs that the next marker needs, and nothing else. */
static void counted_nothing(void)
{
	asm volatile("mov %[begin], %%eax\n\t"
		     "mov %[label], %%ecx\n\t"
		     "cpuid\n\t"
		     "mov %[end], %%eax\n\t"
		     "mov %[label], %%ecx\n\t"
		     "cpuid"
		     :
		     : [begin] "i"(MARK_BEGIN), [end] "i"(MARK_END), [label] "i"(LABEL_EMPTY)
		     : "rax", "rbx", "rcx", "rdx", "cc", "memory");
}

static int __init counted_init(void)
{
	const unsigned long page = __get_free_page(GFP_KERNEL);
	unsigned long flags;

	if (!page)
		return -ENOMEM;
	local_irq_save(flags);
	mark_loop(LABEL_LOOP, loops);
	counted_msrs(__pa(page));
	counted_off(loops);
	counted_nothing();
	write_msr(OUTPUT_BASE, 0);
	write_msr(OUTPUT_MASK, 0);
	local_irq_restore(flags);
	free_page(page);
	return 0;
}

static void __exit counted_exit(void)
{
}

module_init(counted_init);
module_exit(counted_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Kernel code of a known number of instructions");
