/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client of the module's generic netlink family, by libnl: sessions of any
 * process, by their numbers or by a process. The only place that speaks netlink.
 * Knows nothing of what the sessions are for.
 *
 * Functions return 0 or -errno after a message.
 */
#ifndef MTRACE_RECORD_NETLINK_H
#define MTRACE_RECORD_NETLINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/mtrace_netlink.h>

#include "user/base/array.h"

struct mt_netlink;

/* Which sessions are meant; neither: all of them. */
struct mt_netlink_target {
	uint32_t session;
	pid_t pid;
};

struct mt_netlink_thread {
	pid_t tid;
	pid_t pid;
	int cpu;		/* that it is traced on at this moment, or -1 */
	char comm[16];
};

struct mt_netlink_session {
	uint32_t number;
	/* By MTRACE_NLA_STATUS_*; 0 for what the module does not tell. */
	uint64_t status[MTRACE_NLA_STATUS_MAX + 1];
	MT_ARRAY(struct mt_netlink_thread) threads;
};

struct mt_netlink_sessions {
	MT_ARRAY(struct mt_netlink_session) list;
};

/* One snapshot, by MTRACE_NLA_SNAPSHOT_*. */
struct mt_netlink_snapshot {
	uint64_t value[MTRACE_NLA_SNAPSHOT_MAX + 1];
};

struct mt_netlink_snapshots {
	MT_ARRAY(struct mt_netlink_snapshot) list;
};

int mt_netlink_open(struct mt_netlink **out);
void mt_netlink_close(struct mt_netlink *nl);	/* NULL is allowed */

/*
 * Have each session that is meant take a snapshot. One that could not has
 * MTRACE_NLA_SNAPSHOT_ERROR; if none could, that is a failure. *@out is to be
 * freed by the caller, also after a failure.
 */
int mt_netlink_snapshot(struct mt_netlink *nl, const struct mt_netlink_target *target,
			struct mt_netlink_snapshots *out);

/* What the module tells of the sessions that are meant. *@out likewise. */
int mt_netlink_status(struct mt_netlink *nl, const struct mt_netlink_target *target,
		      struct mt_netlink_sessions *out);

void mt_netlink_snapshots_free(struct mt_netlink_snapshots *snapshots);
void mt_netlink_sessions_free(struct mt_netlink_sessions *sessions);

#endif /* MTRACE_RECORD_NETLINK_H */
