// SPDX-License-Identifier: GPL-2.0
/*
 * Who may trace what
 *
 * Owns the difference between the two kinds of callers, which is settled when
 * the file is opened and stays with it. Who has CAP_PERFMON or CAP_SYS_ADMIN may
 * trace any thread. Who has not may do nothing, unless the administrator says
 * otherwise by the parameter; and then no more than it can do by ptrace alone:
 * follow the user code of the threads that it traces by that. Does not know how
 * anything is traced.
 */
#include <linux/atomic.h>
#include <linux/binfmts.h>
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/ioctl.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/security.h>

#include "access.h"
#include "compat.h"
#include "thread.h"

static bool unprivileged;
module_param(unprivileged, bool, 0644);
MODULE_PARM_DESC(unprivileged,
		 "Let who opens the device without CAP_PERFMON trace the user code of threads that it traces by ptrace (default N)");

/*
 * Sessions of one user without privilege. Regions are limited by the memory that
 * they are charged for.
 */
#define MT_ACCESS_MAX_SESSIONS	16

/*
 * Threads in one of them: a snapshot begins for all at once, with interrupts off,
 * and others who use the CPU must not wait for long.
 */
#define MT_ACCESS_MAX_THREADS	256

static DEFINE_MUTEX(mt_access_mutex);
static LIST_HEAD(mt_access_list);

/* What is not listed here takes privilege, until somebody has thought of it. */
#define MT_ACCESS_CALLS						\
	(BIT(_IOC_NR(MTRACE_IOC_GET_CAPS)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_SETUP)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_ATTACH)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_DETACH)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_START)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_STOP)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_SNAPSHOT)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_DESCRIBE)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_RELEASE)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_GET_STATUS)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_NEXT_SNAPSHOT)) |		\
	 BIT(_IOC_NR(MTRACE_IOC_ADD_TRIGGER)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_REMOVE_TRIGGER)) |		\
	 BIT(_IOC_NR(MTRACE_IOC_STREAM_RELEASE)) |		\
	 BIT(_IOC_NR(MTRACE_IOC_STREAM_READ)) |			\
	 BIT(_IOC_NR(MTRACE_IOC_GET_SETUP)))

#define MT_ACCESS_SETUP_FLAGS					\
	(MTRACE_SETUP_INHERIT_THREADS |				\
	 MTRACE_SETUP_INHERIT_PROCESSES |			\
	 MTRACE_SETUP_SIDEBAND |				\
	 MTRACE_SETUP_STREAM |					\
	 MTRACE_SETUP_SNAPSHOT_AT_EXIT |			\
	 MTRACE_SETUP_SNAPSHOT_AT_SIGNAL)

/*
 * All but KERNEL, and but POWER and EVENT: their packets come whatever code is
 * filtered, and tell when the CPU sleeps and which interrupts it gets.
 */
#define MT_ACCESS_TRACE_FLAGS					\
	(MTRACE_TRACE_USER | MTRACE_TRACE_TSC |			\
	 MTRACE_TRACE_MTC | MTRACE_TRACE_CYC |			\
	 MTRACE_TRACE_NORETCOMP | MTRACE_TRACE_PTW |		\
	 MTRACE_TRACE_PTW_FUP | MTRACE_TRACE_NOBRANCH |		\
	 MTRACE_TRACE_CR3 | MTRACE_TRACE_NOTNT)

static int access_add(struct mt_access *access)
{
	unsigned int nr = 0;
	struct mt_access *other;
	int ret = -EMFILE;

	mutex_lock(&mt_access_mutex);
	list_for_each_entry(other, &mt_access_list, link)
		nr += other->cred->user == access->cred->user;
	if (nr < MT_ACCESS_MAX_SESSIONS) {
		list_add_tail(&access->link, &mt_access_list);
		ret = 0;
	}
	mutex_unlock(&mt_access_mutex);
	return ret;
}

/**
 * mt_access_open - find out what the current task may do with a new session
 * @access: filled in
 *
 * Return: 0; -EPERM where it may do nothing; -EMFILE where its user has too
 * many sessions.
 */
int mt_access_open(struct mt_access *access)
{
	int ret;

	/* The trace of any thread can be had: what perf asks for, for that. */
	access->privileged = perfmon_capable();
	if (!access->privileged && !READ_ONCE(unprivileged))
		return -EPERM;

	access->owner = get_pid(task_tgid(current));
	if (access->privileged)
		return 0;
	access->cred = get_current_cred();
	ret = access_add(access);
	if (ret) {
		put_cred(access->cred);
		put_pid(access->owner);
	}
	return ret;
}

/**
 * mt_access_close - forget what mt_access_open() found out
 * @access: what that filled in
 */
void mt_access_close(struct mt_access *access)
{
	put_pid(access->owner);
	if (access->privileged)
		return;
	mt_access_uncharge(access);
	mutex_lock(&mt_access_mutex);
	list_del(&access->link);
	mutex_unlock(&mt_access_mutex);
	put_cred(access->cred);
}

/**
 * mt_access_is_watched - whether it matters to any session who traces whom
 */
bool mt_access_is_watched(void)
{
	return !list_empty(&mt_access_list);
}

/**
 * mt_access_may_call - whether the current task may make a call
 * @access: of the session
 * @cmd: the ioctl's command
 *
 * A file that was opened without privilege and is passed on is worth nothing to
 * others: what it may trace goes by who its opener is, not by who calls.
 */
bool mt_access_may_call(const struct mt_access *access, unsigned int cmd)
{
	if (access->privileged)
		return true;
	return task_tgid(current) == access->owner &&
	       MT_ACCESS_CALLS & BIT(_IOC_NR(cmd));
}

/**
 * mt_access_max_threads - how many threads a session may have
 * @access: of the session
 */
u32 mt_access_max_threads(const struct mt_access *access)
{
	return access->privileged ? MT_MAX_THREADS : MT_ACCESS_MAX_THREADS;
}

/**
 * mt_access_check - test whether a set-up is allowed
 * @access: of the session
 * @setup: the set-up
 *
 * To be asked again whenever tracing is begun: lockdown may have come since.
 *
 * Without privilege PT must be reserved against perf: else the two would be let
 * into each other's registers by who may use neither.
 *
 * Return: 0; -EPERM where it takes privilege; -EACCES where lockdown forbids
 * it to everybody.
 */
int mt_access_check(const struct mt_access *access,
		    const struct mtrace_setup *setup)
{
	if (!access->privileged &&
	    (setup->flags & ~MT_ACCESS_SETUP_FLAGS ||
	     setup->trace_flags & ~MT_ACCESS_TRACE_FLAGS ||
	     setup->max_threads > MT_ACCESS_MAX_THREADS || !setup->pmu_type))
		return -EPERM;
	if (setup->trace_flags & MTRACE_TRACE_KERNEL &&
	    security_locked_down(LOCKDOWN_PERF))
		return -EACCES;
	return 0;
}

/**
 * mt_access_charge - charge a session's memory to its user
 * @access: of the session
 * @bytes: the memory, which cannot be swapped out
 * @available: receives what the limit leaves where it fails
 *
 * It is the count that perf's and other drivers' locked memory is in, too.
 *
 * Return: 0, or -ENOMEM where RLIMIT_MEMLOCK of the current task forbids it.
 */
int mt_access_charge(struct mt_access *access, u64 bytes, u64 *available)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long pages = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	atomic_long_t *locked;
	long now;

	if (access->privileged)
		return 0;
	locked = &access->cred->user->locked_vm;
	now = atomic_long_read(locked);
	do {
		if (now + pages > limit && !capable(CAP_IPC_LOCK)) {
			*available = now < limit ? limit - now : 0;
			*available <<= PAGE_SHIFT;
			return -ENOMEM;
		}
	} while (!atomic_long_try_cmpxchg(locked, &now, now + pages));
	access->charged = pages;
	return 0;
}

/**
 * mt_access_uncharge - take back what mt_access_charge() did
 * @access: of the session
 */
void mt_access_uncharge(struct mt_access *access)
{
	if (access->charged)
		atomic_long_sub(access->charged,
				&access->cred->user->locked_vm);
	access->charged = 0;
}

/**
 * mt_access_tracer - whose threads alone a session may trace
 * @access: of the session
 *
 * Return: the process that must trace them by ptrace, or NULL where they may be
 * anybody's.
 */
const struct pid *mt_access_tracer(const struct mt_access *access)
{
	return access->privileged ? NULL : access->owner;
}

/**
 * mt_access_is_tracer - whether a thread is traced by a process by ptrace
 * @tracer: the process
 * @task: the thread
 *
 * The lock that would make this more than a guess is not exported. While
 * another process comes or goes as the tracer of a child of @tracer it can be
 * taken for @tracer; the child is then one that the other could trace, and so
 * no more privileged than that; and it is asked again whenever the thread comes
 * to a CPU. A thread that exits is taken for none any more before it lets go of
 * what it traces, which does not stop that: see mt_thread_untraced().
 */
bool mt_access_is_tracer(const struct pid *tracer,
			 const struct task_struct *task)
{
	struct task_struct *parent;
	bool is;

	rcu_read_lock();
	parent = rcu_dereference(task->parent);
	is = READ_ONCE(task->ptrace) && task_tgid(parent) == tracer &&
	     !(READ_ONCE(parent->flags) & PF_EXITING);
	rcu_read_unlock();
	return is;
}

/**
 * mt_access_may_attach - whether a thread may come into a session
 * @access: of the session
 * @task: the thread, whose exec waits meanwhile (signal->exec_update_lock)
 *
 * Without privilege, not one that mt_access_is_gained() would have had to leave,
 * nor one that has made itself such that ptrace may not look into it. What the
 * caller could do by CAP_SYS_PTRACE is not asked: that leaves the session, too.
 */
bool mt_access_may_attach(const struct mt_access *access,
			  struct task_struct *task)
{
	return access->privileged ||
	       (mt_access_is_tracer(access->owner, task) &&
		mt_task_is_dumpable(task));
}

/**
 * mt_access_is_gained - whether exec gives a thread what others must not follow
 * @bprm: what is executed
 *
 * That is, other rights, such as a set-uid program's, or a program that must
 * not be read. perf ends its events there, too.
 */
bool mt_access_is_gained(const struct linux_binprm *bprm)
{
	return bprm->secureexec ||
	       bprm->interp_flags & BINPRM_FLAGS_ENFORCE_NONDUMP;
}
