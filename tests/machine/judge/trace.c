// SPDX-License-Identifier: GPL-2.0
/*
 * Recordings, read.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void unusable(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "judge: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

struct bytes map_file(const char *path)
{
	struct bytes b = { 0 };
	struct stat st;
	const int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		unusable("%s: %s", path, strerror(errno));
	b.size = st.st_size;
	if (b.size) {
		b.data = mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (b.data == MAP_FAILED)
			unusable("%s: %s", path, strerror(errno));
	}
	close(fd);
	return b;
}

static void add_range(struct executed_range *ranges, unsigned int *n, uint64_t a, uint64_t b)
{
	if (*n == EXECUTED_RANGES)
		unusable("too many address ranges");
	ranges[(*n)++] = (struct executed_range) { a, b };
}

static void describe(struct trace *trace, const char *prefix)
{
	struct executed_choice *e = &trace->executed;
	char path[4096], line[4096], image[2048];
	uint64_t a, b;
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s.trace", prefix);
	f = fopen(path, "r");
	if (!f)
		unusable("%s: %s", path, strerror(errno));
	e->cpu = -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "span %" SCNu64 " %" SCNu64, &a, &b) == 2) {
			e->span[0] = a;
			e->span[1] = b;
		} else if (sscanf(line, "image %2047s", image) == 1) {
			const char *slash = strrchr(prefix, '/');
			const int folder = slash ? slash + 1 - prefix : 0;

			snprintf(trace->image_path, sizeof(trace->image_path), "%.*s%s",
				 folder, prefix, image);
		} else if (sscanf(line, "cpu %d", &n) == 1) {
			e->cpu = n;
		} else if (sscanf(line, "mtc %d", &n) == 1) {
			trace->config.mtc_freq = n;
		} else if (sscanf(line, "cr3 %" SCNx64, &a) == 1) {
			e->cr3 = a;
		} else if (sscanf(line, "filter %" SCNx64 " %" SCNx64, &a, &b) == 2) {
			add_range(e->filter, &e->n_filter, a, b);
		} else if (sscanf(line, "stop %" SCNx64 " %" SCNx64, &a, &b) == 2) {
			add_range(e->stop, &e->n_stop, a, b);
		} else {
			unusable("%s: what is '%s'?", path, line);
		}
	}
	fclose(f);
	if (!e->span[1] || !trace->image_path[0])
		unusable("%s lacks its span or image", path);
}

/* The machine's nominal frequency is that of its CBR packets. */
static uint8_t find_cbr(const struct pt_config *config)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	struct pt_packet packet;
	uint8_t ratio = 0;

	if (!decoder)
		unusable("libipt refuses");
	pt_pkt_sync_forward(decoder);
	while (!ratio && pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0) {
		if (packet.type == ppt_cbr)
			ratio = packet.payload.cbr.ratio;
	}
	pt_pkt_free_decoder(decoder);
	return ratio;
}

void trace_load(const char *prefix, struct trace *trace)
{
	char path[4096];
	struct bytes b;

	memset(trace, 0, sizeof(*trace));
	pt_config_init(&trace->config);
	describe(trace, prefix);
	snprintf(path, sizeof(path), "%s.pt", prefix);
	b = map_file(path);
	trace->size = b.size;
	if (!b.size)
		return;
	trace->config.begin = b.data;
	trace->config.end = b.data + b.size;
	/* CPUID 15H of this machine */
	trace->config.cpuid_0x15_eax = 2;
	trace->config.cpuid_0x15_ebx = 204;
	trace->config.nom_freq = find_cbr(&trace->config);
}

/*
 * Read through a callback: libipt would map and unmap a file's sections each time
 * that control goes from one to another.
 */
struct code {
	struct bytes file;
	struct section {
		uint64_t begin, size;
		const uint8_t *bytes;
	} *section;
	size_t n, last;
};

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	struct code *code = context;
	size_t i = code->last, tries;

	(void)asid;
	for (tries = 0; tries < code->n; tries++, i = i + 1 < code->n ? i + 1 : 0) {
		const struct section *s = &code->section[i];

		if (ip < s->begin || ip - s->begin >= s->size)
			continue;
		if (size > s->size - (ip - s->begin))
			size = s->size - (ip - s->begin);
		memcpy(buf, s->bytes + (ip - s->begin), size);
		code->last = i;
		return size;
	}
	return -pte_nomap;
}

struct pt_image *trace_image(const struct trace *trace)
{
	struct pt_image *image = pt_image_alloc(NULL);
	struct code *code = calloc(1, sizeof(*code));
	size_t pos = 0;

	if (!image || !code)
		unusable("no memory");
	code->file = map_file(trace->image_path);
	while (pos + 16 <= code->file.size) {
		uint64_t header[2];

		memcpy(header, code->file.data + pos, 16);
		pos += 16;
		if (header[1] > code->file.size - pos)
			unusable("%s is cut off", trace->image_path);
		code->section = realloc(code->section, (code->n + 1) * sizeof(*code->section));
		if (!code->section)
			unusable("no memory");
		code->section[code->n++] = (struct section) {
			header[0], header[1], code->file.data + pos
		};
		pos += header[1];
	}
	pt_image_set_callback(image, read_code, code);
	return image;
}
