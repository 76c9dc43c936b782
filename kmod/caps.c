// SPDX-License-Identifier: GPL-2.0
/*
 * What the CPU can do
 *
 * Owns CPUID leaf 14H and what follows from it: which options a set-up may
 * ask for. Touches no trace register, knows no session.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "buffer.h"
#include "caps.h"
#include "compat.h"
#include "thread.h"

#define CPUID_TSC_LEAF	0x15
#define CPUID_PT_LEAF	0x14

/* MSR_PLATFORM_INFO: the ratio of the TSC to the bus clock. */
#define PLATFORM_INFO_MAX_NONTURBO	GENMASK_ULL(15, 8)

/*
 * Where each capability is in mtrace_caps.cpuid14: SDM vol. 3, "Detection of
 * Intel Processor Trace and Capability Enumeration". Words are EAX, EBX, ECX,
 * EDX of subleaf 0, then of subleaf 1.
 */
static const struct {
	u8 word;
	u8 shift;
	u32 mask;
} mt_caps_fields[] = {
	[MT_CAP_PSB_CYC]	= { 1, 1, 1 },
	[MT_CAP_MTC]		= { 1, 3, 1 },
	[MT_CAP_TOPA]		= { 2, 0, 1 },
	[MT_CAP_TOPA_MULTI]	= { 2, 1, 1 },
	[MT_CAP_MTC_PERIODS]	= { 4, 16, 0xffff },
	[MT_CAP_CYC_THRESHOLDS]	= { 5, 0, 0xffff },
	[MT_CAP_PSB_PERIODS]	= { 5, 16, 0xffff },
};

static struct mtrace_caps mt_caps __ro_after_init;

/**
 * mt_caps_get - read one capability
 * @cap: which
 *
 * Return: the field of CPUID leaf 14H, 0 where the CPU has it not.
 */
u32 mt_caps_get(enum mt_cap cap)
{
	return mt_caps.cpuid14[mt_caps_fields[cap].word] >>
	       mt_caps_fields[cap].shift & mt_caps_fields[cap].mask;
}

/**
 * mt_caps_describe - tell what the machine can do
 * @caps: filled in, but for its size
 */
void mt_caps_describe(struct mtrace_caps *caps)
{
	u32 size = caps->size;

	*caps = mt_caps;
	caps->size = size;
}

/* A value of a field is allowed if its bit in the CPU's bitmap is set. */
static int caps_check_value(u8 value, enum mt_cap bitmap)
{
	if (value > 15)
		return -EINVAL;
	if (!(mt_caps_get(bitmap) & BIT(value)))
		return -EOPNOTSUPP;
	return 0;
}

/**
 * mt_caps_check - test whether the CPU can trace as a set-up asks
 * @setup: the set-up; its trace_flags, mtc_freq, cyc_thresh and psb_freq are
 *	looked at
 *
 * Return: 0, -EINVAL for what no CPU has, -EOPNOTSUPP for what this one lacks.
 */
int mt_caps_check(const struct mtrace_setup *setup)
{
	u32 flags = setup->trace_flags;
	int ret;

	if (flags & ~MTRACE_TRACE_FLAGS_ALL ||
	    !(flags & (MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL)))
		return -EINVAL;
	if (setup->mtc_freq && !(flags & MTRACE_TRACE_MTC))
		return -EINVAL;
	if (setup->cyc_thresh && !(flags & MTRACE_TRACE_CYC))
		return -EINVAL;
	if (setup->psb_freq > 15)
		return -EINVAL;
	if (flags & ~mt_caps.trace_flags)
		return -EOPNOTSUPP;

	if (flags & MTRACE_TRACE_MTC) {
		ret = caps_check_value(setup->mtc_freq, MT_CAP_MTC_PERIODS);
		if (ret)
			return ret;
	}
	if (flags & MTRACE_TRACE_CYC) {
		ret = caps_check_value(setup->cyc_thresh,
				       MT_CAP_CYC_THRESHOLDS);
		if (ret)
			return ret;
	}
	/* Without the capability the field is reserved, and its writes fault. */
	if (!mt_caps_get(MT_CAP_PSB_CYC))
		return setup->psb_freq ? -EOPNOTSUPP : 0;
	/* 0 is the CPU's default period whatever the bitmap says. */
	if (!setup->psb_freq)
		return 0;
	return caps_check_value(setup->psb_freq, MT_CAP_PSB_PERIODS);
}

static void __init caps_read_frequencies(struct mtrace_caps *caps)
{
	u32 eax, ebx, ecx, edx;
	u64 info;

	caps->tsc_khz = tsc_khz;
	if (boot_cpu_data.cpuid_level >= CPUID_TSC_LEAF) {
		cpuid(CPUID_TSC_LEAF, &eax, &ebx, &ecx, &edx);
		caps->tsc_art_denominator = eax;
		caps->tsc_art_numerator = ebx;
	}
	if (!rdmsrq_safe(MSR_PLATFORM_INFO, &info))
		caps->max_nonturbo_ratio =
			FIELD_GET(PLATFORM_INFO_MAX_NONTURBO, info);
}

/**
 * mt_caps_init - read what the CPU can do
 *
 * Return: 0, or -ENODEV where it has no Processor Trace that can write by a
 * table of physical addresses. Single-range output, the other kind, is broken
 * beyond 4 KiB on several models (TGL052, ADL037, RPL017).
 */
int __init mt_caps_init(void)
{
	struct mtrace_caps *caps = &mt_caps;
	u32 *w = caps->cpuid14;

	if (!boot_cpu_has(X86_FEATURE_INTEL_PT) ||
	    boot_cpu_data.cpuid_level < CPUID_PT_LEAF) {
		pr_info("this CPU has no Intel Processor Trace\n");
		return -ENODEV;
	}

	cpuid_count(CPUID_PT_LEAF, 0, &w[0], &w[1], &w[2], &w[3]);
	if (w[0] >= 1)
		cpuid_count(CPUID_PT_LEAF, 1, &w[4], &w[5], &w[6], &w[7]);
	if (!mt_caps_get(MT_CAP_TOPA)) {
		pr_info("this CPU's Processor Trace has no ToPA output\n");
		return -ENODEV;
	}

	caps->abi_version = MTRACE_ABI_VERSION;
	caps->cpu_family = boot_cpu_data.x86;
	caps->cpu_model = boot_cpu_data.x86_model;
	caps->cpu_stepping = boot_cpu_data.x86_stepping;
	caps->max_threads = MT_MAX_THREADS;
	caps_read_frequencies(caps);

	/*
	 * Chained tables describe as much as there can be memory; a CPU that
	 * takes one entry a table (Broadwell) needs the whole region in one
	 * piece, and the page allocator's largest is the limit.
	 */
	if (mt_caps_get(MT_CAP_TOPA_MULTI))
		caps->max_region_size = BIT_ULL(boot_cpu_data.x86_phys_bits);
	else
		caps->max_region_size = PAGE_SIZE << mt_buffer_chunk_order();

	caps->trace_flags = MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL |
			    MTRACE_TRACE_TSC | MTRACE_TRACE_NORETCOMP;
	if (mt_caps_get(MT_CAP_MTC))
		caps->trace_flags |= MTRACE_TRACE_MTC;
	if (mt_caps_get(MT_CAP_PSB_CYC))
		caps->trace_flags |= MTRACE_TRACE_CYC;
	return 0;
}
