// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions by generic netlink
 *
 * Owns the family: who may use it, which sessions a message means, and what is
 * done for it. include/uapi/linux/mtrace_netlink.h says it all. Does nothing to
 * a session that its owner could not do by a call, and does that by the same
 * functions, with the session's mutex held. Does not know what is told of a
 * session, for which no mutex is needed.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/mtrace_netlink.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "cpu.h"
#include "netlink.h"
#include "registry.h"
#include "session.h"
#include "snapshot.h"

static struct genl_family netlink_family;

/**
 * struct cmd_target - which sessions a message means
 * @number: the one of this number; 0: more than one
 * @pid: those of this process, to which it has a reference; NULL: all
 * @from: those of lower numbers are done with
 */
struct cmd_target {
	u32 number;
	struct pid *pid;
	unsigned long from;
};

/* How far a dump has got. */
struct cmd_dump {
	struct cmd_target target;
	u32 session;	/* the one whose threads are listed, or 0 */
	u32 thread;	/* the next of them */
};

static int cmd_check(struct sk_buff *skb, struct netlink_ext_ack *extack)
{
	if (!netlink_capable(skb, CAP_PERFMON) &&
	    !netlink_capable(skb, CAP_SYS_ADMIN)) {
		NL_SET_ERR_MSG(extack,
			       "needs CAP_PERFMON or CAP_SYS_ADMIN in the initial user namespace");
		return -EPERM;
	}
	if (mt_cpu_is_shut_down()) {
		NL_SET_ERR_MSG(extack, "the machine is shutting down");
		return -ENODEV;
	}
	return 0;
}

/* The process of an id in the caller's namespace, to be put; or an ERR_PTR(). */
static struct pid *cmd_get_process(const struct nlattr *attr)
{
	struct pid *pid = find_get_pid(nla_get_u32(attr));
	bool found;

	rcu_read_lock();
	found = pid && pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	if (found)
		return pid;
	put_pid(pid);
	return ERR_PTR(-ESRCH);
}

static int cmd_target(struct cmd_target *target, struct nlattr **attrs,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *number = attrs[MTRACE_NLA_SESSION];
	struct nlattr *pid = attrs[MTRACE_NLA_PID];

	memset(target, 0, sizeof(*target));
	if (number && pid) {
		NL_SET_ERR_MSG_ATTR(extack, pid,
				    "either a session or a pid can be given, not both");
		return -EINVAL;
	}
	if (number)
		target->number = nla_get_u32(number);
	if (pid) {
		target->pid = cmd_get_process(pid);
		if (IS_ERR(target->pid)) {
			NL_SET_ERR_MSG_ATTR(extack, pid,
					    "there is no process of this pid");
			return PTR_ERR(target->pid);
		}
	}
	return 0;
}

/* That there is none is told for what the message has named. */
static int cmd_none(struct nlattr **attrs, struct netlink_ext_ack *extack)
{
	if (attrs[MTRACE_NLA_SESSION]) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[MTRACE_NLA_SESSION],
				    "there is no session of this number");
		return -ENOENT;
	}
	NL_SET_ERR_MSG_ATTR(extack, attrs[MTRACE_NLA_PID],
			    "no session traces this process or belongs to it");
	return -ESRCH;
}

/* The next session that is meant, to be put; or NULL. */
static struct mt_session *cmd_next(struct cmd_target *target)
{
	struct mt_session *session;

	if (target->number) {
		if (target->from > target->number)
			return NULL;
		target->from = target->number + 1UL;
		return mt_registry_get(target->number);
	}
	while ((session = mt_registry_next(&target->from))) {
		if (!target->pid || mt_session_is_of(session, target->pid))
			break;
		mt_registry_put(session);
	}
	return session;
}

static unsigned int cmd_count(struct cmd_target target)
{
	struct mt_session *session;
	unsigned int nr = 0;

	while ((session = cmd_next(&target))) {
		mt_registry_put(session);
		nr++;
	}
	return nr;
}

static int cmd_snapshot_one(struct mt_session *session, struct sk_buff *skb)
{
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	int ret, put;

	if (mutex_lock_killable(&session->mutex))
		return -EINTR;
	ret = mt_snapshot_take(session, &snapshot, MTRACE_REASON_COMMAND);
	mutex_unlock(&session->mutex);
	put = mt_netlink_put_snapshot(skb, session->setup.session, &snapshot,
				      ret);
	/* There is room: it was counted. */
	return WARN_ON_ONCE(put) ? put : ret;
}

static int cmd_run_one(struct mt_session *session, u8 cmd)
{
	int ret;

	if (mutex_lock_killable(&session->mutex))
		return -EINTR;
	if (cmd == MTRACE_NL_CMD_START)
		ret = mt_session_start(session);
	else
		ret = mt_session_stop(session);
	mutex_unlock(&session->mutex);
	return ret;
}

/*
 * What is to be done for each session that is meant, and that is at most @nr:
 * it succeeds if it does for one.
 */
static int cmd_each(struct cmd_target target, unsigned int nr, u8 cmd,
		    struct sk_buff *reply)
{
	struct mt_session *session;
	int ret, first = -ESRCH;
	bool any = false;

	while (nr && (session = cmd_next(&target))) {
		if (cmd == MTRACE_NL_CMD_SNAPSHOT)
			ret = cmd_snapshot_one(session, reply);
		else
			ret = cmd_run_one(session, cmd);
		mt_registry_put(session);
		if (ret == -EINTR)
			return ret;
		if (!ret)
			any = true;
		else if (first == -ESRCH)
			first = ret;
		nr--;
	}
	return any ? 0 : first;
}

static void cmd_explain(struct netlink_ext_ack *extack, int error, u8 cmd)
{
	if (error == -ENOBUFS)
		NL_SET_ERR_MSG(extack,
			       "no region is free: the owner has to release a snapshot first");
	else if (error == -EALREADY && cmd == MTRACE_NL_CMD_START)
		NL_SET_ERR_MSG(extack, "it is running already");
	else if (error == -EALREADY)
		NL_SET_ERR_MSG(extack, "it is stopped already");
	else if (error == -ESRCH)
		NL_SET_ERR_MSG(extack, "the session was closed meanwhile");
	else if (error == -EINVAL)
		NL_SET_ERR_MSG(extack, "a session that streams has no snapshots");
	else if (error == -EACCES)
		NL_SET_ERR_MSG(extack,
			       "it traces the kernel, which is locked down since");
}

/* Begin the answer to a command; it is sent or freed by the caller. */
static struct sk_buff *cmd_reply(struct genl_info *info, size_t size,
				 void **header)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (!skb)
		return NULL;
	*header = genlmsg_put_reply(skb, info, &netlink_family, 0,
				    info->genlhdr->cmd);
	if (*header)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/* SNAPSHOT, START and STOP. */
static int cmd_act(struct sk_buff *skb, struct genl_info *info)
{
	u8 cmd = info->genlhdr->cmd;
	struct cmd_target target;
	struct sk_buff *reply = NULL;
	unsigned int nr;
	void *header;
	int ret;

	ret = cmd_check(skb, info->extack);
	if (ret)
		return ret;
	if (!info->attrs[MTRACE_NLA_SESSION] && !info->attrs[MTRACE_NLA_PID]) {
		NL_SET_ERR_MSG(info->extack, "a session or a pid is needed");
		return -EINVAL;
	}
	ret = cmd_target(&target, info->attrs, info->extack);
	if (ret)
		return ret;
	nr = cmd_count(target);
	if (!nr) {
		ret = cmd_none(info->attrs, info->extack);
		goto out;
	}
	/* A result that cannot be told must not come about. */
	if (cmd == MTRACE_NL_CMD_SNAPSHOT) {
		reply = cmd_reply(info, nr * mt_netlink_snapshot_size(),
				  &header);
		if (!reply) {
			ret = -ENOMEM;
			goto out;
		}
	}

	ret = cmd_each(target, nr, cmd, reply);
	if (ret)
		cmd_explain(info->extack, ret, cmd);
	if (reply && !ret) {
		genlmsg_end(reply, header);
		ret = genlmsg_reply(reply, info);
	} else if (reply) {
		nlmsg_free(reply);
	}
out:
	put_pid(target.pid);
	return ret;
}

/* STATUS of one session. */
static int cmd_status(struct sk_buff *skb, struct genl_info *info)
{
	struct cmd_target target;
	struct mt_session *session;
	struct sk_buff *reply;
	void *header;
	int ret;

	ret = cmd_check(skb, info->extack);
	if (ret)
		return ret;
	if (!info->attrs[MTRACE_NLA_SESSION]) {
		NL_SET_ERR_MSG(info->extack,
			       "a session is needed; ask for a dump for more than one");
		return -EINVAL;
	}
	ret = cmd_target(&target, info->attrs, info->extack);
	if (ret)
		return ret;
	session = cmd_next(&target);
	if (!session)
		return cmd_none(info->attrs, info->extack);

	ret = -ENOMEM;
	reply = cmd_reply(info, NLMSG_DEFAULT_SIZE, &header);
	if (!reply)
		goto out;
	ret = mt_netlink_put_status(reply, session);
	if (ret) {
		nlmsg_free(reply);
		goto out;
	}
	genlmsg_end(reply, header);
	ret = genlmsg_reply(reply, info);
out:
	mt_registry_put(session);
	return ret;
}

static struct cmd_dump *cmd_dump_of(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct cmd_dump) > sizeof(cb->args));
	return (struct cmd_dump *)cb->args;
}

static int cmd_dump_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = mt_genl_dump_attrs(cb);
	struct cmd_dump *dump = cmd_dump_of(cb);
	int ret;

	ret = cmd_check(cb->skb, cb->extack);
	if (!ret)
		ret = cmd_target(&dump->target, attrs, cb->extack);
	if (ret)
		return ret;
	if ((dump->target.number || dump->target.pid) &&
	    !cmd_count(dump->target)) {
		put_pid(dump->target.pid);
		return cmd_none(attrs, cb->extack);
	}
	return 0;
}

static int cmd_dump_done(struct netlink_callback *cb)
{
	put_pid(cmd_dump_of(cb)->target.pid);
	return 0;
}

/*
 * Add a message of a session to a dump: its status, and as many of its threads
 * as there is room for. Where that is not all, @dump says where to go on.
 */
static int cmd_dump_session(struct sk_buff *skb,
			    struct netlink_callback *cb,
			    struct mt_session *session)
{
	struct cmd_dump *dump = cmd_dump_of(cb);
	u32 first = dump->thread;
	void *header;
	int ret;

	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
			     cb->nlh->nlmsg_seq, &netlink_family, NLM_F_MULTI,
			     MTRACE_NL_CMD_STATUS);
	if (!header)
		return -EMSGSIZE;
	if (dump->session)
		ret = nla_put_u32(skb, MTRACE_NLA_SESSION, dump->session);
	else
		ret = mt_netlink_put_status(skb, session);
	if (ret)
		goto cancel;
	ret = mt_netlink_put_threads(skb, session, &dump->thread);
	/* A message of which nothing but its session is new is none. */
	if (ret && dump->session && dump->thread == first)
		goto cancel;

	genlmsg_end(skb, header);
	dump->session = ret ? session->setup.session : 0;
	if (!ret)
		dump->thread = 0;
	return ret;

cancel:
	genlmsg_cancel(skb, header);
	return ret;
}

static int cmd_dump_status(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cmd_dump *dump = cmd_dump_of(cb);
	struct mt_session *session;
	unsigned long from = 0;
	int ret = 0;

	while (!ret) {
		from = dump->target.from;
		session = dump->session ? mt_registry_get(dump->session) :
					  cmd_next(&dump->target);
		if (!session && dump->session) {
			/* It was closed before all of it was told. */
			dump->session = 0;
			dump->thread = 0;
			continue;
		}
		if (!session)
			return skb->len;
		ret = cmd_dump_session(skb, cb, session);
		mt_registry_put(session);
	}
	/* Nothing was told of that session: it is the next one again. */
	if (!dump->session)
		dump->target.from = from;
	return ret == -EMSGSIZE && skb->len ? skb->len : ret;
}

/* Older kernels' policies want it without const. */
static struct netlink_range_validation cmd_pids = {
	.min = 1,
	.max = S32_MAX,
};

static const struct nla_policy cmd_policy[MTRACE_NLA_PID + 1] = {
	[MTRACE_NLA_SESSION] = NLA_POLICY_MIN(NLA_U32, 1),
	[MTRACE_NLA_PID] = NLA_POLICY_FULL_RANGE(NLA_U32, &cmd_pids),
};

static const struct genl_ops cmd_ops[] = {
	{ .cmd = MTRACE_NL_CMD_SNAPSHOT, .doit = cmd_act },
	{
		.cmd = MTRACE_NL_CMD_STATUS,
		.doit = cmd_status,
		.start = cmd_dump_start,
		.dumpit = cmd_dump_status,
		.done = cmd_dump_done,
	},
	{ .cmd = MTRACE_NL_CMD_START, .doit = cmd_act },
	{ .cmd = MTRACE_NL_CMD_STOP, .doit = cmd_act },
};

static const struct genl_multicast_group cmd_groups[] = {
	MT_GENL_PRIVILEGED_GROUP(MTRACE_GENL_GROUP_EVENTS),
};

/*
 * A command may wait for the session's mutex, and must not have all other commands
 * wait meanwhile: hence parallel_ops. Nobody who has the mutex waits for what
 * user space may take its time for (see struct mt_session): who registers a family
 * waits for this.
 */
static struct genl_family netlink_family __ro_after_init = {
	.name = MTRACE_GENL_NAME,
	.version = MTRACE_GENL_VERSION,
	.maxattr = MTRACE_NLA_PID,
	.policy = cmd_policy,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = cmd_ops,
	.n_ops = ARRAY_SIZE(cmd_ops),
	.mcgrps = cmd_groups,
	.n_mcgrps = MT_GENL_NR_PRIVILEGED(cmd_groups),
};

/**
 * mt_netlink_is_heard - tell whether somebody listens to the events
 *
 * May be called in any context but an NMI.
 */
bool mt_netlink_is_heard(void)
{
	return MT_GENL_NR_PRIVILEGED(cmd_groups) &&
	       genl_has_listeners(&netlink_family, &init_net, 0);
}

/**
 * mt_netlink_begin - begin an event's message
 * @skb: where
 * @cmd: MTRACE_NL_CMD_*_EVENT
 *
 * Return: its header, for mt_netlink_multicast(); or NULL.
 */
void *mt_netlink_begin(struct sk_buff *skb, u8 cmd)
{
	return genlmsg_put(skb, 0, 0, &netlink_family, 0, cmd);
}

/**
 * mt_netlink_multicast - send an event to all who listen
 * @skb: its message, which is consumed
 * @header: the message's header
 */
void mt_netlink_multicast(struct sk_buff *skb, void *header)
{
	genlmsg_end(skb, header);
	/* That nobody listens, or somebody too slowly, is not for us to mend. */
	genlmsg_multicast(&netlink_family, skb, 0, 0, GFP_KERNEL);
}

/**
 * mt_netlink_init - have the family
 *
 * Return: 0 or a negative error.
 */
int __init mt_netlink_init(void)
{
	return genl_register_family(&netlink_family);
}

/**
 * mt_netlink_exit - have it no more
 */
void mt_netlink_exit(void)
{
	genl_unregister_family(&netlink_family);
}
