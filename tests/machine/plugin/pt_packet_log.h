/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The log of packets: what the encoder meant by each, one file a vCPU, to hold
 * against a decoder's output and against the bytes in memory.
 *
 * File format: a stream of unsigned LEB128 numbers, as in pclog.h. A record is
 *	kind, size in bytes, n, and n values:
 * kind is enum pt_pkt_type and the values are pt_packet_values() (an IP is
 * the whole one, before compression); or kind is one of the markers below, of
 * size 0. Packets between two markers are in the order of the bytes in memory.
 * Bytes that the output refused (STOP, an error in the ToPA) are at the end of
 * what the log has, so it may go on longer than memory does.
 *
 * Must not know: QEMU, when a packet is due.
 */
#ifndef PT_PACKET_LOG_H
#define PT_PACKET_LOG_H

#include "pt_packet.h"

enum pt_packet_marker {
	PT_LOG_TRACE_ON = 64,	/* TSC, OUTPUT_BASE, OUTPUT_MASK_PTRS: TraceEn set */
	PT_LOG_TRACE_OFF = 65,	/* the same: TraceEn cleared, all is in memory */
};

struct pt_packet_log;

/* Ends the program if the file cannot be written. */
struct pt_packet_log *pt_packet_log_open(const char *prefix, unsigned int index);
void pt_packet_log_close(struct pt_packet_log *log);

void pt_packet_log_trace(struct pt_packet_log *log, bool on, uint64_t base, uint64_t mask,
			 uint64_t tsc);
void pt_packet_log_packet(struct pt_packet_log *log, const struct pt_pkt *p);

#endif
