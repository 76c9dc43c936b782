// SPDX-License-Identifier: GPL-2.0
/* Starting a program under ptrace; see the header. */
#include "user/record/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/log.h"

/* In the child: wait until it is traced, become the program, or say why not. */
static void __attribute__((noreturn)) become(char *const *argv,
					     const struct mt_spawn_signals *signals, int go,
					     int failed)
{
	char byte;
	int err;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	sigaction(SIGCHLD, &signals->chld, NULL);
	sigaction(SIGPIPE, &signals->pipe, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

static int start_error(const char *name, int err)
{
	mt_error("cannot start '%s': %s%s", name, strerror(-err),
		 err == -ENOENT && !strchr(name, '/') ? " (it is in no directory of PATH)" : "");
	return err;
}

/* The child has ended instead of becoming the program: say why. */
static int ended_early(const char *name, int failed)
{
	int err;

	if (read(failed, &err, sizeof(err)) == sizeof(err))
		return start_error(name, -err);
	mt_error("cannot start '%s': it was killed", name);
	return -ECHILD;
}

/* Wait for the stop at its exec, passing on what signals it gets before. */
static int await_exec(pid_t pid, const char *name, int failed)
{
	int status, request, signal;

	while (waitpid(pid, &status, __WALL) == pid) {
		if (!WIFSTOPPED(status))
			return ended_early(name, failed);
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return 0;
		request = PTRACE_CONT;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP)
			request = PTRACE_LISTEN;
		if (ptrace(request, pid, 0, (unsigned long)signal) && errno != ESRCH)
			break;
	}
	return start_error(name, -errno);
}

int mt_spawn_stopped(char *const *argv, unsigned long options,
		     const struct mt_spawn_signals *signals, pid_t *out)
{
	int go[2], failed[2];
	pid_t pid = -1;
	int err = 0;

	if (pipe2(go, O_CLOEXEC))
		return start_error(argv[0], -errno);
	if (pipe2(failed, O_CLOEXEC)) {
		err = start_error(argv[0], -errno);
		goto out_go;
	}
	pid = fork();
	if (pid < 0) {
		err = start_error(argv[0], -errno);
		goto out_failed;
	}
	if (!pid) {
		close(go[1]);
		become(argv, signals, go[0], failed[1]);
	}
	close(failed[1]);
	failed[1] = -1;
	if (ptrace(PTRACE_SEIZE, pid, 0, options)) {
		err = -errno;
		mt_error("cannot trace '%s': %s; is ptrace forbidden here (a container, "
			 "/proc/sys/kernel/yama/ptrace_scope)?", argv[0], strerror(-err));
	} else if (write(go[1], "", 1) != 1) {
		err = start_error(argv[0], -errno);
	} else {
		err = await_exec(pid, argv[0], failed[0]);
	}
	if (err) {
		kill(pid, SIGKILL);
		/* Nothing to wait for where it ended by itself; it may stop at its exit. */
		while (waitpid(pid, NULL, __WALL) == pid)
			ptrace(PTRACE_CONT, pid, 0, 0);
	}
	*out = pid;
out_failed:
	close(failed[0]);
	if (failed[1] >= 0)
		close(failed[1]);
out_go:
	close(go[0]);
	close(go[1]);
	return err;
}
