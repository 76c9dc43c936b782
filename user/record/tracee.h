/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The traced program under ptrace: started, followed thread by thread and let
 * go on, with every signal of its own passed to it. Says what happens to it by
 * calling the one who started it; knows nothing of triggers or snapshots.
 *
 * Whatever becomes of the tool, the program does not stay stopped: if the tool
 * dies, the kernel ends it.
 */
#ifndef MTRACE_RECORD_TRACEE_H
#define MTRACE_RECORD_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_tracee;

/*
 * Called while thread @tid is stopped, and before it goes on. Each may be NULL.
 * A negative return ends mt_tracee_run() with it, and the program with that;
 * -ESRCH is taken for what it means, that the thread was killed meanwhile.
 */
struct mt_tracee_ops {
	/* The process has become another program; it has the one thread @tid now. */
	int (*exec)(void *ctx, pid_t tid);
	/* A thread other than the first is about to execute its first instruction. */
	int (*thread)(void *ctx, pid_t tid);
	/* A SIGTRAP: 1 if it was for the tool, 0 to pass it to the program. */
	int (*trap)(void *ctx, pid_t tid, const siginfo_t *info);
	/* The last thread is about to exit: the last time that there is memory. */
	int (*last_exit)(void *ctx, pid_t tid);
	/* The tool was asked to end by signal @signal; no thread is stopped for it. */
	int (*interrupted)(void *ctx, int signal);
	/* There is something to be had from mt_tracee_watch()'s fd; no thread is stopped. */
	int (*watched)(void *ctx);
	/* Make the debug registers of @tid as they are to be; see mt_tracee_changed(). */
	int (*sync)(void *ctx, pid_t tid);
};

/*
 * Start @argv with the tool's environment, and stop it before its first
 * instruction. Returns 0 or -errno after a message.
 */
int mt_tracee_start(char *const *argv, const struct mt_tracee_ops *ops, void *ctx,
		    struct mt_tracee **out);

/*
 * Also wait for urgent data (POLLPRI) of @fd while the program runs, and have .watched
 * called for it. -1: no more.
 */
void mt_tracee_watch(struct mt_tracee *tracee, int fd);

/*
 * Let the program run, to its end. Returns 0, or what an operation or the system
 * failed with; then the program was killed.
 */
int mt_tracee_run(struct mt_tracee *tracee);

/* Kills the program if it is still there. NULL is allowed. */
void mt_tracee_free(struct mt_tracee *tracee);

pid_t mt_tracee_pid(const struct mt_tracee *tracee);

/* A thread of the program that has not ended, or 0. */
pid_t mt_tracee_live_thread(const struct mt_tracee *tracee);

/* What the program ended with, as waitpid() says it; valid after mt_tracee_run(). */
int mt_tracee_status(const struct mt_tracee *tracee);

/* Other processes that the program has started and that were let go. */
unsigned int mt_tracee_children(const struct mt_tracee *tracee);

/*
 * The debug registers are to be other ones: .sync is called for each thread at
 * its next stop. With @now, every thread is stopped for it at once, and when this
 * returns all threads but those that sleep in the kernel unwakeably have been.
 */
int mt_tracee_changed(struct mt_tracee *tracee, bool now);

#endif /* MTRACE_RECORD_TRACEE_H */
