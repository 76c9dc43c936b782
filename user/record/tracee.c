// SPDX-License-Identifier: GPL-2.0
/*
 * The traced program under ptrace; see the header.
 *
 * PTRACE_SEIZE is used throughout: it is what makes job control work (a thread
 * in a group-stop is listened to, and a SIGCONT wakes it), and it needs no signal
 * to start with.
 *
 * One thing at a time: waitpid() is asked for a stop; if there is none, the tool
 * sleeps for SIGCHLD, by which the kernel announces every stop, for a signal that
 * asks it to end, or for a file that it was told to watch. The signals are blocked,
 * and a signalfd tells that one is there, so that none can be missed.
 */
#include "user/record/tracee.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/record/spawn.h"

#define TRACEE_OPTIONS	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
			 PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

/* How long the program may take to end by itself once the tool was asked to end. */
#define TRACEE_GRACE_NS		2000000000LL

/* How long to wait for threads that were told to stop. */
#define TRACEE_STOP_NS		2000000000LL

struct thread {
	pid_t tid;
	unsigned int version;	/* of the debug registers that it has */
	bool stopped;		/* by ptrace, and not let go on */
	bool exiting;		/* has passed PTRACE_EVENT_EXIT */
};

/* A stop that came while another was being handled. */
struct report {
	pid_t tid;
	int status;
};

struct mt_tracee {
	const struct mt_tracee_ops *ops;
	void *ctx;
	pid_t pid;
	int status;
	bool ended;		/* the status is known */
	bool last_exit_told;
	unsigned int version;	/* of the debug registers that are wanted */
	unsigned int children;
	unsigned int nr_born;	/* threads and processes that were said to be new ... */
	unsigned int nr_met;	/* ... and that have stopped for the first time */
	int64_t deadline;	/* when it is killed; 0: never */
	sigset_t awaited;	/* what the tool sleeps for */
	int signals;		/* readable when one of these is there */
	int watched;		/* what else it sleeps for, or -1 */
	struct mt_spawn_signals before;	/* as it is to be again at the end */
	MT_ARRAY(struct thread) threads;
	MT_ARRAY(struct report) reports;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* ---- threads ---- */

static struct thread *find_thread(struct mt_tracee *tracee, pid_t tid)
{
	for (size_t i = 0; i < tracee->threads.count; i++) {
		if (tracee->threads.data[i].tid == tid)
			return &tracee->threads.data[i];
	}
	return NULL;
}

static void remove_thread(struct mt_tracee *tracee, pid_t tid)
{
	struct thread *thread = find_thread(tracee, tid);

	if (thread)
		*thread = tracee->threads.data[--tracee->threads.count];
}

static int add_thread(struct mt_tracee *tracee, pid_t tid)
{
	/* A version that is never wanted: it has no breakpoints yet. */
	struct thread thread = { .tid = tid, .version = tracee->version - 1, .stopped = true };

	return mt_array_push(&tracee->threads, thread);
}

pid_t mt_tracee_live_thread(const struct mt_tracee *tracee)
{
	for (size_t i = 0; i < tracee->threads.count; i++) {
		if (!tracee->threads.data[i].exiting)
			return tracee->threads.data[i].tid;
	}
	return tracee->threads.count ? tracee->threads.data[0].tid : 0;
}

static bool all_exiting(const struct mt_tracee *tracee)
{
	for (size_t i = 0; i < tracee->threads.count; i++) {
		if (!tracee->threads.data[i].exiting)
			return false;
	}
	return true;
}

/* True if the new thread @tid belongs to another process than the program's. */
static bool is_other_process(const struct mt_tracee *tracee, pid_t tid)
{
	char name[64], line[256];
	pid_t tgid = tracee->pid;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	file = fopen(name, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	}
	fclose(file);
	return tgid != tracee->pid;
}

/*
 * Make the debug registers of a stopped thread as they are to be. Without a
 * change of them this costs nothing.
 */
static int sync_thread(struct mt_tracee *tracee, struct thread *thread)
{
	unsigned int version = tracee->version;
	int err = 0;

	if (thread->version == version || thread->exiting)
		return 0;
	if (tracee->ops->sync)
		err = tracee->ops->sync(tracee->ctx, thread->tid);
	thread->version = version;
	return err;
}

/* ---- letting go on ---- */

/* A request that fails because the thread was killed meanwhile has done its part. */
static int resume(struct mt_tracee *tracee, pid_t tid, int request, int signal)
{
	struct thread *thread = find_thread(tracee, tid);

	if (thread)
		thread->stopped = false;
	if (ptrace(request, tid, 0, (unsigned long)signal) && errno != ESRCH)
		return -errno;
	return 0;
}

static int op_result(int err)
{
	return err == -ESRCH ? 0 : err;
}

/* ---- stops ---- */

static int stop_exec(struct mt_tracee *tracee, struct thread *thread)
{
	struct thread only = *thread;
	int err = 0;

	/*
	 * The other threads are gone, and whichever called exec() has the process's
	 * own id now. The kernel has cleared the debug registers.
	 */
	only.tid = tracee->pid;
	only.exiting = false;
	tracee->threads.data[0] = only;
	tracee->threads.count = 1;
	tracee->threads.data[0].version = tracee->version - 1;
	if (tracee->ops->exec)
		err = op_result(tracee->ops->exec(tracee->ctx, tracee->pid));
	if (!err)
		err = op_result(sync_thread(tracee, &tracee->threads.data[0]));
	return err;
}

static int stop_exit(struct mt_tracee *tracee, struct thread *thread)
{
	thread->exiting = true;
	if (!all_exiting(tracee) || tracee->last_exit_told)
		return 0;
	tracee->last_exit_told = true;
	return tracee->ops->last_exit ?
		op_result(tracee->ops->last_exit(tracee->ctx, thread->tid)) : 0;
}

/* A signal is about to be delivered: returns the one to go on with, or -errno. */
static int stop_signal(struct mt_tracee *tracee, pid_t tid, int signal)
{
	siginfo_t info;
	int mine;

	if (signal != SIGTRAP || !tracee->ops->trap)
		return signal;
	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info))
		return errno == ESRCH ? 0 : signal;
	mine = op_result(tracee->ops->trap(tracee->ctx, tid, &info));
	if (mine < 0)
		return mine;
	return mine ? 0 : signal;
}

static int handle_stop(struct mt_tracee *tracee, struct thread *thread, int status)
{
	int signal = WSTOPSIG(status);
	pid_t tid = thread->tid;
	int err;

	thread->stopped = true;
	switch (status >> 16) {
	case PTRACE_EVENT_STOP:
		err = op_result(sync_thread(tracee, thread));
		if (err)
			return err;
		/* A group-stop: it stays stopped, and SIGCONT wakes it. */
		if (signal != SIGTRAP)
			return resume(tracee, tid, PTRACE_LISTEN, 0);
		return resume(tracee, tid, PTRACE_CONT, 0);
	case PTRACE_EVENT_EXEC:
		err = stop_exec(tracee, thread);
		return err ? err : resume(tracee, tracee->pid, PTRACE_CONT, 0);
	case PTRACE_EVENT_EXIT:
		err = stop_exit(tracee, thread);
		return err ? err : resume(tracee, tid, PTRACE_CONT, 0);
	case 0:
		signal = stop_signal(tracee, tid, signal);
		if (signal < 0)
			return signal;
		break;
	default:	/* a clone or fork: the child stops by itself */
		tracee->nr_born++;
		signal = 0;
		break;
	}
	thread = find_thread(tracee, tid);
	err = thread ? op_result(sync_thread(tracee, thread)) : 0;
	return err ? err : resume(tracee, tid, PTRACE_CONT, signal);
}

/* The first stop of what the program has started: a thread, or a process, to be let go. */
static int new_thread(struct mt_tracee *tracee, pid_t tid, int status)
{
	int err;

	tracee->nr_met++;
	if (is_other_process(tracee, tid)) {
		tracee->children++;
		return resume(tracee, tid, PTRACE_DETACH, 0);
	}
	err = add_thread(tracee, tid);
	if (!err && tracee->ops->thread)
		err = op_result(tracee->ops->thread(tracee->ctx, tid));
	return err ? err : handle_stop(tracee, find_thread(tracee, tid), status);
}

static int handle(struct mt_tracee *tracee, pid_t tid, int status)
{
	struct thread *thread;

	if (!WIFSTOPPED(status)) {
		remove_thread(tracee, tid);
		if (tid == tracee->pid) {
			tracee->status = status;
			tracee->ended = true;
		}
		return 0;
	}
	thread = find_thread(tracee, tid);
	if (thread)
		return handle_stop(tracee, thread, status);
	return new_thread(tracee, tid, status);
}

/* ---- the tool's own signals ---- */

/* The tool was asked to end: once kindly, twice for good. */
static int interrupted(struct mt_tracee *tracee, const siginfo_t *info)
{
	int err = 0;

	if (tracee->deadline) {
		kill(tracee->pid, SIGKILL);
		return 0;
	}
	if (tracee->ops->interrupted)
		err = op_result(tracee->ops->interrupted(tracee->ctx, info->si_signo));
	/* The terminal sends it to the program too; anybody else to the tool alone. */
	if (info->si_code != SI_KERNEL)
		kill(tracee->pid, info->si_signo);
	tracee->deadline = now_ns() + TRACEE_GRACE_NS;
	return err;
}

/* Sleep until a signal comes or @until is over (0: for ever); then -EAGAIN. */
static int await_signal(const sigset_t *set, int64_t until, siginfo_t *info)
{
	int64_t left = until ? until - now_ns() : 0;
	struct timespec ts;

	if (left < 0)
		left = 0;
	ts.tv_sec = left / 1000000000;
	ts.tv_nsec = left % 1000000000;
	while (sigtimedwait(set, info, until ? &ts : NULL) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Attend to a signal that asks the tool to end, if there is one; does not sleep. */
static int poll_interrupted(struct mt_tracee *tracee)
{
	static const struct timespec none;
	sigset_t set = tracee->awaited;
	siginfo_t info;

	sigdelset(&set, SIGCHLD);
	if (sigtimedwait(&set, &info, &none) < 0)
		return 0;
	return interrupted(tracee, &info);
}

/*
 * Sleep until there is a signal (0), until the watched file has something (1) or
 * until the deadline (-EAGAIN).
 */
static int sleep_for_any(const struct mt_tracee *tracee)
{
	struct pollfd fds[] = {
		{ .fd = tracee->signals, .events = POLLIN },
		{ .fd = tracee->watched, .events = POLLPRI },
	};
	struct timespec ts;
	int64_t left;
	int ret;

	do {
		left = tracee->deadline ? tracee->deadline - now_ns() : 0;
		if (left < 0)
			left = 0;
		ts.tv_sec = left / 1000000000;
		ts.tv_nsec = left % 1000000000;
		ret = ppoll(fds, 2, tracee->deadline ? &ts : NULL, NULL);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return -errno;
	if (!ret)
		return -EAGAIN;
	/* A stop comes first: somebody waits. */
	return !fds[0].revents;
}

static int sleep_for_news(struct mt_tracee *tracee)
{
	static const struct timespec none;
	int err = sleep_for_any(tracee);
	siginfo_t info;

	if (err == 1)
		return op_result(tracee->ops->watched(tracee->ctx));
	if (!err && sigtimedwait(&tracee->awaited, &info, &none) < 0)
		return 0;
	if (err == -EAGAIN) {
		mt_warn("the program did not end within %lld s of being told to: killed",
			TRACEE_GRACE_NS / 1000000000);
		kill(tracee->pid, SIGKILL);
		tracee->deadline = INT64_MAX;
		return 0;
	}
	if (err || info.si_signo == SIGCHLD)
		return err;
	return interrupted(tracee, &info);
}

/* ---- stopping all threads for their debug registers ---- */

static bool all_synced(const struct mt_tracee *tracee)
{
	for (size_t i = 0; i < tracee->threads.count; i++) {
		if (tracee->threads.data[i].version != tracee->version &&
		    !tracee->threads.data[i].exiting)
			return false;
	}
	return true;
}

/*
 * Take one report of a thread that was told to stop. All that it can be told is
 * its debug registers; what else it stopped for is kept for later.
 */
static int sync_report(struct mt_tracee *tracee, pid_t tid, int status)
{
	struct thread *thread = find_thread(tracee, tid);
	struct report report = { tid, status };
	int err;

	if (thread && !WIFSTOPPED(status)) {
		thread->exiting = true;
	} else if (thread) {
		thread->stopped = true;
		err = op_result(sync_thread(tracee, thread));
		if (err)
			return err;
		if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
			return resume(tracee, tid, PTRACE_CONT, 0);
	}
	return mt_array_push(&tracee->reports, report);
}

int mt_tracee_changed(struct mt_tracee *tracee, bool now)
{
	int64_t until = now_ns() + TRACEE_STOP_NS;
	sigset_t set;
	int err = 0;

	tracee->version++;
	for (size_t i = 0; i < tracee->threads.count && now && !err; i++) {
		struct thread *thread = &tracee->threads.data[i];

		if (thread->stopped)
			err = op_result(sync_thread(tracee, thread));
		else if (!thread->exiting)
			ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (now && !err && !all_synced(tracee)) {
		siginfo_t info;
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

		if (tid < 0)
			break;
		if (tid)
			err = sync_report(tracee, tid, status);
		else if (await_signal(&set, until, &info))
			break;	/* they will be synced when they wake */
	}
	return err;
}

/* ---- the whole ---- */

/* The next report: one that was kept, or the kernel's. 0: none now; -1: no threads. */
static pid_t next_report(struct mt_tracee *tracee, int *status)
{
	struct report report;

	if (!tracee->reports.count)
		return waitpid(-1, status, __WALL | WNOHANG);
	report = tracee->reports.data[0];
	tracee->reports.count--;
	memmove(&tracee->reports.data[0], &tracee->reports.data[1],
		tracee->reports.count * sizeof(report));
	*status = report.status;
	return report.tid;
}

/*
 * Processes that the program has started just before its end: those that have
 * not stopped yet would die with the tool.
 */
static void let_go_children(struct mt_tracee *tracee)
{
	int64_t until = now_ns() + TRACEE_STOP_NS;
	siginfo_t info;
	sigset_t set;
	int status;
	pid_t tid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		tid = next_report(tracee, &status);
		if (tid > 0)
			handle(tracee, tid, status);
		else if (tid < 0 || (int)(tracee->nr_born - tracee->nr_met) <= 0 ||
			 await_signal(&set, until, &info))
			break;
	}
}

int mt_tracee_run(struct mt_tracee *tracee)
{
	int err, status;
	pid_t tid;

	err = op_result(sync_thread(tracee, &tracee->threads.data[0]));
	if (!err)
		err = resume(tracee, tracee->pid, PTRACE_CONT, 0);
	while (!err && !tracee->ended) {
		err = poll_interrupted(tracee);
		if (err)
			break;
		tid = next_report(tracee, &status);
		if (tid > 0)
			err = handle(tracee, tid, status);
		else if (!tid)
			err = sleep_for_news(tracee);
		else if (errno != EINTR)
			err = -errno;
	}
	if (!err)
		let_go_children(tracee);
	return err;
}

static int block_signals(struct mt_tracee *tracee)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };
	struct sigaction hangup;

	sigemptyset(&tracee->awaited);
	sigaddset(&tracee->awaited, SIGCHLD);
	sigaddset(&tracee->awaited, SIGINT);
	sigaddset(&tracee->awaited, SIGTERM);
	/* Not under nohup. */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&tracee->awaited, SIGHUP);
	/* Where SIGCHLD is ignored, no stop is announced. */
	sigaction(SIGCHLD, &usual, &tracee->before.chld);
	/* That nobody reads the tool's messages is no reason to end the program. */
	sigaction(SIGPIPE, &ignore, &tracee->before.pipe);
	sigprocmask(SIG_BLOCK, &tracee->awaited, &tracee->before.mask);
	tracee->signals = signalfd(-1, &tracee->awaited, SFD_CLOEXEC);
	return tracee->signals < 0 ? -errno : 0;
}

static void restore_signals(struct mt_tracee *tracee)
{
	static const struct timespec none;

	if (tracee->signals >= 0)
		close(tracee->signals);
	/* Stops that were seen already, and a second Ctrl-C that has had its effect. */
	while (sigtimedwait(&tracee->awaited, NULL, &none) > 0)
		;
	sigaction(SIGCHLD, &tracee->before.chld, NULL);
	sigaction(SIGPIPE, &tracee->before.pipe, NULL);
	sigprocmask(SIG_SETMASK, &tracee->before.mask, NULL);
}

int mt_tracee_start(char *const *argv, const struct mt_tracee_ops *ops, void *ctx,
		    struct mt_tracee **out)
{
	struct mt_tracee *tracee = calloc(1, sizeof(*tracee));
	int err;

	if (!tracee) {
		mt_error("cannot start '%s': out of memory", argv[0]);
		return -ENOMEM;
	}
	tracee->ops = ops;
	tracee->ctx = ctx;
	tracee->watched = -1;
	err = block_signals(tracee);
	if (err)
		mt_error("cannot start '%s': %s", argv[0], strerror(-err));
	else
		err = mt_spawn_stopped(argv, TRACEE_OPTIONS, &tracee->before, &tracee->pid);
	if (err) {
		tracee->ended = true;
	} else {
		err = add_thread(tracee, tracee->pid);
		if (err)
			mt_error("cannot start '%s': out of memory", argv[0]);
	}
	if (err) {
		mt_tracee_free(tracee);
		return err;
	}
	*out = tracee;
	return 0;
}

void mt_tracee_free(struct mt_tracee *tracee)
{
	int status;

	if (!tracee)
		return;
	if (!tracee->ended) {
		kill(tracee->pid, SIGKILL);
		/* Its threads stop once more, at their exit. */
		for (;;) {
			pid_t tid = waitpid(-1, &status, __WALL);

			if (tid < 0 && errno != EINTR)
				break;
			if (tid > 0 && WIFSTOPPED(status))
				ptrace(PTRACE_CONT, tid, 0, 0);
			if (tid == tracee->pid && !WIFSTOPPED(status))
				break;
		}
	}
	restore_signals(tracee);
	mt_array_free(&tracee->threads);
	mt_array_free(&tracee->reports);
	free(tracee);
}

void mt_tracee_watch(struct mt_tracee *tracee, int fd)
{
	tracee->watched = fd;
}

pid_t mt_tracee_pid(const struct mt_tracee *tracee)
{
	return tracee->pid;
}

int mt_tracee_status(const struct mt_tracee *tracee)
{
	return tracee->status;
}

unsigned int mt_tracee_children(const struct mt_tracee *tracee)
{
	return tracee->children;
}
