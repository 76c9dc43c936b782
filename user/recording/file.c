// SPDX-License-Identifier: GPL-2.0
/* Opening, reading and writing of a recording's files; see the header. */
#include "user/recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool mt_file_is_plain_name(const char *name)
{
	return *name && strlen(name) <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

int mt_file_open(int dirfd, const char *name, struct stat *st)
{
	/* O_NONBLOCK: a pipe put there by somebody must not hold the reader up. */
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode))
		err = -EINVAL;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int mt_file_map(int dirfd, const char *dir, const char *name, uint64_t max,
		const uint8_t **bytes, size_t *len)
{
	void *mapping = NULL;
	struct stat st = { 0 };
	int folder, fd, err = 0;

	*bytes = NULL;
	*len = 0;
	folder = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	fd = mt_file_open(folder, name, &st);
	close(folder);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size < max)
		max = st.st_size;
	if (max)
		mapping = mmap(NULL, max, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapping == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	*bytes = mapping;
	*len = max;
	return 0;
}

ssize_t mt_file_read(int fd, void *bytes, size_t len)
{
	size_t done = 0;
	ssize_t got;

	while (done < len) {
		got = read(fd, (char *)bytes + done, len - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += got;
	}
	return done;
}

int mt_file_write(int fd, const void *bytes, size_t len)
{
	size_t done = 0;
	ssize_t put;

	while (done < len) {
		put = write(fd, (const char *)bytes + done, len - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		done += put;
	}
	return 0;
}
