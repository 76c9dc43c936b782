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

/*
 * A point of execution: the next instruction and its context. Addresses are
 * offsets into the code segment, as RIP and EIP are.
 */
struct pt_where {
	uint64_t ip;
	uint64_t cs_base;	/* 0 in 64-bit mode */
	uint8_t cpl;
	uint8_t mode;		/* enum x86_mode */
	bool intr;		/* RFLAGS.IF; read with PT_FLOW_NEEDS_IF alone */
};

/* The instruction that ended a stretch of straight code. */
struct pt_branch {
	uint64_t ip;
	uint64_t target;	/* if direct */
	uint64_t next;		/* the address after it */
	enum x86_class class;
};

/* What interrupted the flow of instructions. */
enum pt_event_kind {
	PT_EVENT_INTR,		/* an external interrupt */
	PT_EVENT_NMI,
	PT_EVENT_FAULT,		/* an exception, of whatever kind */
	PT_EVENT_SOFT_INT,	/* INT n, INT3, INTO, INT1 */
	PT_EVENT_SMI,
	PT_EVENT_INIT,		/* TraceEn stays as it is: cases 30, 31 */
	PT_EVENT_SIPI,
	PT_EVENT_SHUTDOWN,
};

struct pt_event {
	enum pt_event_kind kind;
	uint64_t from;		/* the instruction of a fault or INT n; else the next */
	uint8_t vector;
	bool vector_known;
	bool has_cr2;		/* a page fault: vector 14 */
	uint64_t cr2;
};

/* Why a sleeping processor goes on; the bits of PWRX, table 36-45. */
enum pt_wake {
	PT_WAKE_INTR	= 1 << 0,
	PT_WAKE_STORE	= 1 << 2,	/* to the monitored address */
	PT_WAKE_HW	= 1 << 3,	/* autonomous */
};

/*
 * Told of each change of TraceEn, and of TriggerEn && ContextEn && BranchEn,
 * without FilterEn, for the log of executed code; and of each packet, if @packet
 * is not NULL.
 */
struct pt_observer {
	void (*trace)(void *arg, bool on);
	void (*packets)(void *arg, bool on);
	void (*packet)(void *arg, const struct pt_pkt *p);
	void *arg;
};

/* What the SDM leaves to the processor. To be set before a trace begins. */
struct pt_flow_options {
	bool tnt_long;		/* TNT packets of 47 bits */
	bool no_deferred_tips;
};

struct pt_flow {
	struct pt_msrs *msrs;
	struct pt_output *output;
	struct pt_encoder enc;
	struct pt_observer observer;
	struct pt_flow_options options;

	/* 36.2.5, as evaluated last */
	bool packet_en;
	bool context_en;
	bool filter_en;
	bool stop_hit;		/* TraceStop is due */

	/* Branches need no look at ranges and events. */
	bool simple;
	bool quick;		/* nor anything else, since the last simple step */
	uint8_t cpl;		/* for which context_en holds */
	unsigned int steps;

	bool mode_known;	/* the decoder has a mode since the last PSB ... */
	uint8_t mode;		/* ... this one */
	bool intr;		/* RFLAGS.IF */
	uint64_t cr3;
	uint64_t cs_base;

	bool asleep;
	uint8_t cstate;		/* as MWAIT's EAX has it */

	uint64_t packets_seen;	/* of the encoder's count */
	uint64_t overflow_count;
	unsigned int overflow_steps;

	bool traced;		/* what the observer was told */
	bool observed;
};

void pt_flow_init(struct pt_flow *flow, struct pt_msrs *msrs, struct pt_output *output,
		  const struct pt_clock *clock, const struct pt_observer *observer);

/* WRMSR set TraceEn; execution goes on at @at. */
void pt_flow_start(struct pt_flow *flow, const struct pt_where *at, uint64_t cr3);

/* WRMSR at @ip clears TraceEn. */
void pt_flow_stop(struct pt_flow *flow, uint64_t ip);

/*
 * What the caller must tell beyond what is always told; constant in a trace.
 * Address ranges need nothing: FilterEn and TraceStop change at taken branches
 * and events alone, and not when the code merely runs on (36.2.4.3).
 */
#define PT_FLOW_NEEDS_IF	1U	/* pt_where.intr; a call at each change of RFLAGS.IF */
#define PT_FLOW_NEEDS_PTW	2U	/* PTWRITE */
unsigned int pt_flow_needs(const struct pt_flow *flow);

/*
 * Without CYC a time is told to no branch: MTCs may come so many branches late, and
 * outside of ContextEn so many steps.
 */
#define PT_FLOW_CLOCK_STEPS	8

/*
 * The program has read the TSC. It can tell then what came before and what after: no
 * branch behind this may stand before an MTC that was due by now.
 */
static inline void pt_flow_clock_seen(struct pt_flow *flow)
{
	flow->steps = 0;
}

/*
 * Execution has come to @at without an event, by @branch if that is not NULL.
 * pt_flow_step() may insert a PSB, so the instruction at @at must be the next
 * one; pt_flow_arrive() does not, for when an event follows at once.
 */
void pt_flow_arrive(struct pt_flow *flow, const struct pt_branch *branch,
		    const struct pt_where *at);
void pt_flow_step(struct pt_flow *flow, const struct pt_branch *branch,
		  const struct pt_where *at);

/*
 * A step made short: by a near branch, while flow->quick and as long as neither the
 * privilege level nor the code size changes. Execution came to @to; @next is the
 * address after the branch. If true, pt_flow_settle() must come next.
 * To be called with a constant @class: then little of this is left.
 */
static inline __attribute__((always_inline))
bool pt_flow_quick(struct pt_flow *flow, enum x86_class class, bool taken, uint64_t next,
		   uint64_t to)
{
	struct pt_encoder *enc = &flow->enc;

	if (!(flow->steps++ % PT_FLOW_CLOCK_STEPS))
		pt_encode_time(enc);
	if (class == X86_COND && !pt_encode_tnt_join(enc, taken))
		pt_encode_tnt(enc, taken);
	if ((class == X86_CALL && to != next) || class == X86_CALL_IND)
		pt_encode_call(enc, next);
	if (class == X86_CALL_IND || class == X86_JMP_IND)
		pt_encode_tip(enc, to);
	if (class == X86_RET)
		pt_encode_ret(enc, to);
	return enc->closed || pt_encode_psb_due(enc);
}

/* What is left of a step: the end of the output, of an overflow; a PSB. */
void pt_flow_settle(struct pt_flow *flow, const struct pt_where *at);

/* @ev goes to @to; NULL: nowhere yet (INIT that waits for a SIPI, shutdown). */
void pt_flow_event(struct pt_flow *flow, const struct pt_event *ev, const struct pt_where *to);

/* MOV CR3; the next instruction is @at. */
void pt_flow_cr3(struct pt_flow *flow, uint64_t cr3, const struct pt_where *at);

/* PTWRITE at @ip; the next instruction is @at. @size: 4 or 8. */
void pt_flow_ptwrite(struct pt_flow *flow, uint64_t ip, uint64_t payload, unsigned int size,
		     const struct pt_where *at);

/*
 * HLT at @ip, or MWAIT at @ip with EAX and ECX as given, stops the processor;
 * pt_flow_wake() when it goes on, with the next instruction or with an event.
 */
void pt_flow_halt(struct pt_flow *flow, uint64_t ip, const struct pt_where *at);
void pt_flow_mwait(struct pt_flow *flow, uint64_t ip, uint32_t eax, uint32_t ecx,
		   const struct pt_where *at);
void pt_flow_wake(struct pt_flow *flow, enum pt_wake reason);

/* RESET, which keeps the registers if @warm and the processor can (36.3.1). */
void pt_flow_reset(struct pt_flow *flow, bool warm);

/* VMXON at @ip, VMXOFF. */
void pt_flow_vmxon(struct pt_flow *flow, uint64_t ip);
void pt_flow_vmxoff(struct pt_flow *flow);

/* TriggerEn: false after an operational error or a ToPA STOP, too. */
static inline bool pt_flow_active(const struct pt_flow *flow)
{
	return pt_msr_trigger_en(flow->msrs);
}

/* The value that RDMSR of IA32_RTIT_STATUS gives at CPL 0. */
uint64_t pt_flow_status(const struct pt_flow *flow);

#endif
