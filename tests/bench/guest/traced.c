// SPDX-License-Identifier: GPL-2.0
/*
 * Has mtrace.ko trace a command and all that it starts, and does nothing with the
 * trace: what is left is the cost of tracing itself.
 *
 *	traced [-i] [-3] tsc|mtc|cyc COMMAND [ARG...]
 *
 * -i	only the command's first process, not those that it starts
 * -3	with the CR3 filter
 *
 * The exit status is the command's, or 1 and a message if it cannot be traced.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/record/device.h"
#include "user/record/plan.h"

#define THREADS 16
#define SHARE	(1ULL << 20)

static const char *const timings[] = {
	[MT_TIMING_TSC] = "tsc",
	[MT_TIMING_MTC] = "mtc",
	[MT_TIMING_CYC] = "cyc",
};

static int set_up(struct mt_device *dev, const char *timing, bool inherit, bool cr3)
{
	struct mt_plan_wish wish = {
		.snapshot_size = THREADS * SHARE,
		.multi_thread = true,
		.threads = THREADS,
		.page_size = sysconf(_SC_PAGESIZE),
	};
	struct mt_plan plan;
	unsigned int i;
	int err;

	for (i = MT_TIMING_TSC; i <= MT_TIMING_CYC; i++)
		if (!strcmp(timing, timings[i]))
			wish.timing = i;
	if (wish.timing == MT_TIMING_BEST) {
		mt_error("no timing '%s'", timing);
		return -1;
	}

	err = mt_device_open(dev);
	if (err)
		return err;
	err = mt_plan_make(&wish, &dev->caps, &plan);
	if (err)
		return err;
	if (inherit)
		plan.setup.flags |= MTRACE_SETUP_INHERIT_PROCESSES;
	if (cr3)
		plan.setup.trace_flags |= MTRACE_TRACE_CR3;
	return mt_device_setup(dev, &plan.setup, false);
}

int main(int argc, char **argv)
{
	bool inherit = true, cr3 = false;
	struct mt_device dev;
	int status, go[2];
	pid_t pid;
	char c;

	if (argc > 1 && !strcmp(argv[1], "-i")) {
		inherit = false;
		argc--;
		argv++;
	}
	if (argc > 1 && !strcmp(argv[1], "-3")) {
		cr3 = true;
		argc--;
		argv++;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: traced [-i] [-3] tsc|mtc|cyc COMMAND [ARG...]\n");
		return 2;
	}
	if (set_up(&dev, argv[1], inherit, cr3) || pipe(go))
		return 1;

	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(126);
		close(go[0]);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (mt_device_attach(&dev, pid) || mt_device_start(&dev) || write(go[1], "", 1) != 1) {
		kill(pid, SIGKILL);
		return 1;
	}
	waitpid(pid, &status, 0);
	mt_device_close(&dev);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
