// SPDX-License-Identifier: GPL-2.0
/*
 * has-breakpoints: does this machine stop a thread at a hardware breakpoint? There are
 * hypervisors that take them and never report one. Exit status 0: it does, 1: it does
 * not, 2: that cannot be told.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define DR7_L0	1UL	/* breakpoint 0, on execution */

static void __attribute__((noinline)) here(void)
{
	__asm__ volatile("");
}

static int cannot(const char *what)
{
	perror(what);
	return 2;
}

int main(void)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return cannot("fork");
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
			_exit(2);
		here();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return cannot("the child does not stop");
	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), here) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), DR7_L0) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid) {
		kill(pid, SIGKILL);
		return cannot("ptrace");
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? 2 : 1;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP ? 0 : 2;
}
