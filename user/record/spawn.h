/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Starting a program under ptrace, stopped before its first instruction. Knows
 * nothing of what happens then.
 */
#ifndef MTRACE_RECORD_SPAWN_H
#define MTRACE_RECORD_SPAWN_H

#include <signal.h>
#include <sys/types.h>

/* How signals were before the tool changed that for itself: the program has them so. */
struct mt_spawn_signals {
	sigset_t mask;
	struct sigaction chld;
	struct sigaction pipe;
};

/*
 * Start @argv, looked up by PATH, seized with the PTRACE_O_* of @options. On
 * success it is in the stop of PTRACE_EVENT_EXEC, and *@pid is its id. Returns 0
 * or -errno after a message; then nothing is left of it.
 */
int mt_spawn_stopped(char *const *argv, unsigned long options,
		     const struct mt_spawn_signals *signals, pid_t *pid);

#endif /* MTRACE_RECORD_SPAWN_H */
