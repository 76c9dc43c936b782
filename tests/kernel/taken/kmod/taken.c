// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the name of mtrace's netlink family, so that mtrace, which does much
 * before it asks for that, does not load.
 */
#include <linux/module.h>
#include <net/genetlink.h>

static struct genl_family taken_family = {
	.name = "mtrace",
	.version = 1,
	.module = THIS_MODULE,
};

static int __init taken_init(void)
{
	return genl_register_family(&taken_family);
}

static void __exit taken_exit(void)
{
	genl_unregister_family(&taken_family);
}

module_init(taken_init);
module_exit(taken_exit);

MODULE_DESCRIPTION("Test of mtrace: its netlink family's name is taken");
MODULE_LICENSE("GPL");
