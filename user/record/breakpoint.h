/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hardware breakpoints of one stopped thread, by its debug registers (SDM vol.
 * 3, 18.2). They are the thread's alone: the code is not touched, and neither
 * other threads nor forked children have them.
 */
#ifndef MTRACE_RECORD_BREAKPOINT_H
#define MTRACE_RECORD_BREAKPOINT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MT_BREAKPOINTS	4	/* DR0 to DR3 */

/*
 * Make execution at @addresses stop the thread, and nothing else; @count may be
 * 0. Returns 0; -ESRCH if the thread is gone; -EINVAL if an address cannot be
 * one; -ENOSPC if other users have taken the registers.
 */
int mt_breakpoints_set(pid_t tid, const uint64_t *addresses, size_t count);

/*
 * If the thread was stopped by a hardware breakpoint, as its @info says: true,
 * with the address of the instruction that it is about to execute.
 */
bool mt_breakpoint_hit(pid_t tid, const siginfo_t *info, uint64_t *address);

#endif /* MTRACE_RECORD_BREAKPOINT_H */
