// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests want to happen in the kernel
 *
 * times: a number written to it is how often the thread waits in HLT. Elsewhere
 * only the idle task does that, which nobody traces.
 *
 * oops: written, the thread has one.
 *
 * slept, tracing: see sleep.c.
 */
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>

#include "halt.h"

static int halt_set(const char *text, const struct kernel_param *param)
{
	unsigned int times;
	int ret = kstrtouint(text, 0, &times);

	if (ret)
		return ret;
	while (times--) {
		preempt_disable();
		/* The next tick ends it: interrupts are on behind STI's next. */
		asm volatile("sti; hlt" : : : "memory");
		preempt_enable();
	}
	return 0;
}

static const struct kernel_param_ops halt_ops = { .set = halt_set };

module_param_cb(times, &halt_ops, NULL, 0200);
MODULE_PARM_DESC(times, "written: wait so often in HLT");

static int halt_oops(const char *text, const struct kernel_param *param)
{
	BUG();
}

static const struct kernel_param_ops halt_oops_ops = { .set = halt_oops };

module_param_cb(oops, &halt_oops_ops, NULL, 0200);
MODULE_PARM_DESC(oops, "written: have an oops");

static int __init halt_init(void)
{
	return sleep_init();
}

static void __exit halt_exit(void)
{
	sleep_exit();
}

module_init(halt_init);
module_exit(halt_exit);

MODULE_DESCRIPTION("Test of mtrace: what a thread may get into");
MODULE_LICENSE("GPL");
