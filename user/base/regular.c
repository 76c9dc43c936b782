// SPDX-License-Identifier: GPL-2.0
/* Opening of regular files only; see the header. */
#include "user/base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int mt_regular_open(const char *path, bool follow, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
		      (follow ? 0 : O_NOFOLLOW));
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0)
		err = -errno;
	else if (!S_ISREG(st->st_mode))
		err = -EINVAL;
	if (!err)
		return fd;
	close(fd);
	return err;
}
