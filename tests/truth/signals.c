// SPDX-License-Identifier: GPL-2.0
/*
 * Signals: one sent to oneself (delivered as a syscall returns), one within the
 * handler of another, faults whose handler repairs or jumps out, and a timer's, at
 * any instruction.
 *
 * Functions whose names begin with "async_" are those of the timer's handler: it may
 * come between a function's entry and its hook, so that the log and the trace
 * differ in the order of the two. They are compared by themselves.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/truth/truth.h"

static volatile unsigned int sink;
static volatile unsigned int *volatile page;
static sigjmp_buf out;

static unsigned int small(unsigned int x)
{
	return x + 7;
}

static unsigned int tree(unsigned int n)
{
	return n < 2 ? small(n) : tree(n - 1) + tree(n - 2);
}

static void on_inner(int sig)
{
	sink += small((unsigned int)sig);
}

static void on_outer(int sig)
{
	sink += tree(3);
	raise(SIGUSR2);
	sink += small((unsigned int)sig);
}

/* Makes the page accessible; the faulting instruction is run again. */
static void on_fault(int sig)
{
	sink += small((unsigned int)sig);
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void on_abort(int sig)
{
	sink += small((unsigned int)sig);
	siglongjmp(out, 1);
}

static unsigned int async_part(unsigned int x)
{
	return x * 5;
}

static void async_tick(int sig)
{
	sink += async_part((unsigned int)sig);
}

static void send(void)
{
	raise(SIGUSR1);
	sink += small(1);
}

static void fault(void)
{
	*page = sink;
	sink += small(2);
	mprotect((void *)page, 4096, PROT_NONE);
}

static void deeper(unsigned int n)
{
	if (n)
		deeper(n - 1);
	else
		raise(SIGALRM);
	sink += small(n);
}

static void jump_out(void)
{
	if (sigsetjmp(out, 1)) {
		truth_unwound(6);	/* deeper, five times, and the handler */
		sink += small(3);
		return;
	}
	deeper(4);
}

static void UNSEEN handle(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	if (sigaction(sig, &action, NULL))
		exit(1);
}

int UNSEEN main(int argc, char **argv)
{
	const struct itimerval timer = { { 0, 3000 }, { 0, 3000 } };
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 200;
	unsigned int i;

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 1;
	truth_begin((void *)main);
	handle(SIGUSR1, on_outer);
	handle(SIGUSR2, on_inner);
	handle(SIGSEGV, on_fault);
	handle(SIGALRM, on_abort);
	handle(SIGVTALRM, async_tick);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	for (i = 0; i < rounds; i++) {
		sink += tree(6);
		send();
		fault();
		jump_out();
		if (i == rounds * 3 / 4)
			stop_here();
	}
	setitimer(ITIMER_VIRTUAL, &off, NULL);
	return 0;
}
