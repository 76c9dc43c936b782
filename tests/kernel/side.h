/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the sideband of a session, for the tests of it. */
#ifndef MT_TEST_SIDE_H
#define MT_TEST_SIDE_H

#include <linux/mtrace_sideband.h>

#include "harness.h"
#include "load.h"

/* A record of any type. */
union record {
	struct mtrace_record head;
	struct mtrace_record_lost lost;
	struct mtrace_record_run run;
	struct mtrace_record_thread thread;
	struct mtrace_record_exit exit;
	struct mtrace_record_comm comm;
	struct mtrace_record_fork fork;
	struct mtrace_record_exec exec;
	struct mtrace_record_switch sw;
	struct mtrace_record_mmap mmap;
	struct mtrace_record_munmap munmap;
	struct mtrace_record_loss loss;
};

/**
 * struct side - all that was read of a session's sideband
 * @bytes: the records, as they were read
 * @len: how many bytes
 * @records: the records, in order
 * @nr: how many
 */
struct side {
	uint8_t *bytes;
	size_t len;
	const union record **records;
	uint32_t nr;
};

/* A session like @setup, with a sideband of so many bytes. */
struct mtrace_setup side_setup(struct mtrace_setup setup, uint32_t size);

/*
 * Read what there is, after what was read before, and check what is true of all
 * records: their form, and that time does not go back. Returns how many are new.
 */
uint32_t side_read(struct session *s, struct side *side);
void side_free(struct side *side);

/* The next record of a type, from *at on, which is moved behind it; or NULL. */
const union record *side_next(const struct side *side, uint32_t *at,
			      uint16_t type);
/* The same of a thread; there must be one. */
const union record *side_must(const struct side *side, uint32_t *at,
			      uint16_t type, pid_t tid);
uint32_t side_count(const struct side *side, uint16_t type, pid_t tid);

static inline uint64_t rdtsc(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
