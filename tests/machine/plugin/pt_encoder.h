/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Intel PT packets as bytes (SDM 3C, 36.4).
 *
 * Owns: packet formats, what the decoder is assumed to remember (last IP, call
 * stack, pending TNT bits), the clocks of the timing packets, and the count of
 * bytes since the last PSB.
 * Must not know: QEMU, MSRs, which events happen when. Nothing here decides
 * whether a packet is due, but for the timing packets, which follow the clock.
 *
 * Time: one clock, the TSC. The core crystal clock (ART) is TSC * num / den, as
 * CPUID 15H says; the core clock runs at the TSC's rate, as CBR says.
 */
#ifndef PT_ENCODER_H
#define PT_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_ENCODER_BUFFER	1024	/* bytes kept back from memory at most */
#define PT_CALL_STACK		64	/* 36.4.2.2, return compression */

struct pt_clock {
	uint64_t (*tsc)(void *arg);
	void *arg;
	uint32_t art_num;	/* CPUID.15H:EAX */
	uint32_t art_den;	/* CPUID.15H:EBX */
	uint8_t cbr;		/* core to bus ratio */
};

struct pt_sink {
	/* false: nothing more will be taken */
	bool (*write)(void *arg, const void *buf, size_t len);
	void *arg;
};

struct pt_config {
	bool tsc_en;
	bool mtc_en;
	bool cyc_en;
	bool compress_ret;
	uint8_t mtc_freq;	/* one MTC each 2^mtc_freq crystal clocks */
	uint32_t cyc_threshold;	/* in core clocks */
	uint32_t psb_period;	/* in bytes */
};

/* What a PSB+ says, beyond time. Each part may be absent. */
struct pt_psb_state {
	bool has_cr3;
	bool has_ip;		/* with the mode: PacketEn = 1 */
	uint64_t cr3;
	uint64_t ip;
	uint8_t mode;
};

struct pt_counters {
	uint64_t bytes, psb, tnt, tip, fup, pge, pgd, pip, mode, ovf;
	uint64_t tsc, mtc, cyc, ret_compressed;
};

struct pt_encoder {
	struct pt_clock clock;
	struct pt_sink sink;
	struct pt_config config;
	bool closed;		/* the sink takes no more */

	uint64_t byte_count;	/* since the last PSB */
	uint64_t last_ip;
	bool last_ip_valid;	/* the decoder has it, too */

	uint8_t tnt;		/* pending bits, the youngest lowest */
	uint8_t tnt_bits;
	uint64_t tnt_time;	/* of the oldest */

	uint64_t calls[PT_CALL_STACK];
	unsigned int calls_top;
	unsigned int calls_depth;

	uint64_t now;		/* TSC */
	uint64_t cyc_base;	/* TSC of the last CYC packet */
	uint64_t mtc_tick;	/* the last that was told */
	uint64_t mtc_due;	/* TSC of the next */

	struct pt_counters count;
	size_t len;
	uint8_t buf[PT_ENCODER_BUFFER];
};

void pt_encoder_init(struct pt_encoder *enc, const struct pt_clock *clock,
		     const struct pt_sink *sink);

/* A new trace: clocks start, nothing is remembered. Emits no packet. */
void pt_encoder_start(struct pt_encoder *enc, const struct pt_config *config,
		      uint64_t byte_count);

/* Give all bytes to the sink. */
void pt_encoder_flush(struct pt_encoder *enc);

/* Complete the pending TNT packet. */
void pt_encode_tnt_flush(struct pt_encoder *enc);

/*
 * Read the clock, and emit the MTC packets that fell due. To be called before
 * the packets of each event.
 */
void pt_encode_time(struct pt_encoder *enc);

/* The clocks stood still (a C-state): TSC, TMA, CBR. 36.4.2.11 */
void pt_encode_wake(struct pt_encoder *enc);

void pt_encode_psb(struct pt_encoder *enc, const struct pt_psb_state *state);
static inline bool pt_encode_psb_due(const struct pt_encoder *enc)
{
	return enc->byte_count >= enc->config.psb_period;
}

/* TSC, TMA, CBR as enabled: a trace that continues, without PSB. 36.2.7.3 */
void pt_encode_resume(struct pt_encoder *enc);

void pt_encode_tnt(struct pt_encoder *enc, bool taken);
void pt_encode_tip(struct pt_encoder *enc, uint64_t ip);
void pt_encode_tip_pge(struct pt_encoder *enc, uint64_t ip);
void pt_encode_tip_pgd(struct pt_encoder *enc);			/* IP suppressed */
void pt_encode_tip_pgd_ip(struct pt_encoder *enc, uint64_t ip);
void pt_encode_fup(struct pt_encoder *enc, uint64_t ip);
void pt_encode_mode_exec(struct pt_encoder *enc, uint8_t mode);
void pt_encode_pip(struct pt_encoder *enc, uint64_t cr3);
void pt_encode_ovf(struct pt_encoder *enc);

/* A near call, other than one to its next instruction, returns to @next. */
void pt_encode_call(struct pt_encoder *enc, uint64_t next);

/* A near return: a TNT bit if it can be compressed, else TIP. */
void pt_encode_ret(struct pt_encoder *enc, uint64_t target);

#endif
