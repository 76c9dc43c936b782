/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What code a process runs at this moment, as a recording keeps it: its maps,
 * with build-ids, and the bytes of what no file holds (vdso, JIT, deleted files).
 */
#ifndef MTRACE_RECORD_CODE_H
#define MTRACE_RECORD_CODE_H

#include <sys/types.h>

#include "user/recording/recording.h"

struct mt_code;

/* NULL for want of memory. */
struct mt_code *mt_code_new(void);
void mt_code_free(struct mt_code *code);

enum mt_code_bytes {
	MT_CODE_SMALL,	/* of mappings as small as the vdso: for readings that are many */
	MT_CODE_ALL,
};

/*
 * Read the maps of process @pid, by its live thread @tid, and keep a copy for
 * when it is gone. Images, of those mappings that @bytes says, go to @w. Returns 0
 * or -errno; after a message, but for -ESRCH: the process has no memory (left).
 */
int mt_code_read(struct mt_code *code, pid_t pid, pid_t tid, enum mt_code_bytes bytes,
		 struct mt_recording_writer *w);

/*
 * A copy of what was read last, for a snapshot's process; its contents are freed
 * by mt_snapshot_info_free(). Returns 0; -ENOENT if nothing was ever read; -ENOMEM.
 */
int mt_code_copy(const struct mt_code *code, struct mt_process_info *process);

#endif /* MTRACE_RECORD_CODE_H */
