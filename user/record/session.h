/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run of a program under trace, from its start to its end: puts together the
 * device, the traced program, the trigger and the recording. Knows nothing of
 * command lines and of decoding.
 */
#ifndef MTRACE_RECORD_SESSION_H
#define MTRACE_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "user/record/plan.h"

struct mt_session_wish {
	char *const *argv;	/* the program */
	const char *tool;	/* for meta.json */
	const char *recording;	/* directory to be made, or empty */
	const char *trigger;	/* NULL: none */
	bool multi_snapshot;	/* the trigger stays armed */
	struct mt_plan_wish plan;
};

struct mt_session_result {
	bool started;		/* the program ran, and .status is what it ended with */
	int status;		/* as of waitpid() */
	unsigned int snapshots;	/* that are in the recording, those of an exec included */
};

/*
 * Record a run of the program. Returns 0, or -errno after a message; @result is
 * filled in either case, and what it counts is in the recording and readable.
 */
int mt_session_run(const struct mt_session_wish *wish, struct mt_session_result *result);

#endif /* MTRACE_RECORD_SESSION_H */
