// SPDX-License-Identifier: GPL-2.0
/* mtrace-user status: its command line, and how it shows what the module tells. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/size.h"
#include "user/cmd/commands.h"
#include "user/cmd/options.h"
#include "user/cmd/target.h"
#include "user/record/netlink.h"
#include "user/recording/json.h"

struct arguments {
	struct mt_netlink_target target;
	int json;
};

enum { KEY_JSON = MT_KEY_TARGET_END };

static const struct mt_option options[] = {
	MT_TARGET_OPTIONS,
	{ "json", 0, NULL, "for programs: an array with an object for each session", KEY_JSON },
	{ NULL, 0, NULL, NULL, 0 },
};

static const struct mt_usage usage = {
	.command = "status",
	.args = "[--session N | --pid PID] [--json]",
	.summary = "Show which sessions trace, what they trace, and what was lost.",
	.details = "Without --session and --pid all sessions are shown.",
	.options = options,
};

/* What is told of a session besides its threads; @loss in words where it is one. */
static const struct field {
	unsigned int attr;
	const char *name;
	const char *loss;
} fields[] = {
	{ MTRACE_NLA_STATUS_OWNER, "owner", NULL },
	{ MTRACE_NLA_STATUS_RUNNING, "running", NULL },
	{ MTRACE_NLA_STATUS_TRACE_FLAGS, "trace_flags", NULL },
	{ MTRACE_NLA_STATUS_BUFFER_SIZE, "buffer_size", NULL },
	{ MTRACE_NLA_STATUS_REGION_SIZE, "region_size", NULL },
	{ MTRACE_NLA_STATUS_MAX_THREADS, "max_threads", NULL },
	{ MTRACE_NLA_STATUS_NR_THREADS, "nr_threads", NULL },
	{ MTRACE_NLA_STATUS_NR_SNAPSHOTS, "nr_snapshots", NULL },
	{ MTRACE_NLA_STATUS_REGIONS_LIVE, "regions_live", NULL },
	{ MTRACE_NLA_STATUS_REGIONS_FROZEN, "regions_frozen", NULL },
	{ MTRACE_NLA_STATUS_REGIONS_FREE, "regions_free", NULL },
	{ MTRACE_NLA_STATUS_WRAPS, "wraps", NULL },
	{ MTRACE_NLA_STATUS_STOPS, "stops", NULL },
	{ MTRACE_NLA_STATUS_REFUSED_THREADS, "refused_threads", "threads were not traced" },
	{ MTRACE_NLA_STATUS_GAINED, "gained", "threads left for a program with other rights" },
	{ MTRACE_NLA_STATUS_ERRORS, "errors", "trace errors of the processor" },
	{ MTRACE_NLA_STATUS_UNSWITCHED, "unswitched", "threads are missing from snapshots" },
	{ MTRACE_NLA_STATUS_RECYCLED, "recycled", "ended threads' trace was given up" },
	{ MTRACE_NLA_STATUS_NOBUFS, "nobufs", "snapshots were not taken" },
	{ MTRACE_NLA_STATUS_STREAM_BYTES, "stream_bytes", NULL },
	{ MTRACE_NLA_STATUS_STREAM_LOST_BYTES, "stream_lost_bytes", "bytes of the stream" },
	{ MTRACE_NLA_STATUS_STREAM_OVERRUNS, "stream_overruns", "times at a region's end" },
	{ MTRACE_NLA_STATUS_UNARMED, "unarmed", "times a thread had no breakpoint" },
};

#define NR_FIELDS	(sizeof(fields) / sizeof(fields[0]))

static int take(void *ctx, int key, const char *value)
{
	struct arguments *arguments = ctx;

	if (key != KEY_JSON)
		return mt_cmd_take_target(&arguments->target, key, value);
	arguments->json = 1;
	return 0;
}

/* ---- for people ---- */

static void print_session(const struct mt_netlink_session *session)
{
	const uint64_t *status = session->status;
	char buffer[64], region[64];

	mt_size_format(status[MTRACE_NLA_STATUS_BUFFER_SIZE], buffer, sizeof(buffer));
	mt_size_format(status[MTRACE_NLA_STATUS_REGION_SIZE], region, sizeof(region));
	printf("session %u: %s, opened by process %" PRIu64 "\n", session->number,
	       status[MTRACE_NLA_STATUS_RUNNING] ? "running" : "stopped",
	       status[MTRACE_NLA_STATUS_OWNER]);
	printf("  %-10s %" PRIu64 " traced, of at most %" PRIu64 "\n", "threads",
	       status[MTRACE_NLA_STATUS_NR_THREADS], status[MTRACE_NLA_STATUS_MAX_THREADS]);
	printf("  %-10s %" PRIu64 " held\n", "snapshots", status[MTRACE_NLA_STATUS_NR_SNAPSHOTS]);
	printf("  %-10s %s in regions of %s: %" PRIu64 " live, %" PRIu64 " frozen, %" PRIu64
	       " free\n", "memory", buffer, region, status[MTRACE_NLA_STATUS_REGIONS_LIVE],
	       status[MTRACE_NLA_STATUS_REGIONS_FROZEN], status[MTRACE_NLA_STATUS_REGIONS_FREE]);
	for (size_t i = 0; i < NR_FIELDS; i++) {
		if (fields[i].loss && status[fields[i].attr])
			printf("  %-10s %" PRIu64 " %s\n", "lost", status[fields[i].attr],
			       fields[i].loss);
	}
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct mt_netlink_thread *thread = &session->threads.data[i];

		printf("  %-10s %d of process %d (%s)", "thread", thread->tid, thread->pid,
		       thread->comm);
		if (thread->cpu >= 0)
			printf(" on CPU %d", thread->cpu);
		putchar('\n');
	}
}

static int print_text(const struct mt_netlink_sessions *sessions)
{
	for (size_t i = 0; i < sessions->list.count; i++)
		print_session(&sessions->list.data[i]);
	if (!sessions->list.count)
		puts("nothing is being traced: there is no session");
	return 0;
}

/* ---- for programs ---- */

static int add_thread(struct json_object *threads, const struct mt_netlink_thread *thread)
{
	struct json_object *object = json_object_new_object();
	int err;

	if (!object || json_object_array_add(threads, object)) {
		json_object_put(object);
		return -ENOMEM;
	}
	err = mt_json_add_number(object, "tid", (uint64_t)thread->tid);
	if (!err)
		err = mt_json_add_number(object, "pid", (uint64_t)thread->pid);
	if (!err)
		err = mt_json_add_string(object, "comm", thread->comm);
	if (!err && thread->cpu >= 0)
		err = mt_json_add_number(object, "cpu", (uint64_t)thread->cpu);
	return err;
}

static int add_session(struct json_object *array, const struct mt_netlink_session *session)
{
	struct json_object *object = json_object_new_object();
	struct json_object *threads = NULL;
	int err;

	if (!object || json_object_array_add(array, object)) {
		json_object_put(object);
		return -ENOMEM;
	}
	err = mt_json_add_number(object, "session", session->number);
	for (size_t i = 0; i < NR_FIELDS && !err; i++) {
		uint64_t value = session->status[fields[i].attr];

		if (fields[i].attr == MTRACE_NLA_STATUS_RUNNING)
			err = mt_json_add(object, fields[i].name,
					  json_object_new_boolean(!!value));
		else
			err = mt_json_add_number(object, fields[i].name, value);
	}
	if (!err) {
		threads = json_object_new_array();
		err = mt_json_add(object, "threads", threads);
	}
	for (size_t i = 0; i < session->threads.count && !err; i++)
		err = add_thread(threads, &session->threads.data[i]);
	return err;
}

static int print_json(const struct mt_netlink_sessions *sessions)
{
	struct json_object *array = json_object_new_array();
	int err = array ? 0 : -ENOMEM;

	for (size_t i = 0; i < sessions->list.count && !err; i++)
		err = add_session(array, &sessions->list.data[i]);
	if (err)
		mt_error("out of memory");
	else
		puts(json_object_to_json_string_ext(array, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_SPACED));
	json_object_put(array);
	return err;
}

static int show(const struct arguments *arguments)
{
	struct mt_netlink_sessions sessions;
	struct mt_netlink *nl;
	int err;

	err = mt_netlink_open(&nl);
	if (err)
		return err;
	err = mt_netlink_status(nl, &arguments->target, &sessions);
	if (!err)
		err = arguments->json ? print_json(&sessions) : print_text(&sessions);
	if (!err && fflush(stdout)) {
		err = -errno;
		mt_error("the output cannot be written: %s", strerror(-err));
	}
	mt_netlink_sessions_free(&sessions);
	mt_netlink_close(nl);
	return err;
}

int mt_cmd_status(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	int nr_args, err;
	char **args;

	err = mt_options_parse(&usage, argc, argv, take, &arguments, &args, &nr_args);
	if (err > 0)
		return MT_EXIT_DONE;
	if (err)
		return MT_EXIT_USAGE;
	if (nr_args) {
		mt_error("status takes no argument, but has '%s'", args[0]);
		mt_options_hint(&usage);
		return MT_EXIT_USAGE;
	}
	return show(&arguments) ? MT_EXIT_FAILED : MT_EXIT_DONE;
}
