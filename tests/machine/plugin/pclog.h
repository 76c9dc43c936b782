/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The log of executed program counters, one file a vCPU, to hold against a
 * decoder's output.
 *
 * "Executed" is what Intel PT means by it: an instruction is in the log once
 * it has completed, in order, while PacketEn was set. So
 * - one that faults is not in the log, and is when it is run again and
 *   completes;
 * - a repeated string instruction is in the log once, when it completes,
 *   however often an interrupt or a page fault broke it;
 * - the instruction that a FUP names as the source is not: INT n, INT3, INT1,
 *   and the WRMSR that clears TraceEn;
 * - the one that leaves by a TIP.PGD without FUP is (SYSCALL, MOV CR3).
 *
 * File format: a stream of unsigned LEB128 numbers. An even number is an
 * instruction: half of it is the zigzag of its address less the one before
 * (less 0 after a marker). An odd number is a marker, n >> 1 its kind, followed
 * by its values.
 *
 * Must not know: QEMU, packets.
 */
#ifndef PCLOG_H
#define PCLOG_H

#include <stdbool.h>
#include <stdint.h>

enum pclog_marker {
	PCLOG_TRACE_ON = 1,	/* TSC, OUTPUT_BASE, OUTPUT_MASK_PTRS: TraceEn set */
	PCLOG_TRACE_OFF = 2,	/* TSC, OUTPUT_BASE, OUTPUT_MASK_PTRS: cleared */
	PCLOG_PACKETS_ON = 3,	/* TSC, CR3: PacketEn set */
	PCLOG_PACKETS_OFF = 4,	/* TSC, CR3: cleared */
};

struct pclog;

struct pclog *pclog_open(const char *prefix, unsigned int index);
void pclog_close(struct pclog *log);

void pclog_trace(struct pclog *log, bool on, uint64_t base, uint64_t mask, uint64_t tsc);
void pclog_packets(struct pclog *log, bool on, uint64_t cr3, uint64_t tsc);

/*
 * An instruction begins. It is written when it is known to have completed, that
 * is when the next one begins. A branch may follow itself; anything else that
 * does is the same one begun anew.
 */
void pclog_insn(struct pclog *log, uint64_t ip, bool branch);

/* An event has @ip as its source: what was begun there did not complete. */
void pclog_event(struct pclog *log, uint64_t ip, bool fault);

#endif
