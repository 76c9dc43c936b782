// SPDX-License-Identifier: GPL-2.0
/*
 * The log of executed program counters.
 */
#include "pclog.h"
#include "cpu_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pclog {
	FILE *file;
	bool packets;		/* PacketEn */
	bool begun;		/* an instruction, below */
	bool begun_branch;
	uint64_t begun_ip;
	uint64_t last_ip;	/* the last that was written */
	size_t len;
	uint8_t buf[65536];
};

static void put_number(struct pclog *log, uint64_t n)
{
	if (log->len + 10 > sizeof(log->buf)) {
		fwrite(log->buf, 1, log->len, log->file);
		log->len = 0;
	}
	while (n >= 0x80) {
		log->buf[log->len++] = n | 0x80;
		n >>= 7;
	}
	log->buf[log->len++] = n;
}

static void commit(struct pclog *log)
{
	const int64_t diff = log->begun_ip - log->last_ip;

	if (!log->begun)
		return;
	put_number(log, ((uint64_t)diff << 1 ^ (uint64_t)(diff >> 63)) << 1);
	log->last_ip = log->begun_ip;
	log->begun = false;
}

static void put_marker(struct pclog *log, enum pclog_marker kind)
{
	commit(log);
	put_number(log, kind << 1 | 1);
	log->last_ip = 0;
}

struct pclog *pclog_open(const char *prefix, unsigned int index)
{
	struct pclog *log = calloc(1, sizeof(*log));

	if (!log)
		abort();
	log->file = cpu_file_create(prefix, index);
	setvbuf(log->file, NULL, _IONBF, 0);
	return log;
}

void pclog_close(struct pclog *log)
{
	commit(log);
	fwrite(log->buf, 1, log->len, log->file);
	log->len = 0;
	fclose(log->file);
	free(log);
}

void pclog_trace(struct pclog *log, bool on, uint64_t base, uint64_t mask, uint64_t tsc)
{
	put_marker(log, on ? PCLOG_TRACE_ON : PCLOG_TRACE_OFF);
	put_number(log, tsc);
	put_number(log, base);
	put_number(log, mask);
}

void pclog_packets(struct pclog *log, bool on, uint64_t cr3, uint64_t tsc)
{
	log->packets = on;
	put_marker(log, on ? PCLOG_PACKETS_ON : PCLOG_PACKETS_OFF);
	put_number(log, tsc);
	put_number(log, cr3);
}

void pclog_insn(struct pclog *log, uint64_t ip, bool branch)
{
	if (!log->packets)
		return;
	if (log->begun && log->begun_ip == ip && !log->begun_branch)
		return;

	commit(log);
	log->begun = true;
	log->begun_ip = ip;
	log->begun_branch = branch;
}

void pclog_event(struct pclog *log, uint64_t ip, bool fault)
{
	/* Interrupts wait for a branch to complete; it may have led to itself. */
	if (log->begun && log->begun_ip == ip && (fault || !log->begun_branch))
		log->begun = false;
}
