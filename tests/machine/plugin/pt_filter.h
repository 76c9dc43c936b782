/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which code is to be traced: by privilege level, CR3, and address (SDM 3C,
 * 36.2.4).
 *
 * Owns: ContextEn, FilterEn and the TraceStop condition, as functions of where
 * execution is. Must not know: packets; when these are to be asked for.
 */
#ifndef PT_FILTER_H
#define PT_FILTER_H

#include "pt_msr.h"

/* ContextEn, 36.2.5.3. */
bool pt_filter_context(const struct pt_msrs *m, uint8_t cpl, uint64_t cr3);

/* Is FilterEn always set, for want of ranges? */
bool pt_filter_all_ips(const struct pt_msrs *m);

/*
 * FilterEn, 36.2.5.5, for the target at @lip, a linear address, of a taken branch
 * or an event.
 */
bool pt_filter_ip(const struct pt_msrs *m, uint64_t lip);

/* Is @lip in a TraceStop range? */
bool pt_filter_trace_stop(const struct pt_msrs *m, uint64_t lip);

#endif
