/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function as the timeline and the outputs see it, and the way to ask for
 * one. Whoever answers (user/image, or a test) owns the functions, which keep
 * their addresses until it is freed: equal pointers mean the same function.
 */
#ifndef MTRACE_IMAGE_FUNCTION_H
#define MTRACE_IMAGE_FUNCTION_H

#include <stdint.h>

struct mt_function {
	uint64_t start;		/* run-time addresses, [start, end) */
	uint64_t end;
	const char *name;	/* "fib", or "object+0x1234" where there is no symbol */
	const char *object;	/* "/usr/bin/python3.11", "[vdso]", "[unknown]" */
};

struct mt_resolver {
	/*
	 * The function that holds @addr; never NULL. An address without a symbol
	 * gives a function of its own, spanning the hole between the symbols
	 * around it, so that code in it is not a new function at each step.
	 */
	const struct mt_function *(*find)(void *ctx, uint64_t addr);
	void *ctx;
};

#endif /* MTRACE_IMAGE_FUNCTION_H */
