/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file for each processor: PREFIX.N.
 */
#ifndef CPU_FILE_H
#define CPU_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the program, with a message, if it cannot be made. */
static inline FILE *cpu_file_create(const char *prefix, unsigned int index)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%u", prefix, index);
	file = fopen(path, "wb");
	if (!file) {
		fprintf(stderr, "ptemu: cannot write %s\n", path);
		exit(1);
	}
	return file;
}

#endif
