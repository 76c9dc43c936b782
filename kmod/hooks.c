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
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "hooks.h"
#include "member.h"
#include "thread.h"

/*
 * Runs with interrupts off and the run queue locked, at every context switch
 * of the machine: two loads and tests where nothing is traced.
 */
static void hooks_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	struct mt_thread *thread = __this_cpu_read(mt_thread_cpu.running);

	if (unlikely(thread))
		mt_thread_switch_out(thread);
	if (unlikely(mt_thread_is_maybe(next)))
		mt_thread_switch_in(next);
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
}

/* Runs in the task itself, when it has its new address space. */
static void hooks_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	if (mt_thread_is_maybe(task))
		mt_thread_exec();
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
