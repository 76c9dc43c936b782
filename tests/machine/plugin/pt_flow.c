// SPDX-License-Identifier: GPL-2.0
/*
 * Control flow to packets. The cases named below are those of SDM 3C,
 * table 36-50.
 */
#include "pt_flow_state.h"

#include <string.h>

/* The log of executed code follows the context, not the address. */
static void tell_observer(struct pt_flow *flow)
{
	const bool on = pt_flow_active(flow) && flow->context_en &&
			(flow->msrs->ctl & CTL_BRANCH_EN);

	if (flow->observed == on)
		return;
	flow->observed = on;
	flow->observer.packets(flow->observer.arg, on);
}

uint64_t pt_flow_ip(const struct pt_flow *flow, uint64_t ip, uint64_t cs_base)
{
	return flow->output->caps->ecx & CAP_ECX_LIP ? ip + cs_base : ip;
}

static uint64_t linear(const struct pt_where *at)
{
	const uint64_t lip = at->ip + at->cs_base;

	return at->mode == X86_MODE_64 ? lip : (uint32_t)lip;
}

static uint8_t mode_byte(const struct pt_flow *flow, const struct pt_where *at)
{
	return at->mode | (at->intr && (flow->msrs->ctl & CTL_EVENT_EN) ? PT_MODE_IF : 0);
}

/*
 * Is PacketEn to be set at @at? Evaluates ContextEn, and, if execution came there
 * by a taken branch or an event, FilterEn and TraceStop (36.2.4.3).
 */
bool pt_flow_evaluate(struct pt_flow *flow, const struct pt_where *at, bool transfer)
{
	flow->context_en = pt_filter_context(flow->msrs, at->cpl, flow->cr3);
	flow->cpl = at->cpl;
	flow->cs_base = at->cs_base;

	/* 36.2.5.5: FilterEn toggles only while ContextEn is set. */
	if (transfer && flow->context_en && pt_flow_active(flow) &&
	    PT_FIELD(flow->msrs->ctl, 47, 32)) {
		flow->filter_en = pt_filter_ip(flow->msrs, linear(at));
		flow->stop_hit = pt_filter_trace_stop(flow->msrs, linear(at));
		if (flow->stop_hit)
			flow->filter_en = false;
	}
	return pt_flow_active(flow) && (flow->msrs->ctl & CTL_BRANCH_EN) &&
	       flow->context_en && flow->filter_en;
}

/* ---- internal buffer overflow, 36.3.8 ---- */

/* How long one lasts, in calls of pt_flow_step(). */
#define OVERFLOW_STEPS	16

static void overflow_check(struct pt_flow *flow)
{
	const uint64_t packets = flow->enc.count.packets - flow->packets_seen;

	flow->packets_seen = flow->enc.count.packets;
	if (!pt_fault_due(PT_FAULT_OVERFLOW, &flow->overflow_count, packets))
		return;
	flow->overflow_steps = OVERFLOW_STEPS;
	pt_encoder_overflow(&flow->enc);
}

/*
 * The overflow ends before the instruction at @at. If PacketEn is set a FUP gives
 * its address. A FUP cannot tell another mode than the decoder has: then it is as
 * if PacketEn had been clear, and been set right after the OVF.
 */
static void overflow_end(struct pt_flow *flow, const struct pt_where *at)
{
	const uint64_t ip = pt_flow_ip(flow, at->ip, at->cs_base);

	pt_encode_ovf(&flow->enc);
	if (!flow->packet_en)
		return;
	if (flow->mode_known && flow->mode == mode_byte(flow, at)) {
		pt_encode_fup(&flow->enc, ip);
		return;
	}
	pt_flow_mode_exec(flow, at);
	pt_encode_tip_pge(&flow->enc, ip);
}

/* ---- PacketEn ---- */

/* To be called before the packets of each event. */
void pt_flow_begin(struct pt_flow *flow)
{
	flow->quick = false;
	pt_encode_time(&flow->enc);
	if (!flow->enc.lost)
		overflow_check(flow);
}

/*
 * To be called after them. TraceStop sets Stopped, which clears TriggerEn. Output
 * that ended by itself (STOP, or an error in the ToPA) does so without a packet.
 */
void pt_flow_end(struct pt_flow *flow)
{
	if (flow->stop_hit) {
		if (flow->enc.lost)
			pt_encode_ovf(&flow->enc);
		pt_encode_tracestop(&flow->enc);
		flow->msrs->status |= STATUS_STOPPED;
		flow->stop_hit = false;
	}
	if (!pt_flow_active(flow) || flow->enc.closed) {
		flow->packet_en = false;
		flow->quick = false;
	}
	tell_observer(flow);
}

/* The mode of the TIP or TIP.PGE that follows, if the decoder does not have it. */
void pt_flow_mode_exec(struct pt_flow *flow, const struct pt_where *at)
{
	const uint8_t mode = mode_byte(flow, at);

	if (flow->enc.lost || (flow->mode_known && flow->mode == mode))
		return;
	flow->mode_known = true;
	flow->mode = mode;
	pt_encode_mode_exec(&flow->enc, mode);
}

/*
 * PacketEn is cleared. If ContextEn stays set the target may be told, but not by
 * what would have had a TNT bit (table 36-21). Buffered bytes then reach memory;
 * a reader on another processor sees them late, but soon.
 */
static void packets_off(struct pt_flow *flow, const struct pt_where *at, bool tell_ip)
{
	if (tell_ip && flow->context_en)
		pt_encode_tip_pgd_ip(&flow->enc, pt_flow_ip(flow, at->ip, at->cs_base));
	else
		pt_encode_tip_pgd(&flow->enc);
	if (!flow->stop_hit)
		pt_encoder_flush(&flow->enc);
	flow->packet_en = false;
}

/* Cases 2d, 2e, 5b, 6c, 7b, 9b, 10b, 11b, 12b, 13b, 32c: MODE.Exec?, TIP.PGE */
void pt_flow_packets_on(struct pt_flow *flow, const struct pt_where *at)
{
	pt_flow_mode_exec(flow, at);
	pt_encode_tip_pge(&flow->enc, pt_flow_ip(flow, at->ip, at->cs_base));
	flow->packet_en = true;
}

/* A transfer whose target the decoder cannot know: 9c, 9d, 10c to 10e. */
void pt_flow_tip(struct pt_flow *flow, const struct pt_where *to, bool want)
{
	if (!want) {
		packets_off(flow, to, true);
		return;
	}
	pt_flow_mode_exec(flow, to);
	pt_encode_tip(&flow->enc, pt_flow_ip(flow, to->ip, to->cs_base));
}

static void psb(struct pt_flow *flow, const struct pt_where *at)
{
	const struct pt_psb_state state = {
		.has_cr3 = flow->context_en && (flow->msrs->ctl & CTL_OS),
		.cr3 = flow->cr3,
		.has_ip = flow->packet_en,
		.ip = pt_flow_ip(flow, at->ip, at->cs_base),
		.mode = mode_byte(flow, at),
	};

	pt_encode_psb(&flow->enc, &state);
	flow->mode_known = state.has_ip;
	flow->mode = state.mode;
}

/* ---- branches ---- */

static bool is_taken(const struct pt_branch *branch, const struct pt_where *at)
{
	switch (branch->class) {
	case X86_COND:
		return at->ip == branch->target;
	case X86_JMP:
	case X86_CALL:
	case X86_JMP_IND:
	case X86_CALL_IND:
	case X86_RET:
		return true;
	default:
		return x86_is_far(branch->class);
	}
}

/* PacketEn was set when @branch was executed; @want: it stays so. */
static void branch_packets(struct pt_flow *flow, const struct pt_branch *branch,
			   const struct pt_where *at, bool want)
{
	switch (branch->class) {
	case X86_COND:
		/* 7e, 7f: a branch out of the range has no TNT bit. */
		if (want)
			pt_encode_tnt(&flow->enc, is_taken(branch, at));
		else
			packets_off(flow, at, false);
		break;
	case X86_CALL:
		/* 36.4.2.2 excludes a call to the next instruction. */
		if (branch->target != branch->next)
			pt_encode_call(&flow->enc, branch->next);
		break;
	case X86_CALL_IND:
		pt_encode_call(&flow->enc, branch->next);
		pt_flow_tip(flow, at, want);
		break;
	case X86_RET:
		if (want)
			pt_encode_ret(&flow->enc, at->ip);
		else
			packets_off(flow, at, !pt_encode_ret_pop(&flow->enc, at->ip));
		break;
	case X86_JMP_IND:
	case X86_FAR:
	case X86_IRET:
	case X86_RSM:
		pt_flow_tip(flow, at, want);
		break;
	default:
		break;
	}
}

void pt_flow_arrive(struct pt_flow *flow, const struct pt_branch *branch,
		    const struct pt_where *at)
{
	bool want;

	if (!pt_flow_active(flow))
		return;
	pt_flow_begin(flow);
	pt_flow_before_branch(flow, branch, at);

	want = pt_flow_evaluate(flow, at, branch && is_taken(branch, at));
	if (flow->packet_en && branch)
		branch_packets(flow, branch, at, want);
	if (flow->packet_en && !want)
		packets_off(flow, at, true);		/* 6b */
	else if (!flow->packet_en && want)
		pt_flow_packets_on(flow, at);
	pt_flow_end(flow);
}

/* A branch in a simple trace that leaves all but its own packets as they are. */
static bool simple_step(struct pt_flow *flow, const struct pt_branch *branch,
			const struct pt_where *at)
{
	if (!flow->simple || pt_faults.n[PT_FAULT_OVERFLOW] || !flow->packet_en ||
	    flow->enc.closed || flow->enc.lost ||
	    at->cpl != flow->cpl || !flow->mode_known || at->mode != flow->mode ||
	    (branch && branch->class == X86_HALT))
		return false;
	if (flow->enc.config.cyc_en || !(flow->steps++ % PT_FLOW_CLOCK_STEPS))
		pt_encode_time(&flow->enc);
	if (branch)
		branch_packets(flow, branch, at, true);
	flow->quick = flow->packet_en && !at->cs_base && !flow->enc.config.cyc_en &&
		      !flow->enc.config.tnt_off;
	return true;
}

/* Where ContextEn is clear, and stays so, nothing comes but MTCs. */
static bool outer_step(struct pt_flow *flow, const struct pt_branch *branch,
		       const struct pt_where *at)
{
	return !branch && flow->simple && !flow->context_en && !flow->enc.lost &&
	       at->cpl == flow->cpl && !pt_encode_psb_due(&flow->enc) &&
	       flow->steps++ % PT_FLOW_CLOCK_STEPS;
}

void pt_flow_step(struct pt_flow *flow, const struct pt_branch *branch,
		  const struct pt_where *at)
{
	if (outer_step(flow, branch, at))
		return;
	if (!simple_step(flow, branch, at))
		pt_flow_arrive(flow, branch, at);
	pt_flow_settle(flow, at);
}

void pt_flow_settle(struct pt_flow *flow, const struct pt_where *at)
{
	if (flow->enc.closed)
		pt_flow_end(flow);
	if (!pt_flow_active(flow))
		return;
	if (flow->enc.lost && !flow->overflow_steps--)
		overflow_end(flow, at);
	if (!flow->enc.lost && pt_encode_psb_due(&flow->enc)) {
		/* Its TSC tells this moment, and a simple step may not have looked. */
		pt_encode_time(&flow->enc);
		psb(flow, at);
		pt_flow_end(flow);
	}
}

/* Case 5 */
void pt_flow_cr3(struct pt_flow *flow, uint64_t cr3, const struct pt_where *at)
{
	bool want;

	flow->cr3 = cr3;
	if (!pt_flow_active(flow))
		return;

	pt_flow_begin(flow);
	want = pt_flow_evaluate(flow, at, true);
	if (flow->context_en && (flow->msrs->ctl & CTL_OS))
		pt_encode_pip(&flow->enc, cr3);
	if (flow->packet_en && !want)
		packets_off(flow, at, true);
	else if (!flow->packet_en && want)
		pt_flow_packets_on(flow, at);
	pt_flow_end(flow);
}

/* ---- TraceEn ---- */

static void config_from_ctl(const struct pt_flow *flow, struct pt_config *config)
{
	const uint64_t ctl = flow->msrs->ctl;
	const unsigned int thresh = CTL_CYC_THRESH(ctl);

	*config = (struct pt_config) {
		.tsc_en = ctl & CTL_TSC_EN,
		.mtc_en = ctl & CTL_MTC_EN,
		.cyc_en = ctl & CTL_CYC_EN,
		.compress_ret = !(ctl & CTL_DIS_RETC),
		.tnt_off = ctl & CTL_DIS_TNT,
		.tnt_long = flow->options.tnt_long,
		.defer_tips = !flow->options.no_deferred_tips,
		.mtc_freq = CTL_MTC_FREQ(ctl),
		.cyc_threshold = thresh ? 1U << (thresh - 1) : 0,
		.psb_period = 2048U << CTL_PSB_FREQ(ctl),
	};
}

/* Case 2 */
void pt_flow_start(struct pt_flow *flow, const struct pt_where *at, uint64_t cr3)
{
	const struct pt_caps *caps = flow->output->caps;
	struct pt_config config;
	bool want;

	flow->cr3 = cr3;
	flow->packet_en = false;
	flow->quick = false;
	flow->mode_known = false;
	flow->filter_en = pt_filter_all_ips(flow->msrs);
	flow->asleep = false;
	flow->intr = at->intr;
	flow->traced = true;
	flow->simple = !(flow->msrs->ctl & CTL_EVENT_EN) &&
		       !PT_FIELD(flow->msrs->ctl, 47, 32);
	flow->observer.trace(flow->observer.arg, true);

	config_from_ctl(flow, &config);
	config.hold = pt_output_granule(flow->output);
	pt_encoder_start(&flow->enc, &config, PT_FIELD(flow->msrs->status, 48, 32));
	if (!pt_flow_active(flow) || !pt_output_start(flow->output))
		return;

	/* 36.2.7.3: PSB+ if the count is zero, else the timing packets alone. */
	want = pt_flow_evaluate(flow, at, true);
	if (pt_msr_psb_at_start(flow->msrs, caps))
		psb(flow, at);
	else
		pt_encode_resume(&flow->enc);
	if (want)
		pt_flow_packets_on(flow, at);
	pt_flow_end(flow);
}

/* Case 3; then all bytes reach memory. */
void pt_flow_stop(struct pt_flow *flow, uint64_t ip)
{
	const uint64_t fup = pt_flow_ip(flow, ip, flow->cs_base);

	if (pt_flow_active(flow)) {
		pt_flow_begin(flow);
		if (flow->enc.lost) {
			pt_encode_ovf(&flow->enc);
			if (flow->packet_en)
				pt_encode_fup(&flow->enc, fup);
		}
		pt_encode_tnt_flush(&flow->enc);
		if (flow->packet_en) {
			pt_encode_fup(&flow->enc, fup);
			pt_encode_tip_pgd(&flow->enc);
		}
	}
	pt_encoder_flush(&flow->enc);
	flow->packet_en = false;
	pt_output_end(flow->output);
	pt_msr_store_progress(flow->msrs, flow->output->caps, flow->enc.byte_count,
			      pt_encode_psb_due(&flow->enc));

	flow->context_en = false;
	tell_observer(flow);
	flow->traced = false;
	flow->observer.trace(flow->observer.arg, false);
}

void pt_flow_reset(struct pt_flow *flow, bool warm)
{
	flow->enc.len = 0;
	flow->packet_en = false;
	flow->context_en = false;
	tell_observer(flow);
	if (flow->traced)
		flow->observer.trace(flow->observer.arg, false);
	flow->traced = false;

	if (warm)
		pt_msr_warm_reset(flow->msrs, flow->output->caps);
	else
		pt_msr_reset(flow->msrs);
}

void pt_flow_vmxon(struct pt_flow *flow, uint64_t ip)
{
	const struct pt_caps *caps = flow->output->caps;

	if (pt_msr_vmxon_ends_trace(flow->msrs, caps))
		pt_flow_stop(flow, ip);
	pt_msr_vmxon(flow->msrs, caps);
}

void pt_flow_vmxoff(struct pt_flow *flow)
{
	pt_msr_vmxoff(flow->msrs);
}

/* PacketByteCnt as it is now; the register has what it was when TraceEn was set. */
static uint64_t with_byte_count(const struct pt_flow *flow, uint64_t status)
{
	struct pt_msrs msrs = *flow->msrs;

	pt_msr_store_progress(&msrs, flow->output->caps, flow->enc.byte_count, false);
	return (status & ~STATUS_BYTE_CNT) | (msrs.status & STATUS_BYTE_CNT);
}

uint64_t pt_flow_status(const struct pt_flow *flow)
{
	uint64_t status = flow->msrs->status;

	if (pt_flow_active(flow)) {
		status = with_byte_count(flow, status) | STATUS_TRIGGER_EN;
		/* Without IP filtering there is no such bit (table 35-2). */
		if (flow->filter_en && (flow->output->caps->ebx & CAP_EBX_IP_FILTER))
			status |= STATUS_FILTER_EN;
		if (pt_filter_context(flow->msrs, 0, flow->cr3))
			status |= STATUS_CONTEXT_EN;
	}
	return status;
}

unsigned int pt_flow_needs(const struct pt_flow *flow)
{
	const uint64_t ctl = flow->msrs->ctl;

	if (!pt_flow_active(flow))
		return 0;
	return (ctl & CTL_EVENT_EN ? PT_FLOW_NEEDS_IF : 0) |
	       (ctl & CTL_PTW_EN ? PT_FLOW_NEEDS_PTW : 0);
}

static bool sink_write(void *arg, const void *buf, size_t len)
{
	return pt_output_write(arg, buf, len);
}

void pt_flow_init(struct pt_flow *flow, struct pt_msrs *msrs, struct pt_output *output,
		  const struct pt_clock *clock, const struct pt_observer *observer)
{
	const struct pt_sink sink = { .write = sink_write, .arg = output };

	memset(flow, 0, sizeof(*flow));
	flow->msrs = msrs;
	flow->output = output;
	flow->observer = *observer;
	pt_encoder_init(&flow->enc, clock, &sink);
	flow->enc.observer = (struct pt_packet_observer) {
		.packet = observer->packet, .arg = observer->arg,
	};
}
