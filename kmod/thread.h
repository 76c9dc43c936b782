/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_THREAD_H
#define _MT_THREAD_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "filter.h"
#include "hw.h"
#include "stream.h"

struct mt_region;
struct mt_sideband;
struct pid;
struct task_struct;

#define MT_MAX_THREADS	4096	/* in one session */
#define MT_THREAD_HASH_BITS	12

/*
 * What a switch has to do for a thread beside its registers: one test each, of
 * all of them, when it stops and when it starts. A new kind goes into one of the
 * two masks, and is done by thread_stopped() or by thread_prepare().
 */
#define MT_TODO_FRESH	BIT(0)	/* go on in mt_thread.fresh */
#define MT_TODO_PIECES	BIT(1)	/* find the piece of the region it is in */
#define MT_TODO_FILTER	BIT(2)	/* have its ranges or its CR3 in the CPU */
#define MT_TODO_TRACER	BIT(3)	/* ask whether it is still traced by ptrace */
#define MT_TODO_STREAM	BIT(4)	/* look how far it has got, and when it runs */

#define MT_TODO_STOP	(MT_TODO_FRESH | MT_TODO_PIECES | MT_TODO_STREAM)
#define MT_TODO_START	(MT_TODO_FILTER | MT_TODO_TRACER | MT_TODO_STREAM)

/**
 * struct mt_trace - what the threads of a session have in common
 * @running: whether they are traced when they run
 * @todo: the MT_TODO_* that each of them has; constant once there are any
 * @tracer: the process that must trace them by ptrace, or NULL
 * @ctl: IA32_RTIT_CTL while they are
 * @carried: what of IA32_RTIT_STATUS goes with them over switches
 * @filter: the ranges that @ctl means
 * @session: the session's number, for events
 * @sideband: the session's sideband, or NULL
 * @errors: times that the CPU refused or gave up for an error
 * @stops: times that a thread came to a range that stops the trace
 * @tick_ns: how often they are stopped at least, with MT_TODO_STREAM
 */
struct mt_trace {
	bool running;
	u32 todo;
	const struct pid *tracer;
	u64 ctl;
	u64 carried;
	struct mt_filter filter;
	u32 session;
	struct mt_sideband *sideband;
	atomic64_t errors;
	atomic64_t stops;
	u64 tick_ns;
};

/**
 * struct mt_thread - a traced thread
 * @node: in the bucket of its task
 * @link: in the session's list of used or of idle ones
 * @task: the task, with a reference; NULL in an unused one. Changed under the
 *	session's lock
 * @bucket: that of @task
 * @trace: the session's part of it
 * @todo: MT_TODO_*
 * @region: what it writes to
 * @fresh: what it shall write to from its next stop on, with MT_TODO_FRESH
 * @out: how far it has got in @region; of no meaning while it runs
 * @stream: its account, with MT_TODO_STREAM
 * @cpu: the CPU that it is traced on at this moment, or -1
 * @is_dying: a signal kills its process
 * @is_armed: it has the breakpoints of the session's triggers
 * @round: the last in which all threads were given another one
 * @space_node: among the sideband's threads by address space
 * @space: the number of its address space
 * @tid: the number that the sideband said last that it has ...
 * @pid: ... and that of its thread group
 *
 * The lock of the bucket guards everything but @link, @task, @is_dying, @is_armed
 * and @round, which are the session's, and the last four, which are the
 * sideband's.
 */
struct mt_thread {
	struct hlist_node node;
	struct list_head link;
	struct task_struct *task;
	struct mt_thread_bucket *bucket;
	struct mt_trace *trace;
	struct mt_region *region;
	struct mt_region *fresh;
	struct mt_output out;
	struct mt_stream_thread stream;
	u32 todo;
	int cpu;
	bool is_dying;
	bool is_armed;
	u32 round;
	struct hlist_node space_node;
	u64 space;
	s32 tid;
	s32 pid;
};

/**
 * struct mt_thread_bucket - threads whose tasks hash alike
 * @lock: guards the list and the threads in it
 * @threads: the list
 */
struct mt_thread_bucket {
	raw_spinlock_t lock;
	struct hlist_head threads;
};

/**
 * struct mt_thread_cpu - what a switch of threads wants to know of its CPU
 * @running: the thread that is being traced here, or NULL
 * @usable: whether tracing may be started here
 *
 * Changed on its own CPU alone, with interrupts off.
 */
struct mt_thread_cpu {
	struct mt_thread *running;
	bool usable;
};

extern struct mt_thread_bucket mt_thread_table[1 << MT_THREAD_HASH_BITS];
DECLARE_PER_CPU(struct mt_thread_cpu, mt_thread_cpu);

/*
 * Of a live task: its address is its identity while a reference is held. The
 * lower half of it is quicker to hash, and as good.
 */
static __always_inline u32 mt_thread_hash(const struct task_struct *task)
{
	return hash_32((u32)(unsigned long)task, MT_THREAD_HASH_BITS);
}

static __always_inline struct mt_thread_bucket *
mt_thread_bucket(const struct task_struct *task)
{
	return &mt_thread_table[mt_thread_hash(task)];
}

/**
 * mt_thread_is_maybe - a cheap test that most untraced tasks fail
 * @task: the task
 *
 * Every context switch of the machine pays for this from the first session
 * on. A bucket has a thread in it by chance only as often as there are traced
 * threads for each of the buckets.
 */
static __always_inline bool mt_thread_is_maybe(const struct task_struct *task)
{
	return !hlist_empty(&mt_thread_table[mt_thread_hash(task)].threads);
}

void mt_trace_init(struct mt_trace *trace, const struct mtrace_setup *setup);

void mt_thread_init(void);
void mt_thread_exit(void);
int mt_thread_add(struct mt_thread *thread, struct task_struct *task,
		  struct mt_trace *trace, struct mt_region *region);
int mt_thread_remove(struct mt_thread *thread);
struct mt_thread *mt_thread_find(const struct task_struct *task,
				 struct mt_trace **trace);
int mt_thread_cpu_of(struct mt_thread *thread);
void mt_thread_give(struct mt_thread *thread, struct mt_region *region,
		    u64 tsc);
struct mt_region *mt_thread_exchange(struct mt_thread *thread,
				     struct mt_region *fresh, int *cpu);

void mt_thread_switch(struct mt_thread *from, struct task_struct *to);
void mt_thread_stop_running(void);
void mt_thread_sync(void *unused);
void mt_thread_kick(int cpu);
void mt_thread_untraced(void);
void mt_thread_exec(void);

#endif /* _MT_THREAD_H */
