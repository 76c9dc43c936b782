// SPDX-License-Identifier: GPL-2.0
/* Debug registers by ptrace; see the header. */
#include "user/record/breakpoint.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* DR7: L0 to L3 are every second bit from 0; R/W = 0 and LEN = 0 mean execution. */
#define DR7_LOCAL(n)	(1UL << (2 * (n)))
#define DR6_HITS	0xfUL

#ifndef TRAP_HWBKPT
#define TRAP_HWBKPT	4
#endif

static int poke(pid_t tid, int reg, unsigned long value)
{
	if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[0]) +
		   reg * sizeof(((struct user *)0)->u_debugreg[0]), value))
		return -errno;
	return 0;
}

int mt_breakpoints_set(pid_t tid, const uint64_t *addresses, size_t count)
{
	unsigned long control = 0;
	int err;

	/* Off while they change: an old address must not be met with a new meaning. */
	err = poke(tid, 7, 0);
	for (size_t i = 0; i < count && !err; i++) {
		err = poke(tid, i, addresses[i]);
		control |= DR7_LOCAL(i);
	}
	if (!err && count)
		err = poke(tid, 7, control);
	return err;
}

bool mt_breakpoint_hit(pid_t tid, const siginfo_t *info, uint64_t *address)
{
	unsigned long hits;

	if (info->si_signo != SIGTRAP || info->si_code != TRAP_HWBKPT)
		return false;
	errno = 0;
	hits = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg[6]), 0);
	if (errno || !(hits & DR6_HITS))
		return false;
	/* The processor never clears it. */
	poke(tid, 6, 0);
	*address = (uint64_t)(uintptr_t)info->si_addr;
	return true;
}
