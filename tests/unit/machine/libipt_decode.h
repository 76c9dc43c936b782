/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What libipt makes of a trace, for test_pt_flow_libipt.c: a file of its own, for
 * intel-pt.h and the encoder have names in common.
 */
#ifndef LIBIPT_DECODE_H
#define LIBIPT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies code at @ip, at most @size bytes, returns how many. */
typedef size_t (*decode_read)(uint64_t ip, uint8_t *buf, size_t size);

struct decode_config {
	uint8_t *trace;
	size_t size;
	decode_read read;
	uint8_t mtc_freq;
	uint32_t art_num, art_den;
	uint64_t addr_cfg;	/* IA32_RTIT_CTL[47:32] */
	uint64_t addr[8];
};

/* An overflow, in the list of program counters. */
#define DECODE_OVERFLOW	0xffffffffffff0001ULL
/* Tracing ended by a TraceStop. */
#define DECODE_STOP	0xffffffffffff0002ULL

/*
 * libipt's instruction decoder: the program counters into @ips, at most @max;
 * returns their number. @error is empty if that is the whole trace.
 */
size_t decode_insns(const struct decode_config *c, uint64_t *ips, size_t max, char error[256]);

/*
 * libipt's packet decoder at @offset: returns the packet's size or a negative
 * error code; its kind as in pt_packet.h and its values in the order of
 * pt_packet_values(), but an IP as in the packet with IPBytes behind it.
 */
int decode_packet(const struct decode_config *c, size_t offset, unsigned int *kind,
		  uint64_t values[3]);

/*
 * The IP of a packet with this payload and IPBytes, by SDM table 36-18, into
 * *@last, which is the one before; false if it is suppressed.
 */
bool decode_ip(uint64_t *last, uint64_t payload, uint64_t ip_bytes);

#endif
