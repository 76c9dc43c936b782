// SPDX-License-Identifier: GPL-2.0
/*
 * A timer while threads run that must be looked after
 *
 * Owns a timer for each CPU that stops the thread that is traced there and has
 * it go on, again and again, so that it is seen how far its output has got. It
 * is started when such a thread comes to the CPU and ends itself when it finds
 * none: a switch between two of them costs one test, and one that leaves
 * costs a tick in vain at the most. Does not know what a stop is good for.
 *
 * The timer is started under the lock of a run queue, as that of the scheduler
 * itself is (hrtick_start()): it expires in the interrupt, so that to start it
 * wakes nobody, and on its own CPU.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/percpu.h>

#include "compat.h"
#include "thread.h"
#include "tick.h"

/**
 * struct tick - the timer of a CPU
 * @timer: the timer
 * @period_ns: its period, 0 while it is not started
 *
 * Changed on its own CPU alone, with interrupts off.
 */
struct tick {
	struct hrtimer timer;
	u64 period_ns;
};

static DEFINE_PER_CPU(struct tick, tick);

static enum hrtimer_restart tick_expire(struct hrtimer *timer)
{
	struct tick *mine = container_of(timer, struct tick, timer);
	struct mt_thread *thread = __this_cpu_read(mt_thread_cpu.running);

	if (!thread || !(thread->todo & MT_TODO_STREAM)) {
		mine->period_ns = 0;
		return HRTIMER_NORESTART;
	}
	mine->period_ns = thread->trace->tick_ns;
	hrtimer_forward_now(timer, ns_to_ktime(mine->period_ns));
	mt_thread_sync(NULL);
	return HRTIMER_RESTART;
}

/**
 * mt_tick_start - see to it that this CPU's thread is stopped soon
 * @period_ns: how soon at the latest
 *
 * To be called with interrupts off when the thread comes to the CPU; may be
 * called under the lock of a run queue.
 */
void mt_tick_start(u64 period_ns)
{
	struct tick *mine = this_cpu_ptr(&tick);

	if (mine->period_ns && mine->period_ns <= period_ns)
		return;
	mine->period_ns = period_ns;
	hrtimer_start(&mine->timer, ns_to_ktime(period_ns),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * mt_tick_end - end this CPU's timer
 *
 * To be called on the CPU before it goes offline, which would have the timer
 * go on elsewhere, when nothing is traced on it any more. May sleep.
 */
void mt_tick_end(void)
{
	struct tick *mine = this_cpu_ptr(&tick);

	hrtimer_cancel(&mine->timer);
	mine->period_ns = 0;
}

/**
 * mt_tick_init - prepare the timers
 */
void __init mt_tick_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(&per_cpu_ptr(&tick, cpu)->timer, tick_expire,
			      CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}
