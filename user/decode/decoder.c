// SPDX-License-Identifier: GPL-2.0
/*
 * libipt's block decoder: its configuration, its blocks and events, and what to
 * do when it cannot go on.
 *
 * Between the last packet and the end, and between any two packets, it needs no
 * trace to follow direct branches, and could so run in a circle for ever; both
 * are bounded here.
 */
#include "user/decode/decoder.h"

#include <errno.h>
#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

#include "user/decode/builder.h"

/* More blocks than straight code can have behind the last packet. */
#define MAX_TAIL_BLOCKS		1024

/* More blocks than one packet can lead through: 47 TNT bits, with room. */
#define MAX_PACKET_BLOCKS	(1U << 16)

#define INSN_CACHE		8192	/* a power of two */

/* SDM vol. 3, "Packet Stream Boundary (PSB) Packet": 02 82, eight times. */
static const uint8_t psb[16] = {
	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
};

struct known_insn {
	uint64_t ip;
	struct mt_insn insn;
	uint8_t bits;		/* 0: empty */
};

struct decoder {
	struct pt_config config;
	struct pt_block_decoder *blk;
	const struct mt_code *code;
	const uint8_t *bytes;
	size_t len;
	uint64_t resync;	/* PSBs before this offset are dealt with */
	uint64_t offset;	/* of blk */
	bool aborted;		/* a TSX abort: the branch that follows is no interrupt */
	struct known_insn *known;
	struct mt_builder builder;
};

const char *mt_decode_error(int code)
{
	const char *text = pt_errstr(code);

	return text ? text : "unknown error";
}

static unsigned int bits_of(enum pt_exec_mode mode)
{
	switch (mode) {
	case ptem_16bit:
		return 16;
	case ptem_32bit:
		return 32;
	case ptem_64bit:
	case ptem_unknown:
		break;
	}
	return 64;
}

/* What libipt said of an instruction whose bytes cannot be read. */
static struct mt_insn from_class(enum pt_insn_class iclass)
{
	static const uint8_t kinds[] = {
		[ptic_call] = MT_INSN_CALL,
		[ptic_return] = MT_INSN_RETURN,
		[ptic_jump] = MT_INSN_JUMP,
		[ptic_cond_jump] = MT_INSN_COND,
		[ptic_far_call] = MT_INSN_FAR_CALL,
		[ptic_far_return] = MT_INSN_FAR_RETURN,
		[ptic_far_jump] = MT_INSN_FAR_JUMP,
	};
	struct mt_insn insn = { .kind = MT_INSN_OTHER };

	if (iclass >= 0 && iclass < sizeof(kinds) / sizeof(kinds[0]))
		insn.kind = kinds[iclass];
	return insn;
}

/* The last instruction of @block. */
static struct mt_insn last_insn(struct decoder *d, const struct pt_block *block)
{
	unsigned int bits = bits_of(block->mode);
	struct known_insn *known = &d->known[block->end_ip & (INSN_CACHE - 1)];
	uint8_t bytes[MT_INSN_MAX];
	size_t len;

	if (block->truncated)
		return mt_insn_classify(block->raw, block->size, bits);
	if (known->ip == block->end_ip && known->bits == bits)
		return known->insn;
	len = d->code->read(d->code->ctx, block->end_ip, bytes, sizeof(bytes));
	if (!len)
		return from_class(block->iclass);
	known->ip = block->end_ip;
	known->bits = (uint8_t)bits;
	known->insn = mt_insn_classify(bytes, len, bits);
	return known->insn;
}

/* The offset of the first PSB from @from on, or the length of the bytes. */
static uint64_t find_psb(const struct decoder *d, uint64_t from)
{
	const uint8_t *found = NULL;

	if (from < d->len)
		found = memmem(d->bytes + from, d->len - from, psb, sizeof(psb));
	return found ? (uint64_t)(found - d->bytes) : d->len;
}

/*
 * libipt is past every PSB before @offset: if it has to begin anew, then behind
 * them. It reads ahead as far as the next event, which may be that of a PSB, and
 * keeps that event until execution reaches it. So it has passed the PSBs before
 * its position only when it hands out an event (as each PSB+ has, but one while
 * tracing was off).
 */
static void passed(struct decoder *d, uint64_t offset)
{
	if (offset > d->resync)
		d->resync = offset;
}

/*
 * Where a segment begins. Later the time comes with events only: pt_blk_time()
 * is that of the event to come once libipt has read one ahead.
 */
static void take_time(struct decoder *d)
{
	uint32_t lost_mtc, lost_cyc;
	uint64_t tsc;

	if (!pt_blk_time(d->blk, &tsc, &lost_mtc, &lost_cyc))
		mt_builder_time(&d->builder, tsc);
}

/* Events that say nothing of control flow are left out knowingly. */
static void take_event(struct decoder *d, const struct pt_event *event)
{
	struct mt_builder *b = &d->builder;
	uint64_t to;

	if (event->has_tsc)
		mt_builder_time(b, event->tsc);
	switch (event->type) {
	case ptev_enabled:
		if (event->status_update)
			mt_builder_at(b, event->variant.enabled.ip);
		else
			mt_builder_enabled(b, event->variant.enabled.ip);
		break;
	case ptev_disabled:
		to = event->ip_suppressed ? 0 : event->variant.disabled.ip;
		mt_builder_disabled(b, to);
		break;
	case ptev_async_disabled:
		to = event->ip_suppressed ? 0 : event->variant.async_disabled.ip;
		mt_builder_async_disabled(b, event->variant.async_disabled.at, to);
		break;
	case ptev_async_branch:
		to = event->ip_suppressed ? 0 : event->variant.async_branch.to;
		mt_builder_async_branch(b, event->variant.async_branch.from, to, d->aborted);
		d->aborted = false;
		break;
	case ptev_overflow:
		mt_builder_gap(b, 0);
		if (!event->ip_suppressed)
			mt_builder_at(b, event->variant.overflow.ip);
		break;
	case ptev_tick:		/* of the packet that the last branch took */
		if (event->has_tsc)
			mt_builder_branch_time(b);
		break;
	case ptev_tsx:
		d->aborted = event->variant.tsx.aborted;
		break;
	case ptev_paging:	/* another address space in the kernel: same image */
	case ptev_async_paging:
	case ptev_vmcs:
	case ptev_async_vmcs:
	case ptev_exec_mode:	/* blocks have their mode */
	case ptev_stop:		/* comes after the DISABLE that says it */
	case ptev_exstop:	/* power events */
	case ptev_mwait:
	case ptev_pwre:
	case ptev_pwrx:
	case ptev_ptwrite:
	case ptev_cbr:
	case ptev_mnt:
	default:		/* a newer libipt's: interrupts and the like */
		break;
	}
}

/* All that is to be told now. Returns libipt's status. */
static int take_events(struct decoder *d, int status)
{
	while (status >= 0 && (status & pts_event_pending) && d->builder.err >= 0) {
		struct pt_event event;
		uint64_t offset = 0;

		if (!pt_blk_get_offset(d->blk, &offset)) {
			mt_builder_offset(&d->builder, offset);
			passed(d, offset);
		}
		status = pt_blk_event(d->blk, &event, sizeof(event));
		if (status >= 0)
			take_event(d, &event);
	}
	return status;
}

/* One block, which @status came with. */
static void take_block(struct decoder *d, const struct pt_block *block, int status)
{
	struct mt_insn last;

	if (!block->ninsn) {
		/* Without an instruction it still says where execution stands. */
		if (status < 0 && d->builder.waiting && block->ip)
			mt_builder_at(&d->builder, block->ip);
		return;
	}
	mt_builder_at(&d->builder, block->ip);
	mt_builder_offset(&d->builder, d->offset);
	last = last_insn(d, block);
	mt_builder_block(&d->builder, block->ninsn, block->end_ip, &last);
}

/*
 * Decode from where libipt stands until it cannot go on: for an error, or
 * pte_eos at the end of the bytes.
 */
static enum pt_error_code decode_segment(struct decoder *d, int status)
{
	unsigned int tail = 0, still = 0;

	for (;;) {
		uint64_t offset = d->offset;
		struct pt_block block;

		status = take_events(d, status);
		if (status < 0 || d->builder.err < 0)
			break;
		if ((status & pts_eos) && tail++ >= MAX_TAIL_BLOCKS)
			return pte_eos;
		status = pt_blk_next(d->blk, &block, sizeof(block));
		pt_blk_get_offset(d->blk, &d->offset);
		if (d->offset != offset)
			still = 0;
		else if (still++ >= MAX_PACKET_BLOCKS && status >= 0)
			status = -pte_bad_query;
		take_block(d, &block, status);
		if (status < 0)
			break;
	}
	return pt_errcode(status);
}

/*
 * libipt says "end" at the last PSB both where all that belongs to it is there, and
 * nothing follows, and where a part of it is missing. An overflow may cut it short.
 */
static bool is_whole_psb(const struct decoder *d, uint64_t offset)
{
	struct pt_packet_decoder *pkt = pt_pkt_alloc_decoder(&d->config);
	struct pt_packet packet = { .type = ppt_invalid };
	int status;

	if (!pkt)
		return false;
	status = pt_pkt_sync_set(pkt, offset);
	while (status >= 0 && packet.type != ppt_psbend && packet.type != ppt_ovf)
		status = pt_pkt_next(pkt, &packet, sizeof(packet));
	pt_pkt_free_decoder(pkt);
	return status >= 0;
}

static int run(struct decoder *d)
{
	uint64_t at = find_psb(d, 0);
	enum pt_error_code error;
	int status;

	d->builder.stats->skipped = at;
	for (; at < d->len && d->builder.err >= 0; at = find_psb(d, d->resync)) {
		d->resync = at + 1;
		d->offset = at;
		d->aborted = false;
		status = pt_blk_sync_set(d->blk, at);
		if (status < 0) {
			error = pt_errcode(status);
			if (error == pte_eos && is_whole_psb(d, at))
				d->builder.stats->synced++;
		} else {
			d->builder.stats->synced++;
			take_time(d);
			error = decode_segment(d, status);
		}
		if (d->builder.err < 0)
			break;
		if (error == pte_nomem)
			return -ENOMEM;
		if (error != pte_eos)
			mt_builder_gap(&d->builder, (int)error);
		else if (status >= 0)
			break;
	}
	return mt_builder_end(&d->builder);
}

static void configure(struct pt_config *to, const struct mt_decode_config *from,
		      const uint8_t *bytes, size_t len)
{
	pt_config_init(to);
	to->begin = (uint8_t *)bytes;
	to->end = (uint8_t *)bytes + len;
	to->cpu.vendor = pcv_intel;
	to->cpu.family = (uint16_t)from->cpu_family;
	to->cpu.model = (uint8_t)from->cpu_model;
	to->cpu.stepping = (uint8_t)from->cpu_stepping;
	/* It knows no errata of a CPU that it does not know. */
	if (pt_cpu_errata(&to->errata, &to->cpu) < 0)
		memset(&to->errata, 0, sizeof(to->errata));
	to->mtc_freq = (uint8_t)from->mtc_freq;
	to->nom_freq = (uint8_t)(from->nom_freq ? from->nom_freq : from->tsc_khz / 100000);
	to->cpuid_0x15_eax = from->cpuid_15_eax;
	to->cpuid_0x15_ebx = from->cpuid_15_ebx;
	to->flags.variant.block.end_on_call = 1;
	to->flags.variant.block.end_on_jump = 1;
	to->flags.variant.block.enable_tick_events = 1;
#if LIBIPT_VERSION >= 0x201
	to->flags.variant.block.keep_tcal_on_ovf = 1;
#endif
}

int mt_decode(const struct mt_decode_config *config, const struct mt_code *code,
	      const uint8_t *bytes, size_t len, mt_flow_fn fn, void *ctx,
	      struct mt_decode_stats *stats)
{
	struct decoder *d;
	int err = -ENOMEM;

	memset(stats, 0, sizeof(*stats));
	if (!len)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->code = code;
	d->bytes = bytes;
	d->len = len;
	d->builder.fn = fn;
	d->builder.ctx = ctx;
	d->builder.stats = stats;
	d->builder.end_tsc = config->end_tsc;
	d->known = calloc(INSN_CACHE, sizeof(*d->known));
	if (!d->known)
		goto out;
	configure(&d->config, config, bytes, len);
	err = -EINVAL;
	d->blk = pt_blk_alloc_decoder(&d->config);
	if (!d->blk || pt_blk_set_image(d->blk, code->image) < 0)
		goto out;
	err = run(d);
out:
	pt_blk_free_decoder(d->blk);
	free(d->known);
	free(d);
	return err;
}
