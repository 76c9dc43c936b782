/* SPDX-License-Identifier: GPL-2.0 */
/* The options --session and --pid, by which commands name sessions of others. */
#ifndef MTRACE_CMD_TARGET_H
#define MTRACE_CMD_TARGET_H

#include "user/cmd/options.h"
#include "user/record/netlink.h"

/* The first key that a command's own options may have. */
enum { MT_KEY_SESSION, MT_KEY_PID, MT_KEY_TARGET_END };

#define MT_TARGET_OPTIONS								\
	{ "session", 's', "N", "the session of this number, which `status` tells",	\
	  MT_KEY_SESSION },								\
	{ "pid", 'p', "PID", "each session that traces this process, or that it has opened",	\
	  MT_KEY_PID }

/* Take one of them. Returns 0, or -EINVAL after a message. */
int mt_cmd_take_target(struct mt_netlink_target *target, int key, const char *value);

#endif /* MTRACE_CMD_TARGET_H */
