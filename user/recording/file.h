/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of a recording: opening without being led astray, reading and writing
 * whole. Gives no messages.
 */
#ifndef MTRACE_RECORDING_FILE_H
#define MTRACE_RECORDING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* True for a name that stays in its folder: no slash, not "." or "..", not empty. */
bool mt_file_is_plain_name(const char *name);

/*
 * Open a regular file for reading, not through a symbolic link: a recording from
 * elsewhere must not show this machine's files. Returns the descriptor, with
 * *@st filled, or -errno (-EINVAL if it is no regular file).
 */
int mt_file_open(int dirfd, const char *name, struct stat *st);

/*
 * Map up to @max bytes of file @name in folder @dir, opened as by mt_file_open():
 * *@bytes of *@len, 0 and NULL if it is empty. Returns 0 or -errno.
 */
int mt_file_map(int dirfd, const char *dir, const char *name, uint64_t max,
		const uint8_t **bytes, size_t *len);

/* Read up to @len bytes; fewer only at the end of the file. Returns them or -errno. */
ssize_t mt_file_read(int fd, void *bytes, size_t len);

/* Write all of @len bytes. Returns 0 or -errno. */
int mt_file_write(int fd, const void *bytes, size_t len);

#endif /* MTRACE_RECORDING_FILE_H */
