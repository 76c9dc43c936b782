// SPDX-License-Identifier: GPL-2.0
/*
 * Control flow to packets. The cases named below are those of SDM 3C,
 * table 36-50.
 */
#include "pt_flow.h"

#include <string.h>

/* 36.2.5.3 */
static bool context_en(const struct pt_flow *flow, uint8_t cpl)
{
	const uint64_t ctl = flow->msrs->ctl;

	if (!(ctl & (cpl == 0 ? CTL_OS : CTL_USER)))
		return false;

	/* 36.2.4.2: the address in CR3; with IA-32e paging not its PCID. */
	if ((ctl & CTL_CR3_FILTER) &&
	    (flow->cr3 & 0x000ffffffffff000ULL) != flow->msrs->cr3_match)
		return false;

	return true;
}

/* 36.2.5.1; without IP filtering FilterEn is always set. */
static bool wants_packets(const struct pt_flow *flow, uint8_t cpl)
{
	return pt_flow_active(flow) && (flow->msrs->ctl & CTL_BRANCH_EN) &&
	       context_en(flow, cpl);
}

static void set_packet_en(struct pt_flow *flow, bool on)
{
	if (flow->packet_en == on)
		return;
	flow->packet_en = on;
	flow->observer.packets(flow->observer.arg, on);
}

/*
 * Output ended by itself (STOP, or an error in the ToPA): TriggerEn is clear,
 * and no packet says so.
 */
static void check_output(struct pt_flow *flow)
{
	if (flow->enc.closed)
		set_packet_en(flow, false);
}

/*
 * Buffered bytes reach memory when packets end, and when the buffer is full: a
 * reader on another processor sees them late, but soon.
 */
static void packets_off(struct pt_flow *flow)
{
	pt_encode_tip_pgd(&flow->enc);
	pt_encoder_flush(&flow->enc);
	set_packet_en(flow, false);
	check_output(flow);
}

static void mode_exec(struct pt_flow *flow, uint8_t mode)
{
	if (flow->mode_known && flow->mode == mode)
		return;
	flow->mode_known = true;
	flow->mode = mode;
	pt_encode_mode_exec(&flow->enc, mode);
}

/* Cases 2d, 2e, 5b, 10b, 11b, 12b, 13b: MODE.Exec?, TIP.PGE */
static void packets_on(struct pt_flow *flow, const struct pt_where *at)
{
	mode_exec(flow, at->mode);
	pt_encode_tip_pge(&flow->enc, at->ip);
	set_packet_en(flow, true);
}

static void psb(struct pt_flow *flow, const struct pt_where *at, bool context)
{
	const struct pt_psb_state state = {
		.has_cr3 = context && (flow->msrs->ctl & CTL_OS),
		.cr3 = flow->cr3,
		.has_ip = flow->packet_en,
		.ip = at->ip,
		.mode = at->mode,
	};

	pt_encode_psb(&flow->enc, &state);
	flow->mode_known = state.has_ip;
	flow->mode = at->mode;
}

/* Cases 9d, 10d, 10e: a transfer whose target the decoder cannot know. */
static void tip(struct pt_flow *flow, const struct pt_where *to)
{
	if (!wants_packets(flow, to->cpl)) {
		packets_off(flow);
		return;
	}
	mode_exec(flow, to->mode);
	pt_encode_tip(&flow->enc, to->ip);
}

static void branch_packets(struct pt_flow *flow, const struct pt_branch *branch,
			   const struct pt_where *at)
{
	switch (branch->class) {
	case X86_COND:
		pt_encode_tnt(&flow->enc, at->ip == branch->target);
		break;
	case X86_CALL:
		/* 36.4.2.2 excludes a call to the next instruction. */
		if (branch->target != branch->next)
			pt_encode_call(&flow->enc, branch->next);
		break;
	case X86_CALL_IND:
		pt_encode_call(&flow->enc, branch->next);
		tip(flow, at);
		break;
	case X86_RET:
		pt_encode_ret(&flow->enc, at->ip);
		break;
	case X86_JMP_IND:
	case X86_FAR:
	case X86_IRET:
	case X86_RSM:
		tip(flow, at);
		break;
	default:
		break;
	}
}

unsigned int pt_flow_needs(const struct pt_flow *flow)
{
	(void)flow;
	return 0;
}

void pt_flow_arrive(struct pt_flow *flow, const struct pt_branch *branch, const struct pt_where *at)
{
	bool want;


	pt_encode_time(&flow->enc);
	if (branch && branch->class == X86_HALT)
		pt_encode_wake(&flow->enc);
	if (branch && flow->packet_en)
		branch_packets(flow, branch, at);

	want = wants_packets(flow, at->cpl);
	if (want && !flow->packet_en)
		packets_on(flow, at);
	else if (!want && flow->packet_en)
		packets_off(flow);
	check_output(flow);
}

void pt_flow_step(struct pt_flow *flow, const struct pt_branch *branch, const struct pt_where *at)
{
	pt_flow_arrive(flow, branch, at);

	if (pt_encode_psb_due(&flow->enc)) {
		psb(flow, at, context_en(flow, at->cpl));
		check_output(flow);
	}
}

/* Cases 11, 12, 13: FUP(source), then TIP, TIP.PGD or TIP.PGE for the handler */
void pt_flow_event(struct pt_flow *flow, const struct pt_event *ev, const struct pt_where *to)
{
	pt_encode_time(&flow->enc);

	if (flow->packet_en) {
		pt_encode_fup(&flow->enc, ev->from);
		tip(flow, to);
	} else if (wants_packets(flow, to->cpl)) {
		packets_on(flow, to);
	}
	check_output(flow);
}

/* Case 5 */
void pt_flow_cr3(struct pt_flow *flow, uint64_t cr3, const struct pt_where *at)
{
	bool context;

	flow->cr3 = cr3;
	if (!pt_flow_active(flow))
		return;

	pt_encode_time(&flow->enc);
	context = context_en(flow, at->cpl);
	if (context && (flow->msrs->ctl & CTL_OS))
		pt_encode_pip(&flow->enc, cr3);

	if (flow->packet_en && !context)
		packets_off(flow);
	else if (!flow->packet_en && wants_packets(flow, at->cpl))
		packets_on(flow, at);
	check_output(flow);
}

void pt_flow_ptwrite(struct pt_flow *flow, uint64_t ip, uint64_t payload, unsigned int size,
		     const struct pt_where *at)
{
	(void)flow, (void)ip, (void)payload, (void)size, (void)at;
}

void pt_flow_halt(struct pt_flow *flow, uint64_t ip, const struct pt_where *at)
{
	(void)flow, (void)ip, (void)at;
}

void pt_flow_mwait(struct pt_flow *flow, uint64_t ip, uint32_t eax, uint32_t ecx,
		   const struct pt_where *at)
{
	(void)flow, (void)ip, (void)eax, (void)ecx, (void)at;
}

void pt_flow_wake(struct pt_flow *flow, enum pt_wake reason)
{
	(void)reason;
	if (pt_flow_active(flow))
		pt_encode_wake(&flow->enc);
}

static void config_from_ctl(uint64_t ctl, struct pt_config *config)
{
	const unsigned int thresh = CTL_CYC_THRESH(ctl);

	*config = (struct pt_config) {
		.tsc_en = ctl & CTL_TSC_EN,
		.mtc_en = ctl & CTL_MTC_EN,
		.cyc_en = ctl & CTL_CYC_EN,
		.compress_ret = !(ctl & CTL_DIS_RETC),
		.mtc_freq = CTL_MTC_FREQ(ctl),
		.cyc_threshold = thresh ? 1U << (thresh - 1) : 0,
		.psb_period = 2048U << CTL_PSB_FREQ(ctl),
	};
}

/* Case 2 */
void pt_flow_start(struct pt_flow *flow, const struct pt_where *at, uint64_t cr3)
{
	const uint64_t byte_count = PT_FIELD(flow->msrs->status, 48, 32);
	struct pt_config config;

	flow->cr3 = cr3;
	flow->packet_en = false;
	flow->mode_known = false;
	flow->observer.trace(flow->observer.arg, true);

	config_from_ctl(flow->msrs->ctl, &config);
	config.hold = pt_output_granule(flow->output);
	pt_encoder_start(&flow->enc, &config, byte_count);
	if (!pt_flow_active(flow) || !pt_output_start(flow->output)) {
		flow->enc.closed = true;
		return;
	}

	if (pt_msr_psb_at_start(flow->msrs, flow->output->caps))
		psb(flow, at, context_en(flow, at->cpl));
	else
		pt_encode_resume(&flow->enc);

	if (wants_packets(flow, at->cpl))
		packets_on(flow, at);
}

/* Case 3; then all bytes reach memory. */
void pt_flow_stop(struct pt_flow *flow, uint64_t ip)
{
	if (pt_flow_active(flow)) {
		pt_encode_time(&flow->enc);
		pt_encode_tnt_flush(&flow->enc);
		if (flow->packet_en) {
			pt_encode_fup(&flow->enc, ip);
			pt_encode_tip_pgd(&flow->enc);
		}
	}
	pt_encoder_flush(&flow->enc);
	set_packet_en(flow, false);
	pt_output_end(flow->output);

	pt_msr_store_progress(flow->msrs, flow->output->caps, flow->enc.byte_count,
			      pt_encode_psb_due(&flow->enc));
	flow->observer.trace(flow->observer.arg, false);
}

void pt_flow_reset(struct pt_flow *flow, bool warm)
{
	set_packet_en(flow, false);
	flow->enc.len = 0;
	if (warm)
		pt_msr_warm_reset(flow->msrs, flow->output->caps);
	else
		pt_msr_reset(flow->msrs);
}

void pt_flow_vmxon(struct pt_flow *flow, uint64_t ip)
{
	if (pt_msr_vmxon_ends_trace(flow->msrs, flow->output->caps))
		pt_flow_stop(flow, ip);
	pt_msr_vmxon(flow->msrs, flow->output->caps);
}

void pt_flow_vmxoff(struct pt_flow *flow)
{
	pt_msr_vmxoff(flow->msrs);
}

uint64_t pt_flow_status(const struct pt_flow *flow)
{
	uint64_t status = flow->msrs->status;

	if (pt_flow_active(flow)) {
		status |= STATUS_TRIGGER_EN | STATUS_FILTER_EN;
		if (context_en(flow, 0))
			status |= STATUS_CONTEXT_EN;
	}
	return status;
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
}
