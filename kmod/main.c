// SPDX-License-Identifier: GPL-2.0
/*
 * mtrace - per-thread Intel Processor Trace with snapshots
 *
 * Composes the module; include/uapi/linux/mtrace.h says what it does.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "caps.h"
#include "chardev.h"
#include "cpu.h"
#include "hooks.h"
#include "thread.h"

static int __init mtrace_init(void)
{
	int ret;

	ret = mt_caps_init();
	if (ret)
		return ret;
	ret = mt_hooks_init();
	if (ret)
		return ret;
	mt_thread_init();
	ret = mt_cpu_init();
	if (ret)
		return ret;
	ret = mt_chardev_init();
	if (ret)
		goto err_cpu;
	return 0;

err_cpu:
	mt_cpu_exit();
	return ret;
}

static void __exit mtrace_exit(void)
{
	mt_chardev_exit();
	mt_cpu_exit();
	mt_hooks_exit();
}

module_init(mtrace_init);
module_exit(mtrace_exit);

MODULE_DESCRIPTION("Per-thread Intel Processor Trace with snapshots");
MODULE_AUTHOR("mtrace developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
