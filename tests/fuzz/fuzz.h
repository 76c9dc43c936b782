/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer of mtrace's interfaces
 *
 * Two threads make calls of a table by chance, on a few sessions that they
 * share, while threads that come and go are traced. A call is built to be
 * valid, so that it gets past the first check; then, once in a while, a field
 * of it is changed, or it is put where memory is not there, cannot be written,
 * or changes meanwhile. What is proven is that nothing breaks: the machine says
 * so in its log.
 */
#ifndef MT_FUZZ_H
#define MT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/mtrace.h>

#define SLOTS		6	/* sessions at once */
#define TARGETS		8	/* threads that are there to be traced */
/*
 * As many descriptors as the ring of a stream has at most, which is more than
 * the regions that any buffer here is divided into.
 */
#define REGIONS		4096
#define MAX_CALLS	64	/* rows of the table */
#define MAX_ERRNO	134
#define PAGE		4096UL
#define BYTES		65536	/* more than a message or a record has */
#define WINDOW		(8UL << 20)	/* more than any buffer here */

/**
 * struct slot - a session that may be open
 * @fd: the file, or -1. Who closes it takes it out first
 * @window: where its buffer is mapped; nothing else ever is
 * @setup: what the last SETUP gave
 * @id: of the last snapshot
 * @trigger: the last trigger's number
 * @oldest: number of the oldest descriptor of the stream that is to be released
 * @newest: of the newest that was read
 *
 * The threads share it without any lock: what is old is as good.
 */
struct slot {
	int fd;
	uint8_t *window;
	struct mtrace_setup setup;
	uint64_t id;
	uint32_t trigger;
	uint64_t oldest;
	uint64_t newest;
};

/**
 * struct fuzzer - one thread that makes calls
 * @state: of its random numbers
 * @slot: the one that it uses just now
 * @page: memory that can be written, with none behind it
 * @fixed: a page that can only be read
 * @changing: one that another thread writes to all the time
 * @regions: where snapshots are described, and descriptors read
 * @bytes: what is read
 * @counts: how many calls of each row gave each errno
 * @ns: how long all calls of each row took
 */
struct fuzzer {
	uint64_t state;
	struct slot *slot;
	uint8_t *page;
	uint8_t *fixed;
	uint8_t *changing;
	struct mtrace_region *regions;
	uint8_t *bytes;
	uint64_t counts[MAX_CALLS][MAX_ERRNO];
	uint64_t ns[MAX_CALLS];
};

/**
 * struct call - a row of the table
 * @name: what the report calls it
 * @weight: how often it is made, relative to the others. What takes long - a
 *	session's begin and end, probes, processes - is seldom, so that a machine
 *	has time for the million calls
 * @least: so many of a million must succeed
 * @without: seldom on a session that is set up with one of these flags, ...
 * @with: ... or without one of these: it would only be refused
 * @run: makes it: 0 or an errno. Used where @build is not
 * @cmd: of an ioctl
 * @size: of its structure
 * @build: fills a structure of zeros with what is valid
 * @done: looks at what an ioctl that succeeded gave back
 *
 * Rows without @cmd that are not netlink messages are no calls of mtrace, and
 * do not count as such.
 */
struct call {
	const char *name;
	unsigned int weight;
	unsigned int least;
	uint32_t without;
	uint32_t with;
	int (*run)(struct fuzzer *f);
	unsigned long cmd;
	size_t size;
	void (*build)(struct fuzzer *f, void *arg);
	void (*done)(struct fuzzer *f, const void *arg);
	bool counts;
};

/* ioctls.c, netlink.c and around.c; each ends with a row that has no name */
extern const struct call ioctl_calls[];
extern const struct call netlink_calls[];
extern const struct call around_calls[];

extern struct slot slots[SLOTS];
/* Threads that are there to be traced, and one's own. */
extern pid_t *targets;
/* What targets call now and then: the beginning of a file of its own. */
extern void (*probed_function)(void);
extern int probed_fd;
extern uint32_t pmu_type;
/* The regions that snapshots were seen to have, and their bytes. */
extern uint64_t seen_regions, seen_bytes;

uint64_t rnd(struct fuzzer *f);
/* Opens a session in the fuzzer's slot; most of the time one that is ready. */
int run_open(struct fuzzer *f);
/* 0 to @n - 1 */
uint64_t below(struct fuzzer *f, uint64_t n);
bool one_in(struct fuzzer *f, unsigned int n);
/* A number of the kind that breaks things. */
uint64_t odd_number(struct fuzzer *f);
/* Someone's thread id, mostly of one that lives. */
pid_t some_tid(struct fuzzer *f);
/* Changes some of a structure, or its size. */
void mutate(struct fuzzer *f, void *arg, size_t size);
/* Copies a structure to where the kernel is told that it is. */
void *place(struct fuzzer *f, const void *arg, size_t size);
/* Where there is nothing, or nothing that can be used. */
void *bad_place(struct fuzzer *f);

#endif
