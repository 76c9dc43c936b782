/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A raw spin lock where interrupts are off and every instruction counts
 *
 * raw_spin_lock() without the call and without counting preemption, which cost
 * more than the lock: there are several of these in each switch of traced
 * threads. A kernel that checks locks has the call.
 */
#ifndef _MT_LOCK_H
#define _MT_LOCK_H

#include <linux/kconfig.h>
#include <linux/spinlock.h>

#define MT_LOCKS_ARE_CHECKED \
	(IS_ENABLED(CONFIG_DEBUG_SPINLOCK) || IS_ENABLED(CONFIG_LOCKDEP))

static __always_inline void mt_lock(raw_spinlock_t *lock)
{
	if (MT_LOCKS_ARE_CHECKED)
		raw_spin_lock(lock);
	else
		arch_spin_lock(&lock->raw_lock);
}

static __always_inline void mt_unlock(raw_spinlock_t *lock)
{
	if (MT_LOCKS_ARE_CHECKED)
		raw_spin_unlock(lock);
	else
		arch_spin_unlock(&lock->raw_lock);
}

#endif /* _MT_LOCK_H */
