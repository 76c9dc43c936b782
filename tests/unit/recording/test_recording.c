// SPDX-License-Identifier: GPL-2.0
/*
 * The recording: what is written is read again, and what was cut off, damaged
 * or made to do harm is told of and does no harm.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/log.h"
#include "user/recording/file.h"
#include "user/recording/recording.h"

static char dir[64];
static char path[128];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/mtrace-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rec", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[160];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static char *in_recording(const char *name)
{
	static char full[2][256];	/* for calls that take two paths */
	static int turn;

	turn = !turn;
	snprintf(full[turn], sizeof(full[turn]), "%s/%s", path, name);
	return full[turn];
}

static void put_file(const char *name, const char *bytes, size_t len)
{
	int fd = open(in_recording(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(mt_file_write(fd, bytes, len), 0);
	close(fd);
}

static char *get_file(const char *name, size_t *len)
{
	static char bytes[65536];
	int fd = open(in_recording(name), O_RDONLY);
	ssize_t got;

	assert_true(fd >= 0);
	got = mt_file_read(fd, bytes, sizeof(bytes) - 1);
	assert_true(got >= 0);
	bytes[got] = '\0';
	*len = got;
	close(fd);
	return bytes;
}

static char *command[] = { (char *)"prog", (char *)"a \"b\"\n", (char *)"\xff\xfe", NULL };

static const struct mt_meta meta = {
	.tool = (char *)"mtrace-user test",
	.kernel = (char *)"6.1.0",
	.command = command,
	.cpu_family = 6,
	.cpu_model = 0x9e,
	.cpu_stepping = 10,
	.tsc_khz = 2400000,
	.cpuid_15_eax = 2,
	.cpuid_15_ebx = 216,
	.nom_freq = 36,
	.mtc_freq = 3,
	.rtit_ctl = 0xfffffffffffffffeULL,
	.start_tsc = UINT64_MAX,
	.start_monotonic_ns = 1234567890123456789ULL,
	.start_realtime_ns = 1700000000000000001ULL,
};

/* A snapshot of two threads, the second of which wrapped; @number of them. */
static void write_snapshot(struct mt_recording_writer *w, uint64_t number, enum mt_reason reason)
{
	static const struct mt_piece pieces[][2] = {
		{ { "abcdef", 6 }, { NULL, 0 } },
		{ { "older", 5 }, { "newer", 5 } },
		{ { NULL, 0 }, { NULL, 0 } },
	};
	struct mt_map maps[] = {
		{ 0x1000, 0x2000, 0, (char *)"/bin/x y", (char *)"00ff", NULL },
		{ 0x7ffff7fc0000, 0x7ffff7fc1000, 0x3000, (char *)"[vdso]", NULL,
		  (char *)"vdso-1" },
	};
	struct mt_process_info process = { 10, (char *)"prog", maps, 2 };
	struct mt_thread_info threads[] = {
		{ .pid = 10, .tid = 10, .comm = (char *)"prog", .start_tsc = 5, .end_tsc = 9,
		  .flags = 0, .cpu = 1 },
		{ .pid = 10, .tid = 11, .comm = (char *)"work\ter", .flags = 1, .cpu = 2 },
		{ .pid = 10, .tid = 11, .comm = (char *)"worker" },
	};
	struct mt_snapshot_info info = {
		.number = number,
		.reason = reason,
		.tsc = 1ULL << 63,
		.tsc_end = (1ULL << 63) + 1,
		.trigger_symbol = reason == MT_REASON_TRIGGER ? (char *)"fib" : NULL,
		.trigger_address = 0x555555555155,
		.trigger_tid = 11,
		.nr_unswitched = 3,
		.processes = &process,
		.nr_processes = 1,
		.threads = threads,
		.nr_threads = 3,
	};

	assert_int_equal(mt_recording_add_snapshot(w, &info, pieces), 0);
	for (int i = 0; i < 3; i++)
		free(threads[i].file);
}

static void write_recording(void)
{
	struct mt_recording_writer *w;
	char *name, *same, *other;

	assert_int_equal(mt_recording_create(path, &meta, &w), 0);
	assert_int_equal(mt_recording_add_image(w, "[vdso]", "code", 4, &name), 0);
	assert_int_equal(mt_recording_add_image(w, "/x/../y", "code", 4, &same), 0);
	assert_int_equal(mt_recording_add_image(w, "/x/../y", "cod2", 4, &other), 0);
	assert_string_equal(name, same);
	assert_string_not_equal(name, other);
	assert_true(mt_file_is_plain_name(other));
	assert_true(!strncmp(name, "vdso-", 5));
	free(name);
	free(same);
	free(other);
	write_snapshot(w, 1, MT_REASON_TRIGGER);
	write_snapshot(w, 2, MT_REASON_COMMAND);
	write_snapshot(w, 10, MT_REASON_EXIT);
	assert_int_equal(mt_recording_finish(w), 0);
}

static void test_round_trip(void **state)
{
	const struct mt_snapshot_info *info;
	const struct mt_meta *got;
	struct mt_recording *rec;
	const uint8_t *bytes;
	size_t len;
	char *image;

	(void)state;
	write_recording();
	assert_int_equal(mt_recording_open(path, &rec), 0);
	got = mt_recording_meta(rec);
	assert_string_equal(got->tool, meta.tool);
	assert_string_equal(got->kernel, meta.kernel);
	for (int i = 0; command[i]; i++)
		assert_string_equal(got->command[i], command[i]);
	assert_null(got->command[3]);
	assert_int_equal(got->cpu_family, 6);
	assert_int_equal(got->cpu_model, 0x9e);
	assert_int_equal(got->cpu_stepping, 10);
	assert_int_equal(got->tsc_khz, 2400000);
	assert_int_equal(got->cpuid_15_eax, 2);
	assert_int_equal(got->cpuid_15_ebx, 216);
	assert_int_equal(got->nom_freq, 36);
	assert_int_equal(got->mtc_freq, 3);
	assert_true(got->rtit_ctl == meta.rtit_ctl);
	assert_true(got->start_tsc == meta.start_tsc);
	assert_true(got->start_monotonic_ns == meta.start_monotonic_ns);
	assert_true(got->start_realtime_ns == meta.start_realtime_ns);

	assert_int_equal(mt_recording_nr_snapshots(rec), 3);
	info = mt_recording_snapshot(rec, 0);
	assert_int_equal(info->number, 1);
	assert_int_equal(info->reason, MT_REASON_TRIGGER);
	assert_string_equal(info->trigger_symbol, "fib");
	assert_true(info->trigger_address == 0x555555555155);
	assert_int_equal(info->trigger_tid, 11);
	assert_true(info->tsc == 1ULL << 63 && info->tsc_end == (1ULL << 63) + 1);
	assert_int_equal(info->nr_unswitched, 3);
	assert_int_equal(info->nr_processes, 1);
	assert_int_equal(info->processes[0].pid, 10);
	assert_string_equal(info->processes[0].comm, "prog");
	assert_int_equal(info->processes[0].nr_maps, 2);
	assert_string_equal(info->processes[0].maps[0].path, "/bin/x y");
	assert_string_equal(info->processes[0].maps[0].build_id, "00ff");
	assert_null(info->processes[0].maps[0].image);
	assert_true(info->processes[0].maps[1].start == 0x7ffff7fc0000);
	assert_true(info->processes[0].maps[1].end == 0x7ffff7fc1000);
	assert_true(info->processes[0].maps[1].offset == 0x3000);
	assert_null(info->processes[0].maps[1].build_id);
	assert_string_equal(info->processes[0].maps[1].image, "vdso-1");
	assert_int_equal(info->nr_threads, 3);
	assert_string_equal(info->threads[0].file, "10.pt");
	assert_string_equal(info->threads[1].file, "11.pt");
	assert_string_equal(info->threads[2].file, "11-2.pt");
	assert_string_equal(info->threads[1].comm, "work\ter");
	assert_int_equal(info->threads[1].bytes, 10);
	assert_int_equal(info->threads[1].missing, 0);
	assert_int_equal(info->threads[1].flags, 1);
	assert_int_equal(info->threads[1].cpu, 2);

	assert_int_equal(mt_recording_map_thread(rec, 0, 1, &bytes, &len), 0);
	assert_int_equal(len, 10);
	assert_memory_equal(bytes, "oldernewer", 10);
	mt_recording_unmap(bytes, len);
	assert_int_equal(mt_recording_map_thread(rec, 0, 2, &bytes, &len), 0);
	assert_int_equal(len, 0);
	assert_null(bytes);
	mt_recording_unmap(bytes, len);

	assert_int_equal(mt_recording_snapshot(rec, 1)->reason, MT_REASON_COMMAND);
	assert_null(mt_recording_snapshot(rec, 1)->trigger_symbol);
	assert_int_equal(mt_recording_snapshot(rec, 2)->number, 10);
	image = mt_recording_image_path(rec, "vdso-1");
	assert_string_equal(image, in_recording("images/vdso-1"));
	free(image);
	mt_recording_close(rec);
}

static void test_create_refuses_what_is_there(void **state)
{
	struct mt_recording_writer *w;
	struct mt_meta empty = { .tool = (char *)"t", .kernel = (char *)"k" };

	(void)state;
	/* An empty directory is taken. */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mt_recording_create(path, &empty, &w), 0);
	mt_recording_finish(w);
	assert_int_equal(mt_recording_create(path, &empty, &w), -EEXIST);
	assert_int_equal(mt_recording_create(in_recording("meta.json"), &empty, &w), -EEXIST);
	assert_int_equal(mt_recording_create(in_recording("no/such"), &empty, &w), -ENOENT);
}

static void test_recording_without_snapshots(void **state)
{
	struct mt_recording_writer *w;
	struct mt_recording *rec;

	(void)state;
	assert_int_equal(mt_recording_create(path, &meta, &w), 0);
	mt_recording_finish(w);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	assert_int_equal(mt_recording_nr_snapshots(rec), 0);
	mt_recording_close(rec);
	assert_int_equal(rmdir(in_recording("snapshots")), 0);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	mt_recording_close(rec);
}

static void test_short_and_missing_data(void **state)
{
	struct mt_recording *rec;
	const uint8_t *bytes;
	size_t len;

	(void)state;
	write_recording();
	for (int cut = 0; cut <= 10; cut++) {
		assert_int_equal(truncate(in_recording("snapshots/1/11.pt"), 10 - cut), 0);
		assert_int_equal(mt_recording_open(path, &rec), 0);
		assert_int_equal(mt_recording_snapshot(rec, 0)->threads[1].missing, cut);
		assert_int_equal(mt_recording_map_thread(rec, 0, 1, &bytes, &len), 0);
		assert_int_equal(len, 10 - cut);
		assert_true(!len || !memcmp(bytes, "oldernewer", len));
		mt_recording_unmap(bytes, len);
		mt_recording_close(rec);
	}
	assert_int_equal(unlink(in_recording("snapshots/1/11.pt")), 0);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	assert_int_equal(mt_recording_snapshot(rec, 0)->threads[1].missing, 10);
	assert_int_equal(mt_recording_map_thread(rec, 0, 1, &bytes, &len), 0);
	assert_int_equal(len, 0);
	mt_recording_close(rec);

	/* A file that is longer than it should be is read as far as was said. */
	put_file("snapshots/1/11.pt", "oldernewermore", 14);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	assert_int_equal(mt_recording_map_thread(rec, 0, 1, &bytes, &len), 0);
	assert_int_equal(len, 10);
	mt_recording_unmap(bytes, len);
	mt_recording_close(rec);
}

/* A folder of a snapshot that was about to be written counts for nothing. */
static void test_half_made_snapshot(void **state)
{
	struct mt_recording *rec;

	(void)state;
	write_recording();
	assert_int_equal(mkdir(in_recording("snapshots/11"), 0700), 0);
	assert_int_equal(mkdir(in_recording("snapshots/nonsense"), 0700), 0);
	put_file("snapshots/11/snapshot.json.part", "{", 1);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	assert_int_equal(mt_recording_nr_snapshots(rec), 3);
	mt_recording_close(rec);
}

static void test_json_cut_at_each_byte(void **state)
{
	static char whole[65536];
	struct mt_recording *rec;
	size_t len, wanted;

	(void)state;
	write_recording();
	memcpy(whole, get_file("meta.json", &len), sizeof(whole));
	/* The last two bytes are the brace, without which it is cut, and the line's end. */
	for (size_t cut = 0; cut < len - 1; cut++) {
		put_file("meta.json", whole, cut);
		assert_int_equal(mt_recording_open(path, &rec), -EBADMSG);
	}
	put_file("meta.json", whole, len);

	memcpy(whole, get_file("snapshots/2/snapshot.json", &len), sizeof(whole));
	for (size_t cut = 0; cut <= len; cut++) {
		put_file("snapshots/2/snapshot.json", whole, cut);
		wanted = cut >= len - 1 ? 3 : 2;
		assert_int_equal(mt_recording_open(path, &rec), 0);
		assert_int_equal(mt_recording_nr_snapshots(rec), wanted);
		mt_recording_close(rec);
	}
}

/* Nothing but an error or a sound structure may come of a changed byte. */
static void test_json_changed_at_each_byte(void **state)
{
	static const char changes[] = { '"', '{', ']', ',', '9', '-', '\\', '\0', (char)0xff };
	static char whole[65536];
	struct mt_recording *rec;
	size_t len;
	char was;

	(void)state;
	write_recording();
	memcpy(whole, get_file("snapshots/1/snapshot.json", &len), sizeof(whole));
	for (size_t at = 0; at < len; at++) {
		was = whole[at];
		whole[at] = changes[at % sizeof(changes)];
		put_file("snapshots/1/snapshot.json", whole, len);
		assert_int_equal(mt_recording_open(path, &rec), 0);
		for (size_t i = 0; i < mt_recording_nr_snapshots(rec); i++) {
			const struct mt_snapshot_info *info = mt_recording_snapshot(rec, i);

			for (size_t j = 0; j < info->nr_threads; j++) {
				assert_non_null(info->threads[j].comm);
				assert_true(mt_file_is_plain_name(info->threads[j].file));
			}
			for (size_t j = 0; j < info->nr_processes; j++) {
				assert_non_null(info->processes[j].comm);
				for (size_t k = 0; k < info->processes[j].nr_maps; k++)
					assert_non_null(info->processes[j].maps[k].path);
			}
		}
		mt_recording_close(rec);
		whole[at] = was;
	}
}

/* Write meta.json or snapshot 1 with the first @from replaced by @to, and open. */
static int open_with(const char *file, const char *from, const char *to, size_t *nr)
{
	static char whole[65536], changed[70000];
	struct mt_recording *rec;
	size_t len, head;
	char *at;
	int err;

	memcpy(whole, get_file(file, &len), sizeof(whole));
	at = strstr(whole, from);
	if (!at)
		fail_msg("no %s in %s", from, file);
	head = at - whole;
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)head, whole, to, at + strlen(from));
	put_file(file, changed, strlen(changed));
	err = mt_recording_open(path, &rec);
	*nr = 0;
	if (!err) {
		*nr = mt_recording_nr_snapshots(rec);
		mt_recording_close(rec);
	}
	put_file(file, whole, len);
	return err;
}

static void test_malformed_meta(void **state)
{
	static const char *const changes[][2] = {
		{ "\"cpu_family\": 6", "\"cpu_family\": \"six\"" },
		{ "\"cpu_family\": 6", "\"cpu_family\": -6" },
		{ "\"cpu_family\": 6", "\"cpu_family\": 6.5" },
		{ "\"cpu_family\": 6", "\"cpu_family\": 4294967296" },
		{ "\"cpu_family\": 6", "\"cpu_family\": 99999999999999999999999999" },
		{ "\"cpu_family\": 6", "\"cpu_family\": null" },
		{ "\"cpu_family\": 6", "\"cpu_familx\": 6" },
		{ "\"start_tsc\": \"0x", "\"start_tsc\": \"0y" },
		{ "\"start_tsc\": \"0x", "\"start_tsc\": \"0xf" },
		{ "\"start_tsc\": \"0x", "\"start_tsc\": \"0x -" },
		{ "\"start_tsc\": \"0xffffffffffffffff\"", "\"start_tsc\": \"0x\"" },
		{ "\"tool\": \"mtrace-user test\"", "\"tool\": 1" },
		{ "\"tool\": \"mtrace-user test\"", "\"tool\": \"a\\u0000b\"" },
		{ "\"command\": [", "\"command\": [ 1," },
		{ "\"command\": [", "\"command\": [ null," },
		{ "\"command\": [", "\"command\": [ [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]," },
		{ "{", "[" },
		{ "{", "{}{" },
		{ "{", "" },
	};
	size_t nr;

	(void)state;
	write_recording();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (open_with("meta.json", changes[i][0], changes[i][1], &nr) != -EBADMSG)
			fail_msg("taken: %s", changes[i][1]);
	}
	assert_int_equal(open_with("meta.json", "\"format\": 1", "\"format\": 2", &nr),
			 -EPROTONOSUPPORT);
	/* Keys that are not known are for later versions to add. */
	assert_int_equal(open_with("meta.json", "{", "{ \"new\": {},", &nr), 0);
	assert_int_equal(nr, 3);
}

static void test_malformed_snapshot(void **state)
{
	static const char *const changes[][2] = {
		{ "\"reason\": \"trigger\"", "\"reason\": \"whim\"" },
		{ "\"number\": 1", "\"number\": 2" },
		{ "\"file\": \"10.pt\"", "\"file\": \"../2/10.pt\"" },
		{ "\"file\": \"10.pt\"", "\"file\": \"/etc/passwd\"" },
		{ "\"file\": \"10.pt\"", "\"file\": \"..\"" },
		{ "\"file\": \"10.pt\"", "\"file\": \"\"" },
		{ "\"file\": \"10.pt\"", "\"file\": null" },
		{ "\"image\": \"vdso-1\"", "\"image\": \"../../../etc/passwd\"" },
		{ "\"image\": \"vdso-1\"", "\"image\": 7" },
		{ "\"end\": \"0x2000\"", "\"end\": \"0x1000\"" },
		{ "\"tid\": 11", "\"tid\": 2147483648" },
		{ "\"tid\": 11", "\"tid\": -1" },
		{ "\"bytes\": 6", "\"bytes\": -6" },
		{ "\"trigger\": {", "\"trigger\": [], \"x\": {" },
		{ "\"processes\": [", "\"processes\": {}, \"x\": [" },
		{ "\"threads\": [", "\"threads\": [ 1," },
		{ "\"maps\": [", "\"maps\": [ []," },
		{ "\"path\": \"/bin/x y\"", "\"path\": null" },
	};
	size_t nr;

	(void)state;
	write_recording();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_int_equal(open_with("snapshots/1/snapshot.json", changes[i][0],
					   changes[i][1], &nr), 0);
		if (nr != 2)
			fail_msg("taken: %s", changes[i][1]);
	}
	/* Sizes that no file has are no reason to reserve memory for them. */
	assert_int_equal(open_with("snapshots/1/snapshot.json", "\"bytes\": 6",
				   "\"bytes\": 18446744073709551615", &nr), 0);
	assert_int_equal(nr, 3);
}

static void test_links_and_pipes_are_refused(void **state)
{
	struct mt_recording *rec;
	const uint8_t *bytes;
	size_t len;

	(void)state;
	write_recording();
	assert_int_equal(unlink(in_recording("snapshots/1/10.pt")), 0);
	assert_int_equal(symlink("/etc/passwd", in_recording("snapshots/1/10.pt")), 0);
	assert_int_equal(unlink(in_recording("snapshots/1/11.pt")), 0);
	assert_int_equal(mkfifo(in_recording("snapshots/1/11.pt"), 0600), 0);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	assert_int_equal(mt_recording_map_thread(rec, 0, 0, &bytes, &len), -ELOOP);
	assert_int_equal(mt_recording_map_thread(rec, 0, 1, &bytes, &len), -EINVAL);
	mt_recording_close(rec);

	assert_int_equal(rename(in_recording("meta.json"), in_recording("m")), 0);
	assert_int_equal(symlink("m", in_recording("meta.json")), 0);
	assert_int_equal(mt_recording_open(path, &rec), -ELOOP);
}

static void test_no_recording(void **state)
{
	struct mt_recording *rec;

	(void)state;
	assert_int_equal(mt_recording_open(path, &rec), -ENOENT);
	assert_int_equal(mt_recording_open("/etc/passwd", &rec), -ENOTDIR);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mt_recording_open(path, &rec), -ENOENT);
	put_file("meta.json", "", 0);
	assert_int_equal(mt_recording_open(path, &rec), -EBADMSG);
}

/* A full disk is an error, and what was written before is readable. */
static void test_write_fails(void **state)
{
	static const struct mt_piece pieces[][2] = { { { "a", 1 }, { NULL, 0 } } };
	struct mt_thread_info thread = { .tid = 1, .comm = (char *)"c" };
	struct mt_snapshot_info info = { .number = 2, .reason = MT_REASON_EXIT,
					 .threads = &thread, .nr_threads = 1 };
	struct mt_recording_writer *w;
	struct mt_recording *rec;

	(void)state;
	assert_int_equal(mt_recording_create(path, &meta, &w), 0);
	write_snapshot(w, 1, MT_REASON_EXIT);
	assert_int_equal(rename(in_recording("snapshots"), in_recording("away")), 0);
	put_file("snapshots", "", 0);
	assert_int_equal(mt_recording_add_snapshot(w, &info, pieces), -ENOTDIR);
	free(thread.file);
	mt_recording_finish(w);
	assert_int_equal(unlink(in_recording("snapshots")), 0);
	assert_int_equal(rename(in_recording("away"), in_recording("snapshots")), 0);
	assert_int_equal(mt_recording_open(path, &rec), 0);
	assert_int_equal(mt_recording_nr_snapshots(rec), 1);
	mt_recording_close(rec);
}

static void test_sideband(void **state)
{
	struct mt_recording_writer *w;
	struct mt_meta empty = {
		.tool = (char *)"", .kernel = (char *)"", .command = command,
	};
	struct mt_recording *rec;
	size_t len;

	(void)state;
	assert_int_equal(mt_recording_create(path, &empty, &w), 0);
	assert_int_equal(access(in_recording("sideband"), F_OK), -1);
	assert_int_equal(mt_recording_add_sideband(w, "some\0thing", 10), 0);
	assert_int_equal(mt_recording_add_sideband(w, " else", 5), 0);
	/* It is there before the recording ends. */
	assert_memory_equal(get_file("sideband", &len), "some\0thing else", 15);
	assert_int_equal(len, 15);
	assert_int_equal(mt_recording_finish(w), 0);
	/* Who decodes the trace does not care. */
	assert_int_equal(mt_recording_open(path, &rec), 0);
	mt_recording_close(rec);
	/* Nor is another's file written to. */
	assert_int_equal(mt_recording_remove(path), 0);
	assert_int_equal(mt_recording_create(path, &empty, &w), 0);
	assert_int_equal(symlink("/dev/full", in_recording("sideband")), 0);
	assert_int_equal(mt_recording_add_sideband(w, "x", 1), -EEXIST);
	assert_int_equal(mt_recording_finish(w), 0);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_create_refuses_what_is_there),
		TEST(test_recording_without_snapshots),
		TEST(test_short_and_missing_data),
		TEST(test_half_made_snapshot),
		TEST(test_json_cut_at_each_byte),
		TEST(test_json_changed_at_each_byte),
		TEST(test_malformed_meta),
		TEST(test_malformed_snapshot),
		TEST(test_links_and_pipes_are_refused),
		TEST(test_no_recording),
		TEST(test_sideband),
		TEST(test_write_fails),
	};

	/* Hundreds of messages are wanted here, and none of them is of interest. */
	if (!getenv("MTRACE_TEST_VERBOSE") && !freopen("/dev/null", "w", stderr))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
