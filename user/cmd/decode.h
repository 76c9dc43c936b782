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
 * of that name (or that a link of that name leads to) is kept with ".old" behind its
 * name. Files appear, and old ones
 * are replaced, only when all is done.
 *
 * Returns 0; -ENODATA if there was nothing to decode (no snapshot, or no bytes in
 * any); another -errno on failure. A message has been given then.
 */
int mt_cmd_decode_files(const char *recording, const char *const *outputs, size_t nr_outputs);

/*
 * Can these be the outputs of mt_cmd_decode_files()? To be asked before anything is
 * recorded. Returns 0 or -errno after one message. Touches no file.
 */
int mt_cmd_check_outputs(const char *const *outputs, size_t nr_outputs);

#endif /* MTRACE_CMD_DECODE_H */
