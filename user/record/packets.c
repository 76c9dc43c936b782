// SPDX-License-Identifier: GPL-2.0
/* What packets alone tell; see the header. */
#include "user/record/packets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

enum found {
	FOUND_CODE,	/* a packet of an instruction */
	FOUND_NONE,	/* packets, and none of these */
	FOUND_UNKNOWN,	/* nothing to begin at */
};

/*
 * A FUP does not count: it is also where an event left off. Nor does a TIP.PGD:
 * tracing may have been on before the bytes began, and end in them.
 */
static bool is_code(enum pt_packet_type type)
{
	return type == ppt_tip_pge || type == ppt_tip || type == ppt_tnt_8 || type == ppt_tnt_64;
}

/* From the first PSB on; from the next, where the bytes cannot be read on. */
static enum found search(const uint8_t *bytes, size_t len)
{
	struct pt_packet_decoder *decoder;
	enum found found = FOUND_UNKNOWN;
	struct pt_packet packet;
	struct pt_config config;

	if (!len)
		return FOUND_UNKNOWN;
	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)bytes;
	config.end = config.begin + len;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return FOUND_UNKNOWN;
	while (found != FOUND_CODE && pt_pkt_sync_forward(decoder) >= 0) {
		found = FOUND_NONE;
		while (found != FOUND_CODE &&
		       pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0) {
			if (is_code(packet.type))
				found = FOUND_CODE;
		}
	}
	pt_pkt_free_decoder(decoder);
	return found;
}

bool mt_packets_show_code(const struct mt_piece pieces[2])
{
	size_t len = pieces[0].len + pieces[1].len;
	enum found found;
	uint8_t *whole;

	if (!len)
		return false;
	/* Mostly the answer is near the first PSB. */
	found = search(pieces[0].bytes, pieces[0].len);
	if (found == FOUND_CODE || !pieces[1].len)
		return found != FOUND_NONE;
	/* Packets lie across the pieces' border, so these are not looked at one by one. */
	whole = malloc(len);
	if (!whole)
		return true;
	if (pieces[0].len)
		memcpy(whole, pieces[0].bytes, pieces[0].len);
	memcpy(whole + pieces[0].len, pieces[1].bytes, pieces[1].len);
	found = search(whole, len);
	free(whole);
	return found != FOUND_NONE;
}
