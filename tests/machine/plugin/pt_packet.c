// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes of Intel PT packets. Tables are those of SDM 3C, chapter 36.
 */
#include "pt_packet.h"

#include <string.h>

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

/* The low five bits of tables 36-17, 36-20, 36-21, 36-22 */
static const uint8_t ip_opcode[] = {
	[PT_TIP]	= 0x0d,
	[PT_TIP_PGE]	= 0x11,
	[PT_TIP_PGD]	= 0x01,
	[PT_FUP]	= 0x1d,
};

/* The shortest payload that gives @ip. */
static enum ip_bytes compress_ip(const struct pt_last_ip *last, uint64_t ip)
{
	const uint64_t diff = ip ^ last->ip;

	if (last->known && !(diff >> 16))
		return IP_UPDATE_16;
	if (last->known && !(diff >> 32))
		return IP_UPDATE_32;
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		return IP_SIGN_48;
	if (last->known && !(diff >> 48))
		return IP_UPDATE_48;
	return IP_FULL;
}

static size_t ip_packet(const struct pt_pkt *p, struct pt_last_ip *last, uint8_t *out)
{
	enum ip_bytes kind = IP_SUPPRESSED;

	/* A suppressed IP leaves the last IP as it was. */
	if (!p->ip.suppressed) {
		kind = compress_ip(last, p->ip.ip);
		*last = (struct pt_last_ip) { .ip = p->ip.ip, .known = true };
	}
	out[0] = ip_opcode[p->type] | kind << 5;
	memcpy(out + 1, &p->ip.ip, 8);
	return 1 + ip_payload[kind];
}

/*
 * Table 36-16: the bits below a leading stop bit, the youngest lowest. The long
 * form has 47 of them, the short one 6.
 */
static size_t tnt(const struct pt_pkt *p, uint8_t *out)
{
	const uint64_t bits = 1ULL << p->tnt.n | p->tnt.bits;

	if (p->tnt.n <= 6) {
		out[0] = bits << 1;
		return 1;
	}
	out[0] = 0x02;
	out[1] = 0xa3;
	memcpy(out + 2, &bits, 6);
	return 8;
}

/* Table 36-33: 5 bits, then 7 a byte; Exp is set while more follow. */
static size_t cyc(uint64_t cycles, uint8_t *out)
{
	size_t n = 1;

	out[0] = 0x03 | (cycles & 0x1f) << 3;
	cycles >>= 5;
	if (cycles)
		out[0] |= 0x04;
	for (; cycles; n++) {
		out[n] = (cycles & 0x7f) << 1;
		cycles >>= 7;
		if (cycles)
			out[n] |= 0x01;
	}
	return n;
}

/* Packets of two bytes or more that begin with 02H, without reserved bytes */
static size_t extended(uint8_t *out, uint8_t op, const void *payload, size_t len)
{
	out[0] = 0x02;
	out[1] = op;
	memcpy(out + 2, payload, len);
	return 2 + len;
}

/*
 * Table 36-24: CR3[51:5] from bit 1 of the payload on, NR in bit 0. The address
 * alone: with IA-32e paging CR3[11:5] (PCID) are told as zero.
 */
static size_t pip(const struct pt_pkt *p, uint8_t *out)
{
	const uint64_t payload = (p->pip.cr3 & 0x000ffffffffff000ULL) >> 5 << 1 | p->pip.nr;

	return extended(out, 0x43, &payload, 6);
}

size_t pt_packet_encode(const struct pt_pkt *p, struct pt_last_ip *last,
			uint8_t out[PT_PACKET_MAX])
{
	static const uint8_t psb[16] = {
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	};
	const uint8_t ip_bit = 0x80;

	switch (p->type) {
	case PT_PSB:				/* 36-36 */
		/* The decoder forgets all: last IP is zero (36.3.7). */
		*last = (struct pt_last_ip) { .ip = 0, .known = true };
		memcpy(out, psb, sizeof(psb));
		return sizeof(psb);
	case PT_PSBEND:				/* 36-37 */
		return extended(out, 0x23, "", 0);
	case PT_TNT:
		return tnt(p, out);
	case PT_TIP:
	case PT_TIP_PGE:
	case PT_TIP_PGD:
	case PT_FUP:
		return ip_packet(p, last, out);
	case PT_MODE_EXEC:			/* 36-26: leaf 0 in bits 7:5 */
		out[0] = 0x99;
		out[1] = p->mode;
		return 2;
	case PT_PIP:
		return pip(p, out);
	case PT_TRACESTOP:			/* 36-28 */
		return extended(out, 0x83, "", 0);
	case PT_OVF:				/* 36-35 */
		return extended(out, 0xf3, "", 0);
	case PT_TSC:				/* 36-30 */
		out[0] = 0x19;
		memcpy(out + 1, &p->tsc, 7);
		return 8;
	case PT_TMA:				/* 36-32 */
		return extended(out, 0x73, (const uint8_t[]) {
			p->tma.ctc, p->tma.ctc >> 8, 0, p->tma.fc, p->tma.fc >> 8 & 1 }, 5);
	case PT_MTC:				/* 36-31 */
		out[0] = 0x59;
		out[1] = p->ctc;
		return 2;
	case PT_CYC:
		return cyc(p->cycles, out);
	case PT_CBR:				/* 36-29 */
		return extended(out, 0x03, (const uint8_t[]) { p->cbr, 0 }, 2);
	case PT_PTW:				/* 36-40: PayloadBytes in bits 6:5 */
		return extended(out, 0x12 | (p->ptw.size == 8 ? 0x20 : 0) |
				     (p->ptw.ip ? ip_bit : 0), &p->ptw.payload, p->ptw.size);
	case PT_EXSTOP:				/* 36-41 */
		return extended(out, 0x62 | (p->exstop_ip ? ip_bit : 0), "", 0);
	case PT_MWAIT:				/* 36-42 */
		return extended(out, 0xc2, (const uint8_t[8]) {
			[0] = p->mwait.hints, [4] = p->mwait.ext & 3 }, 8);
	case PT_PWRE:				/* 36-43 */
		return extended(out, 0x22, (const uint8_t[]) {
			p->pwre.hw ? 0x80 : 0, p->pwre.state << 4 | p->pwre.sub }, 2);
	case PT_PWRX:				/* 36-44 */
		return extended(out, 0xa2, (const uint8_t[5]) {
			p->pwrx.last << 4 | p->pwrx.deepest, p->pwrx.reason }, 5);
	case PT_CFE:
		return extended(out, 0x13, (const uint8_t[]) {
			p->cfe.type | (p->cfe.ip ? ip_bit : 0), p->cfe.vector }, 2);
	case PT_EVD:
		extended(out, 0x53, &p->evd.type, 1);
		memcpy(out + 3, &p->evd.payload, 8);
		return 11;
	case PT_PACKET_TYPES:
		break;
	}
	return 0;
}

unsigned int pt_packet_values(const struct pt_pkt *p, uint64_t v[3])
{
	switch (p->type) {
	case PT_TIP:
	case PT_TIP_PGE:
	case PT_TIP_PGD:
	case PT_FUP:
		v[0] = p->ip.suppressed ? 0 : p->ip.ip;
		v[1] = p->ip.suppressed;
		return 2;
	case PT_TNT:
		v[0] = p->tnt.bits;
		v[1] = p->tnt.n;
		return 2;
	case PT_MODE_EXEC:
		v[0] = p->mode;
		return 1;
	case PT_PIP:
		v[0] = p->pip.cr3 & 0x000ffffffffff000ULL;
		v[1] = p->pip.nr;
		return 2;
	case PT_TSC:
		v[0] = p->tsc & ~(0xffULL << 56);
		return 1;
	case PT_TMA:
		v[0] = p->tma.ctc;
		v[1] = p->tma.fc;
		return 2;
	case PT_MTC:
		v[0] = p->ctc;
		return 1;
	case PT_CYC:
		v[0] = p->cycles;
		return 1;
	case PT_CBR:
		v[0] = p->cbr;
		return 1;
	case PT_PTW:
		v[0] = p->ptw.payload;
		v[1] = p->ptw.size;
		v[2] = p->ptw.ip;
		return 3;
	case PT_EXSTOP:
		v[0] = p->exstop_ip;
		return 1;
	case PT_MWAIT:
		v[0] = p->mwait.hints;
		v[1] = p->mwait.ext;
		return 2;
	case PT_PWRE:
		v[0] = p->pwre.state;
		v[1] = p->pwre.sub;
		v[2] = p->pwre.hw;
		return 3;
	case PT_PWRX:
		v[0] = p->pwrx.last;
		v[1] = p->pwrx.deepest;
		v[2] = p->pwrx.reason;
		return 3;
	case PT_CFE:
		v[0] = p->cfe.type;
		v[1] = p->cfe.vector;
		v[2] = p->cfe.ip;
		return 3;
	case PT_EVD:
		v[0] = p->evd.type;
		v[1] = p->evd.payload;
		return 2;
	default:
		return 0;
	}
}
