// SPDX-License-Identifier: GPL-2.0
/*
 * Traced threads, and what happens when one comes to a CPU or leaves it
 *
 * Owns the table that finds a thread by its task, the output of each thread,
 * and the rule of who touches a CPU's trace registers: only that CPU, with
 * interrupts off, in thread_stop and thread_start. All that other CPUs do is
 * to change what the next of these will find, and to have it happen at once
 * where the thread runs, by mt_thread_sync(): a context switch from the running
 * thread to itself. So there is one way to stop and one to start, whether for
 * a context switch, an attach, a detach, a start, a stop or a snapshot.
 *
 * A context switch is counted in instructions (tests/bench/switch): what not
 * every thread needs is behind one test, of mt_thread.todo.
 *
 * Runs under the lock of a run queue: nothing here sleeps, allocates or wakes.
 * Does not know how a session keeps its threads, nor what a snapshot is.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/mtrace_netlink.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <asm/msr-index.h>

#include "access.h"
#include "buffer.h"
#include "compat.h"
#include "event.h"
#include "hw.h"
#include "lock.h"
#include "sideband.h"
#include "stream.h"
#include "thread.h"
#include "tick.h"
#include "topa.h"

struct mt_thread_bucket mt_thread_table[1 << MT_THREAD_HASH_BITS];
DEFINE_PER_CPU(struct mt_thread_cpu, mt_thread_cpu);

/**
 * mt_trace_init - work out what the threads of a session have in common
 * @trace: zeroed but for its tracer
 * @setup: what the session got
 */
void mt_trace_init(struct mt_trace *trace, const struct mtrace_setup *setup)
{
	trace->todo = 0;
	trace->ctl = setup->rtit_ctl;
	trace->carried = mt_hw_carried();
	mt_filter_init(&trace->filter, setup);
	if (setup->nr_ranges || trace->ctl & RTIT_CTL_CR3EN)
		trace->todo |= MT_TODO_FILTER;
	if (trace->tracer)
		trace->todo |= MT_TODO_TRACER;
	if (setup->flags & MTRACE_SETUP_STREAM)
		trace->todo |= MT_TODO_STREAM;
}

/**
 * struct mt_thread_kick - an interrupt on its way to a CPU
 * @csd: the interrupt
 * @pending: whether it is on its way
 */
struct mt_thread_kick {
	call_single_data_t csd;
	atomic_t pending;
};

static DEFINE_PER_CPU_ALIGNED(struct mt_thread_kick, mt_thread_kicks);

/* The bucket's lock is held. */
static __always_inline struct mt_thread *
thread_in(struct mt_thread_bucket *bucket, const struct task_struct *task)
{
	struct mt_thread *thread;

	hlist_for_each_entry(thread, &bucket->threads, node)
		if (thread->task == task)
			return thread;
	return NULL;
}

/**
 * mt_thread_give - have a thread write to a region, from its first byte
 * @thread: the thread, which has been stopped or is on no CPU; its lock is held
 * @region: the region
 * @tsc: the TSC now
 */
void mt_thread_give(struct mt_thread *thread, struct mt_region *region,
		    u64 tsc)
{
	thread->region = region;
	region->is_final = false;
	thread->todo = thread->trace->todo;
	if (mt_topa_has_pieces(&region->topa))
		thread->todo |= MT_TODO_PIECES;
	region->info.start_tsc = tsc;
	mt_topa_start(&region->topa, &thread->out);
}

/* Leave the old region as it is for ever, and go on in the fresh one. */
static void thread_freeze(struct mt_thread *thread)
{
	const u64 tsc = rdtsc_ordered();
	struct mt_region *old = thread->region;

	old->end = thread->out;
	old->info.end_tsc = tsc;
	mt_thread_give(thread, thread->fresh, tsc);
	thread->region->info.cpu = old->info.cpu;
	/* All of it, for whoever waits for that. */
	smp_store_release(&old->is_final, true);
}

static noinline void thread_lost(struct mt_thread *thread, atomic64_t *count,
				 u32 kind)
{
	atomic64_inc(count);
	mt_event_loss(thread->trace->session, kind, 1, thread->task->pid);
	mt_sideband_loss_of(thread->trace->sideband,
			    kind == MTRACE_NL_LOSS_STOPS ? MTRACE_LOSS_STOPPED :
							   MTRACE_LOSS_ERROR,
			    thread->task);
}

/*
 * What is not done at each stop. Tracing may be off only because of this, so
 * nothing that can wait belongs here.
 */
static noinline void thread_stopped(struct mt_thread *thread, u64 mask_ptrs)
{
	struct mtrace_region *info = &thread->region->info;
	struct mt_output *out = &thread->out;
	const u64 base = out->base;

	if (thread->todo & MT_TODO_PIECES)
		mt_hw_stop_base(out);
	if (mt_hw_is_behind(out, base, mask_ptrs))
		info->flags |= MTRACE_REGION_WRAPPED;
	if (mt_hw_has_error(out)) {
		info->flags |= MTRACE_REGION_ERROR;
		thread_lost(thread, &thread->trace->errors,
			    MTRACE_NL_LOSS_ERRORS);
	}
	/*
	 * No table of a ring has a STOP, but the CPU took it so. Begin anew
	 * behind it: to go on from there is an error each time that it is tried.
	 */
	if (!(thread->todo & MT_TODO_STREAM) && mt_hw_has_stopped(out) &&
	    mt_topa_has_ended(&thread->region->topa, out)) {
		info->flags |= MTRACE_REGION_LOST;
		thread_lost(thread, &thread->trace->errors,
			    MTRACE_NL_LOSS_ERRORS);
		mt_topa_skip(&thread->region->topa, out);
	}
	/* It stays stopped over switches, until it has another region. */
	if (mt_hw_has_stopped(out) && !(info->flags & MTRACE_REGION_STOPPED) &&
	    !mt_topa_has_ended(&thread->region->topa, out)) {
		info->flags |= MTRACE_REGION_STOPPED;
		thread_lost(thread, &thread->trace->stops,
			    MTRACE_NL_LOSS_STOPS);
	}
	if (thread->todo & MT_TODO_FRESH)
		thread_freeze(thread);
	if (thread->todo & MT_TODO_STREAM)
		mt_stream_stopped(thread);
}

/* The bucket's lock is held, and the thread is traced on this CPU. */
static __always_inline void thread_stop(struct mt_thread *thread)
{
	const u64 mask_ptrs = thread->out.mask_ptrs;

	mt_hw_stop(&thread->out);
	if (unlikely(thread->todo & MT_TODO_STOP ||
		     thread->out.mask_ptrs < mask_ptrs ||
		     mt_hw_is_unwell(&thread->out)))
		thread_stopped(thread, mask_ptrs);
}

/* Returns whether the thread can be traced: what not every thread needs. */
static noinline bool thread_prepare(struct mt_thread *thread)
{
	struct mt_trace *trace = thread->trace;
	u64 cr3 = 0;

	if (thread->todo & MT_TODO_TRACER &&
	    !mt_access_is_tracer(trace->tracer, thread->task))
		return false;
	if (thread->todo & MT_TODO_FILTER) {
		if (trace->ctl & RTIT_CTL_CR3EN) {
			cr3 = mt_filter_cr3(thread->task, trace->ctl);
			if (!cr3)
				return false;
		}
		if (mt_hw_load(&trace->filter, cr3)) {
			thread_lost(thread, &trace->errors,
				    MTRACE_NL_LOSS_ERRORS);
			return false;
		}
	}
	if (thread->todo & MT_TODO_STREAM)
		mt_tick_start(trace->tick_ns);
	return true;
}

/* Go on tracing what thread_stop() stopped, or begin. */
static __always_inline bool thread_start(struct mt_thread *thread,
					 struct mt_trace *trace)
{
	if (mt_hw_start(&thread->out, trace->ctl, trace->carried)) {
		thread_lost(thread, &trace->errors, MTRACE_NL_LOSS_ERRORS);
		return false;
	}
	thread->region->info.switches++;
	return true;
}

static __always_inline void switch_out(struct mt_thread *thread)
{
	struct mt_thread_bucket *bucket = thread->bucket;

	mt_lock(&bucket->lock);
	thread_stop(thread);
	thread->cpu = -1;
	__this_cpu_write(mt_thread_cpu.running, NULL);
	mt_unlock(&bucket->lock);
}

static __always_inline void switch_in(struct task_struct *task,
				      struct mt_thread_bucket *bucket)
{
	struct mt_thread *thread;
	struct mt_trace *trace;
	int cpu;

	mt_lock(&bucket->lock);
	thread = thread_in(bucket, task);
	if (!thread || !__this_cpu_read(mt_thread_cpu.usable))
		goto out;
	trace = thread->trace;
	if (!READ_ONCE(trace->running))
		goto out;
	if (unlikely(thread->todo & MT_TODO_START) && !thread_prepare(thread))
		goto out;

	cpu = raw_smp_processor_id();
	thread->cpu = cpu;
	thread->region->info.cpu = cpu;
	__this_cpu_write(mt_thread_cpu.running, thread);
	if (unlikely(!thread_start(thread, trace))) {
		thread->cpu = -1;
		__this_cpu_write(mt_thread_cpu.running, NULL);
	}
out:
	mt_unlock(&bucket->lock);
}

/**
 * mt_thread_switch - have this CPU go on with another task
 * @from: the thread that is being traced, or NULL
 * @to: the task that comes, which mt_thread_is_maybe() says it has to know of
 *	or not
 */
void mt_thread_switch(struct mt_thread *from, struct task_struct *to)
{
	struct mt_thread_bucket *bucket = mt_thread_bucket(to);

	if (from)
		switch_out(from);
	if (!hlist_empty(&bucket->threads))
		switch_in(to, bucket);
}

/**
 * mt_thread_stop_running - trace no more what this CPU traces
 */
void mt_thread_stop_running(void)
{
	struct mt_thread *thread = __this_cpu_read(mt_thread_cpu.running);

	if (thread)
		switch_out(thread);
}

/* Whether a thread that is traced on this CPU shall go on as it is. */
static bool thread_goes_on(const struct mt_thread *thread)
{
	return !hlist_unhashed(&thread->node) &&
	       READ_ONCE(thread->trace->running) &&
	       __this_cpu_read(mt_thread_cpu.usable) &&
	       (!(thread->todo & MT_TODO_TRACER) ||
		mt_access_is_tracer(thread->trace->tracer, thread->task));
}

/*
 * What most calls of mt_thread_sync() come to: a stop and a start at once, so
 * that the thread misses as little as can be. Its filters are in place.
 */
static bool thread_restart(struct mt_thread *thread)
{
	struct mt_thread_bucket *bucket = thread->bucket;
	struct mt_trace *trace = thread->trace;
	bool done;

	mt_lock(&bucket->lock);
	done = thread_goes_on(thread);
	if (done) {
		thread_stop(thread);
		if (!thread_start(thread, trace)) {
			thread->cpu = -1;
			__this_cpu_write(mt_thread_cpu.running, NULL);
		}
	}
	mt_unlock(&bucket->lock);
	return done;
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

	if (!thread || !thread_restart(thread))
		mt_thread_switch(thread, current);
}

static void thread_kicked(void *unused)
{
	/* A full barrier: who kicks from here on has another sync. */
	atomic_xchg(this_cpu_ptr(&mt_thread_kicks.pending), 0);
	mt_thread_sync(NULL);
}

/**
 * mt_thread_kick - have mt_thread_sync() run on a CPU without waiting for it
 * @cpu: the CPU; one that has gone offline has done it before
 *
 * To be called with interrupts off. Where a kick is on its way already, that
 * one will see what the caller has changed.
 */
void mt_thread_kick(int cpu)
{
	struct mt_thread_kick *kick = per_cpu_ptr(&mt_thread_kicks, cpu);

	if (cpu == smp_processor_id())
		mt_thread_sync(NULL);
	else if (!atomic_xchg(&kick->pending, 1) &&
		 smp_call_function_single_async(cpu, &kick->csd))
		atomic_set(&kick->pending, 0);
}

/**
 * mt_thread_untraced - have each CPU ask whether what it traces still has its
 *	tracer
 *
 * A tracer that detaches has stopped the thread, which comes to a CPU again
 * then. One that exits has not, and the thread may run on for long.
 */
void mt_thread_untraced(void)
{
	unsigned long flags;
	int cpu;

	local_irq_save(flags);
	for_each_online_cpu(cpu)
		mt_thread_kick(cpu);
	local_irq_restore(flags);
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
		mt_thread_switch(thread, current);
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
	thread->bucket = bucket;
	thread->trace = trace;
	thread->stream = (struct mt_stream_thread){};
	thread->cpu = -1;
	mt_thread_give(thread, region, rdtsc_ordered());
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
	struct mt_thread_bucket *bucket = thread->bucket;
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
	struct mt_thread_bucket *bucket = thread->bucket;
	unsigned long flags;
	int cpu;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	cpu = thread->cpu;
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return cpu;
}

/**
 * mt_thread_exchange - have a thread go on in another region
 * @thread: a thread in the table
 * @fresh: the region
 * @cpu: receives -1 where it is done; else the CPU that the thread is being
 *	traced on and that does it at the thread's next stop: at the latest when
 *	mt_thread_sync() has run there
 *
 * Return: the region that it leaves, which is final when the exchange is done;
 * NULL where another exchange is pending, so that this one cannot be.
 */
struct mt_region *mt_thread_exchange(struct mt_thread *thread,
				     struct mt_region *fresh, int *cpu)
{
	struct mt_thread_bucket *bucket = thread->bucket;
	struct mt_region *old = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	*cpu = thread->cpu;
	if (thread->todo & MT_TODO_FRESH)
		goto out;
	old = thread->region;
	thread->fresh = fresh;
	thread->todo |= MT_TODO_FRESH;
	if (*cpu < 0)
		thread_freeze(thread);
out:
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return old;
}

/**
 * mt_thread_init - prepare the table
 */
void __init mt_thread_init(void)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < ARRAY_SIZE(mt_thread_table); i++)
		raw_spin_lock_init(&mt_thread_table[i].lock);
	for_each_possible_cpu(cpu)
		per_cpu(mt_thread_kicks, cpu).csd.func = thread_kicked;
}

/**
 * mt_thread_exit - let no interrupt of ours be on its way any more
 *
 * There is no session, but a CPU may be about to look whether it has to do
 * something for one.
 */
void mt_thread_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		while (atomic_read(&per_cpu(mt_thread_kicks, cpu).pending))
			cpu_relax();
	/* Waits for the handlers, in which interrupts are off. */
	synchronize_rcu();
}
