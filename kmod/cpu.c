// SPDX-License-Identifier: GPL-2.0
/*
 * Taking CPUs and giving them back
 *
 * Owns who has Processor Trace of each CPU: takes it from the kernel when the
 * first session is set up, reserves it against perf, follows CPUs that come
 * and go, and gives all back as it was found when the last session is gone.
 * Knows no session and no thread but the one that a CPU must stop.
 *
 * perf is kept out by an event of its own PMU on each CPU that is never
 * enabled and so touches no register: the PMU is an exclusive one, and perf
 * then refuses events of threads everywhere and of CPUs on these.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/reboot.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "cpu.h"
#include "hw.h"
#include "thread.h"
#include "tick.h"
#include "topa.h"

/**
 * struct mt_cpu - what is held of one CPU
 * @claimed: whether its registers are ours
 * @found: what was in them
 * @table: the CPU's table of addresses
 * @event: what keeps perf out, or NULL
 */
struct mt_cpu {
	bool claimed;
	struct mt_found found;
	u64 *table;
	struct perf_event *event;
};

static DEFINE_PER_CPU(struct mt_cpu, mt_cpus);

/* Guards all below, and that the CPUs are claimed by one session at a time. */
static DEFINE_MUTEX(mt_cpu_mutex);
static unsigned int mt_cpu_users;
static u32 mt_cpu_pmu_type;
static int mt_cpu_state;
static bool mt_cpu_claiming;
static bool mt_cpu_shut_down;

/*
 * From when the machine prepares to sleep until it is awake: whoever has not been
 * frozen yet can have a session meanwhile, and CPUs come online before the end.
 */
static bool mt_cpu_asleep;

static int cpu_reserve(unsigned int cpu)
{
	struct mt_cpu *mine = per_cpu_ptr(&mt_cpus, cpu);
	struct perf_event_attr attr = {
		.type = mt_cpu_pmu_type,
		.size = sizeof(attr),
		.disabled = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(event)) {
		if (PTR_ERR(event) == -EBUSY || PTR_ERR(event) == -ENOMEM)
			return PTR_ERR(event);
		/* No PMU has that type, or one that wants another event. */
		return -EINVAL;
	}
	/* Some of the kernel's own PMUs have no name. */
	if (!event->pmu->name || strcmp(event->pmu->name, "intel_pt")) {
		perf_event_release_kernel(event);
		return -EINVAL;
	}
	mine->event = event;
	return 0;
}

static void cpu_unreserve(unsigned int cpu)
{
	struct mt_cpu *mine = per_cpu_ptr(&mt_cpus, cpu);

	if (!mine->event)
		return;
	perf_event_release_kernel(mine->event);
	mine->event = NULL;
}

static void cpu_free_table(struct mt_cpu *mine)
{
	mt_topa_free_table(mine->table);
	mine->table = NULL;
}

/* Runs on the CPU, with interrupts off. */
static void cpu_set_usable(void)
{
	__this_cpu_write(mt_thread_cpu.usable,
			 __this_cpu_read(mt_cpus.claimed) &&
			 !READ_ONCE(mt_cpu_shut_down) &&
			 !READ_ONCE(mt_cpu_asleep));
}

/* Runs on the CPU, when it is claimed first and whenever it comes online. */
static int cpu_take(unsigned int cpu)
{
	struct mt_cpu *mine = per_cpu_ptr(&mt_cpus, cpu);
	unsigned long flags;
	int ret = 0;

	mine->table = mt_topa_alloc_table(cpu_to_mem(cpu));
	if (!mine->table) {
		ret = -ENOMEM;
		goto out;
	}
	if (mt_cpu_pmu_type)
		ret = cpu_reserve(cpu);
	if (ret)
		goto err_free_table;

	local_irq_save(flags);
	ret = mt_hw_claim(&mine->found, mine->table);
	mine->claimed = !ret;
	cpu_set_usable();
	local_irq_restore(flags);
	if (!ret)
		return 0;

	cpu_unreserve(cpu);
err_free_table:
	cpu_free_table(mine);
out:
	if (mt_cpu_claiming)
		return ret;
	/* A CPU that is not to be had must still be able to come online. */
	if (ret)
		pr_warn("nothing is traced on CPU %u: error %d\n", cpu, ret);
	return 0;
}

/* Runs on the CPU, before it goes offline and when it is given back. */
static int cpu_give_back(unsigned int cpu)
{
	struct mt_cpu *mine = per_cpu_ptr(&mt_cpus, cpu);
	unsigned long flags;

	local_irq_save(flags);
	__this_cpu_write(mt_thread_cpu.usable, false);
	mt_thread_sync(NULL);
	if (mine->claimed)
		mt_hw_restore(&mine->found);
	mine->claimed = false;
	local_irq_restore(flags);
	mt_tick_end();
	cpu_unreserve(cpu);
	cpu_free_table(mine);
	return 0;
}

/* Runs on the CPU, with the kernel's rights: perf asks for them. */
static long cpu_reserve_here(void *unused)
{
	return cpu_reserve(raw_smp_processor_id());
}

/* A later session may know the PMU that the first one did not. */
static int cpu_reserve_all(u32 pmu_type)
{
	unsigned int cpu;
	int ret = 0;

	cpus_read_lock();
	mt_cpu_pmu_type = pmu_type;
	for_each_online_cpu(cpu) {
		ret = work_on_cpu(cpu, cpu_reserve_here, NULL);
		if (ret)
			break;
	}
	if (ret) {
		mt_cpu_pmu_type = 0;
		for_each_online_cpu(cpu)
			cpu_unreserve(cpu);
	}
	cpus_read_unlock();
	return ret;
}

static int cpu_claim_all(u32 pmu_type)
{
	int ret;

	/* A CPU that comes online meanwhile waits, lest it be refused. */
	cpus_read_lock();
	mt_cpu_pmu_type = pmu_type;
	mt_cpu_claiming = true;
	/* Undoes itself where a CPU refuses. */
	ret = cpuhp_setup_state_cpuslocked(CPUHP_AP_ONLINE_DYN,
					   "mtrace:online", cpu_take,
					   cpu_give_back);
	mt_cpu_claiming = false;
	cpus_read_unlock();
	if (ret < 0)
		return ret;
	mt_cpu_state = ret;
	return 0;
}

/**
 * mt_cpu_get - have Processor Trace of all CPUs for a session
 * @pmu_type: perf's PMU to reserve it against, 0 for none
 *
 * Return: 0; -EBUSY where somebody else uses it; -EINVAL where @pmu_type is
 * not that of Processor Trace; -ENODEV after a shutdown; -ENOMEM.
 */
int mt_cpu_get(u32 pmu_type)
{
	int ret = 0;

	mutex_lock(&mt_cpu_mutex);
	if (mt_cpu_shut_down)
		ret = -ENODEV;
	/* Processor Trace's type is none of those that perf itself has. */
	else if (pmu_type && pmu_type < PERF_TYPE_MAX)
		ret = -EINVAL;
	else if (!mt_cpu_users)
		ret = cpu_claim_all(pmu_type);
	else if (pmu_type && !mt_cpu_pmu_type)
		ret = cpu_reserve_all(pmu_type);
	else if (pmu_type && pmu_type != mt_cpu_pmu_type)
		ret = -EINVAL;
	if (!ret)
		mt_cpu_users++;
	mutex_unlock(&mt_cpu_mutex);
	return ret;
}

/**
 * mt_cpu_put - give up what mt_cpu_get() gave
 */
void mt_cpu_put(void)
{
	mutex_lock(&mt_cpu_mutex);
	if (!--mt_cpu_users)
		cpuhp_remove_state(mt_cpu_state);
	mutex_unlock(&mt_cpu_mutex);
}

/**
 * mt_cpu_is_shut_down - whether the machine goes down, and tracing with it
 */
bool mt_cpu_is_shut_down(void)
{
	return READ_ONCE(mt_cpu_shut_down);
}

static void cpu_pause(void *unused)
{
	__this_cpu_write(mt_thread_cpu.usable, false);
	mt_thread_sync(NULL);
}

static void cpu_resume(void *unused)
{
	mt_hw_forget();
	cpu_set_usable();
	mt_thread_sync(NULL);
}

/*
 * kexec comes here as well, but for the kind that returns: that one freezes all
 * threads first, and a frozen thread is traced nowhere.
 *
 * Left on, Processor Trace would go on writing to memory that is another
 * kernel's after kexec, and that kernel would refuse to use it.
 */
static int cpu_reboot(struct notifier_block *nb, unsigned long action,
		      void *data)
{
	WRITE_ONCE(mt_cpu_shut_down, true);
	on_each_cpu(cpu_pause, NULL, 1);
	return NOTIFY_DONE;
}

static struct notifier_block mt_cpu_reboot = {
	.notifier_call = cpu_reboot,
};

/*
 * The first CPU sleeps without going offline, and wakes with its registers
 * cleared (SDM vol. 3, "Cold Reset"), so that a position read from them after
 * would be wrong.
 */
static int cpu_sleep(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		WRITE_ONCE(mt_cpu_asleep, true);
		on_each_cpu(cpu_pause, NULL, 1);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		WRITE_ONCE(mt_cpu_asleep, false);
		on_each_cpu(cpu_resume, NULL, 1);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block mt_cpu_sleep = {
	.notifier_call = cpu_sleep,
};

/*
 * A kernel that kdump starts needs Processor Trace off, too. What it calls on
 * each CPU for that stops perf's alone and has no hook for modules; so there is
 * a kprobe on it. It is not static, is called from another file than its own,
 * and has had that one purpose since before 5.10. On other CPUs than the one
 * where the machine comes to its end it runs in an NMI.
 *
 * Where there are no kprobes only that CPU is seen to: by an oops, or by a panic
 * with crash_kexec_post_notifiers or without kdump. The others are stopped there
 * without a word to modules.
 */
static void cpu_cut(void)
{
	if (__this_cpu_read(mt_thread_cpu.running))
		mt_hw_cut();
}

static int cpu_emergency(struct kprobe *probe, struct pt_regs *regs)
{
	__this_cpu_write(mt_thread_cpu.usable, false);
	cpu_cut();
	return 0;
}

static struct kprobe mt_cpu_emergency = {
	.symbol_name = "cpu_emergency_stop_pt",
	.pre_handler = cpu_emergency,
};

static bool mt_cpu_has_emergency;

/* Not every oops is the end: a thread that goes on is traced again. */
static int cpu_die(struct notifier_block *nb, unsigned long action, void *data)
{
	if (action == DIE_OOPS)
		cpu_cut();
	return NOTIFY_DONE;
}

static struct notifier_block mt_cpu_die = {
	.notifier_call = cpu_die,
};

static int cpu_panic(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	WRITE_ONCE(mt_cpu_shut_down, true);
	__this_cpu_write(mt_thread_cpu.usable, false);
	cpu_cut();
	return NOTIFY_DONE;
}

static struct notifier_block mt_cpu_panic = {
	.notifier_call = cpu_panic,
};

/**
 * mt_cpu_init - begin to listen to what becomes of the machine
 *
 * Return: 0 or a negative error.
 */
int __init mt_cpu_init(void)
{
	int ret;

	ret = register_reboot_notifier(&mt_cpu_reboot);
	if (ret)
		return ret;
	ret = register_pm_notifier(&mt_cpu_sleep);
	if (ret)
		goto err_reboot;
	ret = register_die_notifier(&mt_cpu_die);
	if (ret)
		goto err_sleep;
	ret = atomic_notifier_chain_register(&panic_notifier_list,
					     &mt_cpu_panic);
	if (ret)
		goto err_die;
	mt_cpu_has_emergency = !register_kprobe(&mt_cpu_emergency);
	return 0;

err_die:
	unregister_die_notifier(&mt_cpu_die);
err_sleep:
	unregister_pm_notifier(&mt_cpu_sleep);
err_reboot:
	unregister_reboot_notifier(&mt_cpu_reboot);
	return ret;
}

/**
 * mt_cpu_exit - stop listening
 */
void mt_cpu_exit(void)
{
	if (mt_cpu_has_emergency)
		unregister_kprobe(&mt_cpu_emergency);
	atomic_notifier_chain_unregister(&panic_notifier_list, &mt_cpu_panic);
	unregister_die_notifier(&mt_cpu_die);
	unregister_pm_notifier(&mt_cpu_sleep);
	unregister_reboot_notifier(&mt_cpu_reboot);
}
