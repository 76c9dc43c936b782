// SPDX-License-Identifier: GPL-2.0
/*
 * Tells the host when a command runs: prints "@begin NAME", runs it with nowhere to
 * write to, prints "@end NAME". Stands still for a moment at either end, so that the
 * host has read the line when it begins and that nothing has run since it ended.
 *
 *	timed NAME COMMAND [ARG...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOMENT 200000

static void tell(const char *what, const char *name)
{
	printf("@%s %s\n", what, name);
	fflush(stdout);
	usleep(MOMENT);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	tell("begin", argv[1]);
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	tell("end", argv[1]);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
