// SPDX-License-Identifier: GPL-2.0
/* mtrace-user: finds the command and calls it. Only composes. */
#include <stdio.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/nearest.h"
#include "user/cmd/commands.h"
#include "user/cmd/options.h"
#include "user/cmd/version.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "run", mt_cmd_run, "run a program under trace, and show what it did" },
	{ "snapshot", mt_cmd_snapshot, "have what is being traced recorded now" },
	{ "status", mt_cmd_status, "show what is being traced" },
	{ "decode", mt_cmd_decode, "show what a recording holds" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void help(FILE *to)
{
	fprintf(to, "usage: mtrace-user COMMAND [OPTION]... [ARG]...\n\n"
		"Records what a program executed just before a moment of interest, with Intel\n"
		"Processor Trace, and shows it as nested function calls with times.\n\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\n  %-10s %s\n  %-10s %s\n\n", "--help",
		"show this help; COMMAND --help tells more", "--version", "show the version");
	fprintf(to, "Exit codes: %d done, %d failed, %d bad usage, %d nothing was recorded.\n",
		MT_EXIT_DONE, MT_EXIT_FAILED, MT_EXIT_USAGE, MT_EXIT_NOTHING);
}

static void unknown(const char *name)
{
	const char *best = NULL;
	unsigned int distance, best_distance = mt_name_near(name) + 1;

	for (size_t i = 0; i < NR_COMMANDS; i++) {
		distance = mt_name_distance(name, commands[i].name, best_distance);
		if (distance < best_distance) {
			best_distance = distance;
			best = commands[i].name;
		}
	}
	mt_error("unknown %s '%s'%s%s%s; see mtrace-user --help",
		 name[0] == '-' ? "option" : "command", name, best ? " (did you mean '" : "",
		 best ? best : "", best ? "'?)" : "");
}

static int is_option(const char *arg, const char *name)
{
	return arg[0] == '-' && !strcmp(arg + (arg[1] == '-' ? 2 : 1), name);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		help(stderr);
		return MT_EXIT_USAGE;
	}
	if (is_option(argv[1], "help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		help(stdout);
		return MT_EXIT_DONE;
	}
	if (is_option(argv[1], "version")) {
		puts(MT_TOOL);
		return MT_EXIT_DONE;
	}
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	unknown(argv[1]);
	return MT_EXIT_USAGE;
}
