/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts of what a processor executes between two markers that the guest sets
 * (CPUID, see intercept.c): the yardstick for what tracing costs.
 *
 * Owns: intervals, and their text form: for each that ends on a processor a line
 * of names and numbers,
 *	label L cpu N user U kernel K off O [rdmsr_HEX R | wrmsr_HEX W]… [open 1]
 * U and K are instructions completed at CPL 3 and CPL 0; O is how many of K ran with
 * TraceEn clear, from a WRMSR that cleared it to one that set it; the MSRs are
 * Intel PT's, those that were accessed. An interval that is open at exit says so.
 * Must not know: QEMU, who counts instructions.
 */
#ifndef COUNT_H
#define COUNT_H

#include <stdbool.h>
#include <stdint.h>

#define COUNT_MSRS	13	/* Intel PT's: see count_msr() */
#define COUNT_OPEN	16	/* intervals open at once on a processor */

struct count_values {
	uint64_t user;
	uint64_t kernel;
	uint64_t off;
	uint64_t rdmsr[COUNT_MSRS];
	uint64_t wrmsr[COUNT_MSRS];
};

/* One processor's. @insns are its instructions at CPL 0 and 3 up to now, where asked for. */
struct count {
	unsigned int cpu;
	struct count_values total;
	bool is_off;
	uint64_t off_since;
	struct {
		bool open;
		uint32_t label;
		struct count_values begin;
	} interval[COUNT_OPEN];
};

/* False, with a message, if the file cannot be written. */
bool count_setup(const char *path);
bool count_is_on(void);

void count_init(struct count *count, unsigned int cpu);

/* False if too many are open, or no such interval is. A second begin begins anew. */
bool count_begin(struct count *count, uint32_t label, const uint64_t insns[2]);
bool count_end(struct count *count, uint32_t label, const uint64_t insns[2]);

/* An access of an MSR; what is not Intel PT's is not counted. */
void count_msr(struct count *count, uint32_t msr, bool write);

/* TraceEn was cleared or set by the WRMSR that executes now. */
void count_trace(struct count *count, bool on, const uint64_t insns[2]);

/* The machine is off: write what is open. */
void count_finish(struct count *count, const uint64_t insns[2]);

#endif
