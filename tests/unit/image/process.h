/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of user/image: a folder for files, commands that are asked what
 * is right, what was said on stderr, and the maps of a process that is none.
 */
#ifndef MTRACE_TESTS_IMAGE_PROCESS_H
#define MTRACE_TESTS_IMAGE_PROCESS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "user/base/elf_symbols.h"
#include "user/image/image.h"

#define BIAS	0x7f0000000000ULL

static char dir[] = "/tmp/mtrace-image-XXXXXX";

__attribute__((format(printf, 1, 2)))
static inline int shell(const char *fmt, ...)
{
	char command[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

static inline FILE *lines(const char *fmt, const char *path)
{
	char command[4096];
	FILE *f;

	snprintf(command, sizeof(command), fmt, path);
	f = popen(command, "r");
	assert_non_null(f);
	return f;
}

static inline void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static inline const char *lib(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* The value of @name in @path, by nm. */
static inline uint64_t address_of(const char *path, const char *name)
{
	char line[512], command[1024];
	unsigned long value = 0;
	FILE *f;

	snprintf(command, sizeof(command), "nm %%s | sed -n 's/^0*\\([0-9a-f]*\\) . %s$/\\1/p'",
		 name);
	f = lines(command, path);
	if (fgets(line, sizeof(line), f))
		value = strtoul(line, NULL, 16);
	pclose(f);
	assert_true(value > 0);
	return value;
}

/* What mt_warn() and mt_error() say while @fn runs. */
static char said[8192];
static int saved_stderr;

static inline void listen(void)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/stderr", dir);
	fflush(stderr);
	saved_stderr = dup(2);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	dup2(fd, 2);
	close(fd);
}

static inline void heard(void)
{
	ssize_t len;

	fflush(stderr);
	lseek(2, 0, SEEK_SET);
	len = read(2, said, sizeof(said) - 1);
	said[len > 0 ? len : 0] = '\0';
	dup2(saved_stderr, 2);
	close(saved_stderr);
}

static inline unsigned int count_of(const char *needle)
{
	unsigned int count = 0;
	const char *p = said;

	while ((p = strstr(p, needle))) {
		count++;
		p++;
	}
	return count;
}

/* The executable maps of @path as a kernel would make them. */
struct process {
	struct mt_map maps[8];
	size_t count;
	struct mt_image_cache *cache;
	struct mt_image *image;
	struct mt_resolver resolver;
	struct mt_code code;
};

static inline void map_file(struct process *p, const char *path, uint64_t bias,
			    const char *build_id)
{
	struct mt_elf *elf;
	size_t i;

	assert_int_equal(mt_elf_open(path, &elf), 0);
	for (i = 0; i < mt_elf_nr_loads(elf); i++) {
		const struct mt_elf_load *load = mt_elf_load(elf, i);

		if (!load->exec)
			continue;
		p->maps[p->count++] = (struct mt_map) {
			.start = (load->vaddr & ~0xfffULL) + bias,
			.end = ((load->vaddr + load->mem_size + 0xfff) & ~0xfffULL) + bias,
			.offset = load->offset & ~0xfffULL,
			.path = strdup(path),
		};
		if (!build_id)
			build_id = mt_elf_build_id(elf);
		if (build_id)
			p->maps[p->count - 1].build_id = strdup(build_id);
	}
	mt_elf_close(elf);
}

static inline char *in_dir(void *ctx, const char *name)
{
	char *path;

	(void)ctx;
	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

static inline void start(struct process *p)
{
	if (!p->cache)
		assert_int_equal(mt_image_cache_new(in_dir, NULL, &p->cache), 0);
	assert_int_equal(mt_image_new(p->cache, p->maps, p->count, &p->image), 0);
	p->resolver = mt_image_resolver(p->image);
	p->code = mt_image_code(p->image);
}

static inline void stop(struct process *p)
{
	size_t i;

	mt_image_free(p->image);
	mt_image_cache_free(p->cache);
	for (i = 0; i < p->count; i++) {
		free(p->maps[i].path);
		free(p->maps[i].build_id);
		free(p->maps[i].image);
	}
	memset(p, 0, sizeof(*p));
}

static inline const struct mt_function *find(const struct process *p, uint64_t addr)
{
	const struct mt_function *function = p->resolver.find(p->resolver.ctx, addr);

	assert_non_null(function);
	return function;
}

#endif /* MTRACE_TESTS_IMAGE_PROCESS_H */
