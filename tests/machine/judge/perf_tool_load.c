// SPDX-License-Identifier: GPL-2.0
/*
 * The program that perf_tool records. It knows what its trace must hold, and
 * says so in lines on stdout, as perf_tool's host side reads them.
 *
 *	perf_tool_load tsc	prints the time-stamp counter
 *	perf_tool_load calls	returns, indirect calls, recursion; "filter ADDRESS"
 *				and "stop ADDRESS" of two functions to filter
 *	perf_tool_load turns	calls a library and comes back, for long
 *	perf_tool_load faults	"VECTOR CR2" for each fault it takes, CR2 in
 *				hexadecimal and "-" if there is none
 *	perf_tool_load ptwrite	"ADDRESS PAYLOAD" for each PTWRITE
 *	perf_tool_load sleep	sleeps ten times for 2 ms
 *	perf_tool_load everything	the four above
 *	perf_tool_load snapshot	asks its parent, perf, for two snapshots
 *
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#define noinline __attribute__((noinline, noclone))

static volatile uint64_t sink;

/* ---- calls ---- */

static noinline unsigned int fib(unsigned int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* What the filters name: it calls out of itself, and is called from outside. */
noinline void filtered(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		sink += fib(i % 6) & 1 ? i : 2 * i;
}

/* Where a trace stops. */
noinline void stop_here(void)
{
	sink += 1;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static noinline void sorts(unsigned int n)
{
	static uint32_t list[4096];
	uint32_t state = 1, i;

	for (i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		list[i] = state;
	}
	qsort(list, n, sizeof(list[0]), by_value);
	sink += list[n / 2];
}

static void calls(void)
{
	printf("filter %lx\nstop %lx\n", (unsigned long)filtered, (unsigned long)stop_here);
	fib(15);
	filtered(200);
	sorts(500);
	getppid();
	filtered(100);
	stop_here();
	filtered(10);
}

/* The last IP that is traced is the library's, while many branches are taken here. */
static void turns(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		sink += rand();
		sink += fib(16);
	}
}

/* ---- faults ---- */

static volatile unsigned int n_faults;

static void on_fault(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *uc = arg;

	(void)sig;
	(void)info;
	n_faults++;
	/* The code below keeps there where it goes on. */
	uc->uc_mcontext.gregs[REG_RIP] = uc->uc_mcontext.gregs[REG_RBX];
}

#define FAULT(code, ...)                                    \
	asm volatile("lea 1f(%%rip), %%rbx\n\t" code "\n1:" \
		     :                                      \
		     : __VA_ARGS__                          \
		     : "rax", "rbx", "rdx", "rcx", "memory", "cc")

static void faults(void)
{
	const struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	static const int sigs[] = {SIGSEGV, SIGILL, SIGFPE, SIGTRAP};
	uint8_t *const hole = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &act, NULL);
	for (i = 0; i < 5; i++) {
		FAULT("mov (%0), %%eax", "r"(hole + 4096 * i + 8));
		printf("14 %lx\n", (unsigned long)(hole + 4096 * i + 8));
		FAULT("ud2", "r"(hole));
		printf("6 -\n");
		FAULT("xor %%edx, %%edx\n\t xor %%ecx, %%ecx\n\t mov $1, %%eax\n\t div %%ecx",
		      "r"(hole));
		printf("0 -\n");
		FAULT("int3", "r"(hole));
		printf("3 -\n");
		/* Not canonical: general protection. */
		FAULT("mov (%0), %%eax", "r"(1ULL << 62));
		printf("13 -\n");
	}
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		signal(sigs[i], SIG_DFL);
	if (n_faults != 25)
		exit(1);
}

/* ---- ptwrite ---- */

/* One PTWRITE with operand @how; @what is what it writes. */
#define PTWRITE(how, what, ...)                                                               \
	do {                                                                                  \
		uint64_t at;                                                                  \
		asm volatile("lea 1f(%%rip), %0\n1:\tptwrite" how : "=&r"(at) : __VA_ARGS__); \
		printf("%lx %llx\n", at, (unsigned long long)(what));                         \
	} while (0)

static void ptwrite(void)
{
	static uint64_t memory[4] = {0x1122334455667788, 0x99aabbccddeeff00, 0xfedcba9876543210, 0};
	uint64_t i;

	for (i = 0; i < 20; i++) {
		const uint64_t val = i * 0x9e3779b97f4a7c15;

		PTWRITE("l %k1", (uint32_t)val, "r"(val));
		PTWRITE("q %1", val, "r"(val));
		PTWRITE("q %1", memory[i % 4], "m"(memory[i % 4]));
		PTWRITE("l %1", (uint32_t)memory[i % 4], "m"(memory[i % 4]));
		PTWRITE("q (%1,%2,8)", memory[i % 4], "r"(memory), "r"(i % 4));
	}
}

/* ---- the rest ---- */

static void sleeps(void)
{
	int i;

	for (i = 0; i < 10; i++)
		usleep(2000);
}

static void snapshot(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		sorts(2000);
		kill(getppid(), SIGUSR2);
		usleep(500000);
	}
	sorts(1000);
}

int main(int argc, char **argv)
{
	const char *const what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "tsc")) {
		printf("%llu\n", (unsigned long long)__rdtsc());
	} else if (!strcmp(what, "calls")) {
		calls();
	} else if (!strcmp(what, "turns")) {
		turns();
	} else if (!strcmp(what, "faults")) {
		faults();
	} else if (!strcmp(what, "ptwrite")) {
		ptwrite();
	} else if (!strcmp(what, "sleep")) {
		sleeps();
	} else if (!strcmp(what, "everything")) {
		calls();
		faults();
		ptwrite();
		sleeps();
	} else if (!strcmp(what, "snapshot")) {
		snapshot();
	} else {
		fprintf(stderr, "perf_tool_load: what? (see its head)\n");
		return 2;
	}
	return 0;
}
