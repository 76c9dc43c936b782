// SPDX-License-Identifier: GPL-2.0
/*
 * Recordings made by hand, decoded as a whole: what is said of them, how it ends,
 * and where the default output goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/decode/pt.h"
#include "user/cmd/decode.h"
#include "user/recording/recording.h"

#define RECORDING	"recording"

static char dir[] = "/tmp/mtrace-decode-XXXXXX";
static char said[8192];

static int setup(void **state)
{
	(void)state;
	return !mkdtemp(dir) || chdir(dir);
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") || mt_recording_remove(dir);
}

/* ---- the trace of one thread ---- */

static struct pt ran, idle, noise, cut;

/*
 *	1000	call 1100
 *	1005	nop
 *	1006	ret
 *	1100	nop; ret
 *	1f00	syscall
 */
static const struct {
	size_t at;
	uint8_t bytes[8];
	size_t len;
} code[] = {
	{ 0x000, { 0xe8, 0xfb, 0x00, 0x00, 0x00, 0x90, 0xc3 }, 7 },
	{ 0x100, { 0x90, 0xc3 }, 2 },
	{ 0xf00, { 0x0f, 0x05 }, 2 },
};

static void make_traces(void)
{
	if (ran.len)
		return;
	pt_psb_on(&ran, 1100, 0x1000);
	pt_tip(&ran, 0x1005);			/* ret at 1101 */
	pt_tip(&ran, 0x1f00);			/* ret at 1006 */
	pt_tip_pgd(&ran);			/* syscall at 1f00 */

	pt_psb_off(&idle, 1100);

	pt_tip(&noise, 0x1005);
	pt_tip_pgd(&noise);

	pt_psb(&cut);				/* what belongs to the PSB is missing */
	pt_tsc(&cut, 1100);
}

/* ---- recordings ---- */

static struct mt_recording_writer *writer;
static uint64_t snapshots;

static void begin(void)
{
	static char *command[] = { (char *)"prog", NULL };
	const struct mt_meta meta = {
		.tool = (char *)"test",
		.kernel = (char *)"test",
		.command = command,
		.tsc_khz = 1000000,
		.start_tsc = 1000,
	};

	make_traces();
	snapshots = 0;
	assert_int_equal(mt_recording_create(RECORDING, &meta, &writer), 0);
}

/* One snapshot of threads 10, 11, ... of process 10. */
static void add(const struct pt *const *traces, size_t count)
{
	struct mt_map map = { .start = 0x1000, .end = 0x2000, .path = (char *)"" };
	struct mt_process_info process = {
		.pid = 10, .comm = (char *)"prog", .maps = &map, .nr_maps = 1,
	};
	struct mt_thread_info threads[4] = { 0 };
	struct mt_piece pieces[4][2] = { 0 };
	struct mt_snapshot_info info = {
		.number = ++snapshots,
		.reason = MT_REASON_EXIT,
		.processes = &process,
		.nr_processes = 1,
		.threads = threads,
		.nr_threads = count,
	};
	uint8_t bytes[0x1000];
	size_t i;

	memset(bytes, 0x90, sizeof(bytes));
	for (i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		memcpy(bytes + code[i].at, code[i].bytes, code[i].len);
	assert_int_equal(mt_recording_add_image(writer, "code", bytes, sizeof(bytes), &map.image),
			 0);
	for (i = 0; i < count; i++) {
		threads[i] = (struct mt_thread_info) {
			.pid = 10, .tid = 10 + (int)i, .comm = (char *)"thread",
			.start_tsc = 1050, .end_tsc = 2000,
		};
		pieces[i][0] = (struct mt_piece) { traces[i]->bytes, traces[i]->len };
	}
	assert_int_equal(mt_recording_add_snapshot(writer, &info,
						   (const struct mt_piece (*)[2])pieces), 0);
	for (i = 0; i < count; i++)
		free(threads[i].file);
	free(map.image);
}

/* Decode, listen to what is said, and return what comes of it. */
static int decode_to(const char *output)
{
	int saved = dup(2), err;
	int fd = open("stderr", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ssize_t len;

	assert_int_equal(mt_recording_finish(writer), 0);
	dup2(fd, 2);
	err = mt_cmd_decode_files(RECORDING, &output, output ? 1 : 0);
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	len = pread(fd, said, sizeof(said) - 1, 0);
	close(fd);
	said[len > 0 ? len : 0] = '\0';
	assert_int_equal(mt_recording_remove(RECORDING), 0);
	return err;
}

static void heard(const char *text)
{
	if (!strstr(said, text))
		fail_msg("'%s' is not in: %s", text, said);
}

static void not_heard(const char *text)
{
	if (strstr(said, text))
		fail_msg("'%s' is in: %s", text, said);
}

static bool file_holds(const char *path, const char *text)
{
	static char all[16384];
	int fd = open(path, O_RDONLY);
	ssize_t len = read(fd, all, sizeof(all) - 1);

	close(fd);
	assert_true(len >= 0);
	all[len] = '\0';
	return strstr(all, text);
}

/* ---- what is said ---- */

static void test_same_thread(void **state)
{
	const struct pt *const both[] = { &ran, &ran };
	unsigned int i;

	(void)state;
	begin();
	for (i = 0; i < 3; i++)
		add(both, 1);
	assert_int_equal(decode_to("a.txt"), 0);
	heard("3 snapshots, 1 thread: 3 calls, ");
	heard(", no gap\n");
	not_heard("traces");

	begin();
	add(both, 2);
	add(both, 1);
	assert_int_equal(decode_to("a.txt"), 0);
	heard("2 snapshots, 2 threads: 3 calls, ");
}

static void test_partly(void **state)
{
	const struct pt *const traces[] = { &ran, &noise, &idle, &cut };

	(void)state;
	begin();
	add(traces, 4);
	assert_int_equal(decode_to("a.txt"), 0);
	heard("warning: snapshot 1, thread 11: nothing could be decoded of 8 bytes: "
	      "there is no whole PSB packet\n");
	heard("warning: snapshot 1, thread 13: nothing could be decoded of 24 bytes: "
	      "there is no whole PSB packet\n");
	not_heard("thread 10");
	not_heard("thread 12");
	heard("mtrace-user: in 1 of 4 traces nothing ran in user mode\n");
	heard("1 snapshot, 4 threads: 1 call, ");
	heard(", no gap in what was decoded, but nothing is known of 2 of 4 traces\n");
	assert_true(file_holds("a.txt", "tid 11 thread: nothing could be decoded\n"));
	assert_true(file_holds("a.txt", "tid 12 thread: nothing ran\n"));
	assert_true(file_holds("a.txt", "tid 10 thread: "));
	assert_false(file_holds("a.txt", "tid 10 thread: nothing"));
	assert_false(file_holds("a.txt", " 0 ns, from 0 ns"));
}

static void test_idle(void **state)
{
	const struct pt *const traces[] = { &idle, &idle };
	struct stat st;

	(void)state;
	begin();
	add(traces, 2);
	assert_int_equal(decode_to("idle.txt"), -ENODATA);
	heard("nothing was recorded: nothing ran in user mode");
	not_heard("warning");
	assert_int_equal(stat("idle.txt", &st), -1);
}

static void test_nothing(void **state)
{
	const struct pt *const traces[] = { &noise, &idle };

	(void)state;
	begin();
	add(traces, 2);
	assert_int_equal(decode_to("a.txt"), -ENODATA);
	heard("nothing was recorded: nothing can be decoded");

	begin();
	add(traces, 0);
	assert_int_equal(decode_to("a.txt"), -ENODATA);
	heard("nothing was recorded: no snapshot has any trace");

	begin();
	assert_int_equal(decode_to("a.txt"), -ENODATA);
	heard("nothing was recorded: there is no snapshot");
}

/* ---- the default output ---- */

static void record(void)
{
	const struct pt *const traces[] = { &ran };

	begin();
	add(traces, 1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_default_output(void **state)
{
	(void)state;
	record();
	assert_int_equal(decode_to(NULL), 0);
	assert_false(access("trace.fxt.gz", F_OK) == -1);
	assert_int_equal(access("trace.fxt.gz.old", F_OK), -1);
	put("trace.fxt.gz", "the old one");
	record();
	assert_int_equal(decode_to(NULL), 0);
	assert_true(file_holds("trace.fxt.gz.old", "the old one"));
	assert_false(file_holds("trace.fxt.gz", "the old one"));
	unlink("trace.fxt.gz.old");
	unlink("trace.fxt.gz");
}

/* The link stays, and so does what it led to. */
static void test_default_link(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("far", 0700), 0);
	put("far/file", "the old one");
	assert_int_equal(symlink("far/file", "trace.fxt.gz"), 0);
	record();
	assert_int_equal(decode_to(NULL), 0);
	assert_int_equal(lstat("trace.fxt.gz", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_false(file_holds("far/file", "the old one"));
	assert_true(file_holds("far/file.old", "the old one"));
	unlink("trace.fxt.gz");
}

static void test_check(void **state)
{
	static const char *const same[] = { "a.csv", "./a.csv" };

	(void)state;
	assert_int_equal(mt_cmd_check_outputs(NULL, 0), 0);
	assert_int_equal(mt_cmd_check_outputs(same, 1), 0);
	assert_int_equal(mt_cmd_check_outputs(same, 2), -EINVAL);
	assert_int_equal(mkdir("trace.fxt.gz", 0700), 0);
	assert_int_equal(mt_cmd_check_outputs(NULL, 0), -EISDIR);
	rmdir("trace.fxt.gz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_thread),
		cmocka_unit_test(test_partly),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_default_output),
		cmocka_unit_test(test_default_link),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
