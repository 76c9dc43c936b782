/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording (recording.h) as the judges read it: bytes, image and description
 * as libipt wants them.
 *
 * Must not know: what is judged.
 */
#ifndef TRACE_H
#define TRACE_H

#include "executed.h"

#include <intel-pt.h>

struct bytes {
	uint8_t *data;
	size_t size;
};

struct trace {
	struct pt_config config;
	size_t size;
	struct executed_choice executed;
	char image_path[4096];
};

/* Ends the program with status 2: its input is no subject for a judge. */
void __attribute__((noreturn, format(printf, 1, 2))) unusable(const char *fmt, ...);

/* A private copy of a file, which may be changed. */
struct bytes map_file(const char *path);

void trace_load(const char *prefix, struct trace *trace);

/* The code of the recording's image; to live as long as the program. */
struct pt_image *trace_image(const struct trace *trace);

#endif
