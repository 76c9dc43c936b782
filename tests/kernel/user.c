// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "user.h"

static void set_caps(uint64_t keep)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = keep, .permitted = keep },
		{ .effective = keep >> 32, .permitted = keep >> 32 },
	};

	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
}

void become_user(uint64_t caps)
{
	CHECK(write_text(USER_PARAMETER, "1"), USER_PARAMETER ": %s",
	      strerror(errno));
	CHECK_EQ(chmod("/dev/mtrace", 0666), 0);
	CHECK_EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
	CHECK_EQ(setresgid(USER_ID, USER_ID, USER_ID), 0);
	CHECK_EQ(setresuid(USER_ID, USER_ID, USER_ID), 0);
	set_caps(caps);
	/* Who has changed its user cannot be traced by it. */
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
}

void as_before(void)
{
	write_text(USER_PARAMETER, "0");
	chmod("/dev/mtrace", 0600);
}

void set_limit(rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

void run_with_caps(uint64_t caps, void (*run)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		set_limit(USER_LIMIT);
		become_user(caps);
		run(arg);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	as_before();
	if (WIFSIGNALED(status))
		FAIL("the user's part died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		_exit(WEXITSTATUS(status));
}

void run_as_user(void (*run)(void *arg), void *arg)
{
	run_with_caps(0, run, arg);
}

void seize(pid_t pid, unsigned long options)
{
	CHECK_ERRNO(ptrace(PTRACE_SEIZE, pid, NULL, options), 0);
}

void detach(pid_t pid)
{
	CHECK_ERRNO(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	CHECK_EQ(waitpid(pid, NULL, __WALL), pid);
	CHECK_ERRNO(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
}
