/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the machine executed, from the plugin's pclog files (pclog.h says what
 * "executed" means), as one sequence in the order of time: the windows of
 * PacketEn that began in a trace's span, of one processor or of all.
 *
 * FilterEn is not in the logs: address filters are applied here, so that the
 * machine's are judged by another's.
 *
 * Must not know: decoders.
 */
#ifndef EXECUTED_H
#define EXECUTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXECUTED_LOGS	8
#define EXECUTED_RANGES	4

/* An address range, its end included. */
struct executed_range {
	uint64_t begin, end;
};

struct executed_choice {
	uint64_t span[2];
	int cpu;			/* all if negative */
	struct executed_range filter[EXECUTED_RANGES];
	struct executed_range stop[EXECUTED_RANGES];
	unsigned int n_filter, n_stop;
	uint64_t cr3;			/* a window with another is wrong; 0: any */
};

/* Where in the sequence: a plain value, to keep and to come back to. */
struct executed_pos {
	size_t window;
	const uint8_t *at;
	uint64_t last;
	uint64_t stopped;		/* the session that TraceStop ended */
	uint64_t skipped;		/* how often the address ranges left something out */
};

/* Finds the windows of log @cpu. Returns NULL, or what is wrong with the file. */
const char *executed_add_log(unsigned int cpu, const uint8_t *data, size_t size);

/*
 * Chooses what the sequence consists of; to be called once all logs are there.
 * Returns false if there is a window of another CR3 in it.
 */
bool executed_choose(const struct executed_choice *choice);
size_t executed_windows(void);

/* The next address, or false at the end. Begin with a zeroed @pos. */
bool executed_next(struct executed_pos *pos, uint64_t *ip);

#endif
