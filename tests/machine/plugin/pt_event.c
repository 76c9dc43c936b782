// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts and exceptions, event trace, PTWRITE, power events. The cases named
 * below are those of SDM 3C, tables 36-50 and 36-51; event trace is in later
 * editions alone.
 */
#include "pt_flow_state.h"

static uint64_t source_ip(const struct pt_flow *flow, uint64_t ip)
{
	return pt_flow_ip(flow, ip, flow->cs_base);
}

/* ---- event trace ---- */

static bool event_trace(const struct pt_flow *flow)
{
	return flow->msrs->ctl & CTL_EVENT_EN;
}

/* RFLAGS.IF was changed by other than a transfer: MODE.Exec, FUP(next IP). */
static void interrupt_flag(struct pt_flow *flow, const struct pt_where *at, uint64_t ip)
{
	const bool on = flow->packet_en || (!(flow->msrs->ctl & CTL_BRANCH_EN) &&
					    flow->context_en && flow->filter_en);

	if (!on || flow->enc.lost)
		return;
	flow->mode_known = true;
	flow->mode = at->mode | (at->intr ? PT_MODE_IF : 0);
	pt_encode_mode_exec(&flow->enc, flow->mode);
	pt_encode_fup(&flow->enc, source_ip(flow, ip));
}

/* A CFE whose FUP is its own, not one of a compound packet event. */
static void cfe_with_ip(struct pt_flow *flow, enum pt_cfe_type type, uint64_t ip)
{
	pt_encode_cfe(&flow->enc, type, 0, flow->context_en);
	if (flow->context_en)
		pt_encode_fup(&flow->enc, source_ip(flow, ip));
}

void pt_flow_before_branch(struct pt_flow *flow, const struct pt_branch *branch,
			   const struct pt_where *at)
{
	const bool far = branch && x86_is_far(branch->class);
	const bool changed = at->intr != flow->intr;

	flow->intr = at->intr;
	if (!event_trace(flow))
		return;
	/* A transfer tells the flag with its mode. */
	if (changed && !far)
		interrupt_flag(flow, at, branch ? branch->ip : at->ip);
	if (!far || branch->class == X86_FAR)
		return;
	if (flow->context_en || pt_filter_context(flow->msrs, at->cpl, flow->cr3))
		cfe_with_ip(flow, branch->class == X86_IRET ? PT_CFE_IRET : PT_CFE_RSM,
			    branch->ip);
}

static enum pt_cfe_type cfe_type(enum pt_event_kind kind)
{
	switch (kind) {
	case PT_EVENT_SMI:
		return PT_CFE_SMI;
	case PT_EVENT_INIT:
		return PT_CFE_INIT;
	case PT_EVENT_SIPI:
		return PT_CFE_SIPI;
	case PT_EVENT_SHUTDOWN:
		return PT_CFE_SHUTDOWN;
	default:
		return PT_CFE_INTR;
	}
}

/*
 * EVD?, CFE, and a FUP of its own if none follows for the branch. @context:
 * ContextEn at the source; only then may the trace tell of it.
 */
static void trace_event(struct pt_flow *flow, const struct pt_event *ev, bool context,
			bool shares_fup)
{
	const bool ip = context && !shares_fup && ev->kind != PT_EVENT_SIPI;

	if (!event_trace(flow) || !(context || flow->context_en))
		return;
	if (ev->has_cr2 && context)
		pt_encode_evd(&flow->enc, PT_EVD_CR2, ev->cr2);
	pt_encode_cfe(&flow->enc, cfe_type(ev->kind), ev->vector_known ? ev->vector : 0, ip);
	if (ip)
		pt_encode_fup(&flow->enc, source_ip(flow, ev->from));
}

/* ---- events ---- */

/* 14b: TraceEn is cleared. RSM, which would restore it, is not emulated. */
static void smi(struct pt_flow *flow, const struct pt_event *ev)
{
	trace_event(flow, ev, flow->context_en, flow->packet_en);
	pt_flow_stop(flow, ev->from);
	flow->msrs->ctl &= ~CTL_TRACE_EN;
}

/*
 * 11, 12, 13: FUP(source), then TIP, TIP.PGD or TIP.PGE for the handler.
 * 32: a SIPI has no source.
 */
void pt_flow_event(struct pt_flow *flow, const struct pt_event *ev, const struct pt_where *to)
{
	const bool context = flow->context_en;
	const uint64_t from = source_ip(flow, ev->from);
	bool want = flow->packet_en, fup;

	if (!pt_flow_active(flow))
		return;
	pt_flow_begin(flow);
	if (ev->kind == PT_EVENT_SMI) {
		smi(flow, ev);
		return;
	}

	fup = flow->packet_en && ev->kind != PT_EVENT_SIPI && ev->kind != PT_EVENT_SHUTDOWN;
	if (ev->kind == PT_EVENT_INIT)
		flow->cr3 = 0;
	if (to)
		want = pt_flow_evaluate(flow, to, true);
	trace_event(flow, ev, context, fup);
	if (fup)
		pt_encode_fup(&flow->enc, from);
	/* 30, 31; the FUP of an AP is completed by the SIPI's TIP. */
	if (ev->kind == PT_EVENT_INIT && flow->context_en && (flow->msrs->ctl & CTL_OS))
		pt_encode_pip(&flow->enc, 0);
	if (to && flow->packet_en)
		pt_flow_tip(flow, to, want);
	else if (to && want)
		pt_flow_packets_on(flow, to);
	if (to)
		flow->intr = to->intr;
	pt_flow_end(flow);
}

/* ---- PTWRITE, case 16 of table 36-51 ---- */

void pt_flow_ptwrite(struct pt_flow *flow, uint64_t ip, uint64_t payload, unsigned int size,
		     const struct pt_where *at)
{
	const uint64_t ctl = flow->msrs->ctl;

	(void)at;
	if (!pt_flow_active(flow) || !(ctl & CTL_PTW_EN) || !flow->context_en ||
	    !flow->filter_en)
		return;
	pt_flow_begin(flow);
	pt_encode_ptw(&flow->enc, payload, size, ctl & CTL_FUP_ON_PTW);
	if (ctl & CTL_FUP_ON_PTW)
		pt_encode_fup(&flow->enc, source_ip(flow, ip));
	pt_flow_end(flow);
}

/* ---- power events ---- */

/* PWRE, EXSTOP, and a FUP that MWAIT shares */
static void sleep_packets(struct pt_flow *flow, uint64_t ip, uint8_t cstate)
{
	flow->asleep = true;
	flow->cstate = cstate;
	if (flow->msrs->ctl & CTL_PWR_EVT_EN) {
		pt_encode_pwre(&flow->enc, cstate >> 4, cstate & 0xf);
		pt_encode_exstop(&flow->enc, flow->context_en);
		if (flow->context_en)
			pt_encode_fup(&flow->enc, source_ip(flow, ip));
	}
	pt_flow_end(flow);
}

/* HLT enters C1, which MWAIT calls 0. */
void pt_flow_halt(struct pt_flow *flow, uint64_t ip, const struct pt_where *at)
{
	(void)at;
	if (!pt_flow_active(flow))
		return;
	pt_flow_begin(flow);
	sleep_packets(flow, ip, 0);
}

void pt_flow_mwait(struct pt_flow *flow, uint64_t ip, uint32_t eax, uint32_t ecx,
		   const struct pt_where *at)
{
	(void)at;
	/* EAX[7:4] = FH asks for C0: no packet, no sleep. */
	if (!pt_flow_active(flow) || PT_FIELD(eax, 7, 4) == 0xf)
		return;
	pt_flow_begin(flow);
	if ((flow->msrs->ctl & CTL_PWR_EVT_EN) && flow->context_en)
		pt_encode_mwait(&flow->enc, eax, ecx);
	sleep_packets(flow, ip, eax);
}

/* 33b: TSC, TMA, CBR; and PWRX */
void pt_flow_wake(struct pt_flow *flow, enum pt_wake reason)
{
	if (!pt_flow_active(flow) || !flow->asleep)
		return;
	flow->asleep = false;
	pt_encode_wake(&flow->enc);
	if (flow->msrs->ctl & CTL_PWR_EVT_EN)
		pt_encode_pwrx(&flow->enc, flow->cstate >> 4, flow->cstate >> 4, reason);
	pt_flow_end(flow);
}
