// SPDX-License-Identifier: GPL-2.0
/*
 * Options of a trace: what the CPU has is in the trace, what it has not is
 * refused by name. To be run on each model of the machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "msr.h"
#include "trace.h"

/* EBX of CPUID leaf 14H, subleaf 0: SDM vol. 2, CPUID. */
#define EBX_CR3		(1u << 0)
#define EBX_PSB_CYC	(1u << 1)
#define EBX_IP_FILTER	(1u << 2)
#define EBX_MTC		(1u << 3)
#define EBX_PTWRITE	(1u << 4)
#define EBX_POWER	(1u << 5)
#define EBX_EVENT	(1u << 7)
#define EBX_NOTNT	(1u << 8)

/*
 * Each option, what CPUID must say for it, what is missed where it does not,
 * and its bit of IA32_RTIT_CTL (SDM vol. 3, "IA32_RTIT_CTL MSR").
 */
static const struct {
	uint32_t flag;
	uint32_t ebx;
	uint32_t missing;
	int bit;
} options[] = {
	{ MTRACE_TRACE_TSC, 0, 0, 10 },
	{ MTRACE_TRACE_NORETCOMP, 0, 0, 11 },
	{ MTRACE_TRACE_MTC, EBX_MTC, MTRACE_CAP_MTC, 9 },
	{ MTRACE_TRACE_CYC, EBX_PSB_CYC, MTRACE_CAP_PSB_CYC, 1 },
	{ MTRACE_TRACE_PTW, EBX_PTWRITE, MTRACE_CAP_PTWRITE, 12 },
	{ MTRACE_TRACE_POWER, EBX_POWER, MTRACE_CAP_POWER, 4 },
	{ MTRACE_TRACE_CR3, EBX_CR3, MTRACE_CAP_CR3_FILTER, 7 },
	{ MTRACE_TRACE_EVENT, EBX_EVENT, MTRACE_CAP_EVENT, 31 },
	{ MTRACE_TRACE_NOTNT, EBX_NOTNT, MTRACE_CAP_NOTNT, 55 },
};

#define NR_OPTIONS (sizeof(options) / sizeof(options[0]))

#define CTL_BRANCH_EN	(1ull << 13)

static uint32_t ebx(void)
{
	return cpuid14(0, 1);
}

static void need(uint32_t bit, const char *what)
{
	if (!(ebx() & bit))
		skip("this CPU has no %s", what);
}

/* That a set-up is refused, and for what alone. */
static void check_missing(struct mtrace_setup setup, uint32_t want,
			  const char *what)
{
	struct mtrace_setup copy = setup;
	int fd = open_device(), got;

	copy.missing = ~want;
	got = ioctl(fd, MTRACE_IOC_SETUP, &copy) ? errno : 0;
	CHECK(got == (want ? EOPNOTSUPP : 0), "%s gives errno %d", what, got);
	CHECK(copy.missing == want, "%s misses %#x, not %#x", what,
	      copy.missing, want);
	CHECK_EQ(!!must_status(fd).regions_free, !want);
	close(fd);
}

TEST(options_are_told)
{
	struct mtrace_caps caps = must_caps();
	uint32_t want = MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL;
	size_t i;

	for (i = 0; i < 4; i++) {
		CHECK_EQ(caps.cpuid14[i], cpuid14(0, i));
		CHECK_EQ(caps.cpuid14[4 + i], cpuid14(0, 0) ? cpuid14(1, i) : 0);
	}
	for (i = 0; i < NR_OPTIONS; i++)
		if ((ebx() & options[i].ebx) == options[i].ebx)
			want |= options[i].flag;
	if (ebx() & EBX_PTWRITE)
		want |= MTRACE_TRACE_PTW_FUP;
	if (ebx() & EBX_MTC)
		want |= MTRACE_TRACE_NOBRANCH;
	CHECK_EQ(caps.trace_flags, want);
	CHECK_EQ(caps.nr_ranges,
		 ebx() & EBX_IP_FILTER ? cpuid14(1, 0) & 7 : 0);
}

TEST(options_one_by_one)
{
	struct mtrace_setup setup;
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		struct pt_stats stats;
		char what[32];

		setup = setup_of(MIB(2), 1, 1);
		setup.trace_flags |= options[i].flag;
		snprintf(what, sizeof(what), "option %#x", options[i].flag);
		if ((ebx() & options[i].ebx) != options[i].ebx) {
			check_missing(setup, options[i].missing, what);
			continue;
		}
		setup = trace_work(options[i].flag, setup_of(MIB(4), 1, 1),
				   work_calls, (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.hits, WORK_CALLS);
		/* TraceEn, User, ToPA and BranchEn besides. */
		CHECK(setup.rtit_ctl == (1ull << options[i].bit | 0x2109),
		      "%s makes IA32_RTIT_CTL %#llx", what, setup.rtit_ctl);
	}
}

TEST(options_without_branches)
{
	struct mtrace_setup setup = setup_of(MIB(2), 1, 1);
	struct pt_stats stats;
	bool ptw = ebx() & EBX_PTWRITE;

	setup.trace_flags |= MTRACE_TRACE_NOBRANCH;
	if (!(ebx() & EBX_MTC)) {
		check_missing(setup, MTRACE_CAP_MTC, "no branches");
		return;
	}
	setup = trace_work(MTRACE_TRACE_TSC | (ptw ? MTRACE_TRACE_PTW : 0),
			   setup, ptw ? work_ptwrite : work_calls, 0, &stats);
	CHECK_EQ(setup.rtit_ctl & CTL_BRANCH_EN, 0);
	CHECK_EQ(stats.tip + stats.tnt, 0);
	CHECK(stats.tsc, "no TSC packet");
	CHECK_EQ(stats.ptw, ptw ? WORK_PTWRITES : 0);
}

/* All that a CPU lacks is told at once. */
TEST(options_that_miss_many)
{
	struct mtrace_setup setup = setup_of(MIB(2), 1, 1);
	uint32_t want = 0;
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		setup.trace_flags |= options[i].flag;
		if ((ebx() & options[i].ebx) != options[i].ebx)
			want |= options[i].missing;
	}
	check_missing(setup, want, "all together");
}

/* The greatest that it has. */
static uint8_t greatest(uint32_t bitmap)
{
	return 31 - __builtin_clz(bitmap & 0xffff);
}

TEST(options_with_values)
{
	const struct {
		uint32_t ebx, flag, bitmap;
		size_t offset;
		uint32_t missing;
		int shift;
	} values[] = {
		{ EBX_MTC, MTRACE_TRACE_MTC, cpuid14(1, 0) >> 16,
		  offsetof(struct mtrace_setup, mtc_freq),
		  MTRACE_CAP_MTC_FREQ, 14 },
		{ EBX_PSB_CYC, MTRACE_TRACE_CYC, cpuid14(1, 1),
		  offsetof(struct mtrace_setup, cyc_thresh),
		  MTRACE_CAP_CYC_THRESH, 19 },
		{ EBX_PSB_CYC, MTRACE_TRACE_USER, cpuid14(1, 1) >> 16,
		  offsetof(struct mtrace_setup, psb_freq),
		  MTRACE_CAP_PSB_FREQ, 24 },
	};
	unsigned int refused = 0;
	size_t i;

	for (i = 0; i < 3; i++) {
		struct mtrace_setup setup = setup_of(MIB(2), 1, 1);
		uint8_t *value = (uint8_t *)&setup + values[i].offset;
		struct pt_stats stats;

		setup.trace_flags |= values[i].flag;
		if (!(ebx() & values[i].ebx)) {
			*value = 3;
			check_missing(setup, values[i].ebx == EBX_MTC ?
				      MTRACE_CAP_MTC : MTRACE_CAP_PSB_CYC,
				      "a value");
			refused++;
			continue;
		}
		*value = lacking(values[i].bitmap);
		if (*value < 16) {
			check_missing(setup, values[i].missing, "a value");
			refused++;
		}
		*value = greatest(values[i].bitmap);
		setup = trace_work(0, setup, work_calls,
				   (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.hits, WORK_CALLS);
		CHECK_EQ(setup.rtit_ctl >> values[i].shift & 15, *value);
	}
	CHECK(refused, "the machine can do everything");
}

/* A PSB every 2 KiB, or every 64 KiB: SDM vol. 3, "PSBFreq". */
TEST(options_psb_period)
{
	struct mtrace_setup setup = setup_of(MIB(4), 1, 1);
	struct pt_stats often, seldom;

	need(EBX_PSB_CYC, "PSB period");
	trace_work(0, setup, work_calls, (uintptr_t)load_target, &often);
	setup.psb_freq = 5;
	trace_work(0, setup, work_calls, (uintptr_t)load_target, &seldom);
	CHECK(often.psb > 16 * seldom.psb, "%lu PSB at 2 KiB, %lu at 64 KiB",
	      often.psb, seldom.psb);
}

/*
 * With a threshold of N no CYC packet of less than 2^(N - 1) cycles: SDM vol. 3,
 * "CycThresh". One is asked for that those which come without do not keep, where
 * the CPU has that: how many cycles there are between them is not ours to say.
 */
TEST(options_cyc_threshold)
{
	struct mtrace_setup setup = setup_of(MIB(16), 1, 1), got;
	struct pt_stats stats;
	uint64_t least;

	need(EBX_PSB_CYC, "CYC");
	trace_work(MTRACE_TRACE_CYC, setup, work_calls,
		   (uintptr_t)load_target, &stats);
	CHECK(stats.cyc, "no CYC packet");
	while (setup.cyc_thresh < greatest(must_caps().cpuid14[5]) &&
	       (1ULL << setup.cyc_thresh) / 2 <= stats.least_cyc)
		setup.cyc_thresh++;
	least = (1ULL << setup.cyc_thresh) / 2;
	got = trace_work(MTRACE_TRACE_CYC, setup, work_calls,
			 (uintptr_t)load_target, &stats);
	CHECK_EQ(got.rtit_ctl >> 19 & 15, setup.cyc_thresh);
	CHECK(stats.cyc, "no CYC packet");
	CHECK(stats.least_cyc >= least, "a CYC packet of %lu cycles, not %lu",
	      stats.least_cyc, least);
}

static void check_ptwrite(uint32_t flags)
{
	struct pt_stats stats;
	uint32_t i;

	trace_work(flags, setup_of(MIB(2), 1, 1), work_ptwrite, 0, &stats);
	CHECK_EQ(stats.ptw, WORK_PTWRITES);
	for (i = 0; i < WORK_PTWRITES; i++) {
		CHECK_EQ(stats.ptws[i].payload, load_ptwrite_payload(i));
		CHECK_EQ(stats.ptws[i].ip, flags & MTRACE_TRACE_PTW_FUP ?
			 (uintptr_t)load_ptwrite_here : 0);
	}
}

TEST(options_ptwrite)
{
	need(EBX_PTWRITE, "PTWRITE");
	check_ptwrite(MTRACE_TRACE_PTW);
	check_ptwrite(MTRACE_TRACE_PTW | MTRACE_TRACE_PTW_FUP);
}

TEST(options_no_tnt)
{
	struct pt_stats stats;

	need(EBX_NOTNT, "TNT-disable");
	trace_work(MTRACE_TRACE_NOTNT, setup_of(MIB(4), 1, 1), work_calls,
		   (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.tnt, 0);
	CHECK_EQ(stats.hits, WORK_CALLS);
}

/* Without compression the return from each call has a TIP of its own. */
TEST(options_no_return_compression)
{
	struct pt_stats with, without;

	trace_work(0, setup_of(MIB(4), 1, 1), work_calls,
		   (uintptr_t)load_target, &with);
	trace_work(MTRACE_TRACE_NORETCOMP, setup_of(MIB(4), 1, 1), work_calls,
		   (uintptr_t)load_target, &without);
	CHECK(with.tip < WORK_CALLS * 3 / 2, "%lu TIPs", with.tip);
	CHECK(without.tip >= 2 * WORK_CALLS, "%lu TIPs", without.tip);
	CHECK(without.tnt + WORK_CALLS / 2 < with.tnt, "%lu TNT bits, %lu with",
	      without.tnt, with.tnt);
}

#define HALTS	5

static void work_halts(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	if (!write_text("/sys/module/mt_halt/parameters/times", "5"))
		_exit(1);
}

/* Each HLT enters a C-state, stops execution, and leaves the C-state. */
TEST(options_power_events)
{
	const char *module = getenv("MTRACE_HALT_KO");
	struct mtrace_setup setup = setup_of(MIB(16), 1, 1);
	struct pt_stats stats;
	int fd;

	need(EBX_POWER, "power events");
	CHECK(module, "MTRACE_HALT_KO does not say where mt_halt.ko is");
	fd = open(module, O_RDONLY | O_CLOEXEC);
	CHECK_ERRNO(syscall(SYS_finit_module, fd, "", 0), 0);
	setup.trace_flags = MTRACE_TRACE_KERNEL;
	trace_work(0, setup, work_halts, 0, &stats);
	CHECK_EQ(stats.pwre + stats.exstop + stats.pwrx, 0);
	trace_work(MTRACE_TRACE_POWER, setup, work_halts, 0, &stats);
	CHECK_EQ(stats.pwre, HALTS);
	CHECK_EQ(stats.exstop, HALTS);
	CHECK_EQ(stats.pwrx, HALTS);
	CHECK_ERRNO(syscall(SYS_delete_module, "mt_halt", O_NONBLOCK), 0);
}

#define FAULTS		16
#define EVD_PAGE_FAULT	0

static void work_faults(struct load *load, uint32_t index)
{
	uint8_t *pages;
	int i;

	(void)index;
	pages = mmap(NULL, FAULTS * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		_exit(1);
	load->progress[0] = (uintptr_t)pages;
	for (i = 0; i < FAULTS; i++)
		((volatile uint8_t *)pages)[i * 4096 + i] = 1;
}

/* Each page that is touched for the first time is a fault, at that address. */
TEST(options_event_trace)
{
	struct mtrace_setup setup = setup_of(MIB(2), 1, 1);
	struct pt_stats stats;
	uint32_t found = 0, i;
	struct load *load;
	struct session s;

	need(EBX_EVENT, "event trace");
	load = load_spawn(1, work_faults);
	setup.trace_flags |= MTRACE_TRACE_EVENT;
	pt_read(&s, trace_round(&s, setup, load), 0, &stats);
	CHECK(stats.cfe >= FAULTS, "%lu CFE packets", stats.cfe);
	CHECK(stats.evd <= PT_KEPT, "%lu EVD packets", stats.evd);
	for (i = 0; i < stats.evd && found < FAULTS; i++)
		if (stats.evds[i].type == EVD_PAGE_FAULT &&
		    stats.evds[i].payload == load->progress[0] + found * 4097)
			found++;
	CHECK_EQ(found, FAULTS);
	load_end(load);
}

/* What a session got is what SETUP said, and can be asked later. */
TEST(options_that_were_got)
{
	struct mtrace_setup setup = setup_of(MIB(2), 1, 1);
	struct mtrace_setup got = { .size = sizeof(got) };
	struct session s;
	int fd = open_device();

	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_GET_SETUP, &got), EINVAL);
	close(fd);
	setup.trace_flags |= MTRACE_TRACE_TSC | MTRACE_TRACE_NORETCOMP;
	if (ebx() & EBX_IP_FILTER) {
		setup.nr_ranges = 1;
		setup.range[0].start = 0x1000;
		setup.range[0].end = 0x1fff;
		setup.range[0].kind = MTRACE_RANGE_STOP;
	}
	session_open(&s, setup);
	got.reserved[0] = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_GET_SETUP, &got), EINVAL);
	got.reserved[0] = 0;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_GET_SETUP, &got), 0);
	CHECK(!memcmp(&got, &s.setup, sizeof(got)), "it is not the set-up");
	CHECK_EQ(got.rtit_ctl >> 32 & 15, setup.nr_ranges ? 2 : 0);
	CHECK_EQ(got.rtit_ctl & 0xffffffff, 0x2d09);
}
