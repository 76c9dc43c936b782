/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that mtrace builds for
 *
 * The only file that asks for a kernel's version. Each conditional names the
 * release that brought the change. The oldest kernel is 5.10.
 */
#ifndef _MT_COMPAT_H
#define _MT_COMPAT_H

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/coredump.h>
#include <linux/sched/task.h>
#include <linux/uprobes.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

#include <asm/mmu_context.h>

/* rdtsc_ordered() is in either of them. */
#include <asm/msr.h>
#include <asm/tsc.h>

/* 6.16: cpuid() left <asm/processor.h>. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#include <asm/processor.h>
#else
#include <asm/cpuid/api.h>
#endif

/* 5.11, and 5.10.7: exec_update_mutex became exec_update_lock. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 10, 7)
#error "mtrace needs Linux 5.10.7 or newer"
#endif

/*
 * What hooks do with interrupts or preemption off, and paths of files above all,
 * takes locks that sleep there.
 */
#ifdef CONFIG_PREEMPT_RT
#error "mtrace is not for kernels with PREEMPT_RT"
#endif

/* 5.14: panic_notifier_list left <linux/kernel.h>. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 14, 0)
#include <linux/kernel.h>
#else
#include <linux/panic_notifier.h>
#endif

/* 5.18: event trace and trace without TNT packets were given their names. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#define RTIT_CTL_EVENT_EN	BIT(31)
#define RTIT_CTL_NOTNT		BIT_ULL(55)
#endif

/* 5.18: the probe of sched_switch gained an argument. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#define MT_PROBE_SWITCH_ARGS	void *data, bool preempt,	\
				struct task_struct *prev,	\
				struct task_struct *next
#else
#define MT_PROBE_SWITCH_ARGS	void *data, bool preempt,	\
				struct task_struct *prev,	\
				struct task_struct *next,	\
				unsigned int prev_state
#endif

/* What that argument says; 5.14 renamed what said it before. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 14, 0)
#define MT_PROBE_SWITCH_STATE	READ_ONCE(prev->state)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#define MT_PROBE_SWITCH_STATE	READ_ONCE(prev->__state)
#else
#define MT_PROBE_SWITCH_STATE	prev_state
#endif

/* 5.13: an event can be inherited by threads alone. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 13, 0)
static inline void mt_attr_inherit_thread(struct perf_event_attr *attr)
{
	attr->inherit = 1;
}
#else
static inline void mt_attr_inherit_thread(struct perf_event_attr *attr)
{
	attr->inherit = 1;
	attr->inherit_thread = 1;
}
#endif

/* 6.2: a task's events are in one context; breakpoints were in that of software. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define mt_perf_context(task_)						\
	READ_ONCE((task_)->perf_event_ctxp[perf_sw_context])
#else
#define mt_perf_context(task_)	READ_ONCE((task_)->perf_event_ctxp)
#endif

/* 6.3: vm_flags became read-only, to be changed by functions that lock. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* 6.4: CR3 has bits that mask linear addresses. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static inline unsigned long mm_lam_cr3_mask(struct mm_struct *mm)
{
	return 0;
}
#endif

/* 6.6: the attributes of a dump moved into a genl_info. */
static inline struct nlattr **mt_genl_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_info_dump(cb)->attrs;
#endif
}

/*
 * 6.7: a mapped file of an overlay is the one below, and keeps whose it is; of 6.7
 * itself its path alone, which is what /proc tells there, too. Neither took a file
 * that is const before 6.17.
 */
static inline const struct path *mt_file_path(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return &file->f_path;
#else
	return file_user_path(file);
#endif
}

static inline const struct inode *mt_file_inode(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	return file_inode(file);
#else
	return file_user_inode(file);
#endif
}

/*
 * 6.7 and the stable kernels of that time: groups that not everybody may join.
 * 6.8, and later ones of these: as a flag. Without that there is no group,
 * rather than an open one.
 */
#define MT_STABLE(major_, minor_, from_)				\
	(LINUX_VERSION_CODE >= KERNEL_VERSION(major_, minor_, from_) &&	\
	 LINUX_VERSION_CODE < KERNEL_VERSION(major_, (minor_) + 1, 0))
#if defined(GENL_MCAST_CAP_SYS_ADMIN)
#define MT_GENL_PRIVILEGED_GROUP(name_)					\
	{ .name = (name_), .flags = GENL_MCAST_CAP_SYS_ADMIN }
#define MT_GENL_NR_PRIVILEGED(groups_)	ARRAY_SIZE(groups_)
#elif MT_STABLE(5, 10, 204) || MT_STABLE(5, 15, 143) ||			\
	MT_STABLE(6, 1, 68) || MT_STABLE(6, 6, 7) || MT_STABLE(6, 7, 0)
#define MT_GENL_PRIVILEGED_GROUP(name_)					\
	{ .name = (name_), .cap_sys_admin = 1 }
#define MT_GENL_NR_PRIVILEGED(groups_)	ARRAY_SIZE(groups_)
#else
#define MT_GENL_PRIVILEGED_GROUP(name_)	{ .name = (name_) }
#define MT_GENL_NR_PRIVILEGED(groups_)	0
#endif

/* 6.12: a probe that was put in place is named by its struct uprobe. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline struct uprobe *mt_uprobe_register(struct inode *inode, u64 offset,
						u64 ref_offset,
						struct uprobe_consumer *uc)
{
	return ERR_PTR(uprobe_register_refctr(inode, offset, ref_offset, uc));
}

static inline void mt_uprobe_unregister(struct inode *inode, u64 offset,
					struct uprobe *uprobe,
					struct uprobe_consumer *uc)
{
	uprobe_unregister(inode, offset, uc);
}
#else
static inline struct uprobe *mt_uprobe_register(struct inode *inode, u64 offset,
						u64 ref_offset,
						struct uprobe_consumer *uc)
{
	return uprobe_register(inode, offset, ref_offset, uc);
}

static inline void mt_uprobe_unregister(struct inode *inode, u64 offset,
					struct uprobe *uprobe,
					struct uprobe_consumer *uc)
{
	uprobe_unregister_nosync(uprobe, uc);
	uprobe_unregister_sync();
}
#endif

/* 6.13: a probe's handler can keep something for that of the return. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define MT_UPROBE_HANDLER_ARGS	struct uprobe_consumer *self,	\
				struct pt_regs *regs
#else
#define MT_UPROBE_HANDLER_ARGS	struct uprobe_consumer *self,	\
				struct pt_regs *regs, __u64 *data
#endif

/* 6.13: the callback became an argument. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* 6.16: the 64-bit MSR accessors were renamed from "l" to "q". */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define rdmsrq_safe(msr, val)	rdmsrl_safe(msr, val)
#define wrmsrq_safe(msr, val)	wrmsrl_safe(msr, val)
#endif

/*
 * Which argument of mprotect_fixup() is the mapping; the range comes two later.
 * 5.19 put a TLB batch before it, 6.3 an iterator before that.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 19, 0)
#define MT_MPROTECT_FIXUP_VMA	0
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define MT_MPROTECT_FIXUP_VMA	1
#else
#define MT_MPROTECT_FIXUP_VMA	2
#endif

/* 6.16: the probe of sched_process_exit gained an argument. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define MT_PROBE_EXIT_ARGS	void *data, struct task_struct *task
#else
#define MT_PROBE_EXIT_ARGS	void *data, struct task_struct *task, bool last
#endif

/*
 * Have a work done by whichever CPU has time for it. A thread with a real-time
 * policy may leave its own CPU none. 6.17 renamed the queue.
 */
static inline void mt_queue_work(struct work_struct *work)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	queue_work(system_unbound_wq, work);
#else
	queue_work(system_dfl_wq, work);
#endif
}

/*
 * Whether a task is one that its own user may look into. Some 7.x: told by a part
 * of the task, with other names for it; before by its memory.
 */
#ifndef SUID_DUMP_USER
#include <linux/sched/exec_state.h>
static inline bool mt_task_is_dumpable(struct task_struct *task)
{
	bool is;

	rcu_read_lock();
	is = READ_ONCE(rcu_dereference(task->exec_state)->dumpable) ==
	     TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return is;
}
#else
static inline bool mt_task_is_dumpable(struct task_struct *task)
{
	bool is;

	task_lock(task);
	is = task->mm && get_dumpable(task->mm) == SUID_DUMP_USER;
	task_unlock(task);
	return is;
}
#endif

#endif /* _MT_COMPAT_H */
