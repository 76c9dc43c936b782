// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots
 *
 * Owns which regions are frozen, and what is told of them. Each thread is
 * promised a fresh region; one that is on no CPU has it at once, one that is
 * being traced takes it when it stops next, which it does when its CPU is
 * interrupted or when it leaves it before that. So no thread can slip through
 * by moving about, and each is interrupted once at most. Called with the
 * session's mutex held.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "compat.h"
#include "member.h"
#include "session.h"
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
	INIT_LIST_HEAD(&session->held_snapshots);
	kvfree(session->snapshots);
	session->snapshots = NULL;
}

static struct mt_snapshot *snapshot_find(struct mt_session *session, u64 id)
{
	struct mt_snapshot *snapshot;

	list_for_each_entry(snapshot, &session->held_snapshots, link)
		if (snapshot->id == id)
			return snapshot;
	return NULL;
}

/* Begin with what exited threads left. The session's lock is held. */
static void snapshot_take_exited(struct mt_session *session,
				 struct mt_snapshot *snapshot)
{
	struct mt_region *region;

	list_for_each_entry(region, &session->exited, link) {
		snapshot->nr_regions++;
		session->nr_frozen++;
	}
	list_splice_tail_init(&session->exited, &snapshot->regions);
}

/*
 * Promise a thread a fresh region, and note the CPU that has to be interrupted
 * for it. The session's lock is held. Returns whether there was a region.
 */
static bool snapshot_switch(struct mt_session *session,
			    struct mt_snapshot *snapshot,
			    struct mt_thread *thread)
{
	struct mt_region *fresh = mt_buffer_get(&session->buffer);
	struct mt_region *old = thread->region;
	int cpu;

	if (!fresh)
		return false;
	mt_member_name(session, old, thread->task);
	list_add_tail(&old->link, &snapshot->regions);
	snapshot->nr_regions++;
	session->nr_frozen++;
	cpu = mt_thread_exchange(thread, fresh);
	if (cpu >= 0)
		cpumask_set_cpu(cpu, session->cpus);
	return true;
}

/**
 * mt_snapshot_take - freeze what the session's threads have written
 * @session: the session
 * @arg: completed
 *
 * Return: 0; -EINVAL; -ENOBUFS where nothing could be frozen.
 */
int mt_snapshot_take(struct mt_session *session, struct mtrace_snapshot *arg)
{
	struct mt_snapshot *snapshot;
	struct mt_thread *thread;
	struct mt_region *region;
	u32 i, wraps = 0, unswitched = 0;

	if (!session->ready || arg->flags ||
	    memchr_inv(arg->reserved, 0, sizeof(arg->reserved)))
		return -EINVAL;
	mt_member_clean(session);
	snapshot = list_first_entry_or_null(&session->idle_snapshots,
					    struct mt_snapshot, link);
	if (!snapshot)
		return -ENOBUFS;

	snapshot->nr_regions = 0;
	cpumask_clear(session->cpus);
	arg->tsc = rdtsc_ordered();
	raw_spin_lock_irq(&session->lock);
	snapshot_take_exited(session, snapshot);
	raw_spin_unlock_irq(&session->lock);

	for (i = 0; i < session->setup.max_threads; i++) {
		thread = &session->threads[i];
		if (!READ_ONCE(thread->task))
			continue;
		raw_spin_lock_irq(&session->lock);
		if (thread->task &&
		    !snapshot_switch(session, snapshot, thread))
			unswitched++;
		raw_spin_unlock_irq(&session->lock);
	}
	on_each_cpu_mask(session->cpus, mt_thread_sync, NULL, true);
	arg->tsc_end = rdtsc_ordered();

	list_for_each_entry(region, &snapshot->regions, link) {
		mt_region_close(region);
		if (region->info.flags & MTRACE_REGION_WRAPPED)
			wraps++;
	}
	raw_spin_lock_irq(&session->lock);
	session->wraps += wraps;
	session->unswitched += unswitched;
	raw_spin_unlock_irq(&session->lock);
	if (unswitched && !snapshot->nr_regions)
		return -ENOBUFS;

	list_move_tail(&snapshot->link, &session->held_snapshots);
	session->nr_snapshots++;
	snapshot->id = ++session->last_id;
	arg->id = snapshot->id;
	arg->nr_regions = snapshot->nr_regions;
	arg->nr_unswitched = unswitched;
	return 0;
}

/**
 * mt_snapshot_describe - list the regions of a snapshot
 * @session: the session
 * @arg: which, and where to; its count is completed
 *
 * Return: 0, -EINVAL, -ENOENT, -ENOSPC or -EFAULT.
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

	if (!session->ready || arg->pad || arg->region_size % sizeof(u64) ||
	    arg->region_size < MT_REGION_SIZE_FIRST ||
	    arg->region_size > PAGE_SIZE)
		return -EINVAL;
	snapshot = snapshot_find(session, arg->id);
	if (!snapshot)
		return -ENOENT;
	arg->count = snapshot->nr_regions;
	if (room < snapshot->nr_regions)
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

	if (!session->ready || arg->flags)
		return -EINVAL;
	snapshot = snapshot_find(session, arg->id);
	if (!snapshot)
		return -ENOENT;
	mt_member_discard(session, &snapshot->regions);
	list_move(&snapshot->link, &session->idle_snapshots);
	session->nr_snapshots--;
	return 0;
}
