/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two tables of the Fuchsia trace format, as its writer keeps them: strings
 * and threads get small numbers, and when the numbers run out, the one that was
 * given out longest ago is given out again. Knows nothing of records.
 */
#ifndef MTRACE_OUTPUT_FXT_TABLES_H
#define MTRACE_OUTPUT_FXT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_FXT_STRINGS	32767	/* indices 1 to this; 0 is the empty string */
#define MT_FXT_THREADS	255	/* likewise; 0 is "inline" */

struct mt_fxt_strings;

int mt_fxt_strings_new(struct mt_fxt_strings **out);
void mt_fxt_strings_free(struct mt_fxt_strings *strings);

/*
 * Begin an event: strings that are looked up from here to the next call keep
 * their index at least until then.
 */
void mt_fxt_strings_event(struct mt_fxt_strings *strings);

/*
 * The index of @text in *@index; *@is_new: the table of the reader does not know
 * it yet, so it must be told. 0 or -ENOMEM (a message has been given).
 */
int mt_fxt_strings_find(struct mt_fxt_strings *strings, const char *text, uint16_t *index,
			bool *is_new);

struct mt_fxt_threads {
	struct {
		uint64_t pid;
		uint64_t tid;
	} thread[MT_FXT_THREADS];
	unsigned int count;
	unsigned int next;	/* to be replaced, once all are in use */
};

/* Likewise for a thread. */
uint8_t mt_fxt_threads_find(struct mt_fxt_threads *threads, uint64_t pid, uint64_t tid,
			    bool *is_new);

#endif /* MTRACE_OUTPUT_FXT_TABLES_H */
