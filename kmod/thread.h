/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_THREAD_H
#define _MT_THREAD_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "filter.h"
#include "hw.h"

struct mt_region;
struct task_struct;

#define MT_MAX_THREADS	4096	/* in one session */
#define MT_THREAD_HASH_BITS	12

/**
 * struct mt_trace - what the threads of a session have in common
 * @running: whether they are traced when they run
 * @ctl: IA32_RTIT_CTL while they are
 * @filter: the ranges that @ctl means
 * @errors: times that the CPU refused or gave up for an error
 * @stops: times that a thread came to a range that stops the trace
 */
struct mt_trace {
	bool running;
	u64 ctl;
	struct mt_filter filter;
	atomic64_t errors;
	atomic64_t stops;
};

/**
 * struct mt_thread - a traced thread
 * @node: in the bucket of its task
 * @link: in the session's list of unused ones
 * @task: the task, with a reference; NULL in an unused one. Changed under the
 *	session's lock
 * @trace: the session's part of it
 * @region: what it writes to
 * @fresh: what it shall write to from its next stop on, or NULL
 * @out: how far it has got in @region; of no meaning while it runs
 * @cpu: the CPU that it is traced on at this moment, or -1
 *
 * The lock of the bucket guards everything but @link and @task.
 */
struct mt_thread {
	struct hlist_node node;
	struct list_head link;
	struct task_struct *task;
	struct mt_trace *trace;
	struct mt_region *region;
	struct mt_region *fresh;
	struct mt_output out;
	int cpu;
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

/* Of a live task: its address is its identity while a reference is held. */
static inline struct mt_thread_bucket *
mt_thread_bucket(const struct task_struct *task)
{
	return &mt_thread_table[hash_ptr(task, MT_THREAD_HASH_BITS)];
}

/**
 * mt_thread_is_maybe - a cheap test that most untraced tasks fail
 * @task: the task
 *
 * Every context switch of the machine pays for this from the first session
 * on. A bucket has a thread in it by chance only as often as there are traced
 * threads for each of the buckets.
 */
static inline bool mt_thread_is_maybe(const struct task_struct *task)
{
	return !hlist_empty(&mt_thread_bucket(task)->threads);
}

void mt_thread_init(void);
int mt_thread_add(struct mt_thread *thread, struct task_struct *task,
		  struct mt_trace *trace, struct mt_region *region);
int mt_thread_remove(struct mt_thread *thread);
struct mt_thread *mt_thread_find(const struct task_struct *task,
				 struct mt_trace **trace);
int mt_thread_cpu_of(struct mt_thread *thread);
int mt_thread_exchange(struct mt_thread *thread, struct mt_region *fresh);

void mt_thread_switch_out(struct mt_thread *thread);
void mt_thread_switch_in(struct task_struct *task);
void mt_thread_sync(void *unused);
void mt_thread_exec(void);

#endif /* _MT_THREAD_H */
