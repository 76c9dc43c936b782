// SPDX-License-Identifier: GPL-2.0
/* Parsing of command lines and their help, from one table; see the header. */
#include "user/cmd/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/nearest.h"
#include "user/cmd/version.h"

#define OPTIONS_HELP_COLUMN	28

enum { KEY_HELP = -1, KEY_QUIET = -2, KEY_VERSION = -3 };

/* Every command has these. */
static const struct mt_option common_options[] = {
	{ "quiet", 'q', NULL, "say only what went wrong", KEY_QUIET },
	{ "help", 'h', NULL, "show this help", KEY_HELP },
	{ "version", 0, NULL, "show the version", KEY_VERSION },
	{ NULL, 0, NULL, NULL, 0 },
};

/* The option behind @opt: the command's own in order, then the common ones; NULL ends. */
static const struct mt_option *next_option(const struct mt_usage *usage,
					   const struct mt_option *opt)
{
	opt = opt ? opt + 1 : usage->options;
	if (opt->name)
		return opt;
	/* At the end of one table or of the other? */
	for (const struct mt_option *common = common_options; common->name; common++) {
		if (common + 1 == opt)
			return NULL;
	}
	return common_options;
}

static void print_option(const struct mt_option *opt)
{
	const char *line = opt->help, *end;
	char head[128];
	int used;

	used = snprintf(head, sizeof(head), "  %c%c%s--%s%s%s", opt->letter ? '-' : ' ',
			opt->letter ? opt->letter : ' ', opt->letter ? ", " : "  ", opt->name,
			opt->arg ? " " : "", opt->arg ? opt->arg : "");
	printf("%s", head);
	if (used >= OPTIONS_HELP_COLUMN) {
		putchar('\n');
		used = 0;
	}
	while (line) {
		end = strchr(line, '\n');
		printf("%*s%.*s\n", OPTIONS_HELP_COLUMN - used, "",
		       end ? (int)(end - line) : (int)strlen(line), line);
		line = end ? end + 1 : NULL;
		used = 0;
	}
}

void mt_options_help(const struct mt_usage *usage)
{
	const struct mt_option *opt = NULL;

	printf("usage: mtrace-user %s %s\n\n%s\n\n", usage->command, usage->args, usage->summary);
	while ((opt = next_option(usage, opt))) {
		if (opt->help)
			print_option(opt);
	}
	if (usage->details)
		printf("\n%s\n", usage->details);
}

void mt_options_hint(const struct mt_usage *usage)
{
	fprintf(stderr, "usage: mtrace-user %s %s; see mtrace-user %s --help\n", usage->command,
		usage->args, usage->command);
}

/*
 * The option that @name of @len characters stands for: by its whole name, its
 * letter, or a beginning that only one has. NULL if none; then *@rivals says
 * whether it was because of more than one.
 */
static const struct mt_option *find_option(const struct mt_usage *usage, const char *name,
					   size_t len, bool *rivals)
{
	const struct mt_option *found = NULL, *opt = NULL;

	*rivals = false;
	while ((opt = next_option(usage, opt))) {
		if (strlen(opt->name) == len && !memcmp(opt->name, name, len))
			return opt;
		if (len == 1 && opt->letter == *name)
			return opt;
	}
	while ((opt = next_option(usage, opt))) {
		if (!len || strncmp(opt->name, name, len))
			continue;
		if (found && found->key != opt->key) {
			*rivals = true;
			return NULL;
		}
		found = opt;
	}
	return found;
}

static void unknown_option(const struct mt_usage *usage, const char *arg, const char *name,
			   size_t len, bool rivals, bool behind_args)
{
	char typed[64];
	const char *best = NULL;
	const struct mt_option *opt = NULL;
	unsigned int best_distance, distance;

	if (rivals) {
		mt_error("option '%s' could mean several options of '%s'; write it out: see "
			 "mtrace-user %s --help", arg, usage->command, usage->command);
		return;
	}
	snprintf(typed, sizeof(typed), "%.*s", (int)len, name);
	best_distance = mt_name_near(typed) + 1;
	while ((opt = next_option(usage, opt))) {
		distance = mt_name_distance(typed, opt->name, best_distance);
		if (opt->help && distance < best_distance) {
			best_distance = distance;
			best = opt->name;
		}
	}
	mt_error("unknown option '%s' of '%s'%s%s%s%s; see mtrace-user %s --help", arg,
		 usage->command, best ? " (did you mean --" : "", best ? best : "",
		 best ? "?)" : "",
		 behind_args && !best ? "; what is meant for a program goes behind '--'" : "",
		 usage->command);
}

/*
 * One option at argv[*@at]; *@at is left at its last word. @behind_args: it comes
 * behind an argument that is no option.
 */
static int take_option(const struct mt_usage *usage, int argc, char **argv, int *at,
		       bool behind_args, mt_option_fn take, void *ctx)
{
	const char *arg = argv[*at];
	const char *name = arg + (arg[1] == '-' ? 2 : 1);
	const char *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	const struct mt_option *opt;
	bool rivals;

	opt = find_option(usage, name, len, &rivals);
	if (!opt) {
		unknown_option(usage, arg, name, len, rivals, behind_args);
		return -EINVAL;
	}
	if (value)
		value++;
	if (!opt->arg && value) {
		mt_error("option '--%s' takes no value, but has '%s'; see mtrace-user %s --help",
			 opt->name, value, usage->command);
		return -EINVAL;
	}
	if (opt->arg && !value) {
		if (*at + 1 >= argc || !strcmp(argv[*at + 1], "--")) {
			mt_error("option '%s' needs a value: %s; see mtrace-user %s --help", arg,
				 opt->arg, usage->command);
			return -EINVAL;
		}
		value = argv[++*at];
	}

	switch (opt->key) {
	case KEY_HELP:
		mt_options_help(usage);
		return 1;
	case KEY_VERSION:
		puts(MT_TOOL);
		return 1;
	case KEY_QUIET:
		mt_log_set_quiet(1);
		return 0;
	default:
		return take(ctx, opt->key, value);
	}
}

int mt_options_parse(const struct mt_usage *usage, int argc, char **argv, mt_option_fn take,
		     void *ctx, char ***args, int *nr_args)
{
	int kept = 1, at, err;

	for (at = 1; at < argc; at++) {
		if (!strcmp(argv[at], "--")) {
			at++;
			break;
		}
		/* A lone dash is an argument, as everywhere. */
		if (argv[at][0] != '-' || !argv[at][1]) {
			argv[kept++] = argv[at];
			continue;
		}
		err = take_option(usage, argc, argv, &at, kept > 1, take, ctx);
		if (err)
			return err;
	}
	for (; at < argc; at++)
		argv[kept++] = argv[at];
	argv[kept] = NULL;
	*args = argv + 1;
	*nr_args = kept - 1;
	return 0;
}
