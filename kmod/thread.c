// SPDX-License-Identifier: GPL-2.0
/*
 * Traced threads, and what happens when one comes to a CPU or leaves it
 *
 * Owns the table that finds a thread by its task, the output of each thread,
 * and the rule of who touches a CPU's trace registers: only that CPU, with
 * interrupts off, in switch_out and switch_in. All that other CPUs do is to
 * change what the next of these will find, and to have it happen at once where
 * the thread runs, by mt_thread_sync(): a context switch from the running
 * thread to itself. So there is one way to stop and one to start, whether for
 * a context switch, an attach, a detach, a start, a stop or a snapshot.
 *
 * Runs under the lock of a run queue: nothing here sleeps, allocates or wakes.
 * Does not know how a session keeps its threads, nor what a snapshot is.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <asm/msr-index.h>

#include "buffer.h"
#include "compat.h"
#include "hw.h"
#include "thread.h"
#include "topa.h"

struct mt_thread_bucket mt_thread_table[1 << MT_THREAD_HASH_BITS];
DEFINE_PER_CPU(struct mt_thread_cpu, mt_thread_cpu);

/* The bucket's lock is held. */
static struct mt_thread *thread_in(struct mt_thread_bucket *bucket,
				   const struct task_struct *task)
{
	struct mt_thread *thread;

	hlist_for_each_entry(thread, &bucket->threads, node)
		if (thread->task == task)
			return thread;
	return NULL;
}

static void thread_give(struct mt_thread *thread, struct mt_region *region)
{
	thread->region = region;
	region->info.start_tsc = rdtsc_ordered();
	mt_topa_start(&region->topa, &thread->out);
}

/* Leave the old region as it is for ever, and go on in the fresh one. */
static void thread_freeze(struct mt_thread *thread)
{
	struct mt_region *old = thread->region;

	old->end = thread->out;
	old->info.end_tsc = rdtsc_ordered();
	thread_give(thread, thread->fresh);
	thread->region->info.cpu = old->info.cpu;
	thread->fresh = NULL;
}

/**
 * mt_thread_switch_out - stop tracing the thread that leaves this CPU
 * @thread: the CPU's running thread
 */
void mt_thread_switch_out(struct mt_thread *thread)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(thread->task);
	struct mt_region *region;

	raw_spin_lock(&bucket->lock);
	region = thread->region;
	if (mt_hw_stop(&thread->out, mt_topa_is_chained(&region->topa)))
		region->info.flags |= MTRACE_REGION_WRAPPED;
	__this_cpu_write(mt_thread_cpu.running, NULL);
	thread->cpu = -1;

	if (unlikely(mt_hw_has_error(&thread->out))) {
		region->info.flags |= MTRACE_REGION_ERROR;
		atomic64_inc(&thread->trace->errors);
	}
	/* It stays stopped over switches, until it has another region. */
	if (unlikely(mt_hw_has_stopped(&thread->out)) &&
	    !(region->info.flags & MTRACE_REGION_STOPPED)) {
		region->info.flags |= MTRACE_REGION_STOPPED;
		atomic64_inc(&thread->trace->stops);
	}
	if (thread->fresh)
		thread_freeze(thread);
	raw_spin_unlock(&bucket->lock);
}

/**
 * mt_thread_switch_in - trace the task that comes to this CPU, if it shall be
 * @task: the task
 */
void mt_thread_switch_in(struct task_struct *task)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(task);
	struct mtrace_region *info;
	struct mt_thread *thread;
	struct mt_trace *trace;
	u64 cr3 = 0;

	raw_spin_lock(&bucket->lock);
	thread = thread_in(bucket, task);
	if (!thread || !__this_cpu_read(mt_thread_cpu.usable))
		goto out;
	trace = thread->trace;
	if (!READ_ONCE(trace->running))
		goto out;
	if (unlikely(trace->ctl & RTIT_CTL_CR3EN)) {
		cr3 = mt_filter_cr3(task, trace->ctl);
		if (!cr3)
			goto out;
	}

	info = &thread->region->info;
	info->cpu = smp_processor_id();
	info->switches++;
	if (mt_hw_start(&thread->out, trace->ctl, &trace->filter, cr3)) {
		atomic64_inc(&trace->errors);
		goto out;
	}
	thread->cpu = smp_processor_id();
	__this_cpu_write(mt_thread_cpu.running, thread);
out:
	raw_spin_unlock(&bucket->lock);
}

/**
 * mt_thread_sync - make this CPU trace what it should
 * @unused: so that it can be called on other CPUs
 *
 * To be called with interrupts off, as an IPI is.
 */
void mt_thread_sync(void *unused)
{
	struct mt_thread *thread = __this_cpu_read(mt_thread_cpu.running);

	if (thread)
		mt_thread_switch_out(thread);
	if (mt_thread_is_maybe(current))
		mt_thread_switch_in(current);
}

/**
 * mt_thread_exec - follow the running thread into another address space
 */
void mt_thread_exec(void)
{
	struct mt_thread *thread;
	unsigned long flags;

	local_irq_save(flags);
	thread = __this_cpu_read(mt_thread_cpu.running);
	if (thread && thread->trace->ctl & RTIT_CTL_CR3EN)
		mt_thread_sync(NULL);
	local_irq_restore(flags);
}

/**
 * mt_thread_add - trace a task from its next switch on
 * @thread: an unused thread
 * @task: its task, on which the caller holds a reference
 * @trace: the session's part of it
 * @region: what it shall write to
 *
 * Return: 0; -EEXIST where the task is traced by that session; -EBUSY where
 * it is by another one.
 */
int mt_thread_add(struct mt_thread *thread, struct task_struct *task,
		  struct mt_trace *trace, struct mt_region *region)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(task);
	struct mt_thread *other;
	unsigned long flags;
	int ret = 0;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	other = thread_in(bucket, task);
	if (other) {
		ret = other->trace == trace ? -EEXIST : -EBUSY;
		goto out;
	}
	WRITE_ONCE(thread->task, task);
	thread->trace = trace;
	thread->fresh = NULL;
	thread->cpu = -1;
	thread_give(thread, region);
	hlist_add_head(&thread->node, &bucket->threads);
out:
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return ret;
}

/**
 * mt_thread_remove - let a task not be traced again
 * @thread: a thread in the table
 *
 * Return: the CPU that the thread is being traced on at this moment, which
 * mt_thread_sync() must have run on before the thread can be used for another
 * task; or -1.
 */
int mt_thread_remove(struct mt_thread *thread)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(thread->task);
	unsigned long flags;
	int cpu;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	hlist_del_init(&thread->node);
	cpu = thread->cpu;
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return cpu;
}

/**
 * mt_thread_find - find a task's thread
 * @task: the task
 * @trace: receives the session's part of it
 *
 * What is found stays what it is only while the lock of its session is held,
 * and the session only in an RCU read-side section or while it cannot close.
 *
 * Return: the thread, or NULL.
 */
struct mt_thread *mt_thread_find(const struct task_struct *task,
				 struct mt_trace **trace)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(task);
	struct mt_thread *thread;
	unsigned long flags;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	thread = thread_in(bucket, task);
	*trace = thread ? thread->trace : NULL;
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return thread;
}

/**
 * mt_thread_cpu_of - tell where a thread is being traced
 * @thread: a thread in the table
 *
 * A thread that is on no CPU now sees every change that the caller made before
 * when it comes to one.
 *
 * Return: the CPU, or -1.
 */
int mt_thread_cpu_of(struct mt_thread *thread)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(thread->task);
	unsigned long flags;
	int cpu;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	cpu = thread->cpu;
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return cpu;
}

/**
 * mt_thread_exchange - have a thread go on in another region
 * @thread: a thread in the table, for which no other exchange is pending
 * @fresh: the region
 *
 * Return: -1 where it is done; else the CPU that the thread is being traced on
 * and that does it at the thread's next stop: at the latest when
 * mt_thread_sync() has run there.
 */
int mt_thread_exchange(struct mt_thread *thread, struct mt_region *fresh)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(thread->task);
	unsigned long flags;
	int cpu;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	thread->fresh = fresh;
	cpu = thread->cpu;
	if (cpu < 0)
		thread_freeze(thread);
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return cpu;
}

/**
 * mt_thread_init - prepare the table
 */
void __init mt_thread_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mt_thread_table); i++)
		raw_spin_lock_init(&mt_thread_table[i].lock);
}
