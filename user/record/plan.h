/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session is set up with: how the snapshot's size is divided among the
 * threads, and which packets the CPU is asked for. Pure arithmetic on what the
 * device can do; knows nothing of files or processes.
 */
#ifndef MTRACE_RECORD_PLAN_H
#define MTRACE_RECORD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/mtrace.h>

/* Defaults of --snapshot-size: a thread alone, and --multi-thread. */
#define MT_PLAN_SIZE		(4ULL << 20)
#define MT_PLAN_SIZE_MULTI	(16ULL << 20)
/* Where there is no memory for that they are halved, down to this. */
#define MT_PLAN_SIZE_LEAST	(512ULL << 10)

/* Default of --threads under --multi-thread. */
#define MT_PLAN_THREADS		64

/* How exact the times are, from few packets to many. */
enum mt_timing {
	MT_TIMING_BEST,		/* the most exact that the CPU can do */
	MT_TIMING_TSC,
	MT_TIMING_MTC,
	MT_TIMING_CYC,
};

struct mt_plan_wish {
	uint64_t snapshot_size;	/* as asked for */
	const char *size_text;	/* and as that was typed, or NULL */
	bool multi_thread;
	uint32_t threads;	/* at the same time; 0: the default */
	enum mt_timing timing;
	uint64_t page_size;
};

struct mt_plan {
	uint64_t snapshot_size;	/* rounded; of all threads together */
	uint64_t share;		/* of one thread */
	struct mtrace_setup setup;	/* all but .pmu_type */
};

/*
 * Make *@plan of @wish and @caps, with a warning for each wish that was rounded.
 * Returns 0, or -EOPNOTSUPP after a message if the CPU cannot do the timing.
 */
int mt_plan_make(const struct mt_plan_wish *wish, const struct mtrace_caps *caps,
		 struct mt_plan *plan);

/* Bits of mtrace_caps.cpuid14, SDM vol. 3, 33.3.1: supported values by bit number. */
uint32_t mt_plan_mtc_values(const struct mtrace_caps *caps);
uint32_t mt_plan_cyc_values(const struct mtrace_caps *caps);
uint32_t mt_plan_psb_values(const struct mtrace_caps *caps);

#endif /* MTRACE_RECORD_PLAN_H */
