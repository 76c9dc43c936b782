// SPDX-License-Identifier: GPL-2.0
/* Command lines: what is taken, what is left as arguments, what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/cmd/options.h"

enum { KEY_TRIGGER, KEY_THREADS, KEY_MULTI_THREAD, KEY_MULTI_SNAPSHOT, KEY_OUTPUT };

static const struct mt_option options[] = {
	{ "trigger", 't', "SYMBOL", "help", KEY_TRIGGER },
	{ "threads", 0, "N", "help", KEY_THREADS },
	{ "multi-thread", 0, NULL, "help", KEY_MULTI_THREAD },
	{ "multi-snapshot", 0, NULL, "help", KEY_MULTI_SNAPSHOT },
	{ "output", 'o', "FILE", "help", KEY_OUTPUT },
	{ "out", 0, "FILE", NULL, KEY_OUTPUT },
	{ NULL, 0, NULL, NULL, 0 },
};

static const struct mt_usage usage = { "test", "[OPTION]...", "summary", NULL, options };

/* What was taken, as "key=value key ", and the arguments, as "|a|b". */
static char seen[512];

static int take(void *ctx, int key, const char *value)
{
	char one[128];

	assert_ptr_equal(ctx, seen);
	snprintf(one, sizeof(one), value ? "%d=%s " : "%d ", key, value);
	strcat(seen, one);
	return value && !strcmp(value, "refused") ? -EINVAL : 0;
}

static int parse(const char *line)
{
	static char copy[512];
	char *argv[32], **args;
	int argc = 0, nr, err;

	strcpy(copy, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = strcmp(word, "''") ? word : (char *)"";
	argv[argc] = NULL;
	seen[0] = '\0';
	err = mt_options_parse(&usage, argc, argv, take, seen, &args, &nr);
	for (int i = 0; !err && i < nr; i++) {
		strcat(seen, "|");
		strcat(seen, args[i]);
	}
	if (!err)
		assert_null(args[nr]);
	return err;
}

static void check(const char *line, const char *wanted)
{
	assert_int_equal(parse(line), 0);
	assert_string_equal(seen, wanted);
}

static void test_taken(void **state)
{
	(void)state;
	check("test", "");
	check("test --trigger fib -- prog", "0=fib |prog");
	check("test -trigger fib -- prog", "0=fib |prog");
	check("test --trigger=fib prog", "0=fib |prog");
	check("test -trigger=fib=2 prog", "0=fib=2 |prog");
	check("test -t fib", "0=fib ");
	check("test -t=fib", "0=fib ");
	check("test --trigger= prog", "0= |prog");
	check("test -o a -o b --out c", "4=a 4=b 4=c ");
	check("test -multi-thread -multi-snapshot", "2 3 ");
	/* As magic-trace takes it: options around the program, arguments behind. */
	check("test prog -trigger fib -- -a --b", "0=fib |prog|-a|--b");
	check("test a -- b -- c", "|a|b|--|c");
	check("test - x", "|-|x");
	check("test '' x", "||x");
	/* Values are values, whatever they look like. */
	check("test -o -x", "4=-x ");
	/* A beginning that is one option's alone. */
	check("test --trig fib", "0=fib ");
	check("test --multi-t", "2 ");
	check("test --ou x", "4=x ");
	check("test -q x", "|x");
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"test --unknown", "test -z", "test --trigger", "test --trigger -- prog", "test -t",
		"test --multi-thread=yes", "test --multi x", "test --=x", "test -=",
		"test ---trigger x", "test -t refused", "test --triggers x", "test -tfib",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i]) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
	}
}

/* --help and --version end it, and what is behind "--" is none of them. */
static void test_common(void **state)
{
	(void)state;
	assert_int_equal(parse("test --version"), 1);
	assert_int_equal(parse("test x -help"), 1);
	assert_int_equal(parse("test -h"), 1);
	check("test -- --help", "|--help");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
