/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an output format provides, and what all of them need. Private to
 * user/output.
 */
#ifndef MTRACE_OUTPUT_FORMAT_H
#define MTRACE_OUTPUT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "user/output/file.h"
#include "user/recording/recording.h"
#include "user/timeline/slice.h"

/*
 * Called in the order open, { snapshot, { track_begin, slice..., track_end }... }...,
 * finish, free; free alone after an error. All but free return 0 or -errno, after
 * a message.
 */
struct mt_format {
	const char *ending;		/* of file names, such as ".csv" */
	int (*open)(struct mt_outfile *file, void **state);
	int (*snapshot)(void *state, const struct mt_snapshot_info *info);
	int (*track_begin)(void *state, const struct mt_track *track);
	int (*slice)(void *state, const struct mt_slice *slice);
	int (*track_end)(void *state);
	int (*finish)(void *state);
	void (*free)(void *state);
};

extern const struct mt_format mt_format_fxt;
extern const struct mt_format mt_format_text;
extern const struct mt_format mt_format_csv;

/* The words of @flags (slice.h) with @separator between them; "" for none. */
#define MT_FLAGS_TEXT_MAX	96
void mt_flags_text(uint32_t flags, const char *separator, char text[MT_FLAGS_TEXT_MAX]);

/* "trigger", "command", "exit" */
const char *mt_reason_text(enum mt_reason reason);

/*
 * Copy at most @len bytes of @from with control characters and what is not UTF-8
 * replaced by '?', not ending within a character. Returns the bytes written to
 * @to, which has room for @len; they are not terminated.
 */
size_t mt_clean_text(const char *from, char *to, size_t len);

#endif /* MTRACE_OUTPUT_FORMAT_H */
