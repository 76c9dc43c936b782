// SPDX-License-Identifier: GPL-2.0
/*
 * What is told by generic netlink
 *
 * Owns how snapshots, sessions and threads look as attributes of a message:
 * one row or line for each attribute of include/uapi/linux/mtrace_netlink.h.
 * Does not know who asks.
 */
#include <linux/errno.h>
#include <linux/mtrace_netlink.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/stddef.h>
#include <net/netlink.h>

#include "member.h"
#include "netlink.h"
#include "session.h"

/* Attributes that are fields of a structure, u32 or u64. */
struct message_field {
	u16 type;
	u16 offset;
};

#define STATUS(attr_, field_)						\
	{ MTRACE_NLA_STATUS_##attr_, offsetof(struct mtrace_status, field_) }
#define SETUP(attr_, field_)						\
	{ MTRACE_NLA_STATUS_##attr_, offsetof(struct mtrace_setup, field_) }

static const struct message_field message_status_u32[] = {
	STATUS(NR_THREADS, nr_threads),
	STATUS(NR_SNAPSHOTS, nr_snapshots),
	STATUS(REGIONS_LIVE, regions_live),
	STATUS(REGIONS_FROZEN, regions_frozen),
	STATUS(REGIONS_FREE, regions_free),
};

static const struct message_field message_status_u64[] = {
	STATUS(REFUSED_THREADS, refused_threads),
	STATUS(WRAPS, wraps),
	STATUS(ERRORS, errors),
	STATUS(STOPS, stops),
	STATUS(UNSWITCHED, unswitched),
	STATUS(RECYCLED, recycled),
	STATUS(NOBUFS, nobufs),
	STATUS(GAINED, gained),
	STATUS(STREAM_BYTES, stream_bytes),
	STATUS(STREAM_LOST_BYTES, stream_lost_bytes),
	STATUS(STREAM_OVERRUNS, stream_overruns),
	STATUS(UNARMED, unarmed),
};

static const struct message_field message_setup_u32[] = {
	SETUP(TRACE_FLAGS, trace_flags),
	SETUP(MAX_THREADS, max_threads),
};

static const struct message_field message_setup_u64[] = {
	SETUP(BUFFER_SIZE, buffer_size),
	SETUP(REGION_SIZE, region_size),
};

#undef STATUS
#undef SETUP

static int message_put_u32(struct sk_buff *skb, const void *from,
			   const struct message_field *fields, size_t nr)
{
	for (; nr; nr--, fields++)
		if (nla_put_u32(skb, fields->type,
				*(const u32 *)(from + fields->offset)))
			return -EMSGSIZE;
	return 0;
}

static int message_put_u64(struct sk_buff *skb, const void *from,
			   const struct message_field *fields, size_t nr)
{
	for (; nr; nr--, fields++)
		if (nla_put_u64_64bit(skb, fields->type,
				      *(const u64 *)(from + fields->offset),
				      MTRACE_NLA_STATUS_PAD))
			return -EMSGSIZE;
	return 0;
}

#define PUT(kind_, skb_, from_, fields_)				\
	message_put_##kind_(skb_, from_, fields_, ARRAY_SIZE(fields_))

/**
 * mt_netlink_put_status - add what is told of a session to a message
 * @skb: the message
 * @session: the session
 *
 * Return: 0 or -EMSGSIZE.
 */
int mt_netlink_put_status(struct sk_buff *skb, struct mt_session *session)
{
	const struct mtrace_setup *setup = &session->setup;
	struct mtrace_status status = {};
	struct nlattr *nest;

	/* What was set up does not change, and the rest is counted under a lock. */
	mt_session_status(session, &status);

	if (nla_put_u32(skb, MTRACE_NLA_SESSION, setup->session))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, MTRACE_NLA_STATUS);
	if (!nest ||
	    nla_put_u32(skb, MTRACE_NLA_STATUS_OWNER,
			pid_nr_ns(session->access.owner,
				  task_active_pid_ns(current))) ||
	    nla_put_u8(skb, MTRACE_NLA_STATUS_RUNNING, status.running) ||
	    PUT(u32, skb, setup, message_setup_u32) ||
	    PUT(u64, skb, setup, message_setup_u64) ||
	    PUT(u32, skb, &status, message_status_u32) ||
	    PUT(u64, skb, &status, message_status_u64))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int message_put_thread(struct sk_buff *skb,
			      const struct mt_member_info *info)
{
	struct nlattr *nest = nla_nest_start(skb, MTRACE_NLA_THREAD);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, MTRACE_NLA_THREAD_TID, info->tid) ||
	    nla_put_u32(skb, MTRACE_NLA_THREAD_PID, info->pid) ||
	    nla_put_string(skb, MTRACE_NLA_THREAD_COMM, info->comm) ||
	    (info->cpu >= 0 &&
	     nla_put_u32(skb, MTRACE_NLA_THREAD_CPU, info->cpu))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * mt_netlink_put_threads - add threads of a session to a message
 * @skb: the message
 * @session: the session
 * @next: the first that is wanted; left at the first that found no room
 *
 * Return: 0 where all found room, or -EMSGSIZE.
 */
int mt_netlink_put_threads(struct sk_buff *skb, struct mt_session *session,
			   u32 *next)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct mt_member_info info;

	for (; *next < session->setup.max_threads; ++*next)
		if (mt_member_look(session, *next, ns, &info) &&
		    message_put_thread(skb, &info))
			return -EMSGSIZE;
	return 0;
}

/* The thread that a snapshot was taken for, if it was for one. */
static int message_put_cause(struct sk_buff *skb,
			     const struct mtrace_snapshot *snapshot)
{
	const struct {
		u16 type;
		u32 value;
	} numbers[] = {
		{ MTRACE_NLA_SNAPSHOT_TID, snapshot->tid },
		{ MTRACE_NLA_SNAPSHOT_PID, snapshot->pid },
		{ MTRACE_NLA_SNAPSHOT_TRIGGER, snapshot->trigger },
		{ MTRACE_NLA_SNAPSHOT_SIGNAL, snapshot->signal },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].value &&
		    nla_put_u32(skb, numbers[i].type, numbers[i].value))
			return -EMSGSIZE;
	return 0;
}

/**
 * mt_netlink_put_snapshot - add what is told of a snapshot to a message
 * @skb: the message
 * @session: number of the session
 * @snapshot: the snapshot
 * @error: the error with which it could not be taken, or 0
 *
 * Return: 0 or -EMSGSIZE.
 */
int mt_netlink_put_snapshot(struct sk_buff *skb, u32 session,
			    const struct mtrace_snapshot *snapshot, int error)
{
	struct nlattr *nest = nla_nest_start(skb, MTRACE_NLA_SNAPSHOT);

	if (!nest || nla_put_u32(skb, MTRACE_NLA_SNAPSHOT_SESSION, session))
		return -EMSGSIZE;
	if (error) {
		if (nla_put_u32(skb, MTRACE_NLA_SNAPSHOT_ERROR, -error))
			return -EMSGSIZE;
	} else if (nla_put_u64_64bit(skb, MTRACE_NLA_SNAPSHOT_ID, snapshot->id,
				     MTRACE_NLA_SNAPSHOT_PAD) ||
		   nla_put_u32(skb, MTRACE_NLA_SNAPSHOT_REASON,
			       snapshot->reason) ||
		   nla_put_u64_64bit(skb, MTRACE_NLA_SNAPSHOT_TSC,
				     snapshot->tsc, MTRACE_NLA_SNAPSHOT_PAD) ||
		   nla_put_u64_64bit(skb, MTRACE_NLA_SNAPSHOT_TSC_END,
				     snapshot->tsc_end,
				     MTRACE_NLA_SNAPSHOT_PAD) ||
		   nla_put_u32(skb, MTRACE_NLA_SNAPSHOT_NR_REGIONS,
			       snapshot->nr_regions) ||
		   nla_put_u32(skb, MTRACE_NLA_SNAPSHOT_NR_UNSWITCHED,
			       snapshot->nr_unswitched) ||
		   nla_put_u32(skb, MTRACE_NLA_SNAPSHOT_MISSED,
			       snapshot->missed) ||
		   message_put_cause(skb, snapshot)) {
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * mt_netlink_snapshot_size - the most that mt_netlink_put_snapshot() adds
 */
size_t mt_netlink_snapshot_size(void)
{
	return nla_total_size(0) + 9 * nla_total_size(sizeof(u32)) +
	       3 * nla_total_size_64bit(sizeof(u64));
}
