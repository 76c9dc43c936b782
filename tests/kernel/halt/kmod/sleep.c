// SPDX-License-Identifier: GPL-2.0
/*
 * A sleep that does not come about
 *
 * The machine is asked to sleep, everybody has prepared for it, and this comes
 * last and refuses: so that nothing depends on whether the machine can wake up.
 * On the way it does to the registers of Processor Trace what the sleep would,
 * and counts the CPUs that were tracing then.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/smp.h>
#include <linux/suspend.h>

#include <asm/msr.h>
#include <asm/msr-index.h>

#include "halt.h"

static unsigned int slept;
module_param(slept, uint, 0444);
MODULE_PARM_DESC(slept, "how often the machine was to sleep");

static atomic_t sleep_tracing;
static unsigned int tracing;
module_param(tracing, uint, 0444);
MODULE_PARM_DESC(tracing, "how many CPUs were tracing when it was");

static const u32 sleep_registers[] = {
	MSR_IA32_RTIT_CTL, MSR_IA32_RTIT_STATUS, MSR_IA32_RTIT_OUTPUT_BASE,
	MSR_IA32_RTIT_OUTPUT_MASK, MSR_IA32_RTIT_CR3_MATCH,
	MSR_IA32_RTIT_ADDR0_A, MSR_IA32_RTIT_ADDR0_B,
	MSR_IA32_RTIT_ADDR1_A, MSR_IA32_RTIT_ADDR1_B,
};

/* SDM vol. 3, "Cold Reset". A CPU may lack some of them. */
static void sleep_cold(void *unused)
{
	unsigned int i;
	u32 low, high;

	rdmsr_safe(MSR_IA32_RTIT_CTL, &low, &high);
	if (low & RTIT_CTL_TRACEEN)
		atomic_inc(&sleep_tracing);
	for (i = 0; i < ARRAY_SIZE(sleep_registers); i++)
		wrmsr_safe(sleep_registers[i], 0, 0);
}

static int sleep_notify(struct notifier_block *nb, unsigned long action,
			void *data)
{
	if (action != PM_SUSPEND_PREPARE)
		return NOTIFY_DONE;
	on_each_cpu(sleep_cold, NULL, 1);
	slept++;
	tracing = atomic_read(&sleep_tracing);
	return NOTIFY_BAD;
}

static struct notifier_block sleep_block = {
	.notifier_call = sleep_notify,
	.priority = INT_MIN,
};

int __init sleep_init(void)
{
	return register_pm_notifier(&sleep_block);
}

void sleep_exit(void)
{
	unregister_pm_notifier(&sleep_block);
}
