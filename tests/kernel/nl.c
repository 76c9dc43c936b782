// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/mtrace_netlink.h>

#include "harness.h"
#include "nl.h"

static const struct nlattr *find(const void *from, size_t size, uint16_t type,
				 const struct nlattr *last)
{
	const struct nlattr *attr = from;
	const uint8_t *end = (const uint8_t *)from + size;

	while ((const uint8_t *)attr + NLA_HDRLEN <= end) {
		CHECK(attr->nla_len >= NLA_HDRLEN &&
		      (const uint8_t *)attr + attr->nla_len <= end,
		      "an attribute of %u bytes does not fit", attr->nla_len);
		if ((attr->nla_type & NLA_TYPE_MASK) == type && attr > last)
			return attr;
		attr = (const void *)((const uint8_t *)attr +
				      NLA_ALIGN(attr->nla_len));
	}
	return NULL;
}

const struct nlattr *nl_attr(const struct nlmsghdr *message, uint16_t type,
			     const struct nlattr *last)
{
	const uint8_t *attrs = (const uint8_t *)message + NLMSG_HDRLEN +
			       GENL_HDRLEN;

	return find(attrs, (const uint8_t *)message + message->nlmsg_len - attrs,
		    type, last);
}

const struct nlattr *nl_nested(const struct nlattr *nest, uint16_t type)
{
	CHECK(nest, "no nest for attribute %u", type);
	return find((const uint8_t *)nest + NLA_HDRLEN,
		    nest->nla_len - NLA_HDRLEN, type, NULL);
}

uint8_t nl_cmd(const struct nlmsghdr *message)
{
	return ((const struct genlmsghdr *)((const uint8_t *)message +
					    NLMSG_HDRLEN))->cmd;
}

uint64_t nl_number(const struct nlattr *attr)
{
	uint64_t value = 0;

	CHECK(attr, "an attribute is missing");
	CHECK(attr->nla_len <= NLA_HDRLEN + 8, "attribute %u is no number",
	      attr->nla_type);
	memcpy(&value, (const uint8_t *)attr + NLA_HDRLEN,
	       attr->nla_len - NLA_HDRLEN);
	return value;
}

const char *nl_string(const struct nlattr *attr)
{
	CHECK(attr, "an attribute is missing");
	CHECK(((const char *)attr)[attr->nla_len - 1] == 0,
	      "attribute %u is no string", attr->nla_type);
	return (const char *)attr + NLA_HDRLEN;
}

void nl_begin(struct nl *nl, struct nl_message *message, uint8_t cmd,
	      uint16_t flags)
{
	struct genlmsghdr genl = { .cmd = cmd, .version = 1 };

	memset(message, 0, sizeof(*message));
	message->header = (struct nlmsghdr){
		.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN,
		.nlmsg_type = nl->family,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
		.nlmsg_seq = ++nl->seq,
	};
	memcpy(message->payload, &genl, sizeof(genl));
}

void nl_put(struct nl_message *message, uint16_t type, const void *data,
	    uint16_t size)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + size, .nla_type = type };
	uint8_t *to = (uint8_t *)message + message->header.nlmsg_len;

	memcpy(to, &attr, sizeof(attr));
	memcpy(to + NLA_HDRLEN, data, size);
	message->header.nlmsg_len += NLA_ALIGN(attr.nla_len);
}

void nl_put_u32(struct nl_message *message, uint16_t type, uint32_t value)
{
	nl_put(message, type, &value, sizeof(value));
}

static void take_text(struct nl_answer *answer, const struct nlmsghdr *message,
		      size_t fixed)
{
	const uint8_t *attrs = (const uint8_t *)message + NLMSG_HDRLEN + fixed;
	size_t size = message->nlmsg_len - NLMSG_HDRLEN - fixed;
	const struct nlattr *attr;

	if (!(message->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	attr = find(attrs, size, NLMSGERR_ATTR_MSG, NULL);
	if (attr)
		snprintf(answer->text, sizeof(answer->text), "%s",
			 nl_string(attr));
	attr = find(attrs, size, NLMSGERR_ATTR_OFFS, NULL);
	if (attr)
		answer->offset = nl_number(attr);
}

/* Returns whether it was the last one of the answer. */
static bool take(struct nl *nl, struct nl_answer *answer,
		 const struct nlmsghdr *message)
{
	CHECK_EQ(message->nlmsg_seq, nl->seq);
	switch (message->nlmsg_type) {
	case NLMSG_ERROR:
		answer->error = -*(const int *)NLMSG_DATA(message);
		take_text(answer, message, sizeof(struct nlmsgerr));
		return true;
	case NLMSG_DONE:
		answer->error = -*(const int *)NLMSG_DATA(message);
		take_text(answer, message, sizeof(int));
		return true;
	default:
		CHECK(answer->used + message->nlmsg_len <=
		      sizeof(answer->bytes), "too long an answer");
		memcpy(answer->bytes + answer->used, message,
		       message->nlmsg_len);
		answer->used += NLMSG_ALIGN(message->nlmsg_len);
		answer->nr++;
		return false;
	}
}

int nl_call(struct nl *nl, struct nl_message *message, struct nl_answer *answer)
{
	/* A dump has messages of up to this size, and no answer here is longer. */
	static uint8_t buffer[1 << 14] __attribute__((aligned(8)));
	struct nlmsghdr *header;
	ssize_t got;
	bool done = false;

	answer->error = 0;
	answer->text[0] = 0;
	answer->offset = 0;
	answer->nr = 0;
	answer->used = 0;
	if (send(nl->fd, message, message->header.nlmsg_len, 0) < 0)
		FAIL("send: %s", strerror(errno));
	while (!done) {
		got = recv(nl->fd, buffer, sizeof(buffer), MSG_TRUNC);
		if (got < 0)
			FAIL("recv: %s", strerror(errno));
		CHECK(got <= (ssize_t)sizeof(buffer), "too long a message");
		for (header = (struct nlmsghdr *)buffer;
		     NLMSG_OK(header, got) && !done;
		     header = NLMSG_NEXT(header, got))
			done = take(nl, answer, header);
	}
	return answer->error;
}

int nl_ask(struct nl *nl, uint8_t cmd, uint16_t flags, uint16_t type,
	   uint32_t value, struct nl_answer *answer)
{
	struct nl_message message;

	nl_begin(nl, &message, cmd, flags);
	if (type)
		nl_put_u32(&message, type, value);
	return nl_call(nl, &message, answer);
}

const struct nlmsghdr *nl_next(const struct nl_answer *answer,
			       const struct nlmsghdr *last)
{
	const uint8_t *next = last ? (const uint8_t *)last +
				     NLMSG_ALIGN(last->nlmsg_len) :
				     answer->bytes;

	return next < answer->bytes + answer->used ? (const void *)next : NULL;
}

/* By the family that tells of the families. */
static int find_family(struct nl *nl)
{
	static struct nl_answer answer;
	const struct nlattr *groups, *group;
	const struct nlmsghdr *message;
	struct nl_message ask;
	int ret;

	nl->family = GENL_ID_CTRL;
	nl_begin(nl, &ask, CTRL_CMD_GETFAMILY, 0);
	nl_put(&ask, CTRL_ATTR_FAMILY_NAME, MTRACE_GENL_NAME,
	       sizeof(MTRACE_GENL_NAME));
	ret = nl_call(nl, &ask, &answer);
	if (ret)
		return ret;
	/* The reply may come behind the ack. */
	message = nl_next(&answer, NULL);
	CHECK(message, "the kernel does not tell of the family");
	nl->family = nl_number(nl_attr(message, CTRL_ATTR_FAMILY_ID, NULL));
	CHECK_EQ(nl_number(nl_attr(message, CTRL_ATTR_VERSION, NULL)),
		 MTRACE_GENL_VERSION);
	groups = nl_attr(message, CTRL_ATTR_MCAST_GROUPS, NULL);
	nl->group = 0;
	if (!groups)
		return 0;
	group = nl_nested(groups, 1);
	CHECK(!strcmp(nl_string(nl_nested(group, CTRL_ATTR_MCAST_GRP_NAME)),
		      MTRACE_GENL_GROUP_EVENTS), "the group has another name");
	nl->group = nl_number(nl_nested(group, CTRL_ATTR_MCAST_GRP_ID));
	return 0;
}

int nl_try_open(struct nl *nl)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int one = 1, size = 8 << 20;

	memset(nl, 0, sizeof(*nl));
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nl->fd < 0 ||
	    bind(nl->fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one,
		       sizeof(one)) ||
	    setsockopt(nl->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one)))
		FAIL("no netlink: %s", strerror(errno));
	setsockopt(nl->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return find_family(nl);
}

void nl_open(struct nl *nl)
{
	CHECK_EQ(nl_try_open(nl), 0);
}

int nl_join(struct nl *nl)
{
	return setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
			  &nl->group, sizeof(nl->group));
}

const struct nlmsghdr *nl_event(struct nl *nl, int timeout_ms)
{
	static uint8_t buffer[8192] __attribute__((aligned(8)));
	struct pollfd fd = { .fd = nl->fd, .events = POLLIN };
	struct nlmsghdr *message = (struct nlmsghdr *)buffer;
	ssize_t got;

	if (!poll(&fd, 1, timeout_ms))
		return NULL;
	got = recv(nl->fd, buffer, sizeof(buffer), 0);
	CHECK(got > 0, "recv: %s", strerror(errno));
	CHECK_EQ(message->nlmsg_len, got);
	CHECK_EQ(message->nlmsg_type, nl->family);
	return message;
}
