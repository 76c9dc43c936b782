// SPDX-License-Identifier: GPL-2.0
/*
 * The log of packets.
 */
#include "pt_packet_log.h"
#include "cpu_file.h"

#include <stdlib.h>

struct pt_packet_log {
	FILE *file;
};

static void put_number(struct pt_packet_log *log, uint64_t n)
{
	while (n >= 0x80) {
		putc_unlocked((n & 0x7f) | 0x80, log->file);
		n >>= 7;
	}
	putc_unlocked(n, log->file);
}

static void put_record(struct pt_packet_log *log, unsigned int kind, unsigned int size,
		       unsigned int n, const uint64_t *values)
{
	unsigned int i;

	put_number(log, kind);
	put_number(log, size);
	put_number(log, n);
	for (i = 0; i < n; i++)
		put_number(log, values[i]);
}

struct pt_packet_log *pt_packet_log_open(const char *prefix, unsigned int index)
{
	struct pt_packet_log *log = calloc(1, sizeof(*log));

	if (!log)
		abort();
	log->file = cpu_file_create(prefix, index);
	return log;
}

void pt_packet_log_close(struct pt_packet_log *log)
{
	fclose(log->file);
	free(log);
}

void pt_packet_log_trace(struct pt_packet_log *log, bool on, uint64_t base, uint64_t mask,
			 uint64_t tsc)
{
	put_record(log, on ? PT_LOG_TRACE_ON : PT_LOG_TRACE_OFF, 0, 3,
		   (const uint64_t[]) { tsc, base, mask });
}

void pt_packet_log_packet(struct pt_packet_log *log, const struct pt_pkt *p)
{
	uint64_t values[3];
	const unsigned int n = pt_packet_values(p, values);

	put_record(log, p->type, p->size, n, values);
}
