/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One output file: buffered, compressed where its name says so, and put in its
 * place only when it is whole. Knows nothing of what is in it.
 *
 * Errors are -errno, and a message that names the file has then been given, once.
 */
#ifndef MTRACE_OUTPUT_FILE_H
#define MTRACE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_outfile;

/*
 * Begin a file that will be @path; @gz: compress it. What is at @path stays until
 * mt_outfile_commit(), unless it is no regular file, which is written to directly.
 */
int mt_outfile_open(const char *path, bool gz, struct mt_outfile **out);

/* Append. After an error all calls but mt_outfile_close() give it again. */
int mt_outfile_write(struct mt_outfile *file, const void *data, size_t len);
int mt_outfile_printf(struct mt_outfile *file, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Append @count blanks. */
int mt_outfile_pad(struct mt_outfile *file, size_t count);

/* Write what is buffered and put the file in its place. */
int mt_outfile_commit(struct mt_outfile *file);

/* Free; what was not committed is removed. */
void mt_outfile_close(struct mt_outfile *file);

#endif /* MTRACE_OUTPUT_FILE_H */
