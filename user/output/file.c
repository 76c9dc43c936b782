// SPDX-License-Identifier: GPL-2.0
/*
 * Writes go to a buffer, then through zlib or straight to a file beside the
 * final one, which rename() puts in its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "user/base/log.h"
#include "user/output/file.h"
#include "user/output/output.h"

#define BUFFER_SIZE	(256U << 10)
#define GZ_LEVEL	4		/* twice as fast as 6, and 5 % longer */
#define GZ_WINDOW	(15 + 16)	/* zlib: the largest window, and a gzip header */
#define TRIES		100		/* for a name that is free */
#define STEM		200		/* bytes of a name that a temporary one has */

struct mt_outfile {
	char *path;		/* as it was given, for messages */
	char *final;		/* where it goes; NULL: it is written to directly */
	char *temporary;	/* until then; NULL: there is none (any more) */
	int fd;
	int err;		/* the first error */
	bool gz;
	z_stream stream;
	size_t used;
	unsigned char buffer[BUFFER_SIZE];
	unsigned char compressed[BUFFER_SIZE];
};

static int fail(struct mt_outfile *file, int err)
{
	if (!file->err) {
		file->err = err;
		mt_error("%s: cannot be written: %s", file->path, strerror(-err));
	}
	return file->err;
}

static int write_all(struct mt_outfile *file, const unsigned char *data, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(file->fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(file, -errno);
		/* A file that takes nothing and says nothing is full. */
		if (!n)
			return fail(file, -ENOSPC);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int deflate_all(struct mt_outfile *file, int flush)
{
	size_t len;
	int err;

	file->stream.next_in = file->buffer;
	file->stream.avail_in = (unsigned int)file->used;
	do {
		file->stream.next_out = file->compressed;
		file->stream.avail_out = BUFFER_SIZE;
		if (deflate(&file->stream, flush) == Z_STREAM_ERROR)
			return fail(file, -EIO);
		len = BUFFER_SIZE - file->stream.avail_out;
		err = write_all(file, file->compressed, len);
		if (err)
			return err;
	} while (!file->stream.avail_out);
	return 0;
}

static int flush_buffer(struct mt_outfile *file, bool last)
{
	int err;

	if (file->gz)
		err = deflate_all(file, last ? Z_FINISH : Z_NO_FLUSH);
	else
		err = write_all(file, file->buffer, file->used);
	file->used = 0;
	return err;
}

/* A new file in the folder of file->final, which it can be renamed to. */
static int open_temporary(struct mt_outfile *file)
{
	const char *slash = strrchr(file->final, '/');
	int folder = slash ? (int)(slash + 1 - file->final) : 0;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		if (asprintf(&file->temporary, "%.*s.%.*s.%d-%u", folder, file->final, STEM,
			     file->final + folder, (int)getpid(), i) < 0) {
			file->temporary = NULL;
			return -ENOMEM;
		}
		file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (file->fd >= 0)
			return 0;
		free(file->temporary);
		file->temporary = NULL;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int open_file(struct mt_outfile *file)
{
	struct stat st;
	int err;

	if (!stat(file->path, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return file->fd < 0 ? -errno : 0;
	}
	err = mt_output_resolve(file->path, &file->final);
	return err ? err : open_temporary(file);
}

int mt_outfile_open(const char *path, bool gz, struct mt_outfile **out)
{
	struct mt_outfile *file = calloc(1, sizeof(*file));
	int err;

	if (!file) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		mt_error("out of memory");
		return -ENOMEM;
	}
	err = open_file(file);
	if (!err && gz) {
		if (deflateInit2(&file->stream, GZ_LEVEL, Z_DEFLATED, GZ_WINDOW, 8,
				 Z_DEFAULT_STRATEGY) == Z_OK)
			file->gz = true;
		else
			err = -ENOMEM;
	}
	if (err) {
		fail(file, err);
		mt_outfile_close(file);
		return err;
	}
	*out = file;
	return 0;
}

int mt_outfile_write(struct mt_outfile *file, const void *data, size_t len)
{
	const unsigned char *from = data;
	size_t part;
	int err;

	if (file->err)
		return file->err;
	while (len) {
		part = BUFFER_SIZE - file->used;
		if (part > len)
			part = len;
		memcpy(file->buffer + file->used, from, part);
		file->used += part;
		from += part;
		len -= part;
		if (file->used < BUFFER_SIZE)
			continue;
		err = flush_buffer(file, false);
		if (err)
			return err;
	}
	return 0;
}

int mt_outfile_printf(struct mt_outfile *file, const char *fmt, ...)
{
	char buf[512];
	char *longer;
	va_list args;
	int err, len;

	va_start(args, fmt);
	len = vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	if (len < 0)
		return fail(file, -EINVAL);
	if (len < (int)sizeof(buf))
		return mt_outfile_write(file, buf, (size_t)len);

	va_start(args, fmt);
	len = vasprintf(&longer, fmt, args);
	va_end(args);
	if (len < 0)
		return fail(file, -ENOMEM);
	err = mt_outfile_write(file, longer, (size_t)len);
	free(longer);
	return err;
}

int mt_outfile_pad(struct mt_outfile *file, size_t count)
{
	static const char blanks[] = "                                ";
	size_t part;
	int err = 0;

	while (!err && count) {
		part = count < sizeof(blanks) - 1 ? count : sizeof(blanks) - 1;
		err = mt_outfile_write(file, blanks, part);
		count -= part;
	}
	return err;
}

int mt_outfile_commit(struct mt_outfile *file)
{
	int err, fd;

	err = file->err ? file->err : flush_buffer(file, true);
	if (err)
		return err;
	fd = file->fd;
	file->fd = -1;
	/* Some file systems tell only now that there was no room. */
	if (close(fd))
		return fail(file, -errno);
	if (!file->temporary)
		return 0;
	if (rename(file->temporary, file->final))
		return fail(file, -errno);
	free(file->temporary);
	file->temporary = NULL;
	return 0;
}

void mt_outfile_close(struct mt_outfile *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	if (file->temporary)
		unlink(file->temporary);
	if (file->gz)
		deflateEnd(&file->stream);
	free(file->temporary);
	free(file->final);
	free(file->path);
	free(file);
}
