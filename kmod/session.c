// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions
 *
 * Owns the life of a session: what a set-up asks for and gets, start and stop,
 * status, and the end. Does not know the device file nor what a snapshot
 * tells, and touches no register.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "access.h"
#include "attach.h"
#include "buffer.h"
#include "caps.h"
#include "compat.h"
#include "cpu.h"
#include "filter.h"
#include "hooks.h"
#include "hw.h"
#include "member.h"
#include "registry.h"
#include "session.h"
#include "sideband.h"
#include "snapshot.h"
#include "stream.h"
#include "thread.h"
#include "trigger.h"

#define MT_GFP	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/*
 * Have all CPUs where threads of the session are see that it runs or not. To
 * start, that is where a thread may be on a CPU untraced; to stop, where one
 * is traced.
 */
static void session_sync(struct mt_session *session, bool start)
{
	struct mt_thread *thread;
	int cpu;

	cpumask_clear(session->cpus);
	raw_spin_lock_irq(&session->lock);
	list_for_each_entry(thread, &session->used_threads, link) {
		cpu = start ? task_cpu(thread->task) : mt_thread_cpu_of(thread);
		if (cpu >= 0)
			cpumask_set_cpu(cpu, session->cpus);
	}
	raw_spin_unlock_irq(&session->lock);
	on_each_cpu_mask(session->cpus, mt_thread_sync, NULL, true);
}

static int session_run(struct mt_session *session, bool run)
{
	if (!session->ready)
		return -EINVAL;
	if (session->trace.running == run)
		return -EALREADY;

	if (run)
		mt_sideband_run(session, run);
	WRITE_ONCE(session->trace.running, run);
	/* Before it is looked where the threads are: see mt_attach_begin(). */
	smp_mb();
	session_sync(session, run);
	if (!run)
		mt_sideband_run(session, run);
	return 0;
}

/**
 * mt_session_start - trace the session's threads
 * @session: the session
 *
 * Return: 0, -EINVAL, -EALREADY, or -EACCES where lockdown forbids it.
 */
int mt_session_start(struct mt_session *session)
{
	int ret = mt_access_check(&session->access, &session->setup);

	if (session->ready && ret)
		return ret;
	return session_run(session, true);
}

/**
 * mt_session_stop - let the session's threads run untraced
 * @session: the session; if it streams, what they have written is handed over
 *
 * Return: 0, -EINVAL or -EALREADY.
 */
int mt_session_stop(struct mt_session *session)
{
	int ret = session_run(session, false);

	if (!ret && session->stream.slots)
		mt_stream_flush(session);
	return ret;
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
	if (status->flags)
		return -EINVAL;

	raw_spin_lock_irq(&session->lock);
	status->running = session->trace.running;
	status->nr_threads = session->nr_threads;
	status->nr_snapshots = session->nr_snapshots;
	raw_spin_lock(&session->stream.lock);
	status->regions_frozen = session->nr_frozen + session->stream.nr_held;
	status->stream_bytes = session->stream.bytes;
	status->stream_lost_bytes = session->stream.lost_bytes;
	status->stream_overruns = session->stream.overruns;
	raw_spin_unlock(&session->stream.lock);
	status->regions_free = mt_buffer_nr_free(&session->buffer) +
			       session->nr_dirty;
	status->regions_live = session->buffer.nr_regions -
			       status->regions_frozen - status->regions_free;
	status->refused_threads = session->refused;
	status->wraps = session->wraps;
	status->unswitched = session->unswitched;
	status->recycled = session->recycled;
	status->nobufs = session->nobufs;
	status->gained = session->gained;
	status->unarmed = session->unarmed;
	raw_spin_unlock_irq(&session->lock);
	status->errors = atomic64_read(&session->trace.errors);
	status->stops = atomic64_read(&session->trace.stops);
	return 0;
}

/**
 * mt_session_is_of - tell whether a session has to do with a process
 * @session: the session
 * @process: the process
 *
 * Return: whether it traces a thread of the process, or was opened by it.
 */
bool mt_session_is_of(struct mt_session *session, struct pid *process)
{
	return session->access.owner == process ||
	       mt_member_has_process(session, process);
}

/* Check a set-up, and work out what it means but for the memory. */
static int session_plan(const struct mt_access *access,
			struct mtrace_setup *setup)
{
	struct mtrace_caps caps = {};
	u64 region_size;
	int ret;

	setup->missing = 0;
	if (setup->flags & ~MTRACE_SETUP_FLAGS_ALL || setup->pad ||
	    memchr_inv(setup->reserved, 0, sizeof(setup->reserved)))
		return -EINVAL;
	if (setup->flags & MTRACE_SETUP_STREAM &&
	    setup->flags & (MTRACE_SETUP_SNAPSHOT_AT_EXIT |
			    MTRACE_SETUP_SNAPSHOT_AT_SIGNAL))
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
		ret = mt_sideband_check(setup);
	if (!ret)
		ret = mt_caps_check(setup);
	if (!ret)
		ret = mt_access_check(access, setup);
	if (ret)
		return ret;

	region_size = div64_u64(setup->buffer_size, (u64)setup->max_threads *
						    (1ULL + setup->max_snapshots));
	if (region_size < PAGE_SIZE)
		return -ENOSPC;
	region_size = min_t(u64, rounddown_pow_of_two(region_size),
			    caps.max_region_size);

	setup->region_size = region_size;
	setup->rtit_ctl = mt_hw_ctl(setup);
	setup->available = 0;
	setup->session = 0;
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

static enum mt_topa_mode session_topa_mode(const struct mtrace_setup *setup)
{
	if (!(setup->flags & MTRACE_SETUP_STREAM))
		return MT_TOPA_RING;
	return setup->pmu_type ? MT_TOPA_ONCE_PMI : MT_TOPA_ONCE;
}

/* The memory of a session that grows with what is asked for. */
static u64 session_footprint(const struct mtrace_setup *setup)
{
	u64 nr_regions = div64_u64(setup->buffer_size, setup->region_size);

	return mt_buffer_footprint(setup->buffer_size, setup->region_size,
				   session_topa_mode(setup)) +
	       setup->max_threads * sizeof(struct mt_thread) +
	       setup->sideband_size +
	       nr_regions * sizeof(struct mt_snapshot) +
	       (setup->flags & MTRACE_SETUP_STREAM ?
		mt_stream_footprint(nr_regions) : 0);
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

	ret = session_plan(&session->access, setup);
	if (ret)
		return ret;
	if (session->ready)
		return -EBUSY;

	ret = mt_access_charge(&session->access, session_footprint(setup),
			       &available);
	if (ret)
		goto err_available;
	ret = mt_buffer_alloc(&session->buffer, setup->buffer_size,
			      setup->region_size, setup->max_threads,
			      session_topa_mode(setup), &available);
	if (ret)
		goto err_uncharge;
	ret = session_alloc_threads(session, setup->max_threads);
	if (ret)
		goto err_free_buffer;
	ret = mt_snapshot_alloc(session);
	if (ret)
		goto err_free_threads;
	if (setup->flags & MTRACE_SETUP_STREAM) {
		ret = mt_stream_alloc(session, setup->pmu_type);
		if (ret)
			goto err_free_snapshots;
	}
	ret = mt_hooks_want();
	if (ret)
		goto err_free_stream;
	ret = mt_sideband_create(session, setup);
	if (ret)
		goto err_free_stream;
	ret = mt_cpu_get(setup->pmu_type);
	if (ret)
		goto err_destroy_sideband;

	setup->nr_regions = session->buffer.nr_regions;
	session_read_clocks(setup);
	session->setup = *setup;
	mt_trace_init(&session->trace, setup);
	ret = mt_registry_add(session);
	if (ret)
		goto err_put_cpus;
	setup->session = session->setup.session;
	session->trace.session = setup->session;
	/* The mapping asks for it without the mutex. */
	smp_store_release(&session->ready, true);
	return 0;

err_put_cpus:
	mt_cpu_put();
err_destroy_sideband:
	mt_sideband_destroy(session);
err_free_stream:
	mt_stream_free(session);
err_free_snapshots:
	mt_snapshot_free(session);
err_free_threads:
	session_free_threads(session);
err_free_buffer:
	mt_buffer_free(&session->buffer);
err_uncharge:
	mt_access_uncharge(&session->access);
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

static void session_complete_work(struct work_struct *work)
{
	struct mt_session *session = container_of(work, struct mt_session,
						  completer);

	mutex_lock(&session->mutex);
	mt_snapshot_complete(session);
	mutex_unlock(&session->mutex);
}

static void session_wake_work(struct irq_work *work)
{
	wake_up_all(&container_of(work, struct mt_session, waker)->wait);
}

/**
 * mt_session_wake - have those look again who wait for the session's news
 * @session: the session
 *
 * May be called in any context, under any lock.
 */
void mt_session_wake(struct mt_session *session)
{
	irq_work_queue(&session->waker);
}

/**
 * mt_session_lock_arming - take the mutex of what changes breakpoints, and within
 *	it the session's, for a call of its owner
 * @session: the session
 *
 * Return: 0, or -EINTR where the caller is being killed.
 */
int mt_session_lock_arming(struct mt_session *session)
{
	if (mutex_lock_killable(&session->arming))
		return -EINTR;
	if (mutex_lock_killable(&session->mutex)) {
		mutex_unlock(&session->arming);
		return -EINTR;
	}
	mt_attach_review(session);
	return 0;
}

/**
 * mt_session_lock - take a session's mutex for a call of its owner
 * @session: the session
 *
 * Return: 0, or -EINTR where the caller is being killed.
 */
int mt_session_lock(struct mt_session *session)
{
	int ret;

	if (mutex_lock_killable(&session->mutex))
		return -EINTR;
	if (!mt_attach_is_due(session))
		return 0;
	/* What takes breakpoints away waits for perf. */
	mutex_unlock(&session->mutex);
	ret = mt_session_lock_arming(session);
	if (!ret)
		mutex_unlock(&session->arming);
	return ret;
}

static void session_arm_work(struct work_struct *work)
{
	struct mt_session *session = container_of(work, struct mt_session,
						  armer);

	mutex_lock(&session->arming);
	mt_trigger_update(session);
	mutex_unlock(&session->arming);
}

/**
 * mt_session_create - make a session for a file that is being opened
 *
 * Return: the session or an ERR_PTR().
 */
struct mt_session *mt_session_create(void)
{
	struct mt_session *session;
	int ret;

	session = kzalloc(sizeof(*session), GFP_KERNEL);
	if (!session)
		return ERR_PTR(-ENOMEM);
	ret = mt_access_open(&session->access);
	if (ret)
		goto err_free;
	ret = -ENOMEM;
	if (!zalloc_cpumask_var(&session->cpus, GFP_KERNEL))
		goto err_close;
	mutex_init(&session->reading);
	mutex_init(&session->arming);
	mutex_init(&session->mutex);
	init_waitqueue_head(&session->wait);
	init_irq_work(&session->waker, session_wake_work);
	raw_spin_lock_init(&session->lock);
	raw_spin_lock_init(&session->stream.lock);
	INIT_WORK(&session->cleaner, session_clean_work);
	INIT_WORK(&session->completer, session_complete_work);
	INIT_WORK(&session->armer, session_arm_work);
	INIT_LIST_HEAD(&session->triggers);
	INIT_LIST_HEAD(&session->held_snapshots);
	INIT_LIST_HEAD(&session->idle_snapshots);
	INIT_LIST_HEAD(&session->begun_snapshots);
	INIT_LIST_HEAD(&session->idle_threads);
	INIT_LIST_HEAD(&session->used_threads);
	INIT_LIST_HEAD(&session->exited);
	INIT_LIST_HEAD(&session->dirty);
	session->pid_ns = get_pid_ns(task_active_pid_ns(current));
	session->trace.tracer = mt_access_tracer(&session->access);
	return session;

err_close:
	mt_access_close(&session->access);
err_free:
	kfree(session);
	return ERR_PTR(ret);
}

/**
 * mt_session_destroy - end a session
 * @session: the session; nobody else has it but the hooks, and who found it by
 *	its number
 */
void mt_session_destroy(struct mt_session *session)
{
	if (session->ready) {
		mt_registry_remove(session);
		mt_member_remove_all(session);
		/* The hooks may have found this session's threads. */
		synchronize_rcu();
		cancel_work_sync(&session->armer);
		mt_sideband_destroy(session);
		mt_cpu_put();
		mt_trigger_remove_all(session);
		cancel_work_sync(&session->cleaner);
		cancel_work_sync(&session->completer);
		irq_work_sync(&session->waker);
		mt_stream_free(session);
		mt_snapshot_free(session);
		session_free_threads(session);
		mt_buffer_free(&session->buffer);
	}
	mt_access_close(&session->access);
	put_pid_ns(session->pid_ns);
	free_cpumask_var(session->cpus);
	kfree(session);
}
