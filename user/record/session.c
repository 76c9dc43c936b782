// SPDX-License-Identifier: GPL-2.0
/* One run of a program under trace; see the header. */
#include "user/record/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "user/base/log.h"
#include "user/base/size.h"
#include "user/record/code.h"
#include "user/record/device.h"
#include "user/record/extract.h"
#include "user/record/history.h"
#include "user/record/sideband.h"
#include "user/record/tracee.h"
#include "user/record/trigger.h"
#include "user/recording/recording.h"

/* So many snapshots are told of one by one; a hot trigger would fill the screen. */
#define SESSION_TOLD_SNAPSHOTS	10

struct session {
	const struct mt_session_wish *wish;
	struct mt_session_result *result;
	struct mt_plan plan;
	struct mt_device dev;
	struct mt_recording_writer *writer;
	struct mt_sideband *sideband;
	struct mt_code *code;
	struct mt_history *history;
	struct mt_tracee *tracee;
	struct mt_trigger *trigger;
	unsigned int extras;	/* snapshots of an exec, or that others asked for */
	struct mtrace_snapshot other;	/* what another has asked for ... */
	bool has_other;		/* ... if it has */
	uint64_t hits;		/* of the trigger */
	uint64_t missed;	/* snapshots for which there was no memory */
	bool running;		/* the program has been let go */
	bool execed;		/* it is at an exec: all trace is the old program's */
	bool interrupted;
	bool stopped;		/* nothing is traced any more */
	bool told_threads;
	int failed;		/* no more snapshots are taken, and why */
};

/* ---- snapshots ---- */

static void tell_snapshot(const struct session *s, const struct mt_snapshot_info *info)
{
	static const char *const reasons[] = {
		[MT_REASON_TRIGGER] = "", [MT_REASON_COMMAND] = "as asked for",
		[MT_REASON_EXIT] = "at the program's end",
		[MT_REASON_EXEC] = "of what ran before the exec",
	};
	char why[256], size[64];
	const char *comm = "not traced";
	uint64_t bytes = 0;

	if (s->result->snapshots > SESSION_TOLD_SNAPSHOTS)
		return;
	for (size_t i = 0; i < info->nr_threads; i++) {
		bytes += info->threads[i].bytes;
		if (info->threads[i].tid == info->trigger_tid)
			comm = info->threads[i].comm;
	}
	mt_size_format(bytes, size, sizeof(size));
	snprintf(why, sizeof(why), "%s", reasons[info->reason]);
	if (info->reason == MT_REASON_TRIGGER)
		snprintf(why, sizeof(why), "at '%s' in thread %d (%s)", info->trigger_symbol,
			 info->trigger_tid, comm);
	mt_info("snapshot %" PRIu64 " %s: %s of trace of %zu thread%s", info->number, why, size,
		info->nr_threads, info->nr_threads == 1 ? "" : "s");
	if (s->result->snapshots == SESSION_TOLD_SNAPSHOTS)
		mt_info("more snapshots are taken without a line for each");
}

/*
 * That the snapshot was taken that the run was for, or one of them. What ran before
 * an exec comes in addition, and so does what others ask for.
 */
static bool is_taken(const struct session *s)
{
	return s->result->snapshots > s->extras;
}

static void give_up(struct session *s, int err)
{
	mt_warn("no more snapshots are taken; the program goes on");
	s->failed = err;
}

/* Record a snapshot that was taken; @info has the reason and what belongs to it. */
static void record_snapshot(struct session *s, const struct mtrace_snapshot *snapshot, pid_t tid,
			    struct mt_snapshot_info *info)
{
	const struct mt_extract from = {
		.dev = &s->dev,
		.writer = s->writer,
		.code = s->code,
		.history = s->history,
		.pid = mt_tracee_pid(s->tracee),
		.tid = tid,
		.execed = s->execed,
	};
	int err;

	/* What happened before it is in the recording before it. */
	mt_sideband_drain(s->sideband);
	info->number = s->result->snapshots + 1;
	err = mt_extract_snapshot(&from, snapshot, info);
	if (err) {
		give_up(s, err);
		return;
	}
	s->result->snapshots++;
	tell_snapshot(s, info);
}

/*
 * Record what other processes have asked for, up to the snapshot that the module
 * gave the number @until: in the order in which they were taken, since a thread's
 * trace goes on from one to the next. Returns 1 if there was any, 0 if not, -errno.
 */
static int record_others(struct session *s, uint64_t until)
{
	int err, any = 0;

	for (;;) {
		struct mt_snapshot_info info = { .reason = MT_REASON_COMMAND };

		err = s->has_other ? 1 : mt_device_next_snapshot(&s->dev, &s->other);
		if (err <= 0)
			return err ? err : any;
		s->has_other = s->other.id > until;
		if (s->has_other)
			return any;
		any = 1;
		/* There is nothing in one that is taken of what has stopped. */
		if (s->failed || s->stopped) {
			mt_device_release(&s->dev, s->other.id);
			continue;
		}
		s->extras++;
		record_snapshot(s, &s->other, mt_tracee_live_thread(s->tracee), &info);
		mt_snapshot_info_free(&info);
	}
}

/*
 * Have the module take a snapshot. Those that others have asked for are in the way
 * of it while they are held.
 */
static int freeze(struct session *s, struct mtrace_snapshot *snapshot)
{
	int err;

	do {
		err = mt_device_snapshot(&s->dev, snapshot);
	} while (err == -ENOBUFS && record_others(s, UINT64_MAX) > 0);
	if (err)
		mt_device_snapshot_error(err);
	return err;
}

/*
 * Take a snapshot while @tid is stopped, or without that. What fails with it is
 * the tool's trouble: the program goes on in any case.
 */
static void take_snapshot(struct session *s, enum mt_reason reason, pid_t tid, uint64_t address)
{
	struct mt_snapshot_info info = { .reason = reason };
	struct mtrace_snapshot snapshot;
	int err;

	if (s->failed)
		return;
	/* First of all: until then, threads go on and overwrite what led here. */
	err = freeze(s, &snapshot);
	if (err == -ENOBUFS) {
		s->missed++;
		return;
	}
	if (!err && reason == MT_REASON_TRIGGER) {
		info.trigger_symbol = strdup(mt_trigger_symbol(s->trigger));
		info.trigger_address = address;
		info.trigger_tid = tid;
		err = info.trigger_symbol ? 0 : -ENOMEM;
	}
	if (err)
		give_up(s, err);
	else
		record_others(s, snapshot.id);
	s->extras += reason == MT_REASON_EXEC;
	if (!s->failed)
		record_snapshot(s, &snapshot, tid, &info);
	mt_snapshot_info_free(&info);
}

static void disarm(struct session *s)
{
	mt_trigger_disarm(s->trigger);
	/* In each thread at its next stop: a hit until then is ignored. */
	mt_tracee_changed(s->tracee, false);
}

/* From here on the program runs as if it were not traced. */
static void end_tracing(struct session *s)
{
	disarm(s);
	mt_device_stop(&s->dev);
	/* What was asked for until now may have something in it. */
	record_others(s, UINT64_MAX);
	s->stopped = true;
}

static int trigger_hit(struct session *s, pid_t tid, uint64_t address)
{
	s->hits++;
	take_snapshot(s, MT_REASON_TRIGGER, tid, address);
	if (s->wish->multi_snapshot && !s->failed)
		return 1;
	/* Only one is wanted. */
	if (is_taken(s) || s->failed)
		end_tracing(s);
	return 1;
}

/* ---- what happens to the program ---- */

static int on_exec(void *ctx, pid_t tid)
{
	struct session *s = ctx;
	int err;

	/* Nothing of the new program has run yet: all that there is of trace is the old one's. */
	s->execed = true;
	if (s->running && !s->interrupted && (!is_taken(s) || s->wish->multi_snapshot))
		take_snapshot(s, MT_REASON_EXEC, tid, 0);
	else if (s->running)
		record_others(s, UINT64_MAX);
	s->execed = false;
	/*
	 * A thread that was not the first, and is not traced, may have called exec():
	 * then it is the first, and only, one from now on.
	 */
	err = mt_device_attach(&s->dev, tid);
	if (err && err != -EEXIST)
		mt_warn("the program that was exec'ed is not traced");
	/* Kept for the case that the program is gone before its end can be looked at. */
	err = mt_code_read(s->code, mt_tracee_pid(s->tracee), tid, MT_CODE_ALL, s->writer);
	if (err)
		return err;
	return mt_trigger_exec(s->trigger, tid);
}

static int on_thread(void *ctx, pid_t tid)
{
	struct session *s = ctx;

	(void)tid;
	if (!s->wish->plan.multi_thread && !s->told_threads)
		mt_info("the program starts more threads: only its first one is traced; with "
			"--multi-thread all are");
	s->told_threads = true;
	return 0;
}

/* There will be no other time to read the maps, should it exec or die in an instant. */
static int libraries_changed(struct session *s, pid_t tid)
{
	int err;

	if (s->failed)
		return 1;
	err = mt_code_read(s->code, mt_tracee_pid(s->tracee), tid, MT_CODE_SMALL, s->writer);
	if (err && err != -ESRCH)
		give_up(s, err);
	return err == -ESRCH ? err : 1;
}

static int on_trap(void *ctx, pid_t tid, const siginfo_t *info)
{
	struct session *s = ctx;
	uint64_t address;
	int event;

	event = mt_trigger_trap(s->trigger, tid, info, &address);
	switch (event) {
	case MT_TRIGGER_NONE:
		return 0;
	case MT_TRIGGER_IGNORE:
		return 1;
	case MT_TRIGGER_HIT:
		return trigger_hit(s, tid, address);
	case MT_TRIGGER_LIBRARIES:
		return libraries_changed(s, tid);
	case MT_TRIGGER_LOADED:
		event = libraries_changed(s, tid);
		if (event < 0)
			return event;
		/* Before this thread can go on to call what was just found. */
		event = mt_tracee_changed(s->tracee, true);
		return event ? event : 1;
	default:
		return event;
	}
}

static int on_last_exit(void *ctx, pid_t tid)
{
	struct session *s = ctx;

	if (!is_taken(s) && !s->interrupted)
		take_snapshot(s, MT_REASON_EXIT, tid, 0);
	return 0;
}

static int on_interrupted(void *ctx, int signal)
{
	struct session *s = ctx;

	bool wanted = !is_taken(s) || s->wish->multi_snapshot;

	s->interrupted = true;
	mt_info(wanted ? "SIG%s: taking a snapshot and ending the program" :
		"SIG%s: ending the program; the snapshot was taken before, at the trigger",
		sigabbrev_np(signal));
	if (wanted)
		take_snapshot(s, MT_REASON_COMMAND, mt_tracee_live_thread(s->tracee), 0);
	end_tracing(s);
	return 0;
}

static int on_watched(void *ctx)
{
	struct session *s = ctx;
	int err = record_others(s, UINT64_MAX);

	/* It would be told of for ever. */
	if (err < 0)
		mt_tracee_watch(s->tracee, -1);
	return 0;
}

static int on_sync(void *ctx, pid_t tid)
{
	struct session *s = ctx;

	return mt_trigger_sync(s->trigger, tid);
}

static const struct mt_tracee_ops tracee_ops = {
	.exec = on_exec,
	.thread = on_thread,
	.trap = on_trap,
	.last_exit = on_last_exit,
	.interrupted = on_interrupted,
	.watched = on_watched,
	.sync = on_sync,
};

/* ---- setting up ---- */

static void tell_sizes(const struct session *s)
{
	char total[64], share[64];

	mt_size_format(s->plan.snapshot_size, total, sizeof(total));
	mt_size_format(s->dev.setup.region_size, share, sizeof(share));
	if (s->wish->plan.multi_thread)
		mt_info("snapshot size %s: %s for each of up to %u threads", total, share,
			s->dev.setup.max_threads);
	else
		mt_info("snapshot size %s: %s for the program's first thread", total, share);
}

/*
 * Without a size asked for it is as much as can be had: the 8 MiB that a user
 * without privilege may lock by Linux's default do not hold our default.
 */
static int set_up_device(struct session *s)
{
	struct mt_plan_wish wish = s->wish->plan;
	char wanted[64], used[64];
	bool try_less, limited = false;
	int err;

	err = mt_device_open(&s->dev);
	if (err)
		return err;
	for (;;) {
		err = mt_plan_make(&wish, &s->dev.caps, &s->plan);
		if (err)
			return err;
		try_less = !wish.size_text && wish.snapshot_size > MT_PLAN_SIZE_LEAST;
		err = mt_device_setup(&s->dev, &s->plan.setup, try_less);
		if (err != -ENOMEM || !try_less)
			break;
		limited = mt_device_is_limited(&s->dev);
		wish.snapshot_size /= 2;
	}
	if (err)
		return err;
	if (wish.snapshot_size < s->wish->plan.snapshot_size) {
		mt_size_format(s->wish->plan.snapshot_size, wanted, sizeof(wanted));
		mt_size_format(wish.snapshot_size, used, sizeof(used));
		mt_warn("there is no memory for the snapshot size of %s that is the default%s: "
			"using %s", wanted,
			limited ? ", by the limit on locked memory (ulimit -l)" : "", used);
	}
	tell_sizes(s);
	return 0;
}

static int create_recording(struct session *s)
{
	const struct mtrace_setup *setup = &s->dev.setup;
	const struct mtrace_caps *caps = &s->dev.caps;
	struct utsname host;
	struct mt_meta meta = {
		.tool = (char *)(uintptr_t)s->wish->tool,
		.command = (char **)(uintptr_t)s->wish->argv,
		.cpu_family = caps->cpu_family,
		.cpu_model = caps->cpu_model,
		.cpu_stepping = caps->cpu_stepping,
		.tsc_khz = caps->tsc_khz,
		.cpuid_15_eax = caps->tsc_art_denominator,
		.cpuid_15_ebx = caps->tsc_art_numerator,
		.nom_freq = caps->max_nonturbo_ratio,
		.mtc_freq = setup->mtc_freq,
		.rtit_ctl = setup->rtit_ctl,
		.start_tsc = setup->start_tsc,
		.start_monotonic_ns = setup->start_monotonic_ns,
		.start_realtime_ns = setup->start_realtime_ns,
	};

	meta.kernel = uname(&host) ? (char *)"unknown" : host.release;
	return mt_recording_create(s->wish->recording, &meta, &s->writer);
}

/* The program is stopped before its first instruction: make all ready for it. */
static int make_ready(struct session *s)
{
	pid_t pid = mt_tracee_pid(s->tracee);
	int err;

	err = mt_device_attach(&s->dev, pid);
	if (err)
		return err;
	err = create_recording(s);
	if (!err)
		err = mt_sideband_start(&s->dev, s->writer, &s->sideband);
	if (err)
		return err;
	err = on_exec(s, pid);
	if (err)
		return err;
	err = mt_device_start(&s->dev);
	s->running = !err;
	if (!err)
		mt_tracee_watch(s->tracee, s->dev.fd);
	return err;
}

/* ---- the end ---- */

static void tell_losses(struct session *s)
{
	struct mtrace_status status;
	unsigned int children = mt_tracee_children(s->tracee);

	if (children)
		mt_info("%u other process%s that the program started %s not traced", children,
			children == 1 ? "" : "es", children == 1 ? "was" : "were");
	if (s->missed)
		mt_warn("%" PRIu64 " snapshot%s could not be taken for want of trace memory",
			s->missed, s->missed == 1 ? "" : "s");
	if (mt_device_status(&s->dev, &status))
		return;
	if (status.refused_threads)
		mt_warn("%llu threads were not traced: there were more than %u at the same time or "
			"since the last snapshot; choose more --threads",
			(unsigned long long)status.refused_threads, s->dev.setup.max_threads);
	if (status.recycled)
		mt_warn("the trace of %llu threads is lost: they had ended, and their memory was "
			"needed for others before a snapshot; choose more --threads or a larger "
			"--snapshot-size", (unsigned long long)status.recycled);
	if (status.errors)
		mt_warn("the processor reported %llu trace errors: parts of the trace are lost",
			(unsigned long long)status.errors);
}

static void tell_lost_records(uint64_t lost)
{
	if (lost)
		mt_warn("%" PRIu64 " records of what the program's threads did besides their "
			"trace are lost: they came faster than they could be written", lost);
}

/*
 * Record what others have asked for, once more. Whoever asks from here on is told
 * of no thread: what those that have ended left behind is taken away here.
 */
static void end_others(struct session *s)
{
	struct mtrace_snapshot last;

	if (freeze(s, &last)) {
		record_others(s, UINT64_MAX);
		return;
	}
	record_others(s, last.id);
	mt_device_release(&s->dev, last.id);
}

static int run(struct session *s)
{
	int err = mt_tracee_run(s->tracee);

	if (err) {
		mt_error("the program could not be traced to its end, and was ended: %s",
			 strerror(-err));
		return err;
	}
	s->result->started = true;
	s->result->status = mt_tracee_status(s->tracee);
	record_others(s, UINT64_MAX);
	/* It was gone without a last stop. */
	if (!is_taken(s) && !s->interrupted)
		take_snapshot(s, MT_REASON_EXIT, 0, 0);
	end_others(s);
	if (s->result->snapshots > SESSION_TOLD_SNAPSHOTS)
		mt_info("%u snapshots were taken", s->result->snapshots);
	if (s->wish->trigger && !s->hits)
		mt_trigger_report_never(s->trigger);
	tell_losses(s);
	return s->failed;
}

int mt_session_run(const struct mt_session_wish *wish, struct mt_session_result *result)
{
	struct session s = { .wish = wish, .result = result, .dev.fd = -1 };
	bool discard = false;
	int err, finish_err;

	*result = (struct mt_session_result){ 0 };
	/* Without one the libraries are to be known of all the same. */
	err = mt_trigger_new(wish->trigger, &s.trigger);
	if (err)
		return err;
	s.code = mt_code_new();
	s.history = mt_history_new();
	if (!s.code || !s.history) {
		mt_error("out of memory");
		err = -ENOMEM;
		goto out;
	}
	err = set_up_device(&s);
	if (err)
		goto out;
	err = mt_tracee_start(wish->argv, &tracee_ops, &s, &s.tracee);
	if (err)
		goto out;
	err = make_ready(&s);
	if (!err)
		err = run(&s);
	else if (s.writer)
		discard = true;
out:
	mt_tracee_free(s.tracee);
	tell_lost_records(mt_sideband_finish(s.sideband));
	if (s.writer) {
		finish_err = mt_recording_finish(s.writer);
		if (!err)
			err = finish_err;
	}
	/* Nothing has run: a recording of that is in nobody's interest. */
	if (discard)
		mt_recording_remove(wish->recording);
	mt_device_close(&s.dev);
	mt_history_free(s.history);
	mt_code_free(s.code);
	mt_trigger_free(s.trigger);
	return err;
}
