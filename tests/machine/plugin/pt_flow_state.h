/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What pt_flow.c (branches, PacketEn, TraceEn) and pt_event.c (events,
 * PTWRITE, power) share. For these two alone.
 */
#ifndef PT_FLOW_STATE_H
#define PT_FLOW_STATE_H

#include "pt_fault.h"
#include "pt_filter.h"
#include "pt_flow.h"

/* Around the packets of each event. */
void pt_flow_begin(struct pt_flow *flow);
void pt_flow_end(struct pt_flow *flow);

bool pt_flow_evaluate(struct pt_flow *flow, const struct pt_where *at, bool transfer);
uint64_t pt_flow_ip(const struct pt_flow *flow, uint64_t ip, uint64_t cs_base);
void pt_flow_mode_exec(struct pt_flow *flow, const struct pt_where *at);
void pt_flow_tip(struct pt_flow *flow, const struct pt_where *to, bool want);
void pt_flow_packets_on(struct pt_flow *flow, const struct pt_where *at);

/* Of pt_event.c: what event trace says of a branch, and of a changed RFLAGS.IF. */
void pt_flow_before_branch(struct pt_flow *flow, const struct pt_branch *branch,
			   const struct pt_where *at);

#endif
