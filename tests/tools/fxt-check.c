// SPDX-License-Identifier: GPL-2.0
/*
 * fxt-check FILE: read a Fuchsia trace (compressed or not) strictly, and print its
 * slices in the form of the tool's .csv, to be compared with one of the same
 * recording. Exit status 1, and a message, if anything is wrong in the file.
 */
#include <zlib.h>

#include "tests/tools/fxt_reader.h"

static void print_field(const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		printf("%s,", text);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	printf("\",");
}

static void print_slice(const struct fxt_event *e)
{
	printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",", e->snapshot,
	       e->pid, e->tid, e->depth, e->begin, e->end - e->begin);
	print_field(e->name);
	print_field(e->object);
	printf("0x%" PRIx64 ",%s\n", e->address, e->flags ? e->flags : "");
}

static uint8_t *read_all(const char *path, size_t *len)
{
	gzFile file = gzopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t room = 0;
	int n = 1, err;

	*len = 0;
	if (!file)
		return NULL;
	while (n > 0) {
		if (*len == room) {
			room = room ? room * 2 : 1 << 20;
			bytes = realloc(bytes, room);
			if (!bytes)
				break;
		}
		n = gzread(file, bytes + *len, (unsigned int)(room - *len < 1U << 30 ?
							      room - *len : 1U << 30));
		if (n > 0)
			*len += (size_t)n;
	}
	gzerror(file, &err);
	if (gzclose(file) != Z_OK || err != Z_OK || n < 0) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

int main(int argc, char **argv)
{
	static struct fxt_trace trace;
	uint8_t *bytes;
	size_t len, i;

	if (argc != 2) {
		fprintf(stderr, "usage: fxt-check FILE\n");
		return 2;
	}
	bytes = read_all(argv[1], &len);
	if (!bytes) {
		fprintf(stderr, "fxt-check: %s: cannot be read, or its compression is cut off\n",
			argv[1]);
		return 1;
	}
	if (!fxt_read(&trace, bytes, len)) {
		fprintf(stderr, "fxt-check: %s: %s\n", argv[1], trace.error);
		return 1;
	}
	printf("snapshot,pid,tid,depth,start_ns,duration_ns,function,object,address,flags\n");
	for (i = 0; i < trace.nr_events; i++)
		if (!trace.events[i].instant)
			print_slice(&trace.events[i]);
	fxt_free(&trace);
	free(bytes);
	return 0;
}
