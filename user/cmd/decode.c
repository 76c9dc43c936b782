// SPDX-License-Identifier: GPL-2.0
/* mtrace-user decode: its command line. */
#include "user/cmd/decode.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/cmd/commands.h"
#include "user/cmd/options.h"

struct arguments {
	MT_ARRAY(const char *) outputs;
};

enum { KEY_OUTPUT };

static const struct mt_option options[] = {
	{ "output", 'o', "FILE", "where the trace goes; the ending tells the format; may be\n"
	  "given more than once (default: " MT_DEFAULT_OUTPUT ", of which\n"
	  "one that is there already is kept as .old)", KEY_OUTPUT },
	{ NULL, 0, NULL, NULL, 0 },
};

static const struct mt_usage usage = {
	.command = "decode",
	.args = "[OPTION]... RECORDING",
	.summary = "Show what a recording, a directory that `run` wrote, holds.",
	.options = options,
};

static int take(void *ctx, int key, const char *value)
{
	struct arguments *arguments = ctx;

	(void)key;
	if (mt_array_push(&arguments->outputs, value)) {
		mt_error("out of memory");
		return -EINVAL;
	}
	return 0;
}

static int exit_code(int err)
{
	if (!err)
		return MT_EXIT_DONE;
	return err == -ENODATA ? MT_EXIT_NOTHING : MT_EXIT_FAILED;
}

int mt_cmd_decode(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	char **args;
	int nr_args, code = MT_EXIT_USAGE, err;

	err = mt_options_parse(&usage, argc, argv, take, &arguments, &args, &nr_args);
	if (err > 0) {
		code = MT_EXIT_DONE;
	} else if (!err && nr_args != 1) {
		mt_error(nr_args ? "decode takes one recording" : "decode needs a recording");
		mt_options_hint(&usage);
	} else if (!err && !mt_cmd_check_outputs(arguments.outputs.data,
						 arguments.outputs.count)) {
		code = exit_code(mt_cmd_decode_files(args[0], arguments.outputs.data,
						     arguments.outputs.count));
	}
	mt_array_free(&arguments.outputs);
	return code;
}
