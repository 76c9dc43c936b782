/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests have in common that are not root's: a user of a machine that lets
 * its users trace what they trace by ptrace.
 */
#ifndef MT_TEST_USER_H
#define MT_TEST_USER_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "harness.h"

#define USER_ID		65534
#define USER_PARAMETER	"/sys/module/mtrace/parameters/unprivileged"

/* What may be locked: what Linux gives since 5.16; before it was 64 KiB. */
#define USER_LIMIT	MIB(8)
void set_limit(rlim_t bytes);

/*
 * Run a part of a test as a user with so many capabilities, or with none: in a
 * child, since there is no way back.
 */
void run_with_caps(uint64_t caps, void (*run)(void *arg), void *arg);
void run_as_user(void (*run)(void *arg), void *arg);

/* The same for who forks by itself: in the child; in the parent behind it. */
void become_user(uint64_t caps);
void as_before(void);

/* Trace a thread by ptrace, with PTRACE_O_*, and let it go. */
void seize(pid_t pid, unsigned long options);
void detach(pid_t pid);

#endif
