/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Indirect functions (STT_GNU_IFUNC): the symbol's address is that of a resolver,
 * which returns the function to use on this CPU. Only calling it tells which.
 */
#ifndef MTRACE_RECORD_IFUNC_H
#define MTRACE_RECORD_IFUNC_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Call @resolver in thread @tid, which is stopped by its hardware breakpoint at
 * @hook, the entry of a function, and put the thread back there. Returns 0 with
 * the function in *@address; -ENXIO if the resolver fails (its object is not
 * relocated yet, say); -ESRCH if the thread is being killed; -errno.
 */
int mt_ifunc_resolve(pid_t tid, uint64_t hook, uint64_t resolver, uint64_t *address);

#endif /* MTRACE_RECORD_IFUNC_H */
