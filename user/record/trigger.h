/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trigger: a function, by name, at whose entry the program is stopped for a
 * moment. It may be in the program or in any library that it loads, at any time,
 * and so the dynamic linker is watched. Knows nothing of snapshots.
 */
#ifndef MTRACE_RECORD_TRIGGER_H
#define MTRACE_RECORD_TRIGGER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_trigger;

/*
 * @symbol is what --trigger was given: a name, also as "symbol:NAME", or "." for
 * magic_trace_stop_indicator. NULL is none: then the dynamic linker alone is
 * watched. Returns 0; -EINVAL after a message if it cannot be a name; -ENOMEM.
 */
int mt_trigger_new(const char *symbol, struct mt_trigger **out);
/* The first half of that: 0, or -EINVAL after a message. */
int mt_trigger_check(const char *symbol);
void mt_trigger_free(struct mt_trigger *trigger);	/* NULL is allowed */

/* The name that is looked for. */
const char *mt_trigger_symbol(const struct mt_trigger *trigger);

/*
 * The process of @tid, stopped, has become another program: look there. Returns
 * 0 or -errno after a message.
 */
int mt_trigger_exec(struct mt_trigger *trigger, pid_t tid);

enum mt_trigger_event {
	MT_TRIGGER_NONE,	/* the stop is none of the trigger's */
	MT_TRIGGER_IGNORE,	/* it is, and means nothing now */
	MT_TRIGGER_LIBRARIES,	/* the dynamic linker tells of a change of libraries */
	MT_TRIGGER_LOADED,	/* so it does, and all threads' breakpoints are to be others */
	MT_TRIGGER_HIT,		/* *@address is about to be executed */
};

/*
 * What the SIGTRAP of @tid, stopped, means. Returns enum mt_trigger_event, or
 * -errno after a message.
 */
int mt_trigger_trap(struct mt_trigger *trigger, pid_t tid, const siginfo_t *info,
		    uint64_t *address);

/* Set the breakpoints of a stopped thread. Returns 0, or -errno after a message. */
int mt_trigger_sync(struct mt_trigger *trigger, pid_t tid);

/* No breakpoint is wanted any more, by any thread that is synced from now on. */
void mt_trigger_disarm(struct mt_trigger *trigger);

/* The program has ended, and the trigger was never hit: say why it may be. */
void mt_trigger_report_never(const struct mt_trigger *trigger);

#endif /* MTRACE_RECORD_TRIGGER_H */
