// SPDX-License-Identifier: GPL-2.0
/*
 * What a session's sideband tells of address spaces
 *
 * Owns how address spaces are told apart, which of them a session's threads
 * have, and the records of code that comes and goes there, whoever does that.
 * Does not know how the kernel is watched for it (space.c).
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/kdev_t.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "session.h"
#include "sideband.h"
#include "thread.h"

static_assert(sizeof(struct mtrace_record_mmap) + PATH_MAX <=
	      MTRACE_RECORD_MAX);

/**
 * mt_sideband_space_of - tell the number of an address space
 * @mm: the address space, or NULL
 *
 * The kernel numbers them for its own use, and gives no number twice nor 0: so
 * two can be told apart without their addresses.
 *
 * Return: the number, or 0.
 */
u64 mt_sideband_space_of(const struct mm_struct *mm)
{
	return mm ? mm->context.ctx_id : 0;
}

/**
 * mt_sideband_space - tell a task's address space
 * @task: any task, with a reference
 *
 * Return: its number, or 0.
 */
u64 mt_sideband_space(struct task_struct *task)
{
	u64 space = 0;

	/* Nobody puts an address space while this is held. */
	task_lock(task);
	if (!(task->flags & PF_KTHREAD))
		space = mt_sideband_space_of(task->mm);
	task_unlock(task);
	return space;
}

static struct hlist_head *sideband_bucket(struct mt_sideband *sideband,
					  u64 space)
{
	return &sideband->spaces[hash_64(space, ilog2(MT_SIDEBAND_BUCKETS))];
}

/**
 * mt_sideband_set_space - a thread has another address space
 * @sideband: of the thread's session, whose lock is held
 * @thread: the thread
 * @space: the address space's number, or 0
 */
void mt_sideband_set_space(struct mt_sideband *sideband,
			   struct mt_thread *thread, u64 space)
{
	hlist_del_init(&thread->space_node);
	thread->space = space;
	if (space)
		hlist_add_head(&thread->space_node,
			       sideband_bucket(sideband, space));
}

/*
 * Whether a thread of the session has an address space. One that execs has it
 * before its hook of exec says so, and maps its program then. Whether the
 * program gives it rights that its owner must not look into is known only at
 * the hook: without privilege nothing is told until then.
 */
static bool sideband_has(struct mt_sideband *sideband, struct mm_struct *mm)
{
	struct mt_session *session = sideband->session;
	u64 space = mt_sideband_space_of(mm);
	struct mt_thread *thread;
	unsigned long flags;
	bool has = false;

	raw_spin_lock_irqsave(&session->lock, flags);
	hlist_for_each_entry(thread, sideband_bucket(sideband, space),
			     space_node) {
		has = thread->space == space &&
		      mt_sideband_may_tell(&session->trace, thread->task);
		if (has)
			break;
	}
	raw_spin_unlock_irqrestore(&session->lock, flags);
	return has || (!session->trace.tracer && current->mm == mm &&
		       mt_thread_is_maybe(current) &&
		       mt_session_thread(session, current));
}

static u32 sideband_prot(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_READ ? PROT_READ : 0) |
	       (vma->vm_flags & VM_WRITE ? PROT_WRITE : 0) |
	       (vma->vm_flags & VM_EXEC ? PROT_EXEC : 0);
}

static void sideband_put_mmap(struct mt_sideband *sideband,
			      struct vm_area_struct *vma, unsigned long addr,
			      unsigned long len)
{
	struct mtrace_record_mmap record = {
		.head = mt_sideband_head(sideband, MTRACE_RECORD_MMAP, current),
		.space = mt_sideband_space_of(vma->vm_mm),
		.addr = addr,
		.len = len,
		.prot = sideband_prot(vma),
	};
	const char *path = NULL;
	const struct inode *inode;

	preempt_disable();
	if (vma->vm_file) {
		inode = mt_file_inode(vma->vm_file);
		record.offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) +
				(addr - vma->vm_start);
		record.ino = inode->i_ino;
		record.major = MAJOR(inode->i_sb->s_dev);
		record.minor = MINOR(inode->i_sb->s_dev);
		record.generation = inode->i_generation;
		path = mt_sideband_path(vma->vm_file);
	} else if (vma->vm_ops && vma->vm_ops->name) {
		path = vma->vm_ops->name(vma);
	}
	mt_sideband_put(sideband, &record.head, sizeof(record), path ?: "");
	preempt_enable();
}

/**
 * mt_sideband_mmap - memory can be executed from now on
 * @vma: what it is a part of
 * @addr: address of its first byte
 * @len: its length
 *
 * Called by a task that changes the address space, with the mmap lock held.
 */
void mt_sideband_mmap(struct vm_area_struct *vma, unsigned long addr,
		      unsigned long len)
{
	struct mt_sideband *sideband;

	rcu_read_lock();
	list_for_each_entry_rcu(sideband, &mt_sideband_list, link)
		if (sideband_has(sideband, vma->vm_mm))
			sideband_put_mmap(sideband, vma, addr, len);
	rcu_read_unlock();
}

/**
 * mt_sideband_munmap - memory cannot be executed any more
 * @mm: its address space
 * @addr: address of its first byte
 * @len: its length
 */
void mt_sideband_munmap(struct mm_struct *mm, unsigned long addr,
			unsigned long len)
{
	struct mtrace_record_munmap record = {
		.space = mt_sideband_space_of(mm),
		.addr = addr,
		.len = len,
	};
	struct mt_sideband *sideband;

	rcu_read_lock();
	list_for_each_entry_rcu(sideband, &mt_sideband_list, link) {
		if (!sideband_has(sideband, mm))
			continue;
		record.head = mt_sideband_head(sideband, MTRACE_RECORD_MUNMAP,
					       current);
		mt_sideband_put(sideband, &record.head, sizeof(record), NULL);
	}
	rcu_read_unlock();
}
