// SPDX-License-Identifier: GPL-2.0
/*
 * The spool's memory, and from a certain size on its file and the mapping of that.
 * Blocks of the file are reserved before they are mapped: a store to a page that
 * the file system has no room for would be a SIGBUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <limits.h>
#include <stdio.h>

#include "user/base/log.h"
#include "user/timeline/spool.h"

#define SPOOL_FIRST	(64UL << 10)
#define SPOOL_MEMORY	(1UL << 20)	/* files are slow to make; most tracks need none */
#define SPOOL_STEP	(1UL << 30)	/* the most that is added at once */

static const char *spool_directory(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/var/tmp";
}

static int spool_open(struct mt_spool *spool)
{
	const char *dir = spool_directory();
	char path[PATH_MAX];
	int err;

	spool->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spool->fd >= 0)
		return 0;
	/* Not every file system knows O_TMPFILE. */
	if (snprintf(path, sizeof(path), "%s/mtrace-XXXXXX", dir) >= (int)sizeof(path)) {
		mt_error("%s: the name of the temporary directory is too long", dir);
		return -ENAMETOOLONG;
	}
	spool->fd = mkostemp(path, O_CLOEXEC);
	if (spool->fd < 0) {
		err = -errno;
		mt_error("%s: cannot create a temporary file: %s", dir, strerror(-err));
		return err;
	}
	unlink(path);
	return 0;
}

/* Reserve @more bytes of the file behind the @size that it has. */
static int spool_reserve(struct mt_spool *spool, size_t size, size_t more)
{
	int err = -posix_fallocate(spool->fd, (off_t)size, (off_t)more);

	if (err)
		mt_error("%s: no room for a temporary file of %zu bytes: %s; "
			 "set TMPDIR to a directory with more",
			 spool_directory(), size + more, strerror(-err));
	return err;
}

static int spool_fail(const char *what, size_t size)
{
	int err = -errno;

	mt_error("cannot map %s of %zu bytes: %s", what, size, strerror(-err));
	return err;
}

/* From memory to a file of @size bytes. */
static int spool_move(struct mt_spool *spool, size_t size)
{
	void *map;
	int err;

	err = spool_open(spool);
	if (!err)
		err = spool_reserve(spool, 0, size);
	if (err)
		return err;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, spool->fd, 0);
	if (map == MAP_FAILED)
		return spool_fail("a temporary file", size);
	memcpy(map, spool->map, spool->count * spool->elem);
	munmap(spool->map, spool->mapped);
	spool->map = map;
	return 0;
}

static int spool_grow(struct mt_spool *spool)
{
	size_t more = spool->mapped ? spool->mapped : SPOOL_FIRST;
	size_t size;
	void *map;
	int err = 0;

	if (more > SPOOL_STEP)
		more = SPOOL_STEP;
	size = spool->mapped + more;
	if (spool->fd < 0 && size > SPOOL_MEMORY) {
		err = spool_move(spool, size);
	} else {
		if (spool->fd >= 0)
			err = spool_reserve(spool, spool->mapped, more);
		if (err)
			return err;
		if (spool->mapped)
			map = mremap(spool->map, spool->mapped, size, MREMAP_MAYMOVE);
		else
			map = mmap(NULL, size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED)
			return spool_fail(spool->fd < 0 ? "memory" : "a temporary file", size);
		spool->map = map;
	}
	if (err)
		return err;
	spool->mapped = size;
	spool->room = size / spool->elem;
	return 0;
}

void mt_spool_init(struct mt_spool *spool, size_t elem)
{
	memset(spool, 0, sizeof(*spool));
	spool->elem = elem;
	spool->fd = -1;
}

void mt_spool_free(struct mt_spool *spool)
{
	if (spool->mapped)
		munmap(spool->map, spool->mapped);
	if (spool->fd >= 0)
		close(spool->fd);
	mt_spool_init(spool, spool->elem);
}

int mt_spool_push(struct mt_spool *spool, void **element)
{
	int err;

	if (spool->count == spool->room) {
		err = spool_grow(spool);
		if (err)
			return err;
	}
	*element = mt_spool_at(spool, spool->count++);
	return 0;
}
