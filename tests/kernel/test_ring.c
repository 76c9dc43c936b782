// SPDX-License-Identifier: GPL-2.0
/* Sideband: the order of records, those that find no room, read() and poll(). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "side.h"
#include "trace.h"

#define YIELDS	300

/*
 * Two threads that switch to each other on one CPU, and one on another that
 * gives itself names meanwhile, with nothing between the records: these are
 * written in the two ways that there are.
 */
static void work_write(struct load *load, uint32_t index)
{
	int i;

	pin_to(index / 2);
	if (index < 2) {
		for (i = 0; i < YIELDS; i++)
			sched_yield();
		return;
	}
	while (load->done < 2)
		prctl(PR_SET_NAME, "writer");
}

/* How often a record follows one of another CPU. */
static uint32_t count_turns(const struct side *side)
{
	uint32_t i, turns = 0;

	for (i = 1; i < side->nr; i++)
		turns += side->records[i]->head.cpu !=
			 side->records[i - 1]->head.cpu;
	return turns;
}

#define TURNS	1000

/*
 * Where the host runs the CPUs by turns they seldom write at the same time: so
 * it goes on until they have met often. side_read() sees whether time goes back.
 */
TEST(sideband_is_in_order)
{
	uint32_t turns = 0;
	struct load *load;
	struct side side;
	struct session s;

	need_two_cpus();
	load = load_spawn(3, work_write);
	trace_begin(&s, side_setup(setup_of(MIB(4), 3, 1), MIB(4)), load);
	for (;;) {
		load_round(load);
		/* Nor do those that wait write any more. */
		must_stop(&s);
		side = (struct side){};
		side_read(&s, &side);
		turns += count_turns(&side);
		side_free(&side);
		if (turns >= TURNS)
			break;
		must_start(&s);
	}
	session_close(&s);
	load_end(load);
}

#define NAMES 1200

/* Each thread gives itself names that are numbered. */
static void work_names(struct load *load, uint32_t index)
{
	char name[16];
	uint32_t i;

	for (i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "n%05u",
			 (uint32_t)load->progress[index]++);
		prctl(PR_SET_NAME, name);
	}
}

static uint32_t number_of(const union record *record)
{
	return strtoul(record->comm.comm + 1, NULL, 10);
}

/* Nothing is read: what came first is there, and the rest is counted. */
TEST(sideband_overflow_is_exact)
{
	struct load *load = load_spawn(1, work_names);
	uint32_t at = 0, got = 0, round;
	const union record *record;
	uint64_t before[3], last;
	struct side side = {};
	struct session s;

	/* Not started: there are no switches. */
	session_open(&s, side_setup(setup_of(MIB(1), 1, 1),
				    MTRACE_SIDEBAND_MIN));
	must_attach(&s, load->pid);
	for (round = 0; round < 2; round++) {
		before[round] = rdtsc();
		load_round(load);
		side_read(&s, &side);
	}
	before[2] = rdtsc();
	side_must(&side, &at, MTRACE_RECORD_THREAD, load->pid);
	for (round = 0; round < 2; round++) {
		while (at < side.nr &&
		       side.records[at]->head.type == MTRACE_RECORD_COMM)
			CHECK_EQ(number_of(side.records[at++]), got++);
		last = side.records[at - 1]->head.tsc;
		/* The ring has not much else in it. */
		CHECK(got > round * NAMES + MTRACE_SIDEBAND_MIN / 40 - 8,
		      "only %u records were kept", got);
		CHECK(at < side.nr, "nothing was lost");
		record = side.records[at++];
		CHECK_EQ(record->head.type, MTRACE_RECORD_LOST);
		CHECK_EQ(record->lost.count, (round + 1) * NAMES - got);
		CHECK(record->lost.from_tsc > last &&
		      record->lost.from_tsc <= record->lost.to_tsc &&
		      record->lost.to_tsc < before[round + 1],
		      "what was lost is of another time");
		CHECK_EQ(record->head.tsc, record->lost.to_tsc);
		got = (round + 1) * NAMES;
	}
	CHECK_EQ(at, side.nr);
	side_free(&side);
	session_close(&s);
	load_end(load);
}

/* Many write and one reads, too slowly: each gap is counted where it is. */
TEST(sideband_overflow_while_it_is_read)
{
	struct load *load = load_spawn(4, work_names);
	uint32_t next[4] = {}, at, i, done = 0;
	uint64_t lost = 0, missing = 0;
	struct side side = {};
	struct session s;

	session_open(&s, side_setup(setup_of(MIB(1), 4, 1),
				    MTRACE_SIDEBAND_MIN));
	for (i = 0; i < 4; i++)
		must_attach(&s, load->tids[i]);
	load_go(load);
	WAIT_FOR((done = load->done == 4, usleep(2000),
		  side_read(&s, &side), done));
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_STOP), EALREADY);
	side_read(&s, &side);
	for (at = 0; at < side.nr; at++) {
		const union record *record = side.records[at];

		if (record->head.type == MTRACE_RECORD_LOST)
			lost += record->lost.count;
		if (record->head.type != MTRACE_RECORD_COMM)
			continue;
		for (i = 0; load->tids[i] != record->head.tid; i++)
			CHECK(i < 3, "a record of %d", record->head.tid);
		CHECK(number_of(record) >= next[i], "an old name comes late");
		missing += number_of(record) - next[i];
		CHECK(number_of(record) == next[i] || lost,
		      "a name is missing before any was lost");
		next[i] = number_of(record) + 1;
	}
	for (i = 0; i < 4; i++)
		missing += NAMES - next[i];
	CHECK_EQ(lost, missing);
	side_free(&side);
	session_close(&s);
	load_end(load);
}

static void no_work(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
}

static volatile sig_atomic_t alarms;

static void on_alarm(int unused)
{
	(void)unused;
	alarms++;
}

static short poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLPRI };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

TEST(sideband_read)
{
	struct itimerval soon = { .it_value.tv_usec = 50000 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct load *load = load_spawn(1, no_work);
	uint8_t *page, buffer[MTRACE_RECORD_MAX];
	struct session s;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page + 4096, 4096, PROT_NONE);
	session_open(&s, side_setup(setup_of(MIB(1), 1, 1), 0));
	fcntl(s.fd, F_SETFL, O_NONBLOCK);
	CHECK_ERRNO(read(s.fd, buffer, sizeof(buffer)), EAGAIN);
	CHECK_EQ(poll_now(s.fd), 0);

	/* THREAD and EXIT: 56 and 32 bytes. */
	must_attach(&s, load->pid);
	must_detach(&s, load->pid);
	CHECK_EQ(poll_now(s.fd), POLLIN);
	CHECK_ERRNO(read(s.fd, buffer, 0), EINVAL);
	CHECK_ERRNO(read(s.fd, buffer, 55), EINVAL);
	CHECK_ERRNO(read(s.fd, page + 4096 - 55, 88), EFAULT);
	CHECK_ERRNO(read(s.fd, (void *)-4096L, 88), EFAULT);
	CHECK_ERRNO(read(s.fd, page + 4096 - 80, 88), EFAULT);
	/* Nothing was taken; and what does not fit stays. */
	CHECK_EQ(read(s.fd, buffer, 87), 56);
	CHECK_EQ(((struct mtrace_record *)buffer)->type, MTRACE_RECORD_THREAD);
	CHECK_EQ(poll_now(s.fd), POLLIN);
	CHECK_EQ(read(s.fd, page + 4096 - 32, 4096), 32);
	CHECK_EQ(((struct mtrace_record *)(page + 4096 - 32))->type,
		 MTRACE_RECORD_EXIT);
	CHECK_EQ(poll_now(s.fd), 0);
	CHECK_ERRNO(read(s.fd, buffer, sizeof(buffer)), EAGAIN);

	/* Wait, until a signal comes, and until a record does. */
	fcntl(s.fd, F_SETFL, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_ERRNO(read(s.fd, buffer, sizeof(buffer)), EINTR);
	CHECK_EQ(alarms, 1);
	if (!fork()) {
		usleep(50000);
		_exit(ioctl(s.fd, MTRACE_IOC_START) ? 1 : 0);
	}
	CHECK_EQ(read(s.fd, buffer, sizeof(buffer)), 32);
	CHECK_EQ(((struct mtrace_record *)buffer)->type, MTRACE_RECORD_RUN);
	wait(NULL);
	session_close(&s);
	load_end(load);
}

static void work_few_naps(struct load *load, uint32_t index)
{
	uint32_t i;

	(void)load;
	(void)index;
	for (i = 0; i < 20; i++)
		usleep(100);
}

/* A reader is not woken by a switch, only by many. */
TEST(sideband_wakes_by_quarters)
{
	struct load *load = load_spawn(1, work_few_naps);
	struct side side = {};
	struct session s;
	uint32_t i;

	trace_begin(&s, side_setup(setup_of(MIB(4), 1, 1), KIB(32)), load);
	side_read(&s, &side);
	for (i = 0; i < 2; i++)
		load_round(load);
	/* Some 200 records of 32 bytes, with those of waiting. */
	CHECK(!(poll_now(s.fd) & POLLIN) || side_read(&s, &side) >= 256,
	      "%u records wake a reader", side.nr);
	CHECK(side_read(&s, &side) || side.nr > 256, "there were none");
	WAIT_FOR((load_round(load), poll_now(s.fd) == POLLIN));
	CHECK(side_read(&s, &side) >= 256, "a reader is woken before it should");
	side_free(&side);
	session_close(&s);
	load_end(load);
}
