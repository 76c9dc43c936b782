// SPDX-License-Identifier: GPL-2.0
/*
 * The stream of packets. Tables and sections are those of SDM 3C, chapter 36.
 */
#include "pt_encoder.h"

#include <string.h>

/* MTC packets sent one by one after a gap; a longer gap is told by a TSC. */
#define MTC_CATCH_UP	32

enum {
	TNT_SHORT	= 6,		/* table 36-16 */
	TNT_LONG	= 47,
};

/* Most packets are small: each is made in its place, and moved if it does not fit there. */
static void emit(struct pt_encoder *enc, struct pt_pkt *p)
{
	const size_t hold = enc->config.hold ? enc->config.hold : PT_ENCODER_BUFFER;
	uint8_t *const place = enc->buf + enc->len;

	if (enc->closed || enc->lost)
		return;

	p->size = pt_packet_encode(p, &enc->last_ip, place);
	if (enc->len + p->size > hold) {
		pt_encoder_flush(enc);
		if (enc->closed)
			return;
		memmove(enc->buf, place, p->size);
	}
	enc->len += p->size;
	enc->byte_count += p->size;
	enc->count.bytes += p->size;
	enc->count.packets++;
	enc->count.of_type[p->type]++;
	if (enc->observer.packet)
		enc->observer.packet(enc->observer.arg, p);
}
#define EMIT(enc, kind, ...) emit(enc, &(struct pt_pkt) { .type = (kind), ##__VA_ARGS__ })

/* ---- time ---- */

static bool clock_runs(const struct pt_encoder *enc)
{
	return enc->config.mtc_en || enc->config.cyc_en;
}

/*
 * 36.3.6: one before each eligible packet. Those are TNT, TIP, TIP.PGE, TIP.PGD,
 * MODE, PIP, OVF, MTC, TSC, PTW, EXSTOP, MWAIT, and here CFE and EVD.
 */
static void cyc_at(struct pt_encoder *enc, uint64_t time)
{
	uint64_t cycles;

	/* The cycle counter counts on during an overflow (36.3.8). */
	if (!enc->config.cyc_en || enc->lost)
		return;
	cycles = pt_timer_cycles(&enc->timer, time, enc->config.cyc_threshold);
	if (!cycles)
		return;
	enc->timer.cyc_base = time;
	EMIT(enc, PT_CYC, .cycles = cycles);
}

static void cyc(struct pt_encoder *enc)
{
	cyc_at(enc, enc->timer.now);
}

/* What is to precede a packet that is neither TNT nor timing. */
static void prepare(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	cyc(enc);
}

static void tsc(struct pt_encoder *enc)
{
	struct pt_pkt tma = { .type = PT_TMA };

	if (!enc->config.tsc_en)
		return;
	cyc(enc);
	EMIT(enc, PT_TSC, .tsc = enc->timer.now);
	if (!enc->config.mtc_en)
		return;
	pt_timer_tma(&enc->timer, &enc->clock, &tma.tma.ctc, &tma.tma.fc);
	emit(enc, &tma);
}

static void cbr(struct pt_encoder *enc)
{
	EMIT(enc, PT_CBR, .cbr = enc->clock.cbr);
}

void pt_encode_time(struct pt_encoder *enc)
{
	uint64_t n, time;
	uint8_t ctc;

	if (!clock_runs(enc))
		return;
	pt_timer_read(&enc->timer, &enc->clock);
	if (!enc->config.mtc_en)
		return;
	n = pt_timer_mtcs_due(&enc->timer, &enc->clock);
	if (!n)
		return;

	pt_encode_tnt_flush(enc);
	if (enc->config.tsc_en && n >= MTC_CATCH_UP) {
		/*
		 * The host did not run this processor for a while, which the
		 * guest can only take for clock modulation. 36.4.2.11 wants a
		 * TSC then; the cycle counter stood still (36.3.6.1).
		 */
		pt_encode_wake(enc);
		return;
	}

	/* The decoder counts eight bits: older ones could not be told apart. */
	if (n > 255) {
		pt_timer_skip_mtcs(&enc->timer, &enc->clock, n - 255);
		n = 255;
	}
	while (n--) {
		ctc = pt_timer_next_mtc(&enc->timer, &enc->clock, &time);
		cyc_at(enc, time);
		EMIT(enc, PT_MTC, .ctc = ctc);
	}
}

void pt_encode_resume(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	if (!clock_runs(enc))
		pt_timer_read(&enc->timer, &enc->clock);
	tsc(enc);
	cbr(enc);
}

void pt_encode_wake(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	pt_timer_read(&enc->timer, &enc->clock);
	pt_timer_restart(&enc->timer, &enc->clock);
	tsc(enc);
	cbr(enc);
}

/* ---- branches ---- */

void pt_encode_tnt_flush(struct pt_encoder *enc)
{
	unsigned int i;

	if (!enc->tnt_bits)
		return;

	/* 36.3.6.2: the CYC before a TNT is the time of its first branch. */
	cyc_at(enc, enc->tnt_time);
	EMIT(enc, PT_TNT, .tnt = { .bits = enc->tnt, .n = enc->tnt_bits });
	enc->tnt_bits = 0;
	enc->tnt = 0;
	for (i = 0; i < enc->tip_count; i++)
		EMIT(enc, PT_TIP, .ip = { .ip = enc->tips[i] });
	enc->tip_count = 0;
}

void pt_encode_tnt(struct pt_encoder *enc, bool taken)
{
	if (enc->lost || enc->config.tnt_off)
		return;
	if (!enc->tnt_bits)
		enc->tnt_time = enc->timer.now;
	enc->tnt = enc->tnt << 1 | taken;
	if (++enc->tnt_bits == (enc->config.tnt_long ? TNT_LONG : TNT_SHORT))
		pt_encode_tnt_flush(enc);
}

static void tip_now(struct pt_encoder *enc, uint64_t ip)
{
	prepare(enc);
	EMIT(enc, PT_TIP, .ip = { .ip = ip });
}

/*
 * 36.4.2.3: while TNT bits are pending a TIP may wait with them. With a CYC the
 * time of each has to be told, and a CYC cannot stand between: a decoder takes
 * deferred TIPs right behind the TNT.
 */
void pt_encode_tip(struct pt_encoder *enc, uint64_t ip)
{
	if (enc->config.defer_tips && !enc->config.cyc_en && enc->tnt_bits &&
	    enc->tip_count < PT_DEFERRED_TIPS)
		enc->tips[enc->tip_count++] = ip;
	else
		tip_now(enc, ip);
}

void pt_encode_tip_pge(struct pt_encoder *enc, uint64_t ip)
{
	/* 36.4.2.2: no return is compressed across PacketEn = 0. */
	enc->calls_depth = 0;
	prepare(enc);
	EMIT(enc, PT_TIP_PGE, .ip = { .ip = ip });
}

void pt_encode_tip_pgd(struct pt_encoder *enc)
{
	prepare(enc);
	EMIT(enc, PT_TIP_PGD, .ip = { .suppressed = true });
}

void pt_encode_tip_pgd_ip(struct pt_encoder *enc, uint64_t ip)
{
	prepare(enc);
	EMIT(enc, PT_TIP_PGD, .ip = { .ip = ip });
}

/* Not CYC-eligible: the packet that it belongs to is. */
void pt_encode_fup(struct pt_encoder *enc, uint64_t ip)
{
	pt_encode_tnt_flush(enc);
	EMIT(enc, PT_FUP, .ip = { .ip = ip });
}

/* ---- return compression, 36.4.2.2 ---- */

void pt_encode_call(struct pt_encoder *enc, uint64_t next)
{
	if (!enc->config.compress_ret || enc->lost)
		return;

	enc->calls_top = (enc->calls_top + 1) % PT_CALL_STACK;
	enc->calls[enc->calls_top] = next;
	if (enc->calls_depth < PT_CALL_STACK)
		enc->calls_depth++;
}

bool pt_encode_ret_pop(struct pt_encoder *enc, uint64_t target)
{
	uint64_t next;

	if (!enc->calls_depth)
		return false;

	/* Popped whether or not it was right. */
	next = enc->calls[enc->calls_top];
	enc->calls_top = (enc->calls_top + PT_CALL_STACK - 1) % PT_CALL_STACK;
	enc->calls_depth--;
	return next == target;
}

void pt_encode_ret(struct pt_encoder *enc, uint64_t target)
{
	if (pt_encode_ret_pop(enc, target)) {
		enc->count.ret_compressed++;
		pt_encode_tnt(enc, true);
	} else {
		/* Bits behind it would be taken for the return's own. */
		tip_now(enc, target);
	}
}

/* ---- state ---- */

void pt_encode_mode_exec(struct pt_encoder *enc, uint8_t mode)
{
	prepare(enc);
	EMIT(enc, PT_MODE_EXEC, .mode = mode);
}

void pt_encode_pip(struct pt_encoder *enc, uint64_t cr3)
{
	prepare(enc);
	EMIT(enc, PT_PIP, .pip = { .cr3 = cr3 });
}

void pt_encode_tracestop(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	EMIT(enc, PT_TRACESTOP);
}

/* PSB+, 36.3.7; a decoder that starts here knows no call. */
void pt_encode_psb(struct pt_encoder *enc, const struct pt_psb_state *state)
{
	pt_encode_tnt_flush(enc);
	if (!clock_runs(enc))
		pt_timer_read(&enc->timer, &enc->clock);

	enc->byte_count = 0;
	enc->calls_depth = 0;
	EMIT(enc, PT_PSB);
	tsc(enc);
	cbr(enc);
	if (state->has_cr3)
		pt_encode_pip(enc, state->cr3);
	if (state->has_ip) {
		pt_encode_mode_exec(enc, state->mode);
		pt_encode_fup(enc, state->ip);
	}
	EMIT(enc, PT_PSBEND);
}

void pt_encoder_overflow(struct pt_encoder *enc)
{
	enc->tnt = 0;
	enc->tnt_bits = 0;
	enc->tip_count = 0;
	enc->calls_depth = 0;
	enc->lost = true;
}

void pt_encode_ovf(struct pt_encoder *enc)
{
	enc->lost = false;
	/*
	 * 36.3.8: what follows is not compressed against what was lost. perf takes
	 * the last IP that was sent, libipt none, so the next IP is complete.
	 */
	enc->last_ip.known = false;
	cyc(enc);
	EMIT(enc, PT_OVF);
}

/* ---- instrumentation, power, events ---- */

void pt_encode_ptw(struct pt_encoder *enc, uint64_t payload, unsigned int size, bool ip)
{
	if (size == 4)
		payload = (uint32_t)payload;
	prepare(enc);
	EMIT(enc, PT_PTW, .ptw = { .payload = payload, .size = size, .ip = ip });
}

void pt_encode_exstop(struct pt_encoder *enc, bool ip)
{
	prepare(enc);
	EMIT(enc, PT_EXSTOP, .exstop_ip = ip);
}

void pt_encode_mwait(struct pt_encoder *enc, uint8_t hints, uint8_t ext)
{
	prepare(enc);
	EMIT(enc, PT_MWAIT, .mwait = { .hints = hints, .ext = ext });
}

void pt_encode_pwre(struct pt_encoder *enc, uint8_t state, uint8_t sub)
{
	pt_encode_tnt_flush(enc);
	EMIT(enc, PT_PWRE, .pwre = { .state = state, .sub = sub });
}

void pt_encode_pwrx(struct pt_encoder *enc, uint8_t last, uint8_t deepest, uint8_t reason)
{
	pt_encode_tnt_flush(enc);
	EMIT(enc, PT_PWRX, .pwrx = { .last = last, .deepest = deepest, .reason = reason });
}

void pt_encode_cfe(struct pt_encoder *enc, enum pt_cfe_type type, uint8_t vector, bool ip)
{
	prepare(enc);
	EMIT(enc, PT_CFE, .cfe = { .type = type, .vector = vector, .ip = ip });
}

void pt_encode_evd(struct pt_encoder *enc, enum pt_evd_type type, uint64_t payload)
{
	prepare(enc);
	EMIT(enc, PT_EVD, .evd = { .type = type, .payload = payload });
}

/* ---- life ---- */

void pt_encoder_init(struct pt_encoder *enc, const struct pt_clock *clock,
		     const struct pt_sink *sink)
{
	memset(enc, 0, sizeof(*enc));
	enc->clock = *clock;
	enc->sink = *sink;
}

void pt_encoder_start(struct pt_encoder *enc, const struct pt_config *config,
		      uint64_t byte_count)
{
	enc->config = *config;
	enc->closed = false;
	enc->lost = false;
	enc->byte_count = byte_count;
	/*
	 * Without a PSB these bytes may continue another buffer, whose last IP
	 * is not the one last sent: the first IP must be complete.
	 */
	enc->last_ip.known = false;
	enc->tnt = 0;
	enc->tnt_bits = 0;
	enc->tip_count = 0;
	enc->calls_depth = 0;
	enc->len = 0;

	/* 36.3.6.1: the cycle counter is zero while TriggerEn is clear. */
	enc->timer.mtc_freq = config->mtc_freq;
	pt_timer_read(&enc->timer, &enc->clock);
	pt_timer_restart(&enc->timer, &enc->clock);
}

void pt_encoder_flush(struct pt_encoder *enc)
{
	if (enc->len && !enc->sink.write(enc->sink.arg, enc->buf, enc->len))
		enc->closed = true;
	enc->len = 0;
}
