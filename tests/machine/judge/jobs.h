/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A judge's verdicts on many recordings, several at a time: each in a process of
 * its own, so that one does not disturb another.
 */
#ifndef JOBS_H
#define JOBS_H

#include <stdint.h>

/*
 * Calls @judge for each prefix, at most @at_once at a time. It returns 0 for
 * right and 1 for wrong, prints lines that begin with "#", and counts something
 * in *@count. Prints "ok NAME" or "not ok NAME" for each, with what it printed
 * below, in order; adds the counts to *@sum. Returns the worst status.
 */
int jobs_run(char **prefixes, int n, int at_once, int (*judge)(const char *prefix, uint64_t *count),
	     uint64_t *sum);

#endif
