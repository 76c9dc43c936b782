/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_CAPS_H
#define _MT_CAPS_H

#include <linux/mtrace.h>
#include <linux/types.h>

/**
 * enum mt_cap - what CPUID leaf 14H says of this CPU's Processor Trace
 * @MT_CAP_PSB_CYC: configurable PSB frequency and cycle-accurate mode; also
 *	that RTIT_STATUS.PacketByteCnt exists
 * @MT_CAP_MTC: mini time counter packets
 * @MT_CAP_TOPA: output by a table of physical addresses
 * @MT_CAP_TOPA_MULTI: such a table may have more than one entry
 * @MT_CAP_MTC_PERIODS: bitmap of the values of RTIT_CTL.MTCFreq
 * @MT_CAP_CYC_THRESHOLDS: bitmap of the values of RTIT_CTL.CycThresh
 * @MT_CAP_PSB_PERIODS: bitmap of the values of RTIT_CTL.PSBFreq
 */
enum mt_cap {
	MT_CAP_PSB_CYC,
	MT_CAP_MTC,
	MT_CAP_TOPA,
	MT_CAP_TOPA_MULTI,
	MT_CAP_MTC_PERIODS,
	MT_CAP_CYC_THRESHOLDS,
	MT_CAP_PSB_PERIODS,
};

int mt_caps_init(void);
u32 mt_caps_get(enum mt_cap cap);
void mt_caps_describe(struct mtrace_caps *caps);
int mt_caps_check(const struct mtrace_setup *setup);

#endif /* _MT_CAPS_H */
