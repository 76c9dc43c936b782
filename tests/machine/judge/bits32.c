// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program without a C library: recursion, tables of jumps and
 * functions, string instructions, and system calls by INT 80H and by the vDSO,
 * which uses SYSENTER. Exits with 0 if its sums are right.
 */
#include <stdint.h>

#define noinline __attribute__((noinline))

enum {
	SYS_EXIT	= 1,
	SYS_GETPID	= 20,
	SYS_GETPPID	= 64,
	AT_SYSINFO	= 32,
};

static uint32_t vsyscall;

static noinline int int80(int nr, int arg)
{
	int ret;

	asm volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(arg) : "memory");
	return ret;
}

static noinline int sysenter(int nr)
{
	int ret;

	asm volatile("call *%1" : "=a"(ret) : "r"(vsyscall), "a"(nr) : "memory", "ecx", "edx");
	return ret;
}

static noinline int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static noinline int pick(unsigned int i)
{
	switch (i % 7) {
	case 0: return fib(3);
	case 1: return i * 3;
	case 2: return i ^ 5;
	case 3: return i + 11;
	case 4: return i / 3;
	case 5: return i * i;
	default: return 1;
	}
}

static noinline int twice(int x)
{
	return 2 * x;
}

static noinline int thrice(int x)
{
	return 3 * x;
}

static noinline void fill(char *to, uint32_t n)
{
	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(3) : "memory");
}

__attribute__((used)) int work(uint32_t *stack)
{
	int (*const volatile table[])(int) = { twice, thrice, twice };
	static char bytes[20000];
	uint32_t *p = stack + 1 + stack[0] + 1;		/* argc, argv, NULL */
	int i, sum = 0, pid;

	while (*p++)
		;					/* environment */
	for (; p[0]; p += 2) {
		if (p[0] == AT_SYSINFO)
			vsyscall = p[1];
	}
	pid = int80(SYS_GETPID, 0);
	for (i = 0; i < 300; i++) {
		sum += pick(i) + table[i % 3](i);
		if (vsyscall && sysenter(SYS_GETPID) != pid)
			return 1;
		if (int80(SYS_GETPPID, 0) == pid)
			return 2;
	}
	fill(bytes, sizeof(bytes));
	for (i = 0; i < (int)sizeof(bytes); i++)
		sum += bytes[i];
	return fib(15) == 610 && sum ? 0 : 3;
}

asm(".globl _start\n"
    "_start: mov %esp, %eax; and $-16, %esp; sub $12, %esp; push %eax; call work\n"
    "mov %eax, %ebx; mov $1, %eax; int $0x80");
