/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Intel PT packets: what each says, and the bytes that say it (SDM 3C, 36.4.2).
 *
 * Owns: packet formats, IP compression. Must not know: when a packet is due.
 *
 * No name here is also one of intel-pt.h, so that a judge can include both.
 */
#ifndef PT_PACKET_H
#define PT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_PACKET_MAX	16	/* bytes: PSB */

/*
 * The numbers are in the log of packets (pt_packet_log.h): they do not change.
 * Never generated, so without a number: PAD, MNT, VMCS, MODE.TSX, BBP, BIP, BEP.
 */
enum pt_pkt_type {
	PT_PSB		= 1,
	PT_PSBEND	= 2,
	PT_TNT		= 3,
	PT_TIP		= 4,
	PT_TIP_PGE	= 5,
	PT_TIP_PGD	= 6,
	PT_FUP		= 7,
	PT_MODE_EXEC	= 8,
	PT_PIP		= 9,
	PT_TRACESTOP	= 10,
	PT_OVF		= 11,
	PT_TSC		= 12,
	PT_TMA		= 13,
	PT_MTC		= 14,
	PT_CYC		= 15,
	PT_CBR		= 16,
	PT_PTW		= 17,
	PT_EXSTOP	= 18,
	PT_MWAIT	= 19,
	PT_PWRE		= 20,
	PT_PWRX		= 21,
	PT_CFE		= 22,
	PT_EVD		= 23,
	PT_PACKET_TYPES,
};

/* MODE.Exec, table 36-26: CS.D in bit 1, CS.L & LMA in bit 0, and ... */
#define PT_MODE_IF	4	/* ... RFLAGS.IF, with event trace */

/* CFE, "Type" */
enum pt_cfe_type {
	PT_CFE_INTR	= 1,	/* interrupt, exception, NMI */
	PT_CFE_IRET	= 2,
	PT_CFE_SMI	= 3,
	PT_CFE_RSM	= 4,
	PT_CFE_SIPI	= 5,
	PT_CFE_INIT	= 6,
	PT_CFE_SHUTDOWN	= 10,
};

/* EVD, "Type" */
enum pt_evd_type {
	PT_EVD_CR2	= 0,	/* the address of a page fault */
};

struct pt_pkt {
	enum pt_pkt_type type;
	unsigned int size;		/* bytes in the stream */
	union {
		struct {
			uint64_t ip;
			bool suppressed;	/* TIP.PGD: no IP */
		} ip;			/* TIP, TIP.PGE, TIP.PGD, FUP */
		struct {
			uint64_t bits;	/* the youngest lowest, 1: taken */
			unsigned int n;
		} tnt;
		struct {
			uint64_t cr3;
			bool nr;
		} pip;
		struct {
			uint16_t ctc;
			uint16_t fc;
		} tma;
		struct {
			uint64_t payload;
			uint8_t size;	/* 4 or 8 bytes */
			bool ip;	/* a FUP follows */
		} ptw;
		struct {
			uint8_t hints;
			uint8_t ext;
		} mwait;
		struct {
			uint8_t state;
			uint8_t sub;
			bool hw;
		} pwre;
		struct {
			uint8_t last;
			uint8_t deepest;
			uint8_t reason;
		} pwrx;
		struct {
			uint8_t type;
			uint8_t vector;
			bool ip;	/* a FUP follows that is its own */
		} cfe;
		struct {
			uint8_t type;
			uint64_t payload;
		} evd;
		uint8_t mode;
		uint64_t tsc;
		uint8_t ctc;		/* MTC */
		uint64_t cycles;
		uint8_t cbr;
		bool exstop_ip;		/* a FUP follows */
	};
};

/* The IP that the decoder has; not @known at first, where nothing is left out. */
struct pt_last_ip {
	uint64_t ip;
	bool known;
};

/* The bytes of @p, their number returned. Follows the last IP. */
size_t pt_packet_encode(const struct pt_pkt *p, struct pt_last_ip *last,
			uint8_t out[PT_PACKET_MAX]);

/* What @p says as numbers, in the order of the members above. At most three. */
unsigned int pt_packet_values(const struct pt_pkt *p, uint64_t values[3]);

#endif
