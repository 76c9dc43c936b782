// SPDX-License-Identifier: GPL-2.0
/*
 * Lets a thread wait in HLT: a number written to the module's parameter `times`
 * is how often. Elsewhere only the idle task does that, which nobody traces.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>

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

MODULE_DESCRIPTION("Test of mtrace: HLT in a thread");
MODULE_LICENSE("GPL");
