// SPDX-License-Identifier: GPL-2.0
/* The module's generic netlink family, by libnl; see the header. */
#include "user/record/netlink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "user/base/log.h"

/* Kernels older than what libnl's headers know have no such flag set. */
#ifndef NLM_F_CAPPED
#define NLM_F_CAPPED	0x100
#endif
#ifndef NLM_F_ACK_TLVS
#define NLM_F_ACK_TLVS	0x200
#endif

struct mt_netlink {
	struct nl_sock *sock;
	int family;
	int seen;		/* what the answer ended with: 1 not yet, 0, or -errno */
	char why[256];		/* what the kernel says of that, or "" */
	int (*take)(struct nlattr **attrs, struct nlmsghdr *message, void *out);
	void *out;
};

/* ---- answers ---- */

static void take_text(struct mt_netlink *nl, const struct nlmsghdr *message, size_t fixed)
{
	int len = (int)(message->nlmsg_len - NLMSG_HDRLEN) - (int)NLMSG_ALIGN(fixed);
	struct nlattr *attrs = (void *)((char *)(uintptr_t)message + NLMSG_HDRLEN +
					NLMSG_ALIGN(fixed));
	const struct nlattr *text;

	if (!(message->nlmsg_flags & NLM_F_ACK_TLVS) || len <= 0)
		return;
	text = nla_find(attrs, len, NLMSGERR_ATTR_MSG);
	if (text)
		snprintf(nl->why, sizeof(nl->why), "%.*s", nla_len(text),
			 (const char *)nla_data(text));
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)((char *)error - NLMSG_HDRLEN);
	struct mt_netlink *nl = arg;
	size_t fixed = sizeof(*error);

	(void)from;
	/* What was asked is behind the error, unless the kernel has cut it off. */
	if (!(message->nlmsg_flags & NLM_F_CAPPED))
		fixed += error->msg.nlmsg_len - NLMSG_HDRLEN;
	take_text(nl, message, fixed);
	nl->seen = error->error;
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct mt_netlink *nl = arg;

	(void)msg;
	nl->seen = 0;
	return NL_STOP;
}

/* The end of a dump, which may have an error in it. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	const struct nlmsghdr *message = nlmsg_hdr(msg);
	struct mt_netlink *nl = arg;

	nl->seen = 0;
	if (message->nlmsg_len >= NLMSG_HDRLEN + sizeof(int))
		memcpy(&nl->seen, nlmsg_data(message), sizeof(int));
	if (nl->seen > 0)
		nl->seen = 0;
	take_text(nl, message, sizeof(int));
	return NL_STOP;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[MTRACE_NLA_MAX + 1];
	struct mt_netlink *nl = arg;
	int err;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, MTRACE_NLA_MAX, NULL))
		return NL_SKIP;
	err = nl->take(attrs, nlmsg_hdr(msg), nl->out);
	if (!err)
		return NL_OK;
	nl->seen = err;
	return NL_STOP;
}

static uint64_t number(const struct nlattr *attr)
{
	uint64_t value = 0;

	/* Little-endian, as every CPU with Processor Trace. */
	memcpy(&value, nla_data(attr), nla_len(attr) < 8 ? (size_t)nla_len(attr) : 8);
	return value;
}

/* All numbers of a nest, by the types of their attributes; unknown ones are left out. */
static void numbers(struct nlattr *nest, uint64_t *values, int max)
{
	struct nlattr *attr;
	int left;

	nla_for_each_nested(attr, nest, left) {
		if (nla_type(attr) <= max)
			values[nla_type(attr)] = number(attr);
	}
}

static int take_snapshot(struct nlattr **attrs, struct nlmsghdr *message, void *out)
{
	struct mt_netlink_snapshots *snapshots = out;
	struct nlattr *attr;
	int left, err;

	(void)attrs;
	nlmsg_for_each_attr(attr, message, GENL_HDRLEN, left) {
		struct mt_netlink_snapshot snapshot = { 0 };

		if (nla_type(attr) != MTRACE_NLA_SNAPSHOT)
			continue;
		numbers(attr, snapshot.value, MTRACE_NLA_SNAPSHOT_MAX);
		err = mt_array_push(&snapshots->list, snapshot);
		if (err)
			return err;
	}
	return 0;
}

static int take_thread(struct mt_netlink_session *session, struct nlattr *nest)
{
	struct mt_netlink_thread thread = { .cpu = -1 };
	struct nlattr *attrs[MTRACE_NLA_THREAD_MAX + 1];

	if (nla_parse_nested(attrs, MTRACE_NLA_THREAD_MAX, nest, NULL))
		return 0;
	if (attrs[MTRACE_NLA_THREAD_TID])
		thread.tid = (pid_t)number(attrs[MTRACE_NLA_THREAD_TID]);
	if (attrs[MTRACE_NLA_THREAD_PID])
		thread.pid = (pid_t)number(attrs[MTRACE_NLA_THREAD_PID]);
	if (attrs[MTRACE_NLA_THREAD_CPU])
		thread.cpu = (int)number(attrs[MTRACE_NLA_THREAD_CPU]);
	if (attrs[MTRACE_NLA_THREAD_COMM])
		nla_strlcpy(thread.comm, attrs[MTRACE_NLA_THREAD_COMM], sizeof(thread.comm));
	return mt_array_push(&session->threads, thread);
}

/* A session, or more threads of the last one. */
static int take_status(struct nlattr **attrs, struct nlmsghdr *message, void *out)
{
	struct mt_netlink_sessions *sessions = out;
	struct mt_netlink_session *session;
	struct nlattr *attr;
	int left, err = 0;

	if (!attrs[MTRACE_NLA_SESSION])
		return 0;
	if (attrs[MTRACE_NLA_STATUS]) {
		struct mt_netlink_session next = {
			.number = nla_get_u32(attrs[MTRACE_NLA_SESSION]),
		};

		numbers(attrs[MTRACE_NLA_STATUS], next.status, MTRACE_NLA_STATUS_MAX);
		err = mt_array_push(&sessions->list, next);
	}
	if (err || !sessions->list.count)
		return err;
	session = &sessions->list.data[sessions->list.count - 1];
	nlmsg_for_each_attr(attr, message, GENL_HDRLEN, left) {
		if (nla_type(attr) == MTRACE_NLA_THREAD && !err)
			err = take_thread(session, attr);
	}
	return err;
}

/* ---- questions ---- */

/* For kernels that give a dump's error without a word. */
static const char *usual_reason(int err)
{
	switch (err) {
	case -EPERM:
		return "no permission: run as root, or grant CAP_PERFMON";
	case -ENOENT:
		return "there is no session of this number";
	case -ESRCH:
		return "there is no such process, or no session traces it or belongs to it";
	default:
		return strerror(-err);
	}
}

static void tell_failure(const struct mt_netlink *nl, const struct mt_netlink_target *target,
			 int err)
{
	const char *why = *nl->why ? nl->why : usual_reason(err);

	if (target->session)
		mt_error("session %u: %s", target->session, why);
	else if (target->pid)
		mt_error("process %d: %s", target->pid, why);
	else
		mt_error("the sessions cannot be listed: %s", why);
}

/* What libnl failed with, as an errno. */
static int nl_errno(int err)
{
	switch (-err) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
		return -EPERM;
	case NLE_INTR:
		return -EINTR;
	default:
		return -EIO;
	}
}

static struct nl_msg *new_message(const struct mt_netlink *nl, uint8_t cmd, int flags,
				  const struct mt_netlink_target *target)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg &&
	    genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, nl->family, 0, flags, cmd,
			MTRACE_GENL_VERSION) &&
	    (!target->session || !nla_put_u32(msg, MTRACE_NLA_SESSION, target->session)) &&
	    (!target->pid || !nla_put_u32(msg, MTRACE_NLA_PID, (uint32_t)target->pid)))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

/* Ask, and give each message of the answer to nl->take. */
static int ask(struct mt_netlink *nl, uint8_t cmd, int flags,
	       const struct mt_netlink_target *target)
{
	struct nl_msg *msg = new_message(nl, cmd, flags, target);
	int err;

	if (!msg) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	*nl->why = '\0';
	nl->seen = 1;
	err = nl_send_auto(nl->sock, msg);
	nlmsg_free(msg);
	while (err >= 0 && nl->seen > 0)
		err = nl_recvmsgs_default(nl->sock);
	if (nl->seen <= 0)
		err = nl->seen;
	else
		err = nl_errno(err);
	if (err)
		tell_failure(nl, target, err);
	return err;
}

int mt_netlink_snapshot(struct mt_netlink *nl, const struct mt_netlink_target *target,
			struct mt_netlink_snapshots *out)
{
	*out = (struct mt_netlink_snapshots){ 0 };
	nl->take = take_snapshot;
	nl->out = out;
	return ask(nl, MTRACE_NL_CMD_SNAPSHOT, NLM_F_ACK, target);
}

int mt_netlink_status(struct mt_netlink *nl, const struct mt_netlink_target *target,
		      struct mt_netlink_sessions *out)
{
	*out = (struct mt_netlink_sessions){ 0 };
	nl->take = take_status;
	nl->out = out;
	return ask(nl, MTRACE_NL_CMD_STATUS, NLM_F_DUMP, target);
}

/* ---- the socket ---- */

static int set_up(struct mt_netlink *nl)
{
	struct nl_sock *sock = nl->sock;
	int err, one = 1;

	err = genl_connect(sock);
	if (err)
		return err;
	/* Without these there are errors without a reason. */
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	nl->family = genl_ctrl_resolve(sock, MTRACE_GENL_NAME);
	if (nl->family < 0)
		return nl->family;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_valid, nl);
	nl_socket_modify_cb(sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, nl);
	nl_socket_modify_cb(sock, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, nl);
	nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, on_error, nl);
	return 0;
}

int mt_netlink_open(struct mt_netlink **out)
{
	struct mt_netlink *nl = calloc(1, sizeof(*nl));
	int err = -NLE_NOMEM;

	if (nl)
		nl->sock = nl_socket_alloc();
	if (nl && nl->sock)
		err = set_up(nl);
	if (!err) {
		*out = nl;
		return 0;
	}
	mt_netlink_close(nl);
	if (err == -NLE_OBJ_NOTFOUND) {
		mt_error("the kernel module is not loaded, or this is another network namespace "
			 "than the initial one: load it with 'modprobe mtrace' or 'insmod "
			 "mtrace.ko'");
		return -ENODEV;
	}
	mt_error("no netlink: %s", nl_geterror(err));
	return nl_errno(err);
}

void mt_netlink_close(struct mt_netlink *nl)
{
	if (nl)
		nl_socket_free(nl->sock);
	free(nl);
}

void mt_netlink_snapshots_free(struct mt_netlink_snapshots *snapshots)
{
	mt_array_free(&snapshots->list);
}

void mt_netlink_sessions_free(struct mt_netlink_sessions *sessions)
{
	for (size_t i = 0; i < sessions->list.count; i++)
		mt_array_free(&sessions->list.data[i].threads);
	mt_array_free(&sessions->list);
}
