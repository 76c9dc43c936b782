// SPDX-License-Identifier: GPL-2.0
/* Calling a resolver in the traced program; see the header. */
#include "user/record/ifunc.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/record/breakpoint.h"

/* Below the stack pointer: the red zone is 128 bytes, and more does no harm. */
#define STACK_GAP	512

/* Room for all that XSAVE keeps, AMX included. */
#define XSTATE_ROOM	16384

#define MAX_HELD	16	/* signals that came during the call */

struct held {
	int signals[MAX_HELD];
	int count;
};

/* True for a signal that the call itself has caused. */
static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

/*
 * Let the thread run until it is at @hook again. A signal for the program is held
 * back: its handler must not run in the middle of this.
 */
static int run_to_hook(pid_t tid, uint64_t hook, struct held *held)
{
	uint64_t address;
	siginfo_t info;
	int status, signal;

	for (;;) {
		if (ptrace(PTRACE_CONT, tid, 0, 0))
			return -errno;
		/* What ends the thread is left for the one who follows it. */
		if (waitid(P_PID, tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL))
			return -errno;
		if (info.si_code != CLD_TRAPPED || info.si_status >> 8 == PTRACE_EVENT_EXIT)
			return -ESRCH;
		if (waitpid(tid, &status, __WALL) != tid)
			return -errno;
		signal = WSTOPSIG(status);
		if (status >> 16)
			continue;
		if (is_fault(signal))
			return -ENXIO;
		if (signal == SIGTRAP && !ptrace(PTRACE_GETSIGINFO, tid, 0, &info) &&
		    mt_breakpoint_hit(tid, &info, &address)) {
			if (address == hook)
				return 0;
			continue;
		}
		if (held->count < MAX_HELD)
			held->signals[held->count++] = signal;
	}
}

static int call(pid_t tid, uint64_t hook, uint64_t resolver, const struct user_regs_struct *saved,
		struct held *held, uint64_t *address)
{
	struct user_regs_struct regs = *saved;
	int err;

	/* As if called from a place where the stack is aligned, with the hook to return to. */
	regs.rsp = ((regs.rsp - STACK_GAP) & ~15ULL) - 8;
	regs.rip = resolver;
	regs.rax = 0;
	regs.orig_rax = -1ULL;
	if (ptrace(PTRACE_POKEDATA, tid, regs.rsp, hook) || ptrace(PTRACE_SETREGS, tid, 0, &regs))
		return -errno;
	err = run_to_hook(tid, hook, held);
	if (err)
		return err;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs))
		return -errno;
	*address = regs.rax;
	return regs.rax ? 0 : -ENXIO;
}

int mt_ifunc_resolve(pid_t tid, uint64_t hook, uint64_t resolver, uint64_t *address)
{
	static uint8_t xstate[XSTATE_ROOM] __attribute__((aligned(64)));
	struct iovec vec = { xstate, sizeof(xstate) };
	struct user_regs_struct saved;
	struct held held = { .count = 0 };
	int err;

	if (ptrace(PTRACE_GETREGS, tid, 0, &saved) ||
	    ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vec))
		return -errno;
	err = call(tid, hook, resolver, &saved, &held, address);
	if (err == -ESRCH)
		return err;
	if ((ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &vec) ||
	     ptrace(PTRACE_SETREGS, tid, 0, &saved)) && !err)
		err = -errno;
	for (int i = 0; i < held.count; i++)
		syscall(SYS_tkill, tid, held.signals[i]);
	return err;
}
