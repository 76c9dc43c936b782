// SPDX-License-Identifier: GPL-2.0
/*
 * The spool's file and its mapping. Blocks are reserved before they are mapped:
 * a store to a page that the file system has no room for would be a SIGBUS.
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

#define SPOOL_FIRST	(64UL << 10)	/* most snapshots need no more */
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

static int spool_grow(struct mt_spool *spool)
{
	size_t more = spool->mapped ? spool->mapped : SPOOL_FIRST;
	size_t size;
	void *map;
	int err;

	if (spool->fd < 0) {
		err = spool_open(spool);
		if (err)
			return err;
	}
	if (more > SPOOL_STEP)
		more = SPOOL_STEP;
	size = spool->mapped + more;

	err = -posix_fallocate(spool->fd, (off_t)spool->mapped, (off_t)more);
	if (err) {
		mt_error("%s: no room for a temporary file of %zu bytes: %s; "
			 "set TMPDIR to a directory with more",
			 spool_directory(), size, strerror(-err));
		return err;
	}
	if (spool->mapped)
		map = mremap(spool->map, spool->mapped, size, MREMAP_MAYMOVE);
	else
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, spool->fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		mt_error("cannot map a temporary file of %zu bytes: %s", size, strerror(-err));
		return err;
	}
	spool->map = map;
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
