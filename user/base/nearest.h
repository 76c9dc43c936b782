/* SPDX-License-Identifier: GPL-2.0 */
/*
 * "Did you mean": how far a name is from another. Knows nothing of what the
 * names are of.
 */
#ifndef MTRACE_BASE_NEAREST_H
#define MTRACE_BASE_NEAREST_H

/*
 * Edits (a character added, removed, changed, or two neighbours exchanged)
 * that make @b of @a; @limit + 1 if more than @limit. Case is one edit a word,
 * not one a letter: only upper against lower case throughout counts 1.
 */
unsigned int mt_name_distance(const char *a, const char *b, unsigned int limit);

/* Edits up to which a name of this length is worth suggesting. */
unsigned int mt_name_near(const char *name);

#endif /* MTRACE_BASE_NEAREST_H */
