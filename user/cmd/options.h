/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Command lines. One table a command says what it takes; parsing and --help
 * both come from it. Knows nothing of what the options mean.
 *
 * Options are long ("--name VALUE", "--name=VALUE"); one dash does as well, so
 * that a line written for magic-trace works, and a unique beginning of a name
 * stands for it. Options and other arguments may come in any order up to "--";
 * what follows that is never an option.
 */
#ifndef MTRACE_CMD_OPTIONS_H
#define MTRACE_CMD_OPTIONS_H

struct mt_option {
	const char *name;	/* long name, without dashes; NULL ends the table */
	char letter;		/* "-o" for short, or 0 */
	const char *arg;	/* "FILE" in the help; NULL: the option takes no value */
	const char *help;	/* may have several lines; NULL: another name for the
				 * option of the same key, not shown */
	int key;		/* what the command knows it by */
};

struct mt_usage {
	const char *command;	/* "run" */
	const char *args;	/* "[OPTION]... -- PROGRAM [ARG]..." */
	const char *summary;	/* one line: what it is for */
	const char *details;	/* what is said below the options, or NULL */
	const struct mt_option *options;
};

/* Exit codes of every command. */
#define MT_EXIT_DONE	0
#define MT_EXIT_FAILED	1
#define MT_EXIT_USAGE	2
#define MT_EXIT_NOTHING	3	/* nothing was recorded */

/*
 * Called for each option with its key and its value (NULL if it takes none).
 * Returns 0, or -EINVAL after a message.
 */
typedef int (*mt_option_fn)(void *ctx, int key, const char *value);

/*
 * Read @argv (argv[0] is the command's name). --help, --quiet and --version are
 * taken here. The arguments that are no options are moved to *@args, in order,
 * *@nr_args of them and then NULL.
 *
 * Returns 0; 1 if all is done and the command is to exit with MT_EXIT_DONE;
 * -EINVAL after a message, for MT_EXIT_USAGE.
 */
int mt_options_parse(const struct mt_usage *usage, int argc, char **argv, mt_option_fn take,
		     void *ctx, char ***args, int *nr_args);

/* The help of one command, on stdout. */
void mt_options_help(const struct mt_usage *usage);

/* What is said after a bad command line: where help is to be had. */
void mt_options_hint(const struct mt_usage *usage);

#endif /* MTRACE_CMD_OPTIONS_H */
