/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output files: slices in, files in the format that each name's ending tells.
 * Knows slices and snapshots, nothing of how they were found. A format is one
 * file here and one row of the table in output.c.
 *
 *	mt_output_open -> for each snapshot: mt_output_snapshot, then the tracks
 *	through mt_output_sink -> mt_output_commit -> mt_output_close
 *
 * A file appears under its name only when it is complete: it is written beside
 * it and renamed by mt_output_commit(). A name that exists and is no regular file
 * (a device, a pipe) is written to directly. A symbolic link stays: the file that it
 * leads to is replaced, or made where there is none yet.
 *
 * Errors are -errno, and a message that names the file has then been given.
 */
#ifndef MTRACE_OUTPUT_OUTPUT_H
#define MTRACE_OUTPUT_OUTPUT_H

#include <stddef.h>

#include "user/recording/recording.h"
#include "user/timeline/slice.h"

struct mt_output;		/* a set of files that are fed alike */

/*
 * Is there a format for the ending of @path, in capitals or not? Returns 0, or
 * -EINVAL with a message that lists the endings that are known. Touches no file.
 */
int mt_output_check_name(const char *path);

/*
 * Can @paths be the outputs: does each one's ending name a format, can a file be made
 * there, are no two the same? Returns 0 or -errno after one message. Touches no file.
 */
int mt_output_check(const char *const *paths, size_t count);

/*
 * The file that is replaced, or made, where @path is opened: that which a link leads
 * to, whether it exists or not; to be freed. Returns 0 or -errno, without a message.
 */
int mt_output_resolve(const char *path, char **out);

/* The endings that are known, as help shows them: ".fxt .fxt.gz .txt ...". */
const char *mt_output_endings(void);

/* Open @count files. Nothing is left behind on failure. */
int mt_output_open(const char *const *paths, size_t count, struct mt_output **out);

/* The slices that follow are of this snapshot; @info is used until the next call. */
int mt_output_snapshot(struct mt_output *output, const struct mt_snapshot_info *info);

/* Where the tracks go. */
const struct mt_sink *mt_output_sink(struct mt_output *output);

/*
 * Write what is held back and put each file in its place. On failure the files
 * that are not yet in place are discarded by mt_output_close().
 */
int mt_output_commit(struct mt_output *output);

/* Free; files that were not committed are removed. */
void mt_output_close(struct mt_output *output);

#endif /* MTRACE_OUTPUT_OUTPUT_H */
