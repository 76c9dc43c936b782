// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots
 *
 * Owns which regions are frozen, and what is told of them. Each thread is
 * promised a fresh region; one that is on no CPU has it at once, one that is
 * being traced takes it when it stops next, which it does when its CPU is
 * interrupted or when it leaves it before that. So no thread can slip through
 * by moving about, and each is interrupted once at most.
 *
 * A snapshot begins with interrupts off, under the session's lock, and waits for
 * nobody: a handler of exceptions can have one. It is completed where one may
 * wait: by a work, or by the next call that wants to know of snapshots, whichever
 * comes first. All but the beginning is called with the session's mutex held, or
 * by who tells what a snapshot holds, which has @reading of the session.
 */
#include <linux/errno.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mtrace_netlink.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "access.h"
#include "buffer.h"
#include "compat.h"
#include "event.h"
#include "member.h"
#include "session.h"
#include "sideband.h"
#include "snapshot.h"
#include "thread.h"

/* sizeof(struct mtrace_region) in the first version of the protocol. */
#define MT_REGION_SIZE_FIRST	80

/**
 * mt_snapshot_alloc - make as many snapshots as there could ever be
 * @session: the session, with its buffer
 *
 * Return: 0 or -ENOMEM.
 */
int mt_snapshot_alloc(struct mt_session *session)
{
	struct mt_snapshot *snapshot;
	u32 i;

	session->snapshots = kvcalloc(session->buffer.nr_regions,
				      sizeof(*snapshot),
				      GFP_KERNEL | __GFP_NORETRY |
				      __GFP_NOWARN);
	if (!session->snapshots)
		return -ENOMEM;
	for (i = 0; i < session->buffer.nr_regions; i++) {
		snapshot = &session->snapshots[i];
		INIT_LIST_HEAD(&snapshot->regions);
		list_add_tail(&snapshot->link, &session->idle_snapshots);
	}
	return 0;
}

/**
 * mt_snapshot_free - free them
 * @session: the session
 */
void mt_snapshot_free(struct mt_session *session)
{
	INIT_LIST_HEAD(&session->idle_snapshots);
	INIT_LIST_HEAD(&session->begun_snapshots);
	INIT_LIST_HEAD(&session->held_snapshots);
	kvfree(session->snapshots);
	session->snapshots = NULL;
}

static struct mt_snapshot *snapshot_find(struct mt_session *session, u64 id)
{
	struct mt_snapshot *snapshot;

	mt_snapshot_complete(session);
	list_for_each_entry(snapshot, &session->held_snapshots, link)
		if (snapshot->told.id == id)
			return snapshot;
	return NULL;
}

static bool snapshot_is_arg(const struct mt_session *session,
			    const struct mtrace_snapshot *arg, u32 flags)
{
	return session->ready && !(arg->flags & ~flags) &&
	       !memchr_inv(arg->reserved, 0, sizeof(arg->reserved));
}

/* The owner is to be told of a snapshot ... */
static void snapshot_announce(struct mt_session *session,
			      struct mt_snapshot *snapshot)
{
	raw_spin_lock_irq(&session->lock);
	snapshot->is_untold = true;
	session->nr_untold++;
	raw_spin_unlock_irq(&session->lock);
	mt_session_wake(session);
}

/* ... and has been, or has found it by itself. */
static void snapshot_tell(struct mt_session *session,
			  struct mt_snapshot *snapshot)
{
	raw_spin_lock_irq(&session->lock);
	if (snapshot->is_untold)
		session->nr_untold--;
	snapshot->is_untold = false;
	raw_spin_unlock_irq(&session->lock);
}

/* Begin with what exited threads left. The session's lock is held. */
static void snapshot_take_exited(struct mt_session *session,
				 struct mt_snapshot *snapshot)
{
	snapshot->told.nr_regions += session->nr_exited;
	session->nr_frozen += session->nr_exited;
	session->nr_exited = 0;
	list_splice_tail_init(&session->exited, &snapshot->regions);
}

/*
 * Promise a thread a fresh region, and have it take it at once where it is
 * being traced. The session's lock is held. Returns whether there was a region.
 */
static bool snapshot_switch(struct mt_session *session,
			    struct mt_snapshot *snapshot,
			    struct mt_thread *thread)
{
	struct mt_region *fresh = mt_buffer_get(&session->buffer,
						task_cpu(thread->task), 0);
	struct mt_region *old;
	int cpu;

	if (!fresh) {
		mt_sideband_loss_of(session->trace.sideband,
				    MTRACE_LOSS_UNSWITCHED, thread->task);
		return false;
	}
	old = mt_thread_exchange(thread, fresh, &cpu);
	if (!old && cpu == smp_processor_id()) {
		/* What is pending can be done at once. */
		mt_thread_sync(NULL);
		old = mt_thread_exchange(thread, fresh, &cpu);
	}
	if (!old) {
		/* What it has run is in the snapshot that it is promised to. */
		mt_buffer_put(&session->buffer, fresh);
		return true;
	}
	if (cpu >= 0)
		mt_thread_kick(cpu);
	mt_member_name(session, &old->info, thread->task);
	list_add_tail(&old->link, &snapshot->regions);
	snapshot->told.nr_regions++;
	session->nr_frozen++;
	return true;
}

/* Whether a snapshot of every thread can be had. */
static bool snapshot_is_whole(const struct mt_session *session)
{
	return mt_buffer_nr_free(&session->buffer) >=
	       READ_ONCE(session->nr_threads) &&
	       !list_empty(&session->idle_snapshots);
}

/* Whether anything can be frozen, or there is nothing to freeze. */
static bool snapshot_is_possible(const struct mt_session *session,
				 const struct mt_cause *cause)
{
	if (list_empty(&session->idle_snapshots))
		return false;
	if (mt_buffer_nr_free(&session->buffer))
		return true;
	return !cause->thread &&
	       (!session->nr_threads || !list_empty(&session->exited));
}

/* Nothing of what a kernel thread has in its registers is user code's. */
static void snapshot_set_regs(struct mtrace_regs *to,
			      struct pt_regs *from)
{
	if (!from || !user_mode(from))
		return;
	*to = (struct mtrace_regs){
		.ax = from->ax,
		.bx = from->bx,
		.cx = from->cx,
		.dx = from->dx,
		.si = from->si,
		.di = from->di,
		.bp = from->bp,
		.sp = from->sp,
		.r8 = from->r8,
		.r9 = from->r9,
		.r10 = from->r10,
		.r11 = from->r11,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
		.ip = from->ip,
		.flags = from->flags,
	};
}

static void snapshot_tell_cause(const struct mt_session *session,
				struct mtrace_snapshot *told,
				const struct mt_cause *cause)
{
	told->reason = cause->reason;
	told->trigger = cause->trigger;
	told->signal = cause->signal;
	if (cause->task) {
		told->tid = task_pid_nr_ns(cause->task, session->pid_ns);
		told->pid = task_tgid_nr_ns(cause->task, session->pid_ns);
	}
	snapshot_set_regs(&told->regs, cause->regs);
}

/**
 * mt_snapshot_begin - freeze what the session's threads have written
 * @session: the session, whose lock is held
 * @cause: why
 *
 * Begins and does not wait, so that it can be called wherever that lock can be
 * taken. Threads that run elsewhere are on their way into their fresh regions
 * on return: the snapshot is the owner's when mt_snapshot_complete() has been
 * called, which mt_snapshot_complete_soon() has done in time.
 *
 * Return: the snapshot or an ERR_PTR(): -ENOBUFS where nothing could be frozen,
 * -EAGAIN where the cause would rather wait, -ESRCH where the session ends or may
 * not trace the thread any more, -EINVAL where it streams.
 */
struct mt_snapshot *mt_snapshot_begin(struct mt_session *session,
				      const struct mt_cause *cause)
{
	struct mt_snapshot *snapshot;
	struct mt_thread *thread;
	u32 unswitched = 0;

	if (session->closing)
		return ERR_PTR(-ESRCH);
	/* What is handed over as it fills has nothing to look back on. */
	if (session->stream.slots)
		return ERR_PTR(-EINVAL);
	/* What is in a thread's registers is no more than its trace is. */
	if (cause->task && session->trace.tracer &&
	    !mt_access_is_tracer(session->trace.tracer, cause->task))
		return ERR_PTR(-ESRCH);
	if (cause->wait && !snapshot_is_whole(session))
		return ERR_PTR(-EAGAIN);
	if (!snapshot_is_possible(session, cause)) {
		session->nobufs++;
		session->missed++;
		mt_event_loss(session->setup.session, MTRACE_NL_LOSS_NOBUFS,
			      1, 0);
		return ERR_PTR(-ENOBUFS);
	}

	snapshot = list_first_entry(&session->idle_snapshots,
				    struct mt_snapshot, link);
	snapshot->told = (struct mtrace_snapshot){
		.id = ++session->last_id,
		.tsc = rdtsc_ordered(),
		.missed = session->missed,
	};
	session->missed = 0;
	if (cause->thread &&
	    !snapshot_switch(session, snapshot, cause->thread))
		unswitched++;
	snapshot_tell_cause(session, &snapshot->told, cause);
	snapshot_take_exited(session, snapshot);
	list_for_each_entry(thread, &session->used_threads, link)
		if (thread != cause->thread &&
		    !snapshot_switch(session, snapshot, thread))
			unswitched++;
	snapshot->told.nr_unswitched = unswitched;
	session->unswitched += unswitched;
	if (unswitched)
		mt_event_loss(session->setup.session,
			      MTRACE_NL_LOSS_UNSWITCHED, unswitched, 0);

	list_move_tail(&snapshot->link, &session->begun_snapshots);
	session->nr_snapshots++;
	return snapshot;
}

/*
 * Wait until the last thread is out of the regions, which takes as long as an
 * interrupt does, and see what is in them.
 */
static void snapshot_close(struct mt_session *session,
			   struct mt_snapshot *snapshot)
{
	struct mtrace_snapshot *told = &snapshot->told;
	struct mt_region *region;
	u32 wraps = 0;

	told->tsc_end = told->tsc;
	list_for_each_entry(region, &snapshot->regions, link) {
		/* Pairs with the release in thread_freeze(). */
		while (!smp_load_acquire(&region->is_final)) {
			cond_resched();
			cpu_relax();
		}
		mt_region_close(region);
		if (region->info.flags & MTRACE_REGION_WRAPPED)
			wraps++;
		told->tsc_end = max(told->tsc_end, region->info.end_tsc);
	}
	raw_spin_lock_irq(&session->lock);
	session->wraps += wraps;
	raw_spin_unlock_irq(&session->lock);
	if (wraps)
		mt_event_loss(session->setup.session, MTRACE_NL_LOSS_WRAPS,
			      wraps, 0);
}

/**
 * mt_snapshot_complete - make the owner's what has begun
 * @session: the session, whose mutex is held
 */
void mt_snapshot_complete(struct mt_session *session)
{
	struct mt_snapshot *snapshot;

	for (;;) {
		raw_spin_lock_irq(&session->lock);
		snapshot = list_first_entry_or_null(&session->begun_snapshots,
						    struct mt_snapshot, link);
		raw_spin_unlock_irq(&session->lock);
		if (!snapshot)
			return;

		snapshot_close(session, snapshot);
		raw_spin_lock_irq(&session->lock);
		list_move_tail(&snapshot->link, &session->held_snapshots);
		raw_spin_unlock_irq(&session->lock);
		mt_event_snapshot(session->setup.session, &snapshot->told);
		if (snapshot->told.reason != MTRACE_REASON_CALL)
			snapshot_announce(session, snapshot);
	}
}

/**
 * mt_snapshot_complete_soon - have that done where it can be
 * @session: the session, which cannot close
 *
 * Not to be called under the lock of a run queue, for it wakes a worker.
 */
void mt_snapshot_complete_soon(struct mt_session *session)
{
	mt_queue_work(&session->completer);
}

/* Wait until a snapshot of every thread can be had, or for a signal. */
static int snapshot_wait(struct mt_session *session)
{
	int ret;

	raw_spin_lock_irq(&session->lock);
	session->nr_waiting++;
	raw_spin_unlock_irq(&session->lock);
	mutex_unlock(&session->mutex);

	ret = wait_event_interruptible(session->wait,
				       snapshot_is_whole(session));

	mutex_lock(&session->mutex);
	raw_spin_lock_irq(&session->lock);
	session->nr_waiting--;
	raw_spin_unlock_irq(&session->lock);
	return ret;
}

/**
 * mt_snapshot_take - freeze what the session's threads have written, and wait
 *	until that is done
 * @session: the session, whose mutex is held, but not while this waits for
 *	regions
 * @arg: completed
 * @reason: MTRACE_REASON_*; but for MTRACE_REASON_CALL the owner will be told
 *
 * Return: 0; -EINVAL; -ENOBUFS where nothing could be frozen; -ERESTARTSYS.
 */
int mt_snapshot_take(struct mt_session *session, struct mtrace_snapshot *arg,
		     u32 reason)
{
	struct mt_cause cause = {
		.reason = reason,
		.wait = arg->flags & MTRACE_SNAPSHOT_WAIT,
	};
	struct mt_snapshot *snapshot;
	u32 size = arg->size;
	int ret;

	if (!snapshot_is_arg(session, arg, MTRACE_SNAPSHOT_WAIT))
		return -EINVAL;
	for (;;) {
		mt_member_clean_all(session);
		raw_spin_lock_irq(&session->lock);
		snapshot = mt_snapshot_begin(session, &cause);
		raw_spin_unlock_irq(&session->lock);
		if (snapshot != ERR_PTR(-EAGAIN))
			break;
		ret = snapshot_wait(session);
		if (ret)
			return ret;
	}
	if (IS_ERR(snapshot))
		return PTR_ERR(snapshot);

	mt_snapshot_complete(session);
	*arg = snapshot->told;
	arg->size = size;
	return 0;
}

/**
 * mt_snapshot_next - tell of the oldest snapshot that the owner cannot know of
 * @session: the session
 * @arg: completed
 *
 * Return: 0, -EINVAL, or -EAGAIN where there is none.
 */
int mt_snapshot_next(struct mt_session *session, struct mtrace_snapshot *arg)
{
	struct mt_snapshot *snapshot;
	u32 size = arg->size;

	if (!snapshot_is_arg(session, arg, 0))
		return -EINVAL;
	mt_snapshot_complete(session);
	list_for_each_entry(snapshot, &session->held_snapshots, link) {
		if (!snapshot->is_untold)
			continue;
		snapshot_tell(session, snapshot);
		*arg = snapshot->told;
		arg->size = size;
		return 0;
	}
	return -EAGAIN;
}

/**
 * mt_snapshot_describe - list the regions of a snapshot
 * @session: the session
 * @arg: which, and where to; its count is completed
 *
 * Called with the session's mutex of those who read: until that is released
 * nobody releases the snapshot.
 *
 * Return: 0, -EINVAL, -ENOENT, -ENOSPC, -EFAULT or -EINTR.
 */
int mt_snapshot_describe(struct mt_session *session,
			 struct mtrace_describe *arg)
{
	size_t size = min_t(size_t, arg->region_size,
			    sizeof(struct mtrace_region));
	u8 __user *to = u64_to_user_ptr(arg->regions);
	struct mt_snapshot *snapshot;
	struct mt_region *region;
	u32 room = arg->count;
	int ret;

	/* With the release in mt_session_setup(). */
	if (!smp_load_acquire(&session->ready) || arg->pad ||
	    arg->region_size % sizeof(u64) ||
	    arg->region_size < MT_REGION_SIZE_FIRST ||
	    arg->region_size > PAGE_SIZE)
		return -EINVAL;
	ret = mt_session_lock(session);
	if (ret)
		return ret;
	snapshot = snapshot_find(session, arg->id);
	mutex_unlock(&session->mutex);
	if (!snapshot)
		return -ENOENT;
	arg->count = snapshot->told.nr_regions;
	if (room < snapshot->told.nr_regions)
		return -ENOSPC;

	list_for_each_entry(region, &snapshot->regions, link) {
		if (copy_to_user(to, &region->info, size) ||
		    clear_user(to + size, arg->region_size - size))
			return -EFAULT;
		to += arg->region_size;
	}
	return 0;
}

/**
 * mt_snapshot_release - make a snapshot's regions free again
 * @session: the session
 * @arg: which
 *
 * Return: 0, -EINVAL or -ENOENT.
 */
int mt_snapshot_release(struct mt_session *session, struct mtrace_release *arg)
{
	struct mt_snapshot *snapshot;
	LIST_HEAD(regions);
	u32 nr_regions;

	if (!session->ready || arg->flags)
		return -EINVAL;
	snapshot = snapshot_find(session, arg->id);
	if (!snapshot)
		return -ENOENT;
	snapshot_tell(session, snapshot);
	nr_regions = snapshot->told.nr_regions;
	list_splice_init(&snapshot->regions, &regions);
	raw_spin_lock_irq(&session->lock);
	list_move(&snapshot->link, &session->idle_snapshots);
	session->nr_snapshots--;
	raw_spin_unlock_irq(&session->lock);
	mt_member_discard(session, &regions, nr_regions);
	return 0;
}
