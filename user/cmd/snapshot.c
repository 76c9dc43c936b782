// SPDX-License-Identifier: GPL-2.0
/* mtrace-user snapshot: its command line, and what it says. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "user/base/log.h"
#include "user/cmd/commands.h"
#include "user/cmd/options.h"
#include "user/cmd/target.h"
#include "user/record/netlink.h"

static const struct mt_option options[] = {
	MT_TARGET_OPTIONS,
	{ NULL, 0, NULL, NULL, 0 },
};

static const struct mt_usage usage = {
	.command = "snapshot",
	.args = "[--session N | --pid PID]",
	.summary = "Have a session that is running take a snapshot, which its owner records.",
	.details = "Without --session and --pid it is the only session that there is. Exit code 3\n"
		   "says that no snapshot was taken for want of trace memory.",
	.options = options,
};

static int take(void *ctx, int key, const char *value)
{
	return mt_cmd_take_target(ctx, key, value);
}

/* The one session that there is, as what is meant. Returns an exit code. */
static int find_only(struct mt_netlink *nl, struct mt_netlink_target *target)
{
	struct mt_netlink_sessions sessions;
	int code = MT_EXIT_DONE;

	if (mt_netlink_status(nl, target, &sessions)) {
		code = MT_EXIT_FAILED;
	} else if (!sessions.list.count) {
		mt_error("nothing is being traced: there is no session");
		code = MT_EXIT_FAILED;
	} else if (sessions.list.count > 1) {
		mt_error("there are %zu sessions: choose one by --session or --pid (mtrace-user "
			 "status lists them)", sessions.list.count);
		code = MT_EXIT_USAGE;
	} else {
		target->session = sessions.list.data[0].number;
	}
	mt_netlink_sessions_free(&sessions);
	return code;
}

static void tell(const struct mt_netlink_snapshot *snapshot)
{
	const uint64_t *value = snapshot->value;
	uint64_t session = value[MTRACE_NLA_SNAPSHOT_SESSION];
	uint64_t threads = value[MTRACE_NLA_SNAPSHOT_NR_REGIONS];
	uint64_t missing = value[MTRACE_NLA_SNAPSHOT_NR_UNSWITCHED];

	if (value[MTRACE_NLA_SNAPSHOT_ERROR]) {
		mt_warn("session %" PRIu64 ": no snapshot: %s", session,
			strerror((int)value[MTRACE_NLA_SNAPSHOT_ERROR]));
		return;
	}
	mt_info("session %" PRIu64 ": snapshot %" PRIu64 " of %" PRIu64 " thread%s", session,
		value[MTRACE_NLA_SNAPSHOT_ID], threads, threads == 1 ? "" : "s");
	if (missing)
		mt_warn("session %" PRIu64 ": %" PRIu64 " threads are missing from it: there was "
			"no memory for them", session, missing);
}

static bool is_among(const struct mt_netlink_snapshots *snapshots, uint32_t session)
{
	for (size_t i = 0; i < snapshots->list.count; i++) {
		if (snapshots->list.data[i].value[MTRACE_NLA_SNAPSHOT_SESSION] == session)
			return true;
	}
	return false;
}

/*
 * Sessions that do not run have nothing to add to what they had before. All are
 * looked at: one of those that are meant may have gone, which is no error now.
 */
static void warn_of_stopped(struct mt_netlink *nl, const struct mt_netlink_snapshots *snapshots)
{
	const struct mt_netlink_target all = { 0 };
	struct mt_netlink_sessions sessions;
	int err;

	err = mt_netlink_status(nl, &all, &sessions);
	for (size_t i = 0; i < sessions.list.count && !err; i++) {
		const struct mt_netlink_session *session = &sessions.list.data[i];

		if (!session->status[MTRACE_NLA_STATUS_RUNNING] &&
		    is_among(snapshots, session->number))
			mt_warn("session %" PRIu32 ": it has stopped, and traces nothing of what "
				"runs now", session->number);
	}
	mt_netlink_sessions_free(&sessions);
}

static int snapshot(struct mt_netlink *nl, struct mt_netlink_target *target)
{
	struct mt_netlink_snapshots snapshots;
	int err, code;

	if (!target->session && !target->pid) {
		code = find_only(nl, target);
		if (code)
			return code;
	}
	err = mt_netlink_snapshot(nl, target, &snapshots);
	for (size_t i = 0; i < snapshots.list.count && !err; i++)
		tell(&snapshots.list.data[i]);
	if (!err)
		warn_of_stopped(nl, &snapshots);
	mt_netlink_snapshots_free(&snapshots);
	if (err == -ENOBUFS)
		return MT_EXIT_NOTHING;
	return err ? MT_EXIT_FAILED : MT_EXIT_DONE;
}

int mt_cmd_snapshot(int argc, char **argv)
{
	struct mt_netlink_target target = { 0 };
	struct mt_netlink *nl;
	int nr_args, err, code;
	char **args;

	err = mt_options_parse(&usage, argc, argv, take, &target, &args, &nr_args);
	if (err > 0)
		return MT_EXIT_DONE;
	if (err)
		return MT_EXIT_USAGE;
	if (nr_args) {
		mt_error("snapshot takes no argument, but has '%s'", args[0]);
		mt_options_hint(&usage);
		return MT_EXIT_USAGE;
	}
	if (mt_netlink_open(&nl))
		return MT_EXIT_FAILED;
	code = snapshot(nl, &target);
	mt_netlink_close(nl);
	return code;
}
