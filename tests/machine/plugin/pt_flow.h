/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what a processor does to the packets that are due (SDM 3C, 36.2.5 and
 * table 36-50, "Packet Generation under Different Enable Conditions").
 *
 * Owns: TriggerEn, ContextEn, PacketEn of one logical processor, and the
 * order of packets. Must not know: QEMU, packet formats, physical memory.
 */
#ifndef PT_FLOW_H
#define PT_FLOW_H

#include "pt_encoder.h"
#include "pt_msr.h"
#include "pt_output.h"
#include "x86_insn.h"

/* A point of execution: the next instruction and its context. */
struct pt_where {
	uint64_t ip;
	uint8_t cpl;
	uint8_t mode;		/* enum x86_mode */
};

/* The instruction that ended a run of straight code. */
struct pt_branch {
	uint64_t ip;
	uint64_t target;	/* if direct */
	uint64_t next;		/* the address after it */
	enum x86_class class;
};

/* Told of each change of PacketEn and TraceEn; for the log of executed code. */
struct pt_observer {
	void (*trace)(void *arg, bool on);
	void (*packets)(void *arg, bool on);
	void *arg;
};

struct pt_flow {
	struct pt_msrs *msrs;
	struct pt_output *output;
	struct pt_encoder enc;
	struct pt_observer observer;

	bool packet_en;
	bool mode_known;	/* the decoder has a mode since the last PSB ... */
	uint8_t mode;		/* ... this one */
	uint64_t cr3;
};

void pt_flow_init(struct pt_flow *flow, struct pt_msrs *msrs, struct pt_output *output,
		  const struct pt_clock *clock, const struct pt_observer *observer);

/* WRMSR set TraceEn; execution goes on at @at. */
void pt_flow_start(struct pt_flow *flow, const struct pt_where *at, uint64_t cr3);

/* WRMSR at @ip clears TraceEn. */
void pt_flow_stop(struct pt_flow *flow, uint64_t ip);

/*
 * Execution has come to @at without an event, by @branch if that is not NULL.
 * pt_flow_step() may insert a PSB, so the instruction at @at must be the next
 * one; pt_flow_arrive() does not, for when an event follows at once.
 */
void pt_flow_arrive(struct pt_flow *flow, const struct pt_branch *branch,
		    const struct pt_where *at);
void pt_flow_step(struct pt_flow *flow, const struct pt_branch *branch,
		  const struct pt_where *at);

/* An interrupt, exception or software interrupt at @from goes to @to. */
void pt_flow_event(struct pt_flow *flow, uint64_t from, const struct pt_where *to);

/* MOV CR3; the next instruction is @at. */
void pt_flow_cr3(struct pt_flow *flow, uint64_t cr3, const struct pt_where *at);

/* TriggerEn: false after an operational error or a ToPA STOP, too. */
static inline bool pt_flow_active(const struct pt_flow *flow)
{
	return pt_msr_trigger_en(flow->msrs);
}

/* The value that RDMSR of IA32_RTIT_STATUS gives at CPL 0. */
uint64_t pt_flow_status(const struct pt_flow *flow);

#endif
