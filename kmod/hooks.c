// SPDX-License-Identifier: GPL-2.0
/*
 * Hooks into the scheduler
 *
 * Owns the tracepoints' probes and decides nothing: each hands over to the
 * thread or the session that it finds. They are put in place for the first
 * session, so that the module costs nothing while it is merely loaded, and stay
 * until it is unloaded: to put them in or out patches the scheduler's code,
 * which interrupts every CPU several times, and that at the beginning and end
 * of each session would disturb the machine more than what they cost.
 *
 * The tracepoints' symbols are not exported; they are found by name.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/binfmts.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <trace/events/sched.h>
#include <trace/events/signal.h>
#include <trace/events/task.h>

#include "access.h"
#include "compat.h"
#include "hooks.h"
#include "member.h"
#include "sideband.h"
#include "thread.h"
#include "trigger.h"

/* One of the two is traced, or may be. */
static notrace noinline void hooks_switch_traced(struct mt_thread *thread,
						 struct task_struct *next,
						 bool blocked)
{
	if (static_branch_unlikely(&mt_sideband_is_wanted) && thread)
		mt_sideband_switch(thread, blocked ? MTRACE_SWITCH_BLOCKED :
						     MTRACE_SWITCH_PREEMPTED);
	mt_thread_switch(thread, next);
	if (static_branch_unlikely(&mt_sideband_is_wanted)) {
		thread = __this_cpu_read(mt_thread_cpu.running);
		if (thread)
			mt_sideband_switch(thread, MTRACE_SWITCH_IN);
	}
}

/*
 * Runs with interrupts off and the run queue locked, at every context switch
 * of the machine: two loads and tests where nothing is traced, which are not
 * worth being traced themselves. All else is apart, so that these need no
 * registers saved.
 */
static notrace void hooks_switch(MT_PROBE_SWITCH_ARGS)
{
	struct mt_thread *thread = __this_cpu_read(mt_thread_cpu.running);

	if (unlikely(thread || mt_thread_is_maybe(next)))
		hooks_switch_traced(thread, next,
				    !preempt && MT_PROBE_SWITCH_STATE);
}

/* Runs in the parent, before the child can run. */
static void hooks_fork(void *data, struct task_struct *parent,
		       struct task_struct *child)
{
	if (mt_thread_is_maybe(parent))
		mt_member_fork(parent, child);
}

/* Runs in the task itself, when it cannot return to user space any more. */
static void hooks_exit(MT_PROBE_EXIT_ARGS)
{
	if (mt_thread_is_maybe(task))
		mt_member_exit(task);
	if (unlikely(!list_empty(&task->ptraced)) && mt_access_is_watched())
		mt_thread_untraced();
}

/* Runs in the task itself, when it has its new address space. */
static void hooks_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	if (!mt_thread_is_maybe(task))
		return;
	if (mt_access_is_gained(bprm))
		mt_member_gain(task);
	mt_thread_exec();
	mt_trigger_exec(task);
	mt_sideband_exec(task, bprm);
}

/* Runs in any task, with that of the new name locked. */
static void hooks_rename(void *data, struct task_struct *task, const char *comm)
{
	if (mt_thread_is_maybe(task))
		mt_sideband_comm(task, comm);
}

/*
 * Which signal kills the current process, if this is one of its deaths: 0 if not.
 * A process that one kills has that in the code of its exit before its threads
 * are told by SIGKILL (complete_signal() in the kernel); one that exits has no
 * signal there; and SIGKILL for neither is for a thread that makes room for
 * another's exec or core. The lock of the signals is held.
 */
static int hooks_killer(int sig, const struct k_sigaction *ka)
{
	const struct signal_struct *signal = current->signal;

	if (signal->flags & SIGNAL_GROUP_EXIT)
		return signal->group_exit_code & 0x7f;
	if (sig == SIGKILL || ka->sa.sa_handler != SIG_DFL ||
	    sig_kernel_ignore(sig) || sig_kernel_stop(sig) ||
	    signal->flags & SIGNAL_UNKILLABLE)
		return 0;
	return sig;
}

/* Runs in the task itself, when it takes a signal that it has been sent. */
static void hooks_signal(void *data, int sig, struct kernel_siginfo *info,
			 struct k_sigaction *ka)
{
	int killer;

	if (!mt_thread_is_maybe(current))
		return;
	killer = hooks_killer(sig, ka);
	if (killer)
		mt_member_killed(killer);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} mt_hooks[] = {
	{ "sched_switch",	hooks_switch },
	{ "sched_process_fork",	hooks_fork },
	{ "sched_process_exec",	hooks_exec },
	{ "sched_process_exit",	hooks_exit },
	{ "signal_deliver",	hooks_signal },
	{ "task_rename",	hooks_rename },
};

static DEFINE_MUTEX(mt_hooks_mutex);
static bool mt_hooks_in_place;

static void __init hooks_match(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mt_hooks); i++)
		if (!strcmp(tp->name, mt_hooks[i].name))
			mt_hooks[i].tp = tp;
}

/**
 * mt_hooks_init - find the tracepoints
 *
 * Return: 0, or -ENOENT where the kernel lacks one.
 */
int __init mt_hooks_init(void)
{
	unsigned int i;

	/* By name anything can be registered; here the compiler compares. */
	check_trace_callback_type_sched_switch(hooks_switch);
	check_trace_callback_type_sched_process_fork(hooks_fork);
	check_trace_callback_type_sched_process_exec(hooks_exec);
	check_trace_callback_type_sched_process_exit(hooks_exit);
	check_trace_callback_type_signal_deliver(hooks_signal);
	check_trace_callback_type_task_rename(hooks_rename);

	for_each_kernel_tracepoint(hooks_match, NULL);
	for (i = 0; i < ARRAY_SIZE(mt_hooks); i++) {
		if (!mt_hooks[i].tp) {
			pr_err("no tracepoint %s\n", mt_hooks[i].name);
			return -ENOENT;
		}
	}
	return 0;
}

static void hooks_unregister(unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(mt_hooks[nr].tp, mt_hooks[nr].probe,
					    NULL);
	tracepoint_synchronize_unregister();
}

static int hooks_register(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(mt_hooks); i++) {
		ret = tracepoint_probe_register(mt_hooks[i].tp,
						mt_hooks[i].probe, NULL);
		if (ret) {
			hooks_unregister(i);
			return ret;
		}
	}
	return 0;
}

/**
 * mt_hooks_want - have the hooks in place
 *
 * Return: 0 or a negative error.
 */
int mt_hooks_want(void)
{
	int ret = 0;

	mutex_lock(&mt_hooks_mutex);
	if (!mt_hooks_in_place)
		ret = hooks_register();
	if (!ret)
		mt_hooks_in_place = true;
	mutex_unlock(&mt_hooks_mutex);
	return ret;
}

/**
 * mt_hooks_exit - remove the hooks
 *
 * No probe runs any more on return.
 */
void mt_hooks_exit(void)
{
	if (mt_hooks_in_place)
		hooks_unregister(ARRAY_SIZE(mt_hooks));
}
