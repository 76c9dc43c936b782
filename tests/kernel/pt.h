/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MT_TEST_PT_H
#define MT_TEST_PT_H

#include "harness.h"

/* Of some packets what they say is kept, of so many of them. */
#define PT_KEPT	256

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
 * @pip: PIP packets
 * @mwait: MWAIT packets
 * @pwre: PWRE packets
 * @exstop: EXSTOP packets
 * @pwrx: PWRX packets
 * @cfe: CFE packets
 * @stop: TraceStop packets
 * @after_stop: packets behind the first of these
 * @hits: TIP packets that go to the address that was asked for
 * @entries: TIP.PGE packets that do
 * @kernel: TIP.PGE and TIP packets that go to kernel addresses
 * @lowest: least address of TIP.PGE, TIP and FUP packets
 * @highest: greatest of these
 * @last: address of the last TIP or TIP.PGE packet
 * @since: branches in TNT packets behind that
 * @last_fup: address of the last FUP packet that is none of PSB+
 * @least_cyc: the least cycle count of a CYC packet
 * @ptw: PTW packets
 * @ptws: the first of them: what they say, and the FUP that follows, or 0
 * @evd: EVD packets
 * @evds: the first of them: what kind, and what they say
 */
struct pt_stats {
	uint64_t psb, pge, pgd, tip, tnt, fup, ovf, tsc, mtc, cyc;
	uint64_t pip, mwait, pwre, exstop, pwrx, cfe, stop, after_stop;
	uint64_t hits, entries, kernel, lowest, highest, least_cyc;
	uint64_t last, since, last_fup;
	uint64_t ptw, evd;
	struct {
		uint64_t payload, ip;
	} ptws[PT_KEPT];
	struct {
		uint64_t payload;
		uint8_t type;
	} evds[PT_KEPT];
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
