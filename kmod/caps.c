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
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include <asm/cpu_device_id.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "buffer.h"
#include "caps.h"
#include "compat.h"
#include "filter.h"
#include "space.h"
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
	[MT_CAP_CR3_FILTER]	= { 1, 0, 1 },
	[MT_CAP_PSB_CYC]	= { 1, 1, 1 },
	[MT_CAP_IP_FILTER]	= { 1, 2, 1 },
	[MT_CAP_MTC]		= { 1, 3, 1 },
	[MT_CAP_PTWRITE]	= { 1, 4, 1 },
	[MT_CAP_POWER]		= { 1, 5, 1 },
	[MT_CAP_EVENT]		= { 1, 7, 1 },
	[MT_CAP_NOTNT]		= { 1, 8, 1 },
	[MT_CAP_TOPA]		= { 2, 0, 1 },
	[MT_CAP_TOPA_MULTI]	= { 2, 1, 1 },
	[MT_CAP_RANGES]		= { 4, 0, 7 },
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
	caps->sideband = mt_space_kinds();
}

/**
 * mt_caps_nr_ranges - count the registers for ranges of addresses
 *
 * Return: how many ranges the CPU has at most.
 */
u32 mt_caps_nr_ranges(void)
{
	return mt_caps.nr_ranges;
}

/*
 * What each option takes. "Suppression of COFI-based packets", which is to
 * trace without branches, comes with MTC (SDM vol. 2, CPUID); Broadwell has
 * neither and faults on it (BDM106).
 */
static const struct {
	u32 flag;
	enum mt_cap cap;
	u32 missing;
} mt_caps_options[] = {
	{ MTRACE_TRACE_MTC,	MT_CAP_MTC,		MTRACE_CAP_MTC },
	{ MTRACE_TRACE_CYC,	MT_CAP_PSB_CYC,		MTRACE_CAP_PSB_CYC },
	{ MTRACE_TRACE_PTW,	MT_CAP_PTWRITE,		MTRACE_CAP_PTWRITE },
	{ MTRACE_TRACE_PTW_FUP,	MT_CAP_PTWRITE,		MTRACE_CAP_PTWRITE },
	{ MTRACE_TRACE_POWER,	MT_CAP_POWER,		MTRACE_CAP_POWER },
	{ MTRACE_TRACE_NOBRANCH, MT_CAP_MTC,		MTRACE_CAP_MTC },
	{ MTRACE_TRACE_CR3,	MT_CAP_CR3_FILTER,	MTRACE_CAP_CR3_FILTER },
	{ MTRACE_TRACE_EVENT,	MT_CAP_EVENT,		MTRACE_CAP_EVENT },
	{ MTRACE_TRACE_NOTNT,	MT_CAP_NOTNT,		MTRACE_CAP_NOTNT },
};

/* A value of a field is allowed if its bit in the CPU's bitmap is set. */
static u32 caps_miss_value(u8 value, enum mt_cap bitmap, u32 missing)
{
	return mt_caps_get(bitmap) & BIT(value) ? 0 : missing;
}

static u32 caps_miss(const struct mtrace_setup *setup)
{
	const u32 both = MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL;
	const u32 flags = setup->trace_flags;
	u32 missing = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mt_caps_options); i++)
		if (flags & mt_caps_options[i].flag &&
		    !mt_caps_get(mt_caps_options[i].cap))
			missing |= mt_caps_options[i].missing;

	if (flags & MTRACE_TRACE_MTC && mt_caps_get(MT_CAP_MTC))
		missing |= caps_miss_value(setup->mtc_freq, MT_CAP_MTC_PERIODS,
					   MTRACE_CAP_MTC_FREQ);
	if (flags & MTRACE_TRACE_CYC && mt_caps_get(MT_CAP_PSB_CYC))
		missing |= caps_miss_value(setup->cyc_thresh,
					   MT_CAP_CYC_THRESHOLDS,
					   MTRACE_CAP_CYC_THRESH);
	/*
	 * 0 is the CPU's default period whatever the bitmap says. Without the
	 * capability the field is reserved, and its writes fault.
	 */
	if (setup->psb_freq && !mt_caps_get(MT_CAP_PSB_CYC))
		missing |= MTRACE_CAP_PSB_CYC;
	else if (setup->psb_freq)
		missing |= caps_miss_value(setup->psb_freq, MT_CAP_PSB_PERIODS,
					   MTRACE_CAP_PSB_FREQ);

	if (setup->nr_ranges > mt_caps.nr_ranges)
		missing |= mt_caps.nr_ranges ? MTRACE_CAP_RANGES :
					       MTRACE_CAP_IP_FILTER;
	if (flags & MTRACE_TRACE_CR3 && (flags & both) == both &&
	    !mt_filter_has_same_cr3())
		missing |= MTRACE_CAP_SAME_CR3;
	return missing;
}

/**
 * mt_caps_check - test whether the CPU can trace as a set-up asks
 * @setup: the set-up; its trace_flags, mtc_freq, cyc_thresh, psb_freq and
 *	nr_ranges are looked at, its missing is completed
 *
 * Return: 0, -EINVAL for what no CPU has, -EOPNOTSUPP for what this one lacks.
 */
int mt_caps_check(struct mtrace_setup *setup)
{
	u32 flags = setup->trace_flags;

	if (flags & ~MTRACE_TRACE_FLAGS_ALL ||
	    !(flags & (MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL)))
		return -EINVAL;
	if (flags & MTRACE_TRACE_PTW_FUP && !(flags & MTRACE_TRACE_PTW))
		return -EINVAL;
	if (setup->mtc_freq && !(flags & MTRACE_TRACE_MTC))
		return -EINVAL;
	if (setup->cyc_thresh && !(flags & MTRACE_TRACE_CYC))
		return -EINVAL;
	if (setup->mtc_freq > 15 || setup->cyc_thresh > 15 ||
	    setup->psb_freq > 15)
		return -EINVAL;

	setup->missing = caps_miss(setup);
	return setup->missing ? -EOPNOTSUPP : 0;
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

/* By this, udev loads the module where it can be of use. */
static const struct x86_cpu_id mt_caps_cpus[] = {
	X86_MATCH_FEATURE(X86_FEATURE_INTEL_PT, NULL),
	{}
};
MODULE_DEVICE_TABLE(x86cpu, mt_caps_cpus);

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
	unsigned int i;

	if (!x86_match_cpu(mt_caps_cpus) ||
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
	for (i = 0; i < ARRAY_SIZE(mt_caps_options); i++)
		if (mt_caps_get(mt_caps_options[i].cap))
			caps->trace_flags |= mt_caps_options[i].flag;
	if (mt_caps_get(MT_CAP_IP_FILTER))
		caps->nr_ranges = min_t(u32, mt_caps_get(MT_CAP_RANGES),
					MTRACE_MAX_RANGES);
	return 0;
}
