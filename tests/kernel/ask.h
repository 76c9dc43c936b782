/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands by generic netlink, by a socket that is the test's, and the answer to
 * the last of them.
 */
#ifndef MT_TEST_ASK_H
#define MT_TEST_ASK_H

#include <stdint.h>
#include <string.h>

#include "harness.h"
#include "nl.h"

extern struct nl nl;
extern struct nl_answer answer;

/* A command with one attribute, or with none where @type is 0. Returns the errno. */
int ask(uint8_t cmd, uint16_t type, uint32_t value);
/* The status of all that is meant by it. */
int dump(uint16_t type, uint32_t value);

#define CHECK_ASK(cmd, type, value, want) do {				\
	int got_ = ask(cmd, type, value);				\
									\
	if (got_ != (want))						\
		FAIL("%s of %u gives errno %d (%s: %s), not %d", #cmd,	\
		     (unsigned int)(value), got_, strerror(got_),	\
		     answer.text, want);				\
} while (0)

/* An attribute of a nest. */
uint64_t number_in(const struct nlattr *nest, uint16_t type);

#endif
