// SPDX-License-Identifier: GPL-2.0
/* The options --session and --pid; see the header. */
#include "user/cmd/target.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "user/base/log.h"

static int take_number(const char *option, const char *value, unsigned long max,
		       unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(value, &end, 10);
	/* strtoul() takes blanks and a sign, too. */
	if (errno || !isdigit((unsigned char)*value) || *end || !*out || *out > max) {
		mt_error("--%s takes a number from 1 to %lu, not '%s'", option, max, value);
		return -EINVAL;
	}
	return 0;
}

int mt_cmd_take_target(struct mt_netlink_target *target, int key, const char *value)
{
	unsigned long number;
	int err;

	if (key == MT_KEY_SESSION) {
		err = take_number("session", value, UINT32_MAX, &number);
		if (!err)
			target->session = (uint32_t)number;
	} else {
		err = take_number("pid", value, INT32_MAX, &number);
		if (!err)
			target->pid = (pid_t)number;
	}
	if (!err && target->session && target->pid) {
		mt_error("either --session or --pid can be given, not both");
		err = -EINVAL;
	}
	return err;
}
