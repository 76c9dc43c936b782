// SPDX-License-Identifier: GPL-2.0
/* Sizes and packets of a session; see the header. */
#include "user/record/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/size.h"

/*
 * PSBs are what a decoder starts at, and between two of them lie 2 KiB << PSBFreq
 * of trace: a thread's share must hold some.
 */
#define PSB_PERIOD_MIN		2048ULL
#define PSBS_PER_SHARE		8
#define PSB_FREQ_WANTED		3	/* 16 KiB, 0.2 % of the trace */

/*
 * MTC packets go on while the kernel runs, which is not traced: a thread that stays
 * there for a moment fills a small region with nothing else. Where CYC packets count
 * the cycles between them, a small region can do with few. That has its price: what
 * libipt makes of CYC packets alone was seen to be off by more than the time between
 * two sparse MTC packets, which set it right. So only small regions have them so.
 */
#define MTC_FREQ_DENSE		3	/* every 8 ticks of the crystal, 0.33 us of 24 MHz */
#define MTC_FREQ_SPARSE		9	/* every 512 ticks, 21 us */
#define MTC_SPARSE_SHARE	(64ULL << 10)

#define CYC_THRESH_WANTED	1

#define CPUID14_0_EBX_PSB_CYC	(1U << 1)	/* PSB frequency and CYC are configurable */
#define CPUID14_0_EBX_MTC	(1U << 3)

uint32_t mt_plan_mtc_values(const struct mtrace_caps *caps)
{
	return caps->cpuid14[1] & CPUID14_0_EBX_MTC ? caps->cpuid14[4] >> 16 : 0;
}

uint32_t mt_plan_cyc_values(const struct mtrace_caps *caps)
{
	return caps->cpuid14[1] & CPUID14_0_EBX_PSB_CYC ? caps->cpuid14[5] & 0xffff : 0;
}

uint32_t mt_plan_psb_values(const struct mtrace_caps *caps)
{
	return caps->cpuid14[1] & CPUID14_0_EBX_PSB_CYC ? caps->cpuid14[5] >> 16 : 0;
}

/* The value of @values (a bit each) that is @wanted, or the next below, or above. */
static uint8_t nearest_value(uint32_t values, unsigned int wanted)
{
	for (unsigned int value = wanted + 1; value-- > 0;) {
		if (values & (1U << value))
			return value;
	}
	for (unsigned int value = wanted; value < 16; value++) {
		if (values & (1U << value))
			return value;
	}
	return 0;
}

static uint32_t round_up_pow2(uint32_t value)
{
	uint32_t power = 1;

	while (power < value && power < 1U << 31)
		power *= 2;
	return power;
}

/* @text is the size as it was typed, or NULL. */
static void round_size(uint64_t *size, const char *text, uint64_t page)
{
	char asked[64], used[64];
	uint64_t was = *size;
	int what = mt_size_round_pages(size, page);

	if (what == MT_SIZE_EXACT)
		return;
	mt_size_format(was, asked, sizeof(asked));
	if (text)
		snprintf(asked, sizeof(asked), "%.40s%s", text,
			 strspn(text, "0123456789") == strlen(text) ? " bytes" : "");
	mt_size_format(*size, used, sizeof(used));
	if (what == MT_SIZE_ROUNDED)
		mt_warn("snapshot size %s is not a power-of-two number of pages: rounded up to %s",
			asked, used);
	else if (what == MT_SIZE_BELOW_PAGE)
		mt_warn("snapshot size %s is less than one page: using one page, %s", asked, used);
	else
		mt_warn("snapshot size %s is above the largest there is: using 2^48 bytes, %s",
			asked, used);
}

/* How many threads share @plan->snapshot_size, each with at least a page. */
static uint32_t divide(const struct mt_plan_wish *wish, const struct mtrace_caps *caps,
		       const struct mt_plan *plan)
{
	uint32_t threads = wish->threads ? wish->threads : MT_PLAN_THREADS;
	uint64_t pages = plan->snapshot_size / wish->page_size;

	if (!wish->multi_thread)
		return 1;
	if (threads > caps->max_threads) {
		if (wish->threads)
			mt_warn("%u threads are more than the module traces at a time: using %u",
				threads, caps->max_threads);
		threads = caps->max_threads;
	}
	threads = round_up_pow2(threads);
	/* The next power of two may be more than the module takes. */
	while (threads > 1 && threads > caps->max_threads)
		threads /= 2;
	if (threads > pages) {
		char size[64];

		mt_size_format(plan->snapshot_size, size, sizeof(size));
		mt_warn("snapshot size %s holds a page for %" PRIu64 " threads, not for %u: any "
			"more of them at the same time are not traced", size, pages, threads);
		threads = (uint32_t)pages;
	}
	return threads ? threads : 1;
}

static int choose_timing(const struct mt_plan_wish *wish, const struct mtrace_caps *caps,
			 uint64_t share, struct mtrace_setup *setup)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} timings[] = {
		[MT_TIMING_TSC] = { "tsc", MTRACE_TRACE_TSC },
		[MT_TIMING_MTC] = { "mtc", MTRACE_TRACE_TSC | MTRACE_TRACE_MTC },
		[MT_TIMING_CYC] = { "cyc", MTRACE_TRACE_TSC | MTRACE_TRACE_MTC |
				    MTRACE_TRACE_CYC },
	};
	uint32_t flags;
	bool sparse;

	if (wish->timing == MT_TIMING_BEST) {
		flags = timings[MT_TIMING_CYC].flags & caps->trace_flags;
	} else {
		flags = timings[wish->timing].flags;
		if (flags & ~caps->trace_flags) {
			mt_error("this CPU cannot do --timing %s: leave the option out for the "
				 "best that it can", timings[wish->timing].name);
			return -EOPNOTSUPP;
		}
	}
	/*
	 * Each near return takes an entry off the call stack that compressed returns
	 * are told by (SDM vol. 3, "Indirect Transfer Compression for Returns"); libipt
	 * (2.0 to 2.2) takes one only where the return was compressed, and goes astray
	 * after a longjmp() or an exception. So a return is a TIP of its own.
	 */
	setup->trace_flags = MTRACE_TRACE_USER | flags |
			     (caps->trace_flags & MTRACE_TRACE_NORETCOMP);
	sparse = flags & MTRACE_TRACE_CYC && share <= MTC_SPARSE_SHARE;
	if (flags & MTRACE_TRACE_MTC)
		setup->mtc_freq = nearest_value(mt_plan_mtc_values(caps),
						sparse ? MTC_FREQ_SPARSE : MTC_FREQ_DENSE);
	if (flags & MTRACE_TRACE_CYC)
		setup->cyc_thresh = nearest_value(mt_plan_cyc_values(caps), CYC_THRESH_WANTED);
	return 0;
}

static uint8_t choose_psb_freq(const struct mtrace_caps *caps, uint64_t share)
{
	unsigned int freq = 0;

	while (freq < PSB_FREQ_WANTED && (PSB_PERIOD_MIN << (freq + 1)) * PSBS_PER_SHARE <= share)
		freq++;
	return nearest_value(mt_plan_psb_values(caps), freq);
}

int mt_plan_make(const struct mt_plan_wish *wish, const struct mtrace_caps *caps,
		 struct mt_plan *plan)
{
	struct mtrace_setup *setup = &plan->setup;
	int err;

	memset(plan, 0, sizeof(*plan));
	plan->snapshot_size = wish->snapshot_size;
	round_size(&plan->snapshot_size, wish->size_text, wish->page_size);

	setup->size = sizeof(*setup);
	setup->max_threads = divide(wish, caps, plan);
	plan->share = plan->snapshot_size / setup->max_threads;
	if (plan->share > caps->max_region_size)
		plan->share = caps->max_region_size;
	setup->flags = MTRACE_SETUP_SIDEBAND;
	if (wish->multi_thread)
		setup->flags |= MTRACE_SETUP_INHERIT_THREADS;
	/* One snapshot is held at a time, so there is a spare region for each thread. */
	setup->max_snapshots = 1;
	setup->buffer_size = 2 * plan->snapshot_size;
	err = choose_timing(wish, caps, plan->share, setup);
	if (err)
		return err;
	setup->psb_freq = choose_psb_freq(caps, plan->share);
	return 0;
}
