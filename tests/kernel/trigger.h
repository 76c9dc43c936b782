/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests of triggers have in common: a place that a thread comes to, and
 * the calls that have it watched.
 */
#ifndef MT_TEST_TRIGGER_H
#define MT_TEST_TRIGGER_H

#include "trace.h"

/*
 * Loads the registers and jumps to trigger_here, by an indirect jump, so that
 * this is one TIP packet, and the last one before the trigger.
 */
void trigger_go(void);
extern const char trigger_here[];

/* Work: so many calls of load_target(), then trigger_go(). */
#define TRIGGER_CALLS	1000
void work_trigger(struct load *load, uint32_t index);

/* What ADD_TRIGGER takes for an address of this program. */
struct mtrace_trigger breakpoint_at(const void *address);
struct mtrace_trigger probe_at(const void *address);

/* The number of the new trigger. */
uint32_t must_add_trigger(struct session *s, struct mtrace_trigger arg);
/* What the call tells of the one that is gone. */
struct mtrace_trigger must_remove_trigger(struct session *s, uint32_t number);

/* The next snapshot, which is of a trigger that a thread has come to. */
struct mtrace_snapshot must_next_hit(struct session *s, uint32_t number,
				     pid_t tid);

/* What a thread did up to a snapshot that it is in. */
void read_thread(struct session *s, uint64_t id, pid_t tid,
		 struct pt_stats *stats);
/* That it ends where the thread came to trigger_here. */
void check_led_there(const struct pt_stats *stats);

#endif
