/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a recorder of the judge leaves for pt_insns, pt_packets and pt_times
 * beside the bytes of the trace:
 *
 * PREFIX.image	the executable mappings: for each a header of two 64-bit numbers,
 *		address and size, then the bytes
 * PREFIX.trace	text, a line each, in any order:
 *		span BEGIN END	the TSC before and after
 *		image FILE	in the same folder
 *		cpu N		the trace is of that processor alone
 *		mtc N		MTCFreq, if there are MTC packets
 *		filter A B	an address range that is traced, B included
 *		stop A B	an address range that stops the trace
 *		cr3 N		what CR3 was, but for its low 12 bits, whenever
 *				code was traced
 *
 * Must not know: who made the trace.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

void __attribute__((noreturn, format(printf, 2, 3))) die(const char *who, const char *fmt, ...);

/* A file PREFIX.SUFFIX to write, buffered: small writes to the host are slow. */
FILE *recording_create(const char *prefix, const char *suffix);
void recording_finish(FILE *f);

/*
 * Code as it is in memory now. A program is stopped meanwhile, at its exit, so
 * that what it made or mapped at run time is there. The kernel's text is found by
 * /proc/kallsyms, or by a copy of it, which JUDGE_KALLSYMS may name, since it
 * takes seconds to read.
 */
void recording_image(const char *prefix, pid_t pid, bool with_kernel);

/*
 * Bits of IA32_RTIT_CTL by the names that perf gives them: tsc, mtc, cyc,
 * noretcomp, mtc_period=N, cyc_thresh=N, psb_period=N, ptw, fup_on_ptw, pwr_evt,
 * event, notnt. BranchEn is always among them, and bit 0, which is perf's "pt".
 */
uint64_t recording_ctl(char *options);

/*
 * Address ranges as perf's --filter has them: "filter 0xOFFSET/0xSIZE@FILE",
 * "stop …", or without @FILE an address; several with commas. They are in the
 * description once it is known where the program has the files mapped.
 */
#define RECORDING_RANGES	4

struct recording_range {
	uint64_t start, size;
	bool stops;
	char file[4096];
	bool placed;
};

extern struct recording_range recording_range[RECORDING_RANGES];
extern unsigned int recording_n_ranges;

void recording_ranges(const char *text);
void recording_place_ranges(pid_t pid);

/* PREFIX.trace with what all of them have; the caller adds the rest and finishes it. */
FILE *recording_describe(const char *prefix, const char *image_prefix, const uint64_t span[2],
			 uint64_t ctl);

/* Forks; the child waits stopped, on @cpu unless that is negative, and then runs @argv. */
pid_t recording_start_stopped(char **argv, int cpu);

#endif
