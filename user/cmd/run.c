// SPDX-License-Identifier: GPL-2.0
/* mtrace-user run: its command line, and recording and decoding in a row. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/base/size.h"
#include "user/cmd/commands.h"
#include "user/cmd/decode.h"
#include "user/cmd/options.h"
#include "user/cmd/version.h"
#include "user/record/session.h"
#include "user/record/trigger.h"
#include "user/recording/recording.h"

struct arguments {
	struct mt_session_wish wish;
	MT_ARRAY(const char *) outputs;
	bool exit_status;
	char temporary[4096];	/* where the recording is if none is to be kept */
};

enum {
	KEY_TRIGGER,
	KEY_MULTI_SNAPSHOT,
	KEY_SNAPSHOT_SIZE,
	KEY_MULTI_THREAD,
	KEY_THREADS,
	KEY_TIMING,
	KEY_OUTPUT,
	KEY_RECORDING,
	KEY_EXIT_STATUS,
};

static const struct mt_option options[] = {
	{ "trigger", 't', "SYMBOL", "take the snapshot when the function SYMBOL is called, in the\n"
	  "program or in any library that it loads, in any thread\n"
	  "(default: at the program's end, or at Ctrl-C)", KEY_TRIGGER },
	{ "multi-snapshot", 0, NULL, "take a snapshot each time that SYMBOL is called",
	  KEY_MULTI_SNAPSHOT },
	{ "snapshot-size", 's', "SIZE",
	  "bytes of trace to keep, of all threads together, e.g. 512K\n"
	  "or 8M; rounded up to a power of two (default: 4M, or 16M\n"
	  "with --multi-thread)", KEY_SNAPSHOT_SIZE },
	{ "multi-thread", 0, NULL, "trace all threads of the program; each gets an equal part of\n"
	  "the snapshot size", KEY_MULTI_THREAD },
	{ "threads", 0, "N", "threads at the same time to divide the size among, with\n"
	  "--multi-thread; rounded up to a power of two (default: 64)", KEY_THREADS },
	{ "timing", 0, "KIND", "how exact the times are: tsc, mtc or cyc, from little trace\n"
	  "to much (default: the best that the CPU can do)", KEY_TIMING },
	{ "output", 'o', "FILE", "where the trace goes; the ending tells the format; may be\n"
	  "given more than once (default: " MT_DEFAULT_OUTPUT ", of which\n"
	  "one that is there already is kept as .old)", KEY_OUTPUT },
	{ "recording", 'r', "DIR", "keep the recording in DIR, to be decoded again later with\n"
	  "`decode` (default: a temporary one)", KEY_RECORDING },
	{ "exit-status", 0, NULL, "exit as the program did (128 + N if signal N ended it), unless\n"
	  "mtrace-user itself fails", KEY_EXIT_STATUS },
	/* magic-trace's names. */
	{ "working-directory", 0, "DIR", NULL, KEY_RECORDING },
	{ NULL, 0, NULL, NULL, 0 },
};

static const struct mt_usage usage = {
	.command = "run",
	.args = "[OPTION]... -- PROGRAM [ARG]...",
	.summary = "Run PROGRAM under trace, and show what it executed just before the trigger.",
	.details = "Sizes take K, M, G, T (powers of 1024). The trace is of user mode. Press\n"
		   "Ctrl-C to take the snapshot and end the program.\n\n"
		   "Exit codes: 0 done, 1 failed, 2 bad usage, 3 nothing was recorded.",
	.options = options,
};

static int take_size(struct mt_plan_wish *plan, const char *value)
{
	int err = mt_size_parse(value, &plan->snapshot_size);

	if (err == -EINVAL) {
		mt_error("--snapshot-size '%s' is not a size: write a number of bytes, with K, M, "
			 "G or T behind it if it is one of these", value);
		return -EINVAL;
	}
	/* What does not fit in 64 bits is above the largest size too. */
	if (err == -ERANGE)
		plan->snapshot_size = UINT64_MAX;
	plan->size_text = value;
	return 0;
}

static int take_threads(struct mt_plan_wish *plan, const char *value)
{
	char *end;
	unsigned long threads;

	errno = 0;
	threads = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || !threads || threads > UINT32_MAX) {
		mt_error("--threads '%s' is not a number of threads from 1", value);
		return -EINVAL;
	}
	plan->threads = threads;
	return 0;
}

static int take_timing(struct mt_plan_wish *plan, const char *value)
{
	static const struct {
		const char *name;
		enum mt_timing timing;
	} names[] = {
		{ "tsc", MT_TIMING_TSC }, { "mtc", MT_TIMING_MTC }, { "cyc", MT_TIMING_CYC },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i].name))
			continue;
		plan->timing = names[i].timing;
		return 0;
	}
	mt_error("--timing '%s' is not one of tsc, mtc, cyc", value);
	return -EINVAL;
}

static int take(void *ctx, int key, const char *value)
{
	struct arguments *arguments = ctx;
	struct mt_session_wish *wish = &arguments->wish;

	switch (key) {
	case KEY_TRIGGER:
		if (wish->trigger) {
			mt_error("--trigger can be given once: '%s' and '%s' are two functions to "
				 "wait for", wish->trigger, value);
			return -EINVAL;
		}
		wish->trigger = value;
		return mt_trigger_check(value);
	case KEY_MULTI_SNAPSHOT:
		wish->multi_snapshot = true;
		return 0;
	case KEY_SNAPSHOT_SIZE:
		return take_size(&wish->plan, value);
	case KEY_MULTI_THREAD:
		wish->plan.multi_thread = true;
		return 0;
	case KEY_THREADS:
		return take_threads(&wish->plan, value);
	case KEY_TIMING:
		return take_timing(&wish->plan, value);
	case KEY_OUTPUT:
		if (!mt_array_push(&arguments->outputs, value))
			return 0;
		mt_error("out of memory");
		return -EINVAL;
	case KEY_RECORDING:
		wish->recording = value;
		if (*value)
			return 0;
		mt_error("--recording needs the name of a directory");
		return -EINVAL;
	case KEY_EXIT_STATUS:
		arguments->exit_status = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* True if both paths, of what need not be there yet, have one name in one folder. */
static bool is_same_path(const char *a, const char *b)
{
	const char *paths[2] = { a, b };
	struct stat folders[2];
	char copies[2][PATH_MAX];
	const char *names[2];

	for (int i = 0; i < 2; i++) {
		char *slash, *copy = copies[i];

		if (snprintf(copy, PATH_MAX, "%s", paths[i]) >= PATH_MAX)
			return false;
		while (strlen(copy) > 1 && copy[strlen(copy) - 1] == '/')
			copy[strlen(copy) - 1] = '\0';
		slash = strrchr(copy, '/');
		names[i] = slash ? slash + 1 : copy;
		if (slash)
			*slash = '\0';
		if (stat(!slash ? "." : *copy ? copy : "/", &folders[i]))
			return false;
	}
	return !strcmp(names[0], names[1]) && folders[0].st_dev == folders[1].st_dev &&
	       folders[0].st_ino == folders[1].st_ino;
}

/* The recording's directory must not be where an output is to go. */
static int check_recording(const struct arguments *arguments)
{
	const char *recording = arguments->wish.recording, *output = MT_DEFAULT_OUTPUT;
	size_t i = 0;

	if (!recording)
		return 0;
	do {
		if (i < arguments->outputs.count)
			output = arguments->outputs.data[i];
		if (is_same_path(recording, output)) {
			mt_error("'%s' cannot be both the recording and an output", output);
			return -EINVAL;
		}
	} while (++i < arguments->outputs.count);
	return 0;
}

/* What only makes sense together. Returns 0 or -errno after a message. */
static int check(const struct arguments *arguments, int nr_args)
{
	const struct mt_session_wish *wish = &arguments->wish;
	int err;

	if (!nr_args) {
		mt_error("run needs a program to run: mtrace-user %s %s", usage.command,
			 usage.args);
		return -EINVAL;
	}
	if (wish->multi_snapshot && !wish->trigger) {
		mt_error("--multi-snapshot needs a --trigger: without one there is one snapshot, "
			 "at the program's end");
		return -EINVAL;
	}
	if (wish->plan.threads && !wish->plan.multi_thread) {
		mt_error("--threads needs --multi-thread: without it one thread is traced");
		return -EINVAL;
	}
	err = check_recording(arguments);
	if (err)
		return err;
	return mt_cmd_check_outputs(arguments->outputs.data, arguments->outputs.count);
}

static int make_temporary(struct arguments *arguments)
{
	const char *dir = getenv("TMPDIR");
	int err;

	if (!dir || !*dir)
		dir = "/var/tmp";
	if (snprintf(arguments->temporary, sizeof(arguments->temporary), "%s/mtrace-XXXXXX", dir) >=
	    (int)sizeof(arguments->temporary)) {
		mt_error("the name of TMPDIR is too long");
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(arguments->temporary)) {
		err = -errno;
		arguments->temporary[0] = '\0';
		mt_error("no temporary recording can be made in '%s': %s; set TMPDIR, or name a "
			 "--recording", dir, strerror(-err));
		return err;
	}
	arguments->wish.recording = arguments->temporary;
	return 0;
}

/* Say what the program ended with; returns it as an exit code. */
static int tell_status(int status)
{
	if (WIFSIGNALED(status)) {
		mt_info("the program was ended by signal %d (%s)%s", WTERMSIG(status),
			strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
		return 128 + WTERMSIG(status);
	}
	mt_info("the program exited with status %d", WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

/* Said if the decoding is interrupted, from a signal handler. */
static char interrupted_line[4200];

static void __attribute__((noreturn)) on_signal(int signal)
{
	(void)signal;
	if (write(STDERR_FILENO, interrupted_line, strlen(interrupted_line)) < 0)
		_exit(MT_EXIT_FAILED);
	_exit(MT_EXIT_FAILED);
}

/* The recording is worth more than its decoding: keep it if that is interrupted. */
static void keep_if_interrupted(const struct arguments *arguments)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal }, before;

	snprintf(interrupted_line, sizeof(interrupted_line),
		 "mtrace-user: error: interrupted; the recording is kept in '%s'\n",
		 arguments->wish.recording);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static int decode(struct arguments *arguments)
{
	int err;

	keep_if_interrupted(arguments);
	err = mt_cmd_decode_files(arguments->wish.recording, arguments->outputs.data,
				  arguments->outputs.count);
	if (err && err != -ENODATA && arguments->temporary[0]) {
		mt_error("the recording is kept in '%s': try 'mtrace-user decode' on it",
			 arguments->temporary);
		arguments->temporary[0] = '\0';
	}
	return err;
}

static int record_and_decode(struct arguments *arguments)
{
	struct mt_session_result result;
	int err, decode_err, program = 0;
	char size[64];

	err = mt_session_run(&arguments->wish, &result);
	if (result.started)
		program = tell_status(result.status);
	if (!result.snapshots) {
		if (err)
			return MT_EXIT_FAILED;
		mt_error("nothing was recorded");
		return MT_EXIT_NOTHING;
	}
	decode_err = decode(arguments);
	if (err || (decode_err && decode_err != -ENODATA))
		return MT_EXIT_FAILED;
	if (decode_err) {
		mt_size_format(arguments->wish.plan.snapshot_size, size, sizeof(size));
		mt_error("a snapshot size of %s may be too small for what ran: choose a larger "
			 "--snapshot-size", size);
		return MT_EXIT_NOTHING;
	}
	return arguments->exit_status ? program : MT_EXIT_DONE;
}

int mt_cmd_run(int argc, char **argv)
{
	struct arguments arguments = {
		.wish.tool = MT_TOOL,
		.wish.plan.page_size = sysconf(_SC_PAGESIZE),
	};
	int nr_args, err, code = MT_EXIT_USAGE;
	char **args;

	err = mt_options_parse(&usage, argc, argv, take, &arguments, &args, &nr_args);
	if (err > 0) {
		code = MT_EXIT_DONE;
		goto out;
	}
	if (err || check(&arguments, nr_args))
		goto out;
	arguments.wish.argv = args;
	if (!arguments.wish.plan.size_text)
		arguments.wish.plan.snapshot_size = arguments.wish.plan.multi_thread ?
						    MT_PLAN_SIZE_MULTI : MT_PLAN_SIZE;
	code = MT_EXIT_FAILED;
	if (!arguments.wish.recording && make_temporary(&arguments))
		goto out;
	code = record_and_decode(&arguments);
out:
	if (arguments.temporary[0])
		mt_recording_remove(arguments.temporary);
	mt_array_free(&arguments.outputs);
	return code;
}
