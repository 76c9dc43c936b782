// SPDX-License-Identifier: GPL-2.0
/*
 * Code that is hard to trace: each way in which control flow can change in a
 * user program, and each way in which an instruction can fail to complete.
 *
 *	nasty [ROUNDS [retpoline | breakpoints]...]
 *
 * "retpoline" adds a return that does not go back to its call, with returns to
 * matching calls after it. By the SDM (36.4.2.2) each return takes one call
 * off the stack, compressed or not. libipt 2.0.5 leaves it there if the return
 * was not compressed, and goes astray: with return compression, leave it out.
 *
 * "breakpoints" adds those of perf, at whose coming and going the kernel patches
 * its own code: leave it out where kernel code is traced, or run beside that.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define noinline __attribute__((noinline))

static volatile sig_atomic_t traps, alarms;

static void on_fault(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *uc = arg;

	(void)info;
	traps++;
	if (sig == SIGILL)
		uc->uc_mcontext.gregs[REG_RIP] += 2;	/* past UD2 */
	else if (sig == SIGSEGV)
		uc->uc_mcontext.gregs[REG_RIP] = uc->uc_mcontext.gregs[REG_RBX];
	else if (sig == SIGTRAP && (uc->uc_mcontext.gregs[REG_EFL] & 0x100))
		uc->uc_mcontext.gregs[REG_EFL] &= traps % 8 ? ~0ULL : ~0x100ULL;
}

/* A few interruptions a round: an interval timer would drown a slow machine. */
static void arm(void)
{
	const struct itimerval timer = { .it_value = { 0, 3000 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_alarm(int sig)
{
	(void)sig;
	if (++alarms % 5)
		arm();
}

/* Instructions that fault or trap; the handler goes on at 1:, kept in RBX. */
static noinline void faults(void)
{
	asm volatile("int3");
	asm volatile(".byte 0xf1");		/* INT1: its #DB is a trap, its FUP its own address */
	asm volatile("ud2");
	asm volatile("push %%rbx; lea 1f(%%rip), %%rbx; mov $8, %%eax; jmp *%%rax; 1: pop %%rbx"
		     ::: "rax", "memory");
	asm volatile("push %%rbx; lea 1f(%%rip), %%rbx; mov $16, %%eax; call *(%%rax); 1: pop %%rbx"
		     ::: "rax", "memory");
	asm volatile("push %%rbx; lea 1f(%%rip), %%rbx; mov $24, %%eax; mov %%eax, (%%rax); 1: pop %%rbx"
		     ::: "rax", "memory");
	/* a return to nowhere */
	asm volatile("push %%rbx; lea 1f(%%rip), %%rbx; push $32; ret; 1: pop %%rbx"
		     ::: "rax", "memory");
}

/* A trap after each of a few instructions, branches among them. */
static noinline void single_step(void)
{
	asm volatile("mov $3, %%ecx; pushf; orl $0x100, (%%rsp); popf\n"
		     "1: nop; call 2f; loop 1b; jmp 3f; 2: ret; 3: nop; nop; nop; nop; nop"
		     ::: "rcx", "memory", "cc");
	/* branches to themselves, which complete before the trap */
	asm volatile("mov $4, %%ecx; pushf; orl $0x100, (%%rsp); popf\n"
		     "1: loop 1b; nop; nop; nop; nop; nop" ::: "rcx", "memory", "cc");
	asm volatile("mov %%rsp, %%rdx; lea 2f(%%rip), %%rax; push %%rax\n"
		     "lea 1f(%%rip), %%rax; push %%rax; push %%rax; push %%rax\n"
		     "pushf; orl $0x100, (%%rsp); popf; 1: ret; 2: nop; nop; nop; nop; nop\n"
		     "mov %%rdx, %%rsp" ::: "rax", "rdx", "memory", "cc");
}

/* At @addr, for this thread; close() takes it away. */
static int breakpoint(unsigned int type, const void *addr)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = type,
		.bp_addr = (uintptr_t)addr,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.exclude_kernel = 1,
		.sample_period = 1,
	};
	const int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0) {
		perror("nasty: no breakpoint");
		exit(1);
	}
	return fd;
}

static noinline void nothing(void)
{
	asm volatile("");
}

/*
 * #DB after branches that use a stack or a pointer with a data breakpoint, and
 * before a branch to itself with one for its execution.
 */
static noinline void breakpoints(void)
{
	/* Signals come here, too, whose frames are large. */
	static uint64_t stack[8192], *const top = &stack[8176];
	extern const char nasty_loop[];
	static void *pointer;
	long n = 4;
	int fd;

	fd = breakpoint(HW_BREAKPOINT_RW, &top[-1]);
	asm volatile("mov %%rsp, %%r12; mov %0, %%rsp; call *%1; mov %1, %%rax; push $0; pop %%rcx\n"
		     "call 1f; jmp 2f; 1: ret; 2: call *%%rax; mov %%r12, %%rsp"
		     :: "r"(top), "r"(nothing) : "rax", "rcx", "r12", "memory");
	close(fd);
	pointer = nothing;
	fd = breakpoint(HW_BREAKPOINT_RW, &pointer);
	asm volatile("call *%0; lea 1f(%%rip), %%rax; mov %%rax, %0; jmp *%0; ud2; 1:"
		     : "+m"(pointer) :: "rax", "memory");
	close(fd);
	fd = breakpoint(HW_BREAKPOINT_X, nasty_loop);
	asm volatile("nasty_loop: loop nasty_loop" : "+c"(n));
	nothing();
	close(fd);
}

/* String instructions that fault in the middle and again on the next page. */
static noinline void strings(void)
{
	const size_t size = 1 << 18;
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *dst = m + 100, *src;
	size_t n = 200000;

	asm volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(7) : "memory");
	dst = m;
	src = m + 60001;
	n = 90000;
	asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
	dst = m + 7;
	src = m + 100001;
	n = 9000;
	asm volatile("rep movsq" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
	dst = m;
	n = size;
	asm volatile("repe scasb" : "+D"(dst), "+c"(n) : "a"(7) : "cc", "memory");
	n = 0;
	asm volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(1) : "memory");
	munmap(m, size);
}

static noinline void loops(void)
{
	long n = 5;

	asm volatile("1: loop 1b" : "+c"(n));
	n = 3;
	asm volatile("1: dec %0; jnz 1b; jrcxz 2f; nop; 2:" : "+c"(n));
	n = 1;
	asm volatile("jrcxz 1f; nop; 1: xor %%ecx, %%ecx; jrcxz 2f; ud2; 2:" : "+c"(n));
	n = 4;
	asm volatile("1: cmp $2, %0; loopne 1b" : "+c"(n) : : "cc");
	/* call +0: not a call for return compression */
	asm volatile("call 1f; 1: pop %%rax" ::: "rax", "memory");
}

/* Deeper than the 64 entries of return compression. */
static noinline long deep(int n)
{
	return n ? deep(n - 1) + n : 0;
}

static noinline long fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* A return that does not go back to its call, as a retpoline's does not. */
static noinline void retpoline(void)
{
	asm volatile("lea 3f(%%rip), %%rax; call 1f; 2: pause; jmp 2b\n"
		     "1: mov %%rax, (%%rsp); ret; 3:" ::: "rax", "memory");
}

static noinline long table(unsigned int i)
{
	static const void *const label[] = { &&a, &&b, &&c, &&d };

	goto *label[i & 3];
a:	return 1;
b:	return i;
c:	return i * 2;
d:	return i * 3 + 1;
}

/* Code made at run time, across a page boundary. */
static noinline int generated(void)
{
	/* mov $42, %eax; sub $1, %edi; jnz -5; ret */
	static const uint8_t code[] = {
		0xb8, 42, 0, 0, 0, 0x83, 0xef, 0x01, 0x75, 0xfb, 0xc3
	};
	uint8_t *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*fn)(int) = (void *)(m + 4096 - 3);

	memcpy(m + 4096 - 3, code, sizeof(code));
	return fn(9);			/* stays mapped for the image */
}

static noinline long leave(jmp_buf env, int n)
{
	if (!n && traps)
		longjmp(env, 1);
	return n ? leave(env, n - 1) + 1 : 0;
}

static noinline int jumps_out(void)
{
	jmp_buf env;

	if (!setjmp(env))
		leave(env, 5);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int has_word(char **argv, const char *word)
{
	while (*argv && strcmp(*argv, word))
		argv++;
	return *argv != NULL;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 3;
	const int with_retpoline = has_word(argv, "retpoline");
	const int with_breakpoints = has_word(argv, "breakpoints");
	const struct sigaction fault = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	const struct sigaction alarm = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	static int numbers[300];
	long sum = 0;
	int i, j;

	sigaction(SIGTRAP, &fault, NULL);
	sigaction(SIGILL, &fault, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGALRM, &alarm, NULL);

	for (i = 0; i < rounds; i++) {
		arm();
		faults();
		single_step();
		if (with_breakpoints)
			breakpoints();
		strings();
		loops();
		if (with_retpoline)
			retpoline();
		sum += deep(200) + fib(16) + generated() + jumps_out();
		for (j = 0; j < 100; j++)
			sum += table(j * 7) + getppid();
		for (j = 0; j < 300; j++)
			numbers[j] = j * 7919 % 1009;
		qsort(numbers, 300, sizeof(numbers[0]), compare);
		asm volatile("cpuid" : : "a"(0), "c"(0) : "rbx", "rdx");
		asm volatile("rdtsc" ::: "rax", "rdx");
	}

	printf("nasty: %d traps, sum %ld\n", (int)traps, sum);
	return 0;
}
