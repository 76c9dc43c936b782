// SPDX-License-Identifier: GPL-2.0
/*
 * What a recording's maps may name besides a file: nothing of it holds the decoder
 * up, or is believed to be code.
 */
#include <signal.h>
#include <sys/stat.h>

#include "tests/unit/image/process.h"

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	write_file("code", "ABCDEFGH");
	write_file("hollow", "");
	assert_int_equal(shell("cd %s && mkfifo fifo && ln -s code alias && "
			       "ln -s fifo fifo-link && mkdir folder", dir), 0);
	/* A pipe that nobody writes to would hold the test up for ever. */
	alarm(60);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return shell("rm -rf %s", dir);
}

/* Two processes map @path, or the image @image: one warning. */
static void start_two(struct process *p, const char *path, const char *image, const char *build_id)
{
	struct mt_image *second;

	p->maps[0] = (struct mt_map) { .start = 0x400000, .end = 0x401000 };
	p->maps[0].path = strdup(path);
	p->maps[0].image = image ? strdup(image) : NULL;
	p->maps[0].build_id = build_id ? strdup(build_id) : NULL;
	listen();
	start(p);
	assert_int_equal(mt_image_new(p->cache, p->maps, p->count, &second), 0);
	heard();
	mt_image_free(second);
	assert_int_equal(count_of("\n"), 1);
}

/* There is no code of it. */
static void check_missing(const char *path, const char *image, const char *build_id,
			  const char *why)
{
	struct process p = { .count = 1 };
	uint8_t byte;

	start_two(&p, path, image, build_id);
	assert_int_equal(count_of(image ? image : path), 1);
	assert_int_equal(count_of(why), 1);
	assert_int_equal(p.code.read(p.code.ctx, 0x400000, &byte, 1), 0);
	assert_non_null(strstr(find(&p, 0x400000)->name, "+0x0"));
	stop(&p);
}

static void test_no_file(void **state)
{
	static const char *const names[] = { "fifo", "fifo-link", "folder" };
	char path[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		check_missing(path, NULL, NULL, "no regular file");
		check_missing(path, NULL, "0123456789abcdef", "no regular file");
	}
	check_missing("/dev/zero", NULL, NULL, "no regular file");
	snprintf(path, sizeof(path), "%s/hollow", dir);
	check_missing(path, NULL, NULL, "it is empty");
}

static void test_no_image(void **state)
{
	(void)state;
	check_missing("[vdso]", "fifo", NULL, "no regular file");
	check_missing("[vdso]", "folder", NULL, "no regular file");
	check_missing("[vdso]", "hollow", NULL, "it is empty");
	/* In a recording no link is followed; of a file of this machine it is. */
	check_missing("[vdso]", "alias", NULL, strerror(ELOOP));
}

/* Of an image that is cut short there is what is left of it, and one warning. */
static void test_short_image(void **state)
{
	struct process p = { .count = 1 };
	uint8_t bytes[8];

	(void)state;
	start_two(&p, "[vdso]", "code", NULL);
	assert_int_equal(count_of("code, the code of [vdso], is cut short: it has 8 of 4096 bytes"),
			 1);
	assert_int_equal(p.code.read(p.code.ctx, 0x400002, bytes, sizeof(bytes)), 6);
	stop(&p);
}

static void test_link(void **state)
{
	struct process p = { .count = 1 };
	uint8_t byte;

	(void)state;
	p.maps[0] = (struct mt_map) { .start = 0x400000, .end = 0x401000 };
	assert_true(asprintf(&p.maps[0].path, "%s/alias", dir) > 0);
	listen();
	start(&p);
	heard();
	assert_int_equal(count_of("\n"), 0);
	assert_int_equal(p.code.read(p.code.ctx, 0x400001, &byte, 1), 1);
	assert_int_equal(byte, 'B');
	stop(&p);
}

/* As a separate debug file, which is looked for by the build-id. */
static void test_debug_file(void **state)
{
	static const char folder[] = "/usr/lib/debug/.build-id/0f";
	struct process p = { 0 };

	(void)state;
	write_file("a.c", "int f(int x) { return x + 1; }\n");
	if (shell("cd %s && gcc -shared -fPIC -Wl,--build-id=0x0f5e6d7c8b9a01234567 -o a.so a.c",
		  dir) || shell("mkdir -p %s 2>/dev/null", folder))
		skip();
	assert_int_equal(shell("rm -f %s/5e6d7c8b9a01234567.debug; "
			       "mkfifo %s/5e6d7c8b9a01234567.debug", folder, folder), 0);
	map_file(&p, lib("a.so"), BIAS, NULL);
	listen();
	start(&p);
	heard();
	shell("rm %s/5e6d7c8b9a01234567.debug; cd /usr/lib && "
	      "rmdir -p --ignore-fail-on-non-empty debug/.build-id/0f", folder);
	assert_int_equal(count_of("\n"), 0);
	assert_string_equal(find(&p, BIAS + address_of(lib("a.so"), "f"))->name, "f");
	stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_no_image),
		cmocka_unit_test(test_short_image),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_debug_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
