/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opening of a file whose name came from somewhere else: a recording, a process's
 * maps, a build-id. Knows nothing of what is in it.
 */
#ifndef MTRACE_BASE_REGULAR_H
#define MTRACE_BASE_REGULAR_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Open @path to be read, if it is a regular file: a pipe of that name does not
 * hold the caller up. @follow: a symbolic link as well as what it leads to.
 * Returns the descriptor, with *@st set; -EINVAL if it is no regular file; -errno.
 */
int mt_regular_open(const char *path, bool follow, struct stat *st);

#endif /* MTRACE_BASE_REGULAR_H */
