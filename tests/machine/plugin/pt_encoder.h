/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stream of Intel PT packets of one logical processor (SDM 3C, 36.4).
 *
 * Owns: what waits to be sent (TNT bits, deferred TIPs, bytes), what the
 * decoder is assumed to remember (last IP, call stack), timing packets, the
 * internal buffer's overflow, and the count of bytes since the last PSB.
 * Must not know: QEMU, MSRs, which events happen when. Nothing here decides
 * whether a packet is due, but for the timing packets, which follow the clock.
 */
#ifndef PT_ENCODER_H
#define PT_ENCODER_H

#include "pt_clock.h"
#include "pt_packet.h"

#define PT_ENCODER_BUFFER	1024	/* bytes */
#define PT_CALL_STACK		64	/* 36.4.2.2, return compression */
#define PT_DEFERRED_TIPS	16

struct pt_sink {
	/* false: nothing more will be taken */
	bool (*write)(void *arg, const void *buf, size_t len);
	void *arg;
};

/* Told of each packet that goes into the stream; may be NULL. */
struct pt_packet_observer {
	void (*packet)(void *arg, const struct pt_pkt *p);
	void *arg;
};

struct pt_config {
	bool tsc_en;
	bool mtc_en;
	bool cyc_en;
	bool compress_ret;
	bool tnt_off;		/* DisTNT */
	bool tnt_long;		/* 47 bits a TNT, not 6 */
	bool defer_tips;	/* 36.4.2.3; not with cyc_en */
	uint8_t mtc_freq;	/* one MTC each 2^mtc_freq crystal clocks */
	uint32_t cyc_threshold;	/* in core clocks */
	uint32_t psb_period;	/* in bytes */
	uint32_t hold;		/* bytes kept back at most; 0: PT_ENCODER_BUFFER */
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
	uint64_t bytes;
	uint64_t packets;
	uint64_t of_type[PT_PACKET_TYPES];
	uint64_t ret_compressed;
};

struct pt_encoder {
	struct pt_clock clock;
	struct pt_sink sink;
	struct pt_packet_observer observer;
	struct pt_config config;
	bool closed;		/* the sink takes no more */
	bool lost;		/* the internal buffer is full: packets are dropped */

	uint64_t byte_count;	/* since the last PSB */
	struct pt_last_ip last_ip;

	uint64_t tnt;		/* pending bits, the youngest lowest */
	unsigned int tnt_bits;
	uint64_t tnt_time;	/* of the oldest */
	uint64_t tips[PT_DEFERRED_TIPS];	/* none without a pending TNT */
	unsigned int tip_count;

	uint64_t calls[PT_CALL_STACK];
	unsigned int calls_top;
	unsigned int calls_depth;

	struct pt_timer timer;

	struct pt_counters count;
	size_t len;
	uint8_t buf[PT_ENCODER_BUFFER + PT_PACKET_MAX];	/* one may begin at the last */
};

void pt_encoder_init(struct pt_encoder *enc, const struct pt_clock *clock,
		     const struct pt_sink *sink);

/* A new trace: clocks start, nothing is remembered. Emits no packet. */
void pt_encoder_start(struct pt_encoder *enc, const struct pt_config *config,
		      uint64_t byte_count);

/* Give all bytes to the sink. */
void pt_encoder_flush(struct pt_encoder *enc);

/* Send the pending TNT packet, and the TIPs that wait for it. */
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

/* The same if the bit joins others and completes no packet; else false. */
static inline bool pt_encode_tnt_join(struct pt_encoder *enc, bool taken)
{
	if (!enc->tnt_bits || enc->tnt_bits >= 5)
		return false;
	enc->tnt = enc->tnt << 1 | taken;
	enc->tnt_bits++;
	return true;
}

void pt_encode_tip(struct pt_encoder *enc, uint64_t ip);
void pt_encode_tip_pge(struct pt_encoder *enc, uint64_t ip);
void pt_encode_tip_pgd(struct pt_encoder *enc);			/* IP suppressed */
void pt_encode_tip_pgd_ip(struct pt_encoder *enc, uint64_t ip);
void pt_encode_fup(struct pt_encoder *enc, uint64_t ip);
void pt_encode_mode_exec(struct pt_encoder *enc, uint8_t mode);
void pt_encode_pip(struct pt_encoder *enc, uint64_t cr3);
void pt_encode_tracestop(struct pt_encoder *enc);

/* A FUP has to follow if @ip. @size is 4 or 8. */
void pt_encode_ptw(struct pt_encoder *enc, uint64_t payload, unsigned int size, bool ip);
void pt_encode_exstop(struct pt_encoder *enc, bool ip);
void pt_encode_cfe(struct pt_encoder *enc, enum pt_cfe_type type, uint8_t vector, bool ip);

void pt_encode_evd(struct pt_encoder *enc, enum pt_evd_type type, uint64_t payload);
void pt_encode_mwait(struct pt_encoder *enc, uint8_t hints, uint8_t ext);
void pt_encode_pwre(struct pt_encoder *enc, uint8_t state, uint8_t sub);
void pt_encode_pwrx(struct pt_encoder *enc, uint8_t last, uint8_t deepest, uint8_t reason);

/*
 * The internal buffer overflows (36.3.8): what is pending and all that follows
 * is lost, until pt_encode_ovf().
 */
void pt_encoder_overflow(struct pt_encoder *enc);
void pt_encode_ovf(struct pt_encoder *enc);

/* A near call, other than one to its next instruction, returns to @next. */
void pt_encode_call(struct pt_encoder *enc, uint64_t next);

/*
 * A near return: true if it can be compressed. It then takes a TNT bit, or
 * another packet of the caller's; else it takes a TIP, which is never deferred.
 */
bool pt_encode_ret_pop(struct pt_encoder *enc, uint64_t target);
void pt_encode_ret(struct pt_encoder *enc, uint64_t target);

#endif
