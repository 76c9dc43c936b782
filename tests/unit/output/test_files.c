// SPDX-License-Identifier: GPL-2.0
/*
 * Output files: names, several at once, old files, full disks.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <signal.h>

#include "tests/unit/output/feed.h"

static unsigned int files_in_folder(void)
{
	DIR *dir = opendir(feed_folder);
	struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return count;
}

static int call_check_name(void *ctx)
{
	return mt_output_check_name(ctx);
}

static void test_names(void **state)
{
	static const char *const good[] = {
		"a.fxt", "a.fxt.gz", "a.txt", "a.txt.gz", "/x.y/a.csv", "a.csv.gz", "a.b.csv",
		"a.FXT", "a.Csv.GZ",
	};
	static const char *const bad[] = {
		"a", "", ".fxt", "a.gz", "a.fxt/", "a.fxt.zst", "afxt", "a.csv.gz.gz",
		"a.csv/b", ".csv.gz",
	};
	char *text;
	size_t i;
	int err;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(mt_output_check_name(good[i]), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		text = stderr_of(call_check_name, (void *)bad[i], &err);
		assert_int_equal(err, -EINVAL);
		/* says which name, and which endings there are */
		assert_non_null(strstr(text, bad[i]));
		assert_non_null(strstr(text, ".fxt"));
		assert_non_null(strstr(text, ".txt"));
		assert_non_null(strstr(text, ".csv"));
		assert_non_null(strstr(text, ".gz"));
		free(text);
	}
}

/* All that the help names is a format. */
static void test_endings(void **state)
{
	char *copy = strdup(mt_output_endings());
	char *rest = copy;
	char name[64];
	unsigned int formats = 0;
	char *word;

	(void)state;
	while ((word = strsep(&rest, " ,"))) {
		if (*word != '.' || !strcmp(word, ".gz"))
			continue;
		snprintf(name, sizeof(name), "a%s", word);
		assert_int_equal(mt_output_check_name(name), 0);
		formats++;
	}
	assert_int_equal(formats, 3);
	free(copy);
}

static void test_several_at_once(void **state)
{
	char csv[160], gz[160], txt[160];
	const char *paths[] = { csv, gz, txt };
	struct feed feed;
	char *one, *other;
	size_t len, len2;

	(void)state;
	strcpy(csv, feed_path("many.csv"));
	strcpy(gz, feed_path("many.csv.gz"));
	strcpy(txt, feed_path("many.txt"));
	assert_int_equal(mt_output_open(paths, 3, &feed.output), 0);
	feed.sink = mt_output_sink(feed.output);
	feed_track(&feed, 1, 1, 1, "t", 0, 10);
	feed_slice(&feed, "f", 0, 0, 10, 0);
	feed_track_end(&feed);
	feed_commit(&feed);
	one = feed_read(csv, &len);
	other = feed_read(gz, &len2);
	assert_string_equal(one, other);
	assert_non_null(strstr(one, ",f,"));
	free(one);
	free(other);
	one = feed_read(txt, &len);
	assert_non_null(strstr(one, "f\n"));
	free(one);
	unlink(csv);
	unlink(gz);
	unlink(txt);
}

/* The file appears when it is whole, in place of the old one. */
static void test_in_place_at_commit(void **state)
{
	char path[160];
	struct feed feed;
	FILE *file;

	(void)state;
	strcpy(path, feed_path("old.csv"));
	file = fopen(path, "w");
	fputs("old", file);
	fclose(file);
	feed_open(&feed, path);
	feed_expect(path, "old");
	mt_output_close(feed.output);
	feed_expect(path, "old");
	assert_int_equal(files_in_folder(), 1);

	feed_open(&feed, path);
	feed_commit(&feed);
	feed_expect(path, "snapshot,pid,tid,depth,start_ns,duration_ns,"
			  "function,object,address,flags\n");
	assert_int_equal(files_in_folder(), 1);
	unlink(path);
}

static void test_symbolic_link(void **state)
{
	char path[160], link[160];
	struct feed feed;
	struct stat st;
	FILE *file;

	(void)state;
	strcpy(path, feed_path("target"));
	strcpy(link, feed_path("link.csv"));
	file = fopen(path, "w");
	fclose(file);
	assert_int_equal(symlink("target", link), 0);
	feed_open(&feed, link);
	feed_commit(&feed);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 0);
	unlink(path);
	/* to what is not there yet, by way of another one */
	assert_int_equal(symlink("link.csv", feed_path("far.csv")), 0);
	feed_open(&feed, feed_path("far.csv"));
	feed_commit(&feed);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
	unlink(link);
	unlink(feed_path("far.csv"));
}

/* The longest name that there can be leaves no room for that of a temporary file. */
static void test_long_name(void **state)
{
	char name[256], path[320];
	struct feed feed;
	struct stat st;

	(void)state;
	memset(name, 'n', 255);
	strcpy(name + 251, ".csv");
	snprintf(path, sizeof(path), "%s/%s", feed_folder, name);
	feed_open(&feed, path);
	feed_commit(&feed);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(files_in_folder(), 1);
	unlink(path);
}

/* As any other file that is made: not private, not executable. */
static void test_mode(void **state)
{
	const char *path = feed_path("mode.csv");
	mode_t old = umask(027);
	struct feed feed;
	struct stat st;

	(void)state;
	feed_open(&feed, path);
	feed_commit(&feed);
	umask(old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	unlink(path);
}

static int call_open(void *ctx)
{
	const char *path = ctx;
	struct mt_output *output;

	return mt_output_open(&path, 1, &output);
}

static void test_cannot_open(void **state)
{
	char *text;
	int err;

	(void)state;
	text = stderr_of(call_open, (void *)"/nonexistent/a.csv", &err);
	assert_int_equal(err, -ENOENT);
	assert_non_null(strstr(text, "/nonexistent/a.csv"));
	free(text);
	mkdir(feed_path("folder.csv"), 0700);
	text = stderr_of(call_open, (void *)feed_path("folder.csv"), &err);
	assert_int_equal(err, -EISDIR);
	free(text);
	rmdir(feed_path("folder.csv"));
}

/* One of several that cannot be opened: nothing is left of the others. */
static void test_nothing_left(void **state)
{
	char path[160];
	const char *paths[] = { path, "/nonexistent/a.csv" };
	struct mt_output *output;

	(void)state;
	strcpy(path, feed_path("first.csv"));
	assert_int_equal(mt_output_open(paths, 2, &output), -ENOENT);
	assert_int_equal(files_in_folder(), 0);
}

static int feed_much(void *ctx)
{
	struct feed *feed = ctx;
	const struct mt_function fn = { 0x1000, 0x2000, "f", "o" };
	const struct mt_track track = { .process = "p", .thread = "t", .end_ns = 1000000 };
	struct mt_slice slice = { .fn = &fn };
	uint64_t state = 1;
	unsigned int i;
	int err;

	err = feed->sink->track_begin(feed->sink->ctx, &track);
	for (i = 0; !err && i < 200000; i++) {
		/* numbers that do not compress to nothing */
		state = state * 6364136223846793005ULL + 1;
		slice.address = state;
		slice.begin_ns = i;
		slice.end_ns = i + 1;
		err = feed->sink->slice(feed->sink->ctx, &slice);
	}
	if (!err)
		err = feed->sink->track_end(feed->sink->ctx);
	return err ? err : mt_output_commit(feed->output);
}

/* /dev/full takes nothing. The error names the file, and is not given twice. */
static void test_device_is_full(void **state)
{
	static const char *const names[] = { "full.csv", "full.csv.gz", "full.txt", "full.fxt",
					     "full.fxt.gz" };
	char link[160];
	struct feed feed;
	char *text;
	size_t i;
	int err;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		strcpy(link, feed_path(names[i]));
		assert_int_equal(symlink("/dev/full", link), 0);
		feed_open(&feed, link);
		text = stderr_of(feed_much, &feed, &err);
		assert_int_equal(err, -ENOSPC);
		assert_non_null(strstr(text, names[i]));
		assert_non_null(strstr(text, strerror(ENOSPC)));
		assert_null(strstr(strstr(text, names[i]) + 1, names[i]));
		free(text);
		mt_output_close(feed.output);
		unlink(link);
	}
}

/* So small that all of it is still buffered when the file is committed. */
static void test_full_at_commit(void **state)
{
	char link[160];
	struct feed feed;

	(void)state;
	strcpy(link, feed_path("full.csv"));
	assert_int_equal(symlink("/dev/full", link), 0);
	feed_open(&feed, link);
	assert_int_equal(mt_output_commit(feed.output), -ENOSPC);
	mt_output_close(feed.output);
	unlink(link);
}

/* A write that takes only a part, and then fails: nothing half is left. */
static void test_short_write(void **state)
{
	struct rlimit old, limit;
	struct feed feed;
	char *text;
	int err;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 300000;	/* within the second buffer */
	feed_open(&feed, feed_path("short.csv"));
	setrlimit(RLIMIT_FSIZE, &limit);
	text = stderr_of(feed_much, &feed, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
	assert_non_null(strstr(text, "short.csv"));
	free(text);
	mt_output_close(feed.output);
	assert_int_equal(files_in_folder(), 0);
}

/* A pipe is written to, not replaced. */
static void test_pipe(void **state)
{
	char path[160];
	char buf[200];
	struct feed feed;
	struct stat st;
	ssize_t n;
	int fd;

	(void)state;
	strcpy(path, feed_path("pipe.csv"));
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	feed_open(&feed, path);
	feed_commit(&feed);
	n = read(fd, buf, sizeof(buf) - 1);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_string_equal(buf, "snapshot,pid,tid,depth,start_ns,duration_ns,"
				 "function,object,address,flags\n");
	close(fd);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_endings),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_in_place_at_commit),
		cmocka_unit_test(test_symbolic_link),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_cannot_open),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_device_is_full),
		cmocka_unit_test(test_full_at_commit),
		cmocka_unit_test(test_short_write),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, feed_setup, feed_teardown);
}
