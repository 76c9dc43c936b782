// SPDX-License-Identifier: GPL-2.0
/*
 * pt-ticks [--ratio EBX/EAX] [--mtc-freq N] FILE: the times that a raw Intel PT trace
 * gives to the branches in it, one TSC value a line in the order of the packets. Any
 * time of a decoded event lies between two of them.
 *
 * TSC packets tell theirs; MTC packets tell the crystal clock, which TMA ties to the
 * TSC (SDM vol. 3, "Timing Packets": the ratio is CPUID.15H:EBX/EAX). CYC packets
 * refine between these and are not counted. Of several in a row, with no packet of
 * control flow between, the last one counts: nothing tells what was executed between
 * the others. The packets are split by libipt, the times are worked out here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

struct clock {
	uint64_t ebx, eax;
	unsigned int mtc_freq;
	uint64_t tsc;		/* of the last TSC packet */
	uint64_t now;		/* of the last packet that told a time, 0: printed */
	bool tied;		/* a TMA packet has tied the two clocks */
	uint64_t tied_tsc;	/* TSC and crystal clock at that moment */
	uint64_t tied_ctc;
	uint64_t periods;	/* of 2^mtc_freq crystal ticks, at the last MTC */
};

static void take_mtc(struct clock *c, unsigned int ctc)
{
	if (!c->tied || !c->eax)
		return;
	/* The packet holds 8 bits of the number of periods. */
	c->periods += (ctc - c->periods) & 0xff;
	c->now = c->tied_tsc + ((c->periods << c->mtc_freq) - c->tied_ctc) * c->ebx / c->eax;
}

static void tie(struct clock *c, const struct pt_packet_tma *tma)
{
	c->tied = true;
	c->tied_tsc = c->tsc - tma->fc;
	c->tied_ctc = tma->ctc;
	c->periods = tma->ctc >> c->mtc_freq;
}

static void take_packet(struct clock *c, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_tsc:
		c->tsc = packet->payload.tsc.tsc;
		c->now = c->tsc;
		break;
	case ppt_tma:
		tie(c, &packet->payload.tma);
		break;
	case ppt_mtc:
		take_mtc(c, packet->payload.mtc.ctc);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_fup:
		if (c->now)
			printf("%" PRIu64 "\n", c->now);
		c->now = 0;
		break;
	default:
		break;
	}
}

static int walk(struct pt_packet_decoder *decoder, struct clock *clock)
{
	struct pt_packet packet;
	int err;

	err = pt_pkt_sync_forward(decoder);
	while (err >= 0) {
		err = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (err == -pte_eos)
			break;
		if (err >= 0) {
			take_packet(clock, &packet);
			continue;
		}
		fprintf(stderr, "pt-ticks: %s\n", pt_errstr(pt_errcode(err)));
		err = pt_pkt_sync_forward(decoder);
	}
	/* Branches may follow it that need no packet. */
	if (clock->now)
		printf("%" PRIu64 "\n", clock->now);
	return err == -pte_eos ? 0 : err;
}

static uint8_t *read_file(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	long size;

	if (file && !fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0) {
		rewind(file);
		*len = (size_t)size;
		bytes = malloc(*len + 1);
		if (bytes && fread(bytes, 1, *len, file) != *len) {
			free(bytes);
			bytes = NULL;
		}
	}
	if (file)
		fclose(file);
	return bytes;
}

int main(int argc, char **argv)
{
	struct clock clock = { 0 };
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	const char *path = NULL;
	uint8_t *bytes;
	size_t len;
	int i, err;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--ratio") && i + 1 < argc) {
			if (sscanf(argv[++i], "%" SCNu64 "/%" SCNu64, &clock.ebx, &clock.eax) != 2)
				path = NULL;
		} else if (!strcmp(argv[i], "--mtc-freq") && i + 1 < argc) {
			clock.mtc_freq = (unsigned int)atoi(argv[++i]);
		} else {
			path = argv[i];
		}
	}
	if (!path) {
		fprintf(stderr, "usage: pt-ticks [--ratio EBX/EAX] [--mtc-freq N] FILE\n");
		return 2;
	}
	bytes = read_file(path, &len);
	if (!bytes) {
		fprintf(stderr, "pt-ticks: %s: %s\n", path, strerror(errno));
		return 1;
	}
	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + len;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return 1;
	err = walk(decoder, &clock);
	pt_pkt_free_decoder(decoder);
	free(bytes);
	return err < 0;
}
