// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt that Processor Trace raises when a part of its memory is full
 *
 * Owns what is done then: stop the thread that is traced and have it go on,
 * as a tick does, but at the right moment. Nothing depends on it: it may be
 * late, or never come.
 *
 * The vector is perf's, which has it delivered as an NMI. perf's handler finds
 * the interrupt's cause (IA32_PERF_GLOBAL_STATUS.Trace_ToPA_PMI), takes it back
 * and lets the local APIC deliver the next, all of it also while it traces
 * nothing itself - if it has an event. So the interrupt is free to use where PT
 * is reserved by an event of perf's, and asked for only there (mt_cpu_get()).
 * The handler here is called before perf's, while the cause can still be
 * seen, and leaves the NMI to perf to account for.
 */
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>

#include <asm/msr-index.h>
#include <asm/nmi.h>

#include "compat.h"
#include "pmi.h"
#include "thread.h"

static DEFINE_PER_CPU(struct irq_work, pmi_work);
static DEFINE_MUTEX(pmi_mutex);
static unsigned int pmi_users;

static void pmi_sync(struct irq_work *work)
{
	unsigned long flags;

	local_irq_save(flags);
	mt_thread_sync(NULL);
	local_irq_restore(flags);
}

/* In the NMI registers and memory are looked at, and nothing is locked. */
static int pmi_handle(unsigned int type, struct pt_regs *regs)
{
	u64 status;

	if (!__this_cpu_read(mt_thread_cpu.running) ||
	    rdmsrq_safe(MSR_CORE_PERF_GLOBAL_STATUS, &status) ||
	    !(status & GLOBAL_STATUS_TRACE_TOPAPMI))
		return NMI_DONE;
	irq_work_queue(this_cpu_ptr(&pmi_work));
	return NMI_DONE;
}

/**
 * mt_pmi_get - have the interrupt looked after
 *
 * Return: 0 or a negative error.
 */
int mt_pmi_get(void)
{
	int ret = 0;

	mutex_lock(&pmi_mutex);
	if (!pmi_users)
		ret = register_nmi_handler(NMI_LOCAL, pmi_handle,
					   NMI_FLAG_FIRST, "mtrace");
	if (!ret)
		pmi_users++;
	mutex_unlock(&pmi_mutex);
	return ret;
}

/**
 * mt_pmi_put - have it looked after no longer
 */
void mt_pmi_put(void)
{
	unsigned int cpu;

	mutex_lock(&pmi_mutex);
	if (!--pmi_users) {
		unregister_nmi_handler(NMI_LOCAL, "mtrace");
		for_each_possible_cpu(cpu)
			irq_work_sync(per_cpu_ptr(&pmi_work, cpu));
	}
	mutex_unlock(&pmi_mutex);
}

/**
 * mt_pmi_init - prepare
 */
void __init mt_pmi_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		init_irq_work(per_cpu_ptr(&pmi_work, cpu), pmi_sync);
}
