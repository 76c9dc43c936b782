// SPDX-License-Identifier: GPL-2.0
#include "ask.h"

#include <linux/mtrace_netlink.h>

struct nl nl;
struct nl_answer answer;

int ask(uint8_t cmd, uint16_t type, uint32_t value)
{
	return nl_ask(&nl, cmd, 0, type, value, &answer);
}

int dump(uint16_t type, uint32_t value)
{
	return nl_ask(&nl, MTRACE_NL_CMD_STATUS, NLM_F_DUMP, type, value,
		      &answer);
}

uint64_t number_in(const struct nlattr *nest, uint16_t type)
{
	return nl_number(nl_nested(nest, type));
}
