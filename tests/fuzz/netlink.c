// SPDX-License-Identifier: GPL-2.0
/* Messages to the generic netlink family, right and wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/mtrace_netlink.h>

#include "fuzz.h"

struct message {
	struct nlmsghdr header;
	struct genlmsghdr genl;
	uint8_t attrs[1024];
};

static void begin(struct message *message, uint16_t type, uint8_t cmd,
		  uint16_t flags)
{
	*message = (struct message){
		.header = { NLMSG_HDRLEN + GENL_HDRLEN, type,
			    NLM_F_REQUEST | NLM_F_ACK | flags, 1, 0 },
		.genl = { .cmd = cmd, .version = 1 },
	};
}

static void put(struct message *message, uint16_t type, const void *data,
		uint16_t size)
{
	struct nlattr attr = { NLA_HDRLEN + size, type };
	uint8_t *to = (uint8_t *)message + message->header.nlmsg_len;

	memcpy(to, &attr, sizeof(attr));
	memcpy(to + NLA_HDRLEN, data, size);
	message->header.nlmsg_len += NLA_ALIGN(attr.nla_len);
}

static void put_u32(struct message *message, uint16_t type, uint32_t value)
{
	put(message, type, &value, sizeof(value));
}

/* An attribute of a kind between two places, or NULL. */
static struct nlattr *find(uint8_t *from, uint8_t *to, uint16_t type)
{
	while (from + NLA_HDRLEN <= to) {
		struct nlattr *attr = (void *)from;

		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		from += NLA_ALIGN(attr->nla_len ?: NLA_HDRLEN);
	}
	return NULL;
}

static struct nlattr *find_in(struct nlattr *attr, uint16_t type)
{
	return attr ? find((uint8_t *)(attr + 1),
			   (uint8_t *)attr + attr->nla_len, type) : NULL;
}

/* The number of the family, and of its group of events; 0 if it has none. */
static uint16_t find_family(int fd, uint32_t *group)
{
	struct message message;
	struct nlattr *attr, *id;
	uint8_t bytes[8192];
	ssize_t got;

	begin(&message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	put(&message, CTRL_ATTR_FAMILY_NAME, MTRACE_GENL_NAME,
	    sizeof(MTRACE_GENL_NAME));
	if (send(fd, &message, message.header.nlmsg_len, 0) < 0)
		return 0;
	got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN))
		return 0;
	id = find(bytes + NLMSG_HDRLEN + GENL_HDRLEN, bytes + got,
		  CTRL_ATTR_FAMILY_ID);
	attr = find(bytes + NLMSG_HDRLEN + GENL_HDRLEN, bytes + got,
		    CTRL_ATTR_MCAST_GROUPS);
	/* There is one, which is the first. */
	attr = find_in(find_in(attr, 1), CTRL_ATTR_MCAST_GRP_ID);
	*group = attr ? *(uint32_t *)(attr + 1) : 0;
	return id ? *(uint16_t *)(id + 1) : 0;
}

/*
 * The errno at the end of the answer. That is there when the message has been
 * sent, or, of a dump, with each part that is read; some messages have none.
 */
static int answer(struct fuzzer *f, int fd)
{
	struct nlmsghdr *header;
	ssize_t got;
	int error;

	for (;;) {
		got = recv(fd, f->bytes, BYTES, MSG_DONTWAIT);
		if (got <= 0)
			return errno;
		for (header = (void *)f->bytes; NLMSG_OK(header, got);
		     header = NLMSG_NEXT(header, got)) {
			if (header->nlmsg_type != NLMSG_ERROR &&
			    header->nlmsg_type != NLMSG_DONE)
				continue;
			memcpy(&error, NLMSG_DATA(header), sizeof(error));
			return error < 0 ? -error : 0;
		}
	}
}

static int command(struct fuzzer *f, uint8_t cmd, uint16_t flags)
{
	static __thread uint16_t family;
	static __thread int fd = -1;
	struct message message;
	uint32_t i, unused;
	int ret;

	/* What is left unread goes with the socket, or is read before. */
	if (fd >= 0 && one_in(f, 16)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			    NETLINK_GENERIC);
	if (fd < 0)
		return errno;
	while (recv(fd, f->bytes, BYTES, MSG_DONTWAIT) >= 0)
		;
	if (!family)
		family = find_family(fd, &unused);
	begin(&message, family, cmd, flags);
	if (flags & NLM_F_DUMP && one_in(f, 2))
		;
	else if (one_in(f, 4))
		put_u32(&message, MTRACE_NLA_PID, one_in(f, 2) ? getpid() :
			some_tid(f));
	else
		put_u32(&message, MTRACE_NLA_SESSION, f->slot->setup.session);
	if (one_in(f, 5)) {
		for (i = below(f, 4); i; i--) {
			uint64_t odd = odd_number(f);

			put(&message, below(f, 16), &odd, below(f, 9));
		}
		message.attrs[below(f, 24)] ^= 1 << below(f, 8);
		if (one_in(f, 4))
			message.genl.cmd = rnd(f);
		if (one_in(f, 4))
			message.header.nlmsg_flags ^= 1 << below(f, 12);
		message.header.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
		if (one_in(f, 4))
			message.header.nlmsg_len -= below(f, 12);
	}
	ret = send(fd, &message, message.header.nlmsg_len, 0) < 0 ? errno :
	      one_in(f, 32) ? 0 : answer(f, fd);
	return ret;
}

static int run_snapshot(struct fuzzer *f)
{
	return command(f, MTRACE_NL_CMD_SNAPSHOT, 0);
}

static int run_status(struct fuzzer *f)
{
	return command(f, MTRACE_NL_CMD_STATUS, 0);
}

static int run_dump(struct fuzzer *f)
{
	return command(f, MTRACE_NL_CMD_STATUS, NLM_F_DUMP);
}

static int run_start(struct fuzzer *f)
{
	return command(f, MTRACE_NL_CMD_START, 0);
}

static int run_stop(struct fuzzer *f)
{
	return command(f, MTRACE_NL_CMD_STOP, 0);
}

/* Listens to the events: reads some, or is too slow for them, or goes. */
static int run_events(struct fuzzer *f)
{
	static __thread uint32_t group;
	static __thread int fd = -1;
	unsigned int i;

	if (fd >= 0 && one_in(f, 16)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			    NETLINK_GENERIC);
		if (!group)
			find_family(fd, &group);
		return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
				  &group, sizeof(group)) ? errno : 0;
	}
	for (i = below(f, 16); i; i--)
		if (recv(fd, f->bytes, BYTES, MSG_DONTWAIT) < 0)
			return errno;
	return 0;
}

const struct call netlink_calls[] = {
	{ .name = "netlink SNAPSHOT", .weight = 30, .least = 2000,
	  .run = run_snapshot, .counts = true },
	{ .name = "netlink STATUS", .weight = 30, .least = 2000,
	  .run = run_status, .counts = true },
	{ .name = "netlink dump", .weight = 20, .least = 1000,
	  .run = run_dump, .counts = true },
	{ .name = "netlink START", .weight = 10, .least = 400,
	  .run = run_start, .counts = true },
	{ .name = "netlink STOP", .weight = 5, .least = 200,
	  .run = run_stop, .counts = true },
	{ .name = "netlink events", .weight = 20, .least = 500,
	  .run = run_events },
	{ 0 }
};
