// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT packets as bytes. Tables and sections are those of SDM 3C, chapter 36.
 */
#include "pt_encoder.h"

#include <string.h>

/* MTC packets sent one by one after a gap; a longer gap is told by a TSC. */
#define MTC_CATCH_UP	32

enum {
	TNT_MAX_SHORT	= 6,

	OP_TIP		= 0x0d,		/* low five bits of the IP packets */
	OP_TIP_PGE	= 0x11,
	OP_TIP_PGD	= 0x01,
	OP_FUP		= 0x1d,
};

/* IPBytes, table 36-18 */
enum ip_bytes {
	IP_SUPPRESSED	= 0,
	IP_UPDATE_16	= 1,
	IP_UPDATE_32	= 2,
	IP_SIGN_48	= 3,
	IP_UPDATE_48	= 4,
	IP_FULL		= 6,
};

static const uint8_t ip_payload[] = {
	[IP_SUPPRESSED]	= 0,
	[IP_UPDATE_16]	= 2,
	[IP_UPDATE_32]	= 4,
	[IP_SIGN_48]	= 6,
	[IP_UPDATE_48]	= 6,
	[IP_FULL]	= 8,
};

static void put(struct pt_encoder *enc, const void *bytes, size_t len)
{
	if (enc->closed)
		return;

	if (enc->len + len > sizeof(enc->buf))
		pt_encoder_flush(enc);
	memcpy(enc->buf + enc->len, bytes, len);
	enc->len += len;
	enc->byte_count += len;
	enc->count.bytes += len;
}

/* ---- clocks ---- */

static uint64_t tsc_to_art(const struct pt_encoder *enc, uint64_t tsc)
{
	return (unsigned __int128)tsc * enc->clock.art_num / enc->clock.art_den;
}

/* The first TSC value at which the crystal clock shows @art. */
static uint64_t art_to_tsc(const struct pt_encoder *enc, uint64_t art)
{
	return ((unsigned __int128)art * enc->clock.art_den + enc->clock.art_num - 1) /
	       enc->clock.art_num;
}

static void mtc_restart(struct pt_encoder *enc)
{
	enc->mtc_tick = tsc_to_art(enc, enc->now) >> enc->config.mtc_freq;
	enc->mtc_due = art_to_tsc(enc, (enc->mtc_tick + 1) << enc->config.mtc_freq);
}

static bool clock_runs(const struct pt_encoder *enc)
{
	return enc->config.mtc_en || enc->config.cyc_en;
}

static void read_clock(struct pt_encoder *enc)
{
	const uint64_t tsc = enc->clock.tsc(enc->clock.arg);

	/* Not needed for a good clock; a packet must never go back in time. */
	if (tsc > enc->now)
		enc->now = tsc;
}

/*
 * CYC, table 36-33: 5 bits with the header, then 7 bits a byte, and Exp set
 * while more follow. One before each eligible packet, at most one a cycle, and
 * none until the threshold is reached (36.3.6).
 */
static void put_cyc(struct pt_encoder *enc, uint64_t time)
{
	uint64_t cycles = time - enc->cyc_base;
	uint8_t b[10];
	size_t n = 0;

	if (!enc->config.cyc_en || !cycles || cycles < enc->config.cyc_threshold)
		return;
	enc->cyc_base = time;

	b[n++] = 0x03 | (cycles & 0x1f) << 3;
	cycles >>= 5;
	if (cycles)
		b[0] |= 0x04;
	while (cycles) {
		b[n] = (cycles & 0x7f) << 1;
		cycles >>= 7;
		if (cycles)
			b[n] |= 0x01;
		n++;
	}

	put(enc, b, n);
	enc->count.cyc++;
}

/* TSC, table 36-30, and TMA, table 36-32 */
static void put_tsc(struct pt_encoder *enc)
{
	uint8_t b[8] = { 0x19 };
	uint64_t art, fast;

	if (!enc->config.tsc_en)
		return;

	memcpy(b + 1, &enc->now, 7);
	put(enc, b, 8);
	enc->count.tsc++;

	if (!enc->config.mtc_en)
		return;

	art = tsc_to_art(enc, enc->now);
	fast = enc->now - art_to_tsc(enc, art);
	put(enc, (const uint8_t[]) { 0x02, 0x73, art, art >> 8, 0, fast, fast >> 8 & 1 }, 7);
}

/* CBR, table 36-29 */
static void put_cbr(struct pt_encoder *enc)
{
	put(enc, (const uint8_t[]) { 0x02, 0x03, enc->clock.cbr, 0 }, 4);
}

static void put_mtc(struct pt_encoder *enc, uint64_t tick)
{
	put_cyc(enc, art_to_tsc(enc, tick << enc->config.mtc_freq));
	put(enc, (const uint8_t[]) { 0x59, tick }, 2);
	enc->count.mtc++;
}

void pt_encode_time(struct pt_encoder *enc)
{
	uint64_t tick;

	if (!clock_runs(enc))
		return;
	read_clock(enc);
	if (!enc->config.mtc_en || enc->now < enc->mtc_due)
		return;

	pt_encode_tnt_flush(enc);
	tick = enc->mtc_tick;
	if (enc->config.tsc_en &&
	    enc->now >= art_to_tsc(enc, (tick + MTC_CATCH_UP) << enc->config.mtc_freq)) {
		/*
		 * The host did not run this processor for a while, which the
		 * guest can only take for clock modulation. 36.4.2.11 wants a
		 * TSC then; the cycle counter stood still (36.3.6.1).
		 */
		pt_encode_wake(enc);
		return;
	}

	mtc_restart(enc);
	/* The decoder counts eight bits: older ones could not be told apart. */
	if (enc->mtc_tick - tick > 255)
		tick = enc->mtc_tick - 255;
	while (tick != enc->mtc_tick)
		put_mtc(enc, ++tick);
}

void pt_encode_resume(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	if (!clock_runs(enc))
		read_clock(enc);
	put_tsc(enc);
	put_cbr(enc);
}

void pt_encode_wake(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	read_clock(enc);
	enc->cyc_base = enc->now;
	mtc_restart(enc);
	put_tsc(enc);
	put_cbr(enc);
}

/* ---- control flow ---- */

/* Short TNT, table 36-16: the bits, oldest first, below a leading stop bit. */
void pt_encode_tnt_flush(struct pt_encoder *enc)
{
	uint8_t b;

	if (!enc->tnt_bits)
		return;

	/* 36.3.6.2: the CYC before a TNT is the time of its first branch. */
	put_cyc(enc, enc->tnt_time);
	b = 1U << (enc->tnt_bits + 1) | enc->tnt << 1;
	put(enc, &b, 1);
	enc->tnt_bits = 0;
	enc->tnt = 0;
	enc->count.tnt++;
}

void pt_encode_tnt(struct pt_encoder *enc, bool taken)
{
	if (!enc->tnt_bits)
		enc->tnt_time = enc->now;
	enc->tnt = enc->tnt << 1 | taken;
	if (++enc->tnt_bits == TNT_MAX_SHORT)
		pt_encode_tnt_flush(enc);
}

/* The shortest payload that gives @ip, table 36-18. */
static enum ip_bytes compress_ip(const struct pt_encoder *enc, uint64_t ip)
{
	const uint64_t diff = ip ^ enc->last_ip;

	if (enc->last_ip_valid && !(diff >> 16))
		return IP_UPDATE_16;
	if (enc->last_ip_valid && !(diff >> 32))
		return IP_UPDATE_32;
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		return IP_SIGN_48;
	if (enc->last_ip_valid && !(diff >> 48))
		return IP_UPDATE_48;
	return IP_FULL;
}

static void put_ip(struct pt_encoder *enc, uint8_t op, uint64_t ip)
{
	const enum ip_bytes kind = compress_ip(enc, ip);
	uint8_t b[9];

	b[0] = op | kind << 5;
	memcpy(b + 1, &ip, 8);
	put(enc, b, 1 + ip_payload[kind]);
	enc->last_ip = ip;
	enc->last_ip_valid = true;
}

/* An IP packet outside of PSB+, with what must precede it. */
static void put_ip_event(struct pt_encoder *enc, uint8_t op, uint64_t ip)
{
	pt_encode_tnt_flush(enc);
	put_cyc(enc, enc->now);
	put_ip(enc, op, ip);
}

void pt_encode_tip(struct pt_encoder *enc, uint64_t ip)
{
	put_ip_event(enc, OP_TIP, ip);
	enc->count.tip++;
}

void pt_encode_tip_pge(struct pt_encoder *enc, uint64_t ip)
{
	/* 36.4.2.2: no return is compressed across PacketEn = 0. */
	enc->calls_depth = 0;
	put_ip_event(enc, OP_TIP_PGE, ip);
	enc->count.pge++;
}

void pt_encode_tip_pgd(struct pt_encoder *enc)
{
	const uint8_t b = OP_TIP_PGD | IP_SUPPRESSED << 5;

	/* A suppressed IP leaves the last IP as it was. */
	pt_encode_tnt_flush(enc);
	put_cyc(enc, enc->now);
	put(enc, &b, 1);
	enc->count.pgd++;
}

void pt_encode_tip_pgd_ip(struct pt_encoder *enc, uint64_t ip)
{
	put_ip_event(enc, OP_TIP_PGD, ip);
	enc->count.pgd++;
}

void pt_encode_fup(struct pt_encoder *enc, uint64_t ip)
{
	put_ip_event(enc, OP_FUP, ip);
	enc->count.fup++;
}

/* MODE.Exec, table 36-26: leaf 0 in bits 7:5 */
static void put_mode_exec(struct pt_encoder *enc, uint8_t mode)
{
	put(enc, (const uint8_t[]) { 0x99, mode & 3 }, 2);
	enc->count.mode++;
}

void pt_encode_mode_exec(struct pt_encoder *enc, uint8_t mode)
{
	pt_encode_tnt_flush(enc);
	put_cyc(enc, enc->now);
	put_mode_exec(enc, mode);
}

/*
 * PIP, table 36-24: CR3[51:5] from bit 1 of the payload on, NR in bit 0. The
 * address alone: with IA-32e paging CR3[11:5] (PCID) are told as zero.
 */
static void put_pip(struct pt_encoder *enc, uint64_t cr3)
{
	const uint64_t payload = (cr3 & 0x000ffffffffff000ULL) >> 5 << 1;
	uint8_t b[8] = { 0x02, 0x43 };

	memcpy(b + 2, &payload, 6);
	put(enc, b, 8);
	enc->count.pip++;
}

void pt_encode_pip(struct pt_encoder *enc, uint64_t cr3)
{
	pt_encode_tnt_flush(enc);
	put_cyc(enc, enc->now);
	put_pip(enc, cr3);
}

void pt_encode_ovf(struct pt_encoder *enc)
{
	pt_encode_tnt_flush(enc);
	put_cyc(enc, enc->now);
	put(enc, (const uint8_t[]) { 0x02, 0xf3 }, 2);
	enc->calls_depth = 0;
	enc->count.ovf++;
}

/* PSB+, 36.3.7, with PSB of table 36-36 and PSBEND of table 36-37 */
void pt_encode_psb(struct pt_encoder *enc, const struct pt_psb_state *state)
{
	static const uint8_t psb[16] = {
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	};
	static const uint8_t psbend[2] = { 0x02, 0x23 };

	pt_encode_tnt_flush(enc);
	if (!clock_runs(enc))
		read_clock(enc);

	enc->byte_count = 0;
	put(enc, psb, sizeof(psb));
	enc->count.psb++;

	/* A decoder that starts here knows no IP and no call. */
	enc->last_ip = 0;
	enc->last_ip_valid = true;
	enc->calls_depth = 0;

	if (enc->config.tsc_en)
		put_cyc(enc, enc->now);
	put_tsc(enc);
	put_cbr(enc);
	if (state->has_cr3)
		put_pip(enc, state->cr3);
	if (state->has_ip) {
		put_mode_exec(enc, state->mode);
		put_ip(enc, OP_FUP, state->ip);
	}
	put(enc, psbend, sizeof(psbend));
}

/* ---- return compression, 36.4.2.2 ---- */

void pt_encode_call(struct pt_encoder *enc, uint64_t next)
{
	if (!enc->config.compress_ret)
		return;

	enc->calls_top = (enc->calls_top + 1) % PT_CALL_STACK;
	enc->calls[enc->calls_top] = next;
	if (enc->calls_depth < PT_CALL_STACK)
		enc->calls_depth++;
}

void pt_encode_ret(struct pt_encoder *enc, uint64_t target)
{
	if (enc->config.compress_ret && enc->calls_depth) {
		const uint64_t next = enc->calls[enc->calls_top];

		/* Popped whether or not it was right. */
		enc->calls_top = (enc->calls_top + PT_CALL_STACK - 1) % PT_CALL_STACK;
		enc->calls_depth--;
		if (next == target) {
			enc->count.ret_compressed++;
			pt_encode_tnt(enc, true);
			return;
		}
	}

	pt_encode_tip(enc, target);
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
	enc->byte_count = byte_count;
	/*
	 * Without a PSB these bytes may continue another buffer, whose last IP
	 * is not the one last sent: the first IP must be complete.
	 */
	enc->last_ip_valid = false;
	enc->tnt = 0;
	enc->tnt_bits = 0;
	enc->calls_depth = 0;
	enc->len = 0;

	/* 36.3.6.1: the cycle counter is zero while TriggerEn is clear. */
	read_clock(enc);
	enc->cyc_base = enc->now;
	mtc_restart(enc);
}

void pt_encoder_flush(struct pt_encoder *enc)
{
	if (enc->len && !enc->sink.write(enc->sink.arg, enc->buf, enc->len))
		enc->closed = true;
	enc->len = 0;
}
