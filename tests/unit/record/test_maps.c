// SPDX-License-Identifier: GPL-2.0
/* Mappings: lines of /proc/PID/maps, and this process's own. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/record/code.h"
#include "user/record/maps.h"

static int parse(const char *text, struct mt_mapping *mapping)
{
	char line[512];

	strcpy(line, text);
	return mt_mapping_parse(line, mapping);
}

static void test_parse(void **state)
{
	struct mt_mapping map;

	(void)state;
	assert_int_equal(parse("55d0c8a00000-55d0c8a21000 r-xp 00002000 fd:01 1234567    "
			       "                /usr/bin/a b (deleted)\n", &map), 1);
	assert_true(map.start == 0x55d0c8a00000 && map.end == 0x55d0c8a21000);
	assert_true(map.offset == 0x2000 && map.inode == 1234567);
	assert_true(map.dev == makedev(0xfd, 1));
	assert_string_equal(map.path, "/usr/bin/a b (deleted)");
	free(map.path);
	assert_int_equal(parse("7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n", &map), 1);
	assert_string_equal(map.path, "");
	assert_true(map.inode == 0);
	free(map.path);
	assert_int_equal(parse("7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0          [vdso]\n",
			       &map), 1);
	assert_string_equal(map.path, "[vdso]");
	free(map.path);
	assert_int_equal(parse("1000-2000 --xp 00000000 00:00 5 /a\\012b", &map), 1);
	assert_string_equal(map.path, "/a\nb");
	free(map.path);
	assert_int_equal(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   "
			       "[vsyscall]\n", &map), 1);
	assert_true(map.start == 0xffffffffff600000);
	free(map.path);
	assert_int_equal(parse("1000-2000 r--p 00000000 00:00 5 /a", &map), 0);
	assert_int_equal(parse("", &map), -EINVAL);
	assert_int_equal(parse("1000-2000 r-xp", &map), -EINVAL);
	assert_int_equal(parse("nonsense", &map), -EINVAL);
}

static const struct mt_mapping *find(const mt_mappings *maps, uintptr_t address)
{
	for (size_t i = 0; i < maps->count; i++) {
		if (address >= maps->data[i].start && address < maps->data[i].end)
			return &maps->data[i];
	}
	return NULL;
}

static void test_own(void **state)
{
	uint8_t code[64];
	char path[MT_MAPPING_PATH_LEN], self[4096] = "";
	const struct mt_mapping *map;
	mt_mappings maps = { 0 };
	struct stat one, other;

	(void)state;
	assert_int_equal(mt_mappings_read(getpid(), &maps), 0);
	map = find(&maps, (uintptr_t)test_own);
	assert_non_null(map);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_string_equal(map->path, self);
	assert_true(mt_mapping_has_file(getpid(), map));
	assert_int_equal(mt_mapping_file(getpid(), map, path), 0);
	assert_int_equal(stat(path, &one), 0);
	assert_int_equal(stat("/proc/self/exe", &other), 0);
	assert_true(one.st_ino == other.st_ino && one.st_dev == other.st_dev);
	assert_null(find(&maps, (uintptr_t)self));

	assert_int_equal(mt_memory_read(getpid(), (uintptr_t)test_own, code, sizeof(code)), 64);
	assert_memory_equal(code, (const void *)(uintptr_t)test_own, 64);
	assert_true(mt_memory_read(getpid(), 16, code, sizeof(code)) <= 0);
	assert_true(mt_auxv(getpid(), AT_ENTRY) == getauxval(AT_ENTRY));
	assert_true(mt_auxv(getpid(), AT_PHDR) == getauxval(AT_PHDR));
	assert_true(mt_auxv(getpid(), 99999) == 0);
	mt_mappings_free(&maps);
	/* No such process: pid_max is at most 2^22. */
	assert_int_equal(mt_mappings_read(1 << 22, &maps), -ESRCH);
}

static const struct mt_map *find_map(const struct mt_process_info *process, const void *address)
{
	for (size_t i = 0; i < process->nr_maps; i++) {
		if ((uintptr_t)address >= process->maps[i].start &&
		    (uintptr_t)address < process->maps[i].end)
			return &process->maps[i];
	}
	return NULL;
}

/* Read @path whole into @bytes; returns how much there is. */
static size_t slurp(const char *path, void *bytes, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t len;

	assert_non_null(file);
	len = fread(bytes, 1, room, file);
	fclose(file);
	return len;
}

/*
 * What the recording has of a process with code in a file, in the vdso, in memory
 * alone, and in a file that was deleted.
 */
static void test_code(void **state)
{
	static uint8_t bytes[65536];
	struct mt_meta meta = { .tool = (char *)"t", .kernel = (char *)"k" };
	char dir[] = "/tmp/mtrace-test-XXXXXX", name[64], image[512];
	struct mt_process_info process;
	struct mt_recording_writer *w;
	struct mt_code *code = mt_code_new();
	const struct mt_map *map;
	void *jit, *gone, *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/rec", dir);
	assert_int_equal(mt_recording_create(name, &meta, &w), 0);
	assert_int_equal(mt_code_copy(code, &process), -ENOENT);

	jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	assert_true(jit != MAP_FAILED);
	memset(jit, 0xc3, 4096);
	snprintf(image, sizeof(image), "%s/gone", dir);
	fd = open(image, O_RDWR | O_CREAT, 0700);
	assert_true(fd >= 0 && write(fd, jit, 4096) == 4096);
	gone = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(gone != MAP_FAILED);
	close(fd);
	assert_int_equal(unlink(image), 0);

	assert_int_equal(mt_code_read(code, getpid(), getpid(), MT_CODE_ALL, w), 0);
	assert_int_equal(mt_code_copy(code, &process), 0);
	assert_int_equal(process.pid, getpid());
	assert_string_equal(process.comm, "test_maps");
	map = find_map(&process, (void *)test_code);
	assert_non_null(map);
	assert_null(map->image);
	assert_non_null(map->build_id);
	map = find_map(&process, jit);
	assert_non_null(map);
	assert_non_null(map->image);
	assert_string_equal(map->path, "");
	snprintf(image, sizeof(image), "%s/images/%s", name, map->image);
	assert_int_equal(slurp(image, bytes, sizeof(bytes)), map->end - map->start);
	assert_memory_equal(bytes + ((uintptr_t)jit - map->start), jit, 4096);
	map = find_map(&process, gone);
	assert_non_null(map);
	assert_non_null(map->image);
	assert_non_null(strstr(map->path, "(deleted)"));
	map = find_map(&process, vdso);
	if (vdso) {
		assert_non_null(map);
		assert_string_equal(map->path, "[vdso]");
		snprintf(image, sizeof(image), "%s/images/%s", name, map->image);
		assert_int_equal(slurp(image, bytes, sizeof(bytes)), map->end - map->start);
		assert_memory_equal(bytes, vdso, map->end - map->start);
	}
	mt_process_info_free(&process);

	/* What is gone now was there when it was read last. */
	munmap(jit, 4096);
	munmap(gone, 4096);
	assert_int_equal(mt_code_read(code, 1 << 22, 1 << 22, MT_CODE_ALL, w), -ESRCH);
	assert_int_equal(mt_code_copy(code, &process), 0);
	assert_non_null(find_map(&process, jit));
	mt_process_info_free(&process);
	mt_code_free(code);
	mt_recording_finish(w);
	assert_int_equal(mt_recording_remove(dir), 0);
	assert_int_equal(access(dir, F_OK), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
