/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decoding of a whole recording into output files, for `decode` and for `run`.
 */
#ifndef MTRACE_CMD_DECODE_H
#define MTRACE_CMD_DECODE_H

#include <stddef.h>

/* Where the trace goes when no output is named. */
#define MT_DEFAULT_OUTPUT	"trace.fxt.gz"

/*
 * Decode all of @recording in one pass into each of @outputs, and say at the end
 * what there was. With @nr_outputs 0 the output is MT_DEFAULT_OUTPUT, and a file
 * of that name is kept as MT_DEFAULT_OUTPUT ".old". Files appear, and old ones
 * are replaced, only when all is done.
 *
 * Returns 0; -ENODATA if there was nothing to decode (no snapshot, or no bytes in
 * any); another -errno on failure. A message has been given then.
 */
int mt_cmd_decode_files(const char *recording, const char *const *outputs, size_t nr_outputs);

/*
 * Can @path be an output: does its ending name a format, can its folder be
 * written to? Returns 0 or -errno after one message. Touches no file.
 */
int mt_output_check(const char *path);

#endif /* MTRACE_CMD_DECODE_H */
