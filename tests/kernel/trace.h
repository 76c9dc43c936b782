/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What most tests of a trace begin with: a session of its own that traces all
 * threads of a load.
 */
#ifndef MT_TEST_TRACE_H
#define MT_TEST_TRACE_H

#include "harness.h"
#include "load.h"
#include "pt.h"

/* Open a session, attach all threads of a load, and start. */
void trace_begin(struct session *s, struct mtrace_setup setup,
		 const struct load *load);

/*
 * The set-up with a range that stops the trace where load_target() is called.
 * Skips the test on a CPU that has no ranges.
 */
struct mtrace_setup trace_stops(struct mtrace_setup setup);

/*
 * Have the load, which is traced already, do one round, and take a snapshot: its
 * number, and the regions, one for each of the load's threads.
 */
struct mtrace_region *trace_another(struct session *s, struct load *load,
				    uint64_t *id);

/*
 * Begin, have the load do one round, and take a snapshot, which is the
 * session's first: the regions, one for each of the load's threads.
 */
struct mtrace_region *trace_round(struct session *s, struct mtrace_setup setup,
				  struct load *load);

/*
 * The same with a load of one thread and more flags, to the end of load and
 * session: nothing was lost, and @stats says what the trace holds. Returns what
 * SETUP gave.
 */
struct mtrace_setup trace_work(uint32_t flags, struct mtrace_setup setup,
			       void (*work)(struct load *load, uint32_t index),
			       uint64_t target, struct pt_stats *stats);

#endif
