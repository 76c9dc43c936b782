// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions
 *
 * Owns the life of a session: what a set-up asks for and gets, start and stop,
 * status, and the end. Does not know the device file nor what a snapshot
 * tells, and touches no register.
 */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "buffer.h"
#include "caps.h"
#include "compat.h"
#include "cpu.h"
#include "filter.h"
#include "hooks.h"
#include "hw.h"
#include "member.h"
#include "session.h"
#include "snapshot.h"
#include "thread.h"

#define MT_GFP	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/*
 * Have all CPUs where threads of the session are see that it runs or not. To
 * start, that is where a thread may be on a CPU untraced; to stop, where one
 * is traced.
 */
static void session_sync(struct mt_session *session, bool start)
{
	struct mt_thread *thread;
	u32 i;
	int cpu;

	cpumask_clear(session->cpus);
	for (i = 0; i < session->setup.max_threads; i++) {
		thread = &session->threads[i];
		if (!READ_ONCE(thread->task))
			continue;
		raw_spin_lock_irq(&session->lock);
		if (!thread->task)
			cpu = -1;
		else if (start)
			cpu = task_cpu(thread->task);
		else
			cpu = mt_thread_cpu_of(thread);
		raw_spin_unlock_irq(&session->lock);
		if (cpu >= 0)
			cpumask_set_cpu(cpu, session->cpus);
	}
	on_each_cpu_mask(session->cpus, mt_thread_sync, NULL, true);
}

static int session_run(struct mt_session *session, bool run)
{
	if (!session->ready)
		return -EINVAL;
	if (session->trace.running == run)
		return -EALREADY;

	WRITE_ONCE(session->trace.running, run);
	/* Before it is looked where the threads are: see mt_member_attach(). */
	smp_mb();
	session_sync(session, run);
	return 0;
}

/**
 * mt_session_start - trace the session's threads
 * @session: the session
 *
 * Return: 0, -EINVAL or -EALREADY.
 */
int mt_session_start(struct mt_session *session)
{
	return session_run(session, true);
}

/**
 * mt_session_stop - let the session's threads run untraced
 * @session: the session
 *
 * Return: 0, -EINVAL or -EALREADY.
 */
int mt_session_stop(struct mt_session *session)
{
	return session_run(session, false);
}

/**
 * mt_session_status - count what the session has
 * @session: the session
 * @status: filled in, but for its size
 *
 * Return: 0 or -EINVAL.
 */
int mt_session_status(struct mt_session *session, struct mtrace_status *status)
{
	if (status->flags || memchr_inv(status->reserved, 0,
					sizeof(status->reserved)))
		return -EINVAL;

	raw_spin_lock_irq(&session->lock);
	status->running = session->trace.running;
	status->nr_threads = session->nr_threads;
	status->nr_snapshots = session->nr_snapshots;
	status->regions_frozen = session->nr_frozen;
	status->regions_free = session->buffer.nr_free + session->nr_dirty;
	status->regions_live = session->buffer.nr_regions -
			       status->regions_frozen - status->regions_free;
	status->refused_threads = session->refused;
	status->wraps = session->wraps;
	status->unswitched = session->unswitched;
	status->recycled = session->recycled;
	raw_spin_unlock_irq(&session->lock);
	status->errors = atomic64_read(&session->trace.errors);
	status->stops = atomic64_read(&session->trace.stops);
	return 0;
}

/* Check a set-up, and work out what it means but for the memory. */
static int session_plan(struct mtrace_setup *setup)
{
	struct mtrace_caps caps = {};
	u64 region_size;
	int ret;

	setup->missing = 0;
	if (setup->flags & ~MTRACE_SETUP_FLAGS_ALL || setup->pad ||
	    memchr_inv(setup->reserved, 0, sizeof(setup->reserved)))
		return -EINVAL;
	mt_caps_describe(&caps);
	if (!setup->max_threads || setup->max_threads > caps.max_threads ||
	    !setup->max_snapshots)
		return -EINVAL;
	if (!is_power_of_2(setup->buffer_size) ||
	    setup->buffer_size < PAGE_SIZE)
		return -EINVAL;
	ret = mt_filter_check(setup);
	if (!ret)
		ret = mt_caps_check(setup);
	if (ret)
		return ret;
	if (setup->trace_flags & MTRACE_TRACE_KERNEL &&
	    security_locked_down(LOCKDOWN_PERF))
		return -EACCES;

	region_size = div64_u64(setup->buffer_size, (u64)setup->max_threads *
						    (1ULL + setup->max_snapshots));
	if (region_size < PAGE_SIZE)
		return -ENOSPC;
	region_size = min(rounddown_pow_of_two(region_size),
			  caps.max_region_size);

	setup->region_size = region_size;
	setup->rtit_ctl = mt_hw_ctl(setup);
	setup->available = 0;
	return 0;
}

/* The three clocks at one moment, as near as can be read together. */
static void session_read_clocks(struct mtrace_setup *setup)
{
	u64 before, after, best = U64_MAX;
	unsigned long flags;
	ktime_t now;
	int i;

	for (i = 0; i < 4; i++) {
		local_irq_save(flags);
		before = rdtsc_ordered();
		now = ktime_get();
		after = rdtsc_ordered();
		local_irq_restore(flags);
		if (after - before >= best)
			continue;
		best = after - before;
		setup->start_tsc = before + best / 2;
		setup->start_monotonic_ns = ktime_to_ns(now);
		setup->start_realtime_ns =
			ktime_to_ns(ktime_mono_to_real(now));
	}
}

static int session_alloc_threads(struct mt_session *session, u32 nr)
{
	u32 i;

	session->threads = kvcalloc(nr, sizeof(*session->threads), MT_GFP);
	if (!session->threads)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		list_add_tail(&session->threads[i].link,
			      &session->idle_threads);
	return 0;
}

static void session_free_threads(struct mt_session *session)
{
	INIT_LIST_HEAD(&session->idle_threads);
	kvfree(session->threads);
	session->threads = NULL;
}

/**
 * mt_session_setup - allocate the buffer and fix the tracing options
 * @session: the session
 * @setup: what is wanted; completed by what was got
 *
 * Return: 0 or an error as the protocol lists them.
 */
int mt_session_setup(struct mt_session *session, struct mtrace_setup *setup)
{
	u64 available;
	int ret;

	ret = session_plan(setup);
	if (ret)
		return ret;
	if (session->ready)
		return -EBUSY;

	ret = mt_buffer_alloc(&session->buffer, setup->buffer_size,
			      setup->region_size, &available);
	if (ret)
		goto err_available;
	ret = session_alloc_threads(session, setup->max_threads);
	if (ret)
		goto err_free_buffer;
	ret = mt_snapshot_alloc(session);
	if (ret)
		goto err_free_threads;
	ret = mt_hooks_want();
	if (ret)
		goto err_free_snapshots;
	ret = mt_cpu_get(setup->pmu_type);
	if (ret)
		goto err_free_snapshots;

	setup->nr_regions = session->buffer.nr_regions;
	session_read_clocks(setup);
	session->setup = *setup;
	session->trace.ctl = setup->rtit_ctl;
	mt_filter_init(&session->trace.filter, setup);
	/* The mapping asks for it without the mutex. */
	smp_store_release(&session->ready, true);
	return 0;

err_free_snapshots:
	mt_snapshot_free(session);
err_free_threads:
	session_free_threads(session);
err_free_buffer:
	mt_buffer_free(&session->buffer);
err_available:
	if (ret == -ENOMEM)
		setup->available = available;
	return ret;
}

/**
 * mt_session_get_setup - tell what the session got
 * @session: the session
 * @setup: filled in, but for its size
 *
 * Return: 0 or -EINVAL.
 */
int mt_session_get_setup(struct mt_session *session, struct mtrace_setup *setup)
{
	u32 size = setup->size;

	setup->size = 0;
	if (!session->ready || memchr_inv(setup, 0, sizeof(*setup)))
		return -EINVAL;
	*setup = session->setup;
	setup->size = size;
	return 0;
}

static void session_clean_work(struct work_struct *work)
{
	mt_member_clean(container_of(work, struct mt_session, cleaner));
}

/**
 * mt_session_create - make a session for a file that is being opened
 *
 * Return: the session, or NULL where there is no memory.
 */
struct mt_session *mt_session_create(void)
{
	struct mt_session *session;

	session = kzalloc(sizeof(*session), GFP_KERNEL);
	if (!session)
		return NULL;
	if (!zalloc_cpumask_var(&session->cpus, GFP_KERNEL)) {
		kfree(session);
		return NULL;
	}
	mutex_init(&session->mutex);
	raw_spin_lock_init(&session->lock);
	INIT_WORK(&session->cleaner, session_clean_work);
	INIT_LIST_HEAD(&session->idle_snapshots);
	INIT_LIST_HEAD(&session->held_snapshots);
	INIT_LIST_HEAD(&session->idle_threads);
	INIT_LIST_HEAD(&session->exited);
	INIT_LIST_HEAD(&session->dirty);
	session->pid_ns = get_pid_ns(task_active_pid_ns(current));
	return session;
}

/**
 * mt_session_destroy - end a session
 * @session: the session; nobody else has it but the hooks
 */
void mt_session_destroy(struct mt_session *session)
{
	if (session->ready) {
		mt_member_remove_all(session);
		mt_cpu_put();
		/* The hooks may have found this session's threads. */
		synchronize_rcu();
		cancel_work_sync(&session->cleaner);
		mt_snapshot_free(session);
		session_free_threads(session);
		mt_buffer_free(&session->buffer);
	}
	put_pid_ns(session->pid_ns);
	free_cpumask_var(session->cpus);
	kfree(session);
}
