/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MT_TEST_PT_H
#define MT_TEST_PT_H

#include "harness.h"

/**
 * struct pt_stats - what a trace holds
 * @psb: PSB packets
 * @pge: TIP.PGE packets
 * @pgd: TIP.PGD packets
 * @tip: TIP packets
 * @tnt: branches in TNT packets
 * @fup: FUP packets
 * @ovf: OVF packets
 * @tsc: TSC packets
 * @mtc: MTC packets
 * @cyc: CYC packets
 * @hits: TIP packets that go to the address that was asked for
 * @kernel: TIP.PGE and TIP packets that go to kernel addresses
 */
struct pt_stats {
	uint64_t psb, pge, pgd, tip, tnt, fup, ovf, tsc, mtc, cyc;
	uint64_t hits, kernel;
};

/*
 * Read every packet of a region in time order and fail the test on the first
 * that is none, that is cut off or that cannot follow the one before. A region
 * that did not wrap must begin with PSB; of one that did, what is before the
 * first PSB is skipped.
 */
void pt_read(const struct session *s, const struct mtrace_region *region,
	     uint64_t target, struct pt_stats *stats);

#endif
