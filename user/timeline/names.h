/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the name of a function tells of how it calls, returns and jumps. All of
 * the call stack's knowledge of particular names is here.
 */
#ifndef MTRACE_TIMELINE_NAMES_H
#define MTRACE_TIMELINE_NAMES_H

#include <stdbool.h>

#include "user/image/function.h"

/* mt_function_traits() */
#define MT_TRAIT_SETJMP		(1U << 0)	/* its return address may be come back to */
#define MT_TRAIT_LONGJMP	(1U << 1)	/* leaves to where setjmp was called */
#define MT_TRAIT_UNWINDER	(1U << 2)	/* leaves to any caller: exceptions */
#define MT_TRAIT_EXEC		(1U << 3)	/* its syscall may end in another program */
#define MT_TRAIT_ENTRY_POINT	(1U << 4)	/* where a program begins */
#define MT_TRAIT_RETURN_THUNK	(1U << 5)	/* the kernel's replacement of `ret` */
#define MT_TRAIT_COLD		(1U << 6)	/* a part that is jumped to, never called */
#define MT_TRAIT_RESTORER	(1U << 7)	/* what a signal's handler returns to */

unsigned int mt_function_traits(const struct mt_function *fn);

/*
 * Are @a and @b one function, or parts that the compiler made of one ("f",
 * "f.cold", "f.part.0", "f(int) [clone .cold]")? Two functions of one name are
 * not.
 */
bool mt_function_same(const struct mt_function *a, const struct mt_function *b);

#endif /* MTRACE_TIMELINE_NAMES_H */
