// SPDX-License-Identifier: GPL-2.0
/*
 * mtrace - per-thread Intel Processor Trace with snapshots
 *
 * Composes the module; include/uapi/linux/mtrace.h says what it does.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>

#include "caps.h"
#include "chardev.h"
#include "cpu.h"
#include "event.h"
#include "hooks.h"
#include "netlink.h"
#include "pmi.h"
#include "sideband.h"
#include "space.h"
#include "thread.h"
#include "tick.h"

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
	mt_event_init();
	mt_tick_init();
	mt_pmi_init();
	ret = mt_cpu_init();
	if (ret)
		return ret;
	mt_space_init();
	ret = mt_netlink_init();
	if (ret)
		goto err_space;
	ret = mt_chardev_init();
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	mt_netlink_exit();
err_space:
	mt_space_exit();
	mt_cpu_exit();
	/* modprobe takes EEXIST for a module that is loaded already. */
	return ret == -EEXIST ? -EBUSY : ret;
}

static void __exit mtrace_exit(void)
{
	mt_chardev_exit();
	mt_sideband_exit();
	mt_space_exit();
	mt_cpu_exit();
	mt_hooks_exit();
	mt_thread_exit();
	mt_event_exit();
	mt_netlink_exit();
}

module_init(mtrace_init);
module_exit(mtrace_exit);

MODULE_DESCRIPTION("Per-thread Intel Processor Trace with snapshots");
MODULE_AUTHOR("mtrace developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
