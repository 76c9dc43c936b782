// SPDX-License-Identifier: GPL-2.0
/*
 * What can be outputs is known before anything is recorded.
 */
#include "tests/unit/output/feed.h"

#define NOBODY	65534

struct pair {
	const char *paths[2];
	size_t count;
};

static int call_check(void *ctx)
{
	const struct pair *pair = ctx;

	return mt_output_check(pair->paths, pair->count);
}

/* Refused with @err, in one line that has @one and @two in it. */
static void refused(const char *a, const char *b, int err, const char *one, const char *two)
{
	struct pair pair = { { a, b }, b ? 2 : 1 };
	int result;
	char *text = stderr_of(call_check, &pair, &result);

	assert_int_equal(result, err);
	assert_non_null(strstr(text, one));
	assert_non_null(strstr(text, two));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
}

static void accepted(const char *a, const char *b)
{
	const char *const paths[] = { a, b };

	assert_int_equal(mt_output_check(paths, b ? 2 : 1), 0);
}

static void make(const char *name)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fclose(file);
}

/* In a folder of its own, so that names can be relative. */
static int setup(void **state)
{
	if (feed_setup(state) || chdir(feed_folder))
		return -1;
	make("there.csv");
	make("other.csv");
	return mkdir("folder", 0700) || mkdir("folder.csv", 0700) ||
	       symlink("there.csv", "to-there.csv") || symlink("gone.csv", "to-gone.csv") ||
	       symlink("../gone.csv", "folder/to-gone.csv") || symlink("loop.csv", "loop.csv") ||
	       symlink("folder", "to-folder") || link("there.csv", "hard.csv") ||
	       symlink("/dev/null", "null.csv") || symlink("/dev/null", "null.txt") ||
	       symlink("nowhere/a", "to-nowhere.csv") || mkfifo("pipe.csv", 0600);
}

static void test_one(void **state)
{
	char name[300];

	(void)state;
	accepted("there.csv", NULL);
	accepted("new.txt", NULL);
	accepted("./folder/new.txt.gz", NULL);
	accepted("to-gone.csv", NULL);
	accepted("folder/to-gone.csv", NULL);
	accepted("pipe.csv", NULL);
	refused("", NULL, -EINVAL, "output ''", "no name");
	refused("a.b", NULL, -EINVAL, "'a.b'", ".fxt");
	refused("folder.csv", NULL, -EISDIR, "'folder.csv'", strerror(EISDIR));
	refused("loop.csv", NULL, -ELOOP, "'loop.csv'", strerror(ELOOP));
	refused("nowhere/a.csv", NULL, -ENOENT, "'nowhere/a.csv'", strerror(ENOENT));
	refused("to-nowhere.csv", NULL, -ENOENT, "'to-nowhere.csv'", strerror(ENOENT));
	refused("there.csv/a.csv", NULL, -ENOTDIR, "'there.csv/a.csv'", strerror(ENOTDIR));
	memset(name, 'n', 296);
	strcpy(name + 252, ".csv");
	refused(name, NULL, -ENAMETOOLONG, name, strerror(ENAMETOOLONG));
	name[255] = '\0';
	strcpy(name + 251, ".csv");
	accepted(name, NULL);
}

static void test_same(void **state)
{
	static const char *const same[][2] = {
		{ "there.csv", "there.csv" },
		{ "there.csv", "./there.csv" },
		{ "there.csv", "folder/../there.csv" },
		{ "there.csv", "to-there.csv" },
		{ "there.csv", "hard.csv" },
		{ "new.csv", "new.csv" },
		{ "new.csv", ".//new.csv" },
		{ "folder/new.csv", "to-folder/new.csv" },
		{ "gone.csv", "to-gone.csv" },
		{ "to-gone.csv", "folder/to-gone.csv" },
		{ "pipe.csv", "./pipe.csv" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		refused(same[i][0], same[i][1], -EINVAL, same[i][0], same[i][1]);
		refused(same[i][1], same[i][0], -EINVAL, same[i][0], same[i][1]);
	}
	accepted("there.csv", "other.csv");
	accepted("there.csv", "there.txt");
	accepted("new.csv", "folder/new.csv");
	accepted("null.csv", "null.txt");
}

/* To root all is allowed: it is somebody else for the time of the call. */
static int call_check_without_right(void *ctx)
{
	const bool root = !geteuid();
	int result;

	if (root)
		assert_int_equal(setresuid(NOBODY, NOBODY, 0), 0);
	result = call_check(ctx);
	if (root)
		assert_int_equal(setresuid(0, 0, 0), 0);
	return result;
}

static void test_no_right(void **state)
{
	struct pair pair = { { "folder/a.csv" }, 1 };
	char *text;
	int result;

	(void)state;
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(chmod("folder", 0500), 0);
	text = stderr_of(call_check_without_right, &pair, &result);
	assert_int_equal(result, -EACCES);
	assert_non_null(strstr(text, "'folder/a.csv'"));
	assert_non_null(strstr(text, strerror(EACCES)));
	free(text);
	assert_int_equal(chmod("folder", 0700), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_no_right),
	};

	return cmocka_run_group_tests(tests, setup, feed_teardown);
}
