/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client of generic netlink that sends what it is told to, right or wrong.
 * Written from linux/netlink.h and linux/genetlink.h, not from the library that
 * the tool uses.
 */
#ifndef MT_TEST_NL_H
#define MT_TEST_NL_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

/**
 * struct nl - a socket
 * @fd: the socket
 * @family: number of the family mtrace
 * @group: number of its group events
 * @seq: of the last message that was sent
 */
struct nl {
	int fd;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
};

/* A message to be sent. */
struct nl_message {
	struct nlmsghdr header;
	uint8_t payload[1024];
};

/**
 * struct nl_answer - what came back
 * @error: the errno, or 0
 * @text: the extended ack's text, or ""
 * @offset: the offset that it names, or 0
 * @nr: messages
 * @used: bytes of @bytes
 * @bytes: the messages, one after the other
 */
struct nl_answer {
	int error;
	char text[256];
	uint32_t offset;
	uint32_t nr;
	uint32_t used;
	uint8_t bytes[1 << 20];
};

/* Opens it and finds the family; nl_try_open() gives the errno instead. */
void nl_open(struct nl *nl);
int nl_try_open(struct nl *nl);
int nl_join(struct nl *nl);

void nl_begin(struct nl *nl, struct nl_message *message, uint8_t cmd,
	      uint16_t flags);
void nl_put(struct nl_message *message, uint16_t type, const void *data,
	    uint16_t size);
void nl_put_u32(struct nl_message *message, uint16_t type, uint32_t value);

/* Sends it and waits for the end of the answer. Returns the answer's errno. */
int nl_call(struct nl *nl, struct nl_message *message,
	    struct nl_answer *answer);

/* A command with one attribute, or with none where that is 0. */
int nl_ask(struct nl *nl, uint8_t cmd, uint16_t flags, uint16_t type,
	   uint32_t value, struct nl_answer *answer);

/* The message behind @last, or the first; NULL: none. */
const struct nlmsghdr *nl_next(const struct nl_answer *answer,
			       const struct nlmsghdr *last);

/* The attribute of a type behind @last, or the first; NULL: none. */
const struct nlattr *nl_attr(const struct nlmsghdr *message, uint16_t type,
			     const struct nlattr *last);
const struct nlattr *nl_nested(const struct nlattr *nest, uint16_t type);
uint8_t nl_cmd(const struct nlmsghdr *message);

/* Their values; a test fails that asks for one that is not there or is wrong. */
uint64_t nl_number(const struct nlattr *attr);
const char *nl_string(const struct nlattr *attr);

/* One event, for which there is time; NULL: none came. Valid until the next. */
const struct nlmsghdr *nl_event(struct nl *nl, int timeout_ms);

#endif
