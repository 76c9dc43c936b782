/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_CAPS_H
#define _MT_CAPS_H

#include <linux/mtrace.h>
#include <linux/types.h>

/**
 * enum mt_cap - what CPUID leaf 14H says of this CPU's Processor Trace
 * @MT_CAP_CR3_FILTER: filtering by CR3
 * @MT_CAP_PSB_CYC: configurable PSB frequency and cycle-accurate mode; also
 *	that RTIT_STATUS.PacketByteCnt exists
 * @MT_CAP_IP_FILTER: filtering by address, and stops
 * @MT_CAP_MTC: mini time counter packets, and tracing without branches
 * @MT_CAP_PTWRITE: packets by PTWRITE
 * @MT_CAP_POWER: power event packets
 * @MT_CAP_EVENT: event trace
 * @MT_CAP_NOTNT: tracing without TNT packets
 * @MT_CAP_TOPA: output by a table of physical addresses
 * @MT_CAP_TOPA_MULTI: such a table may have more than one entry
 * @MT_CAP_RANGES: number of address ranges, of meaning with MT_CAP_IP_FILTER
 * @MT_CAP_MTC_PERIODS: bitmap of the values of RTIT_CTL.MTCFreq
 * @MT_CAP_CYC_THRESHOLDS: bitmap of the values of RTIT_CTL.CycThresh
 * @MT_CAP_PSB_PERIODS: bitmap of the values of RTIT_CTL.PSBFreq
 */
enum mt_cap {
	MT_CAP_CR3_FILTER,
	MT_CAP_PSB_CYC,
	MT_CAP_IP_FILTER,
	MT_CAP_MTC,
	MT_CAP_PTWRITE,
	MT_CAP_POWER,
	MT_CAP_EVENT,
	MT_CAP_NOTNT,
	MT_CAP_TOPA,
	MT_CAP_TOPA_MULTI,
	MT_CAP_RANGES,
	MT_CAP_MTC_PERIODS,
	MT_CAP_CYC_THRESHOLDS,
	MT_CAP_PSB_PERIODS,
};

int mt_caps_init(void);
u32 mt_caps_get(enum mt_cap cap);
u32 mt_caps_nr_ranges(void);
void mt_caps_describe(struct mtrace_caps *caps);
int mt_caps_check(struct mtrace_setup *setup);

#endif /* _MT_CAPS_H */
