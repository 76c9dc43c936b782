/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program's own log of the entries and exits of its functions: what the tool's
 * trace of the same run is compared with. The compiler calls the hooks in truth.c
 * (-finstrument-functions); they write to a file that is mapped, and call nothing.
 *
 * Layout of the file, all in the CPU's byte order: struct truth_header, then at
 * offset TRUTH_RECORDS * (1 + i) bytes the records of thread i, TRUTH_RECORDS
 * bytes of room for each.
 */
#ifndef TESTS_TRUTH_H
#define TESTS_TRUTH_H

#include <stdint.h>

#define TRUTH_MAGIC	"mtruth1"
#define TRUTH_THREADS	16
#define TRUTH_RECORDS	(16UL << 20)	/* bytes a thread; the file is sparse */

/* truth_record.what & 3 */
#define TRUTH_ENTER	0
#define TRUTH_EXIT	1
#define TRUTH_UNWOUND	2	/* longjmp ended calls without their exits */

struct truth_record {
	uint64_t tsc;
	uint64_t what;		/* function (UNWOUND: number of calls) * 4 + TRUTH_* */
};

struct truth_thread {
	uint64_t tid;
	uint64_t count;		/* of records */
	uint64_t lost;		/* for which there was no room */
};

struct truth_header {
	char magic[8];
	uint64_t main;		/* address of main(), for the load bias */
	uint64_t nr_threads;
	struct truth_thread thread[TRUTH_THREADS];
};

#define UNSEEN	__attribute__((no_instrument_function))

/* Begin the log, in the file that $TRUTH_LOG names; then log this thread. */
void UNSEEN truth_begin(void *main_function);

/* Log this thread too, from here on. */
void UNSEEN truth_thread(void);

/* Say that longjmp has ended the last @calls calls. */
void UNSEEN truth_unwound(uint64_t calls);

/* The trigger. It is not in the log. */
void UNSEEN stop_here(void);

/* For assembly functions, which the compiler does not see. */
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

#endif /* TESTS_TRUTH_H */
