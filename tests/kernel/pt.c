// SPDX-License-Identifier: GPL-2.0
#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

#include "pt.h"

static const uint8_t psb[16] = {
	2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82
};

/* SDM vol. 3, "IP Compression". */
static uint64_t last_ip(uint64_t last, const struct pt_packet_ip *ip)
{
	switch (ip->ipc) {
	case pt_ipc_update_16:
		return (last & ~0xffffull) | (ip->ip & 0xffff);
	case pt_ipc_update_32:
		return (last & ~0xffffffffull) | (ip->ip & 0xffffffff);
	case pt_ipc_update_48:
		return (last & ~0xffffffffffffull) | (ip->ip & 0xffffffffffff);
	case pt_ipc_sext_48:
		return (uint64_t)((int64_t)(ip->ip << 16) >> 16);
	case pt_ipc_full:
		return ip->ip;
	case pt_ipc_suppressed:
		break;
	}
	return last;
}

static bool is_kernel(uint64_t ip)
{
	return ip >> 63;
}

/**
 * struct reader - where pt_read() is
 * @ip: the last IP
 * @on: whether packets are being generated, by TIP.PGE and TIP.PGD
 * @known: whether @on is known
 * @in_psb: whether between PSB and PSBEND, where packets tell of state
 * @ptw_fup: whether the next FUP belongs to the last PTW
 */
struct reader {
	uint64_t ip;
	bool on, known, in_psb, ptw_fup;
};

static void see_address(uint64_t ip, struct pt_stats *stats)
{
	if (ip < stats->lowest)
		stats->lowest = ip;
	if (ip > stats->highest)
		stats->highest = ip;
}

static void see_target(uint64_t ip, struct pt_stats *stats)
{
	stats->last = ip;
	stats->since = 0;
}

static void read_packet(struct reader *r, const struct pt_packet *packet,
			uint64_t offset, uint64_t target,
			struct pt_stats *stats)
{
	stats->after_stop += stats->stop && packet->type != ppt_pad;
	switch (packet->type) {
	case ppt_psb:
		stats->psb++;
		r->in_psb = true;
		r->ip = 0;
		break;
	case ppt_psbend:
		r->in_psb = false;
		break;
	case ppt_tip_pge:
		if (r->known && r->on)
			FAIL("TIP.PGE at %#lx follows no TIP.PGD", offset);
		r->ip = last_ip(r->ip, &packet->payload.ip);
		r->on = true;
		r->known = true;
		stats->pge++;
		stats->entries += r->ip == target;
		see_address(r->ip, stats);
		see_target(r->ip, stats);
		stats->kernel += is_kernel(r->ip);
		break;
	case ppt_tip_pgd:
		if (r->known && !r->on)
			FAIL("TIP.PGD at %#lx follows no TIP.PGE", offset);
		r->ip = last_ip(r->ip, &packet->payload.ip);
		r->on = false;
		r->known = true;
		stats->pgd++;
		break;
	case ppt_tip:
		if (r->known && !r->on)
			FAIL("TIP at %#lx follows no TIP.PGE", offset);
		r->ip = last_ip(r->ip, &packet->payload.ip);
		stats->tip++;
		stats->hits += r->ip == target;
		see_address(r->ip, stats);
		see_target(r->ip, stats);
		stats->kernel += is_kernel(r->ip);
		break;
	case ppt_fup:
		r->ip = last_ip(r->ip, &packet->payload.ip);
		/* In PSB+ it says that packets are being generated. */
		if (r->in_psb && !r->known) {
			r->on = true;
			r->known = true;
		}
		stats->fup += !r->in_psb;
		if (!r->in_psb)
			stats->last_fup = r->ip;
		see_address(r->ip, stats);
		if (r->ptw_fup && stats->ptw <= PT_KEPT)
			stats->ptws[stats->ptw - 1].ip = r->ip;
		r->ptw_fup = false;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		if (r->known && !r->on)
			FAIL("TNT at %#lx follows no TIP.PGE", offset);
		stats->tnt += packet->payload.tnt.bit_size;
		stats->since += packet->payload.tnt.bit_size;
		break;
	case ppt_ovf:
		stats->ovf++;
		r->known = false;
		break;
	case ppt_tsc:
		stats->tsc++;
		break;
	case ppt_mtc:
		stats->mtc++;
		break;
	case ppt_cyc:
		stats->cyc++;
		if (packet->payload.cyc.value < stats->least_cyc)
			stats->least_cyc = packet->payload.cyc.value;
		break;
	case ppt_pip:
		stats->pip++;
		break;
	case ppt_mwait:
		stats->mwait++;
		break;
	case ppt_pwre:
		stats->pwre++;
		break;
	case ppt_exstop:
		stats->exstop++;
		break;
	case ppt_pwrx:
		stats->pwrx++;
		break;
	case ppt_stop:
		stats->stop++;
		break;
	case ppt_ptw:
		if (stats->ptw++ < PT_KEPT)
			stats->ptws[stats->ptw - 1].payload =
				packet->payload.ptw.payload;
		r->ptw_fup = packet->payload.ptw.ip;
		break;
	default:
		break;
	}
}

/*
 * The packets of event trace, which libipt 2.0.5 does not know: SDM vol. 3,
 * "Control Flow Event (CFE) Packet" and "Event Data (EVD) Packet". Returns the
 * size of the packet, 0 if it is none of these.
 */
static size_t read_event(const uint8_t *bytes, size_t left,
			 struct pt_stats *stats)
{
	if (left >= 4 && bytes[0] == 0x02 && bytes[1] == 0x13) {
		stats->cfe++;
		return 4;
	}
	if (left >= 11 && bytes[0] == 0x02 && bytes[1] == 0x53) {
		if (stats->evd < PT_KEPT) {
			stats->evds[stats->evd].type = bytes[2] & 0x3f;
			memcpy(&stats->evds[stats->evd].payload, bytes + 3, 8);
		}
		stats->evd++;
		return 11;
	}
	return 0;
}

void pt_read(const struct session *s, const struct mtrace_region *region,
	     uint64_t target, struct pt_stats *stats)
{
	const uint8_t *from = s->map + region->offset;
	bool wrapped = region->flags & MTRACE_REGION_WRAPPED;
	uint64_t size = s->setup.region_size, offset = 0;
	struct pt_packet_decoder *decoder;
	struct reader reader = { 0 };
	struct pt_packet packet;
	struct pt_config config;
	uint8_t *bytes;
	size_t event;
	int ret;

	memset(stats, 0, sizeof(*stats));
	stats->lowest = UINT64_MAX;
	stats->least_cyc = UINT64_MAX;
	CHECK(region->offset % size == 0 && region->head < size,
	      "region at %#llx with head %#llx", region->offset, region->head);
	CHECK_EQ(region->valid, wrapped ? size : region->head);
	if (!region->valid)
		return;

	bytes = malloc(region->valid);
	if (wrapped) {
		memcpy(bytes, from + region->head, size - region->head);
		memcpy(bytes + size - region->head, from, region->head);
	} else {
		memcpy(bytes, from, region->head);
		CHECK(region->head >= sizeof(psb) &&
		      !memcmp(bytes, psb, sizeof(psb)),
		      "a region of %#llx bytes does not begin with PSB",
		      region->head);
	}

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + region->valid;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		FAIL("libipt gives no decoder");
	ret = wrapped ? pt_pkt_sync_forward(decoder) :
			pt_pkt_sync_set(decoder, 0);
	if (ret < 0)
		FAIL("no PSB in %#llx bytes: %s", region->valid,
		     pt_errstr(pt_errcode(ret)));
	for (;;) {
		pt_pkt_get_offset(decoder, &offset);
		ret = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (ret == -pte_eos)
			break;
		if (ret == -pte_bad_opc)
			event = read_event(bytes + offset,
					   region->valid - offset, stats);
		else
			event = 0;
		if (event) {
			pt_pkt_sync_set(decoder, offset + event);
			continue;
		}
		if (ret < 0 || packet.type == ppt_unknown ||
		    packet.type == ppt_invalid)
			FAIL("no packet at %#lx of %#llx bytes: %s", offset,
			     region->valid,
			     ret < 0 ? pt_errstr(pt_errcode(ret)) : "unknown");
		read_packet(&reader, &packet, offset, target, stats);
	}
	pt_pkt_free_decoder(decoder);
	free(bytes);
	if (offset != region->valid)
		FAIL("the packet at %#lx is cut off at %#llx", offset,
		     region->valid);
}
