// SPDX-License-Identifier: GPL-2.0
/* Full execution with a reader that is late: what is lost is told, and exactly. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_netlink.h>

#include "nl.h"
#include "reader.h"
#include "trace.h"

/* The bytes that are told as lost by netlink; what else is told is let go by. */
static uint64_t lost_by_events(struct nl *nl)
{
	const struct nlmsghdr *message;
	const struct nlattr *loss;
	uint64_t bytes = 0;

	while ((message = nl_event(nl, 500))) {
		loss = nl_attr(message, MTRACE_NLA_LOSS, NULL);
		if (loss && nl_number(nl_nested(loss, MTRACE_NLA_LOSS_KIND)) ==
			    MTRACE_NL_LOSS_STREAM)
			bytes += nl_number(nl_nested(loss,
						     MTRACE_NLA_LOSS_COUNT));
	}
	return bytes;
}

/* A reader that comes when all is over finds the first regions, and the sum. */
TEST(stream_slow_reader)
{
	struct load *load = load_spawn(1, work_walk);
	uint64_t whole = 0, steps, i, lost = 0, told = 0;
	/* All but the one that the thread has. */
	const uint32_t held = 3;
	struct reader r = { 0 };
	uint32_t rounds;
	struct session s;
	struct walk walk;
	struct nl nl;

	nl_open(&nl);
	if (nl.group)
		CHECK_ERRNO(nl_join(&nl), 0);
	trace_begin(&s, stream_setup(KIB(64), 1, held + 1), load);
	r.s = &s;
	rounds = fill(&s, load, held);
	take(&r, 0);
	CHECK_EQ(r.nr, held);
	/* Room again: what comes now says what is missing. */
	load_round(load);
	rounds++;
	must_stop(&s);
	take(&r, 0);
	/* STOP found no region for the last of it. */
	take(&r, MTRACE_STREAM_FLUSH);
	check_counts(&r);
	walk = follow(&r, load->pid, 0);
	CHECK(walk.walks < 2, "nothing is missing");
	for (i = 0; i < r.nr; i++) {
		lost += r.pieces[i].desc.lost_bytes;
		told += !!(r.pieces[i].desc.flags & MTRACE_STREAM_LOST);
		whole += r.pieces[i].desc.bytes;
	}
	CHECK((told && lost) || must_status(s.fd).stream_overruns,
	      "no loss is told");
	if (nl.group)
		CHECK_EQ(lost_by_events(&nl), must_status(s.fd).stream_lost_bytes);
	/*
	 * All steps are in what was handed over or in what was lost, and give
	 * as many bytes in both: but for the time between, in which nothing is
	 * done but to wait, and an overrun, for which nothing is counted.
	 */
	steps = (uint64_t)rounds * WALK_STEPS - walk.steps;
	CHECK(lost >= steps * WALK_STEP_BYTES || must_status(s.fd).stream_overruns,
	      "%lu bytes are lost of %lu steps", lost, steps);
	CHECK(lost <= (double)whole / walk.steps * steps * 1.25 + KIB(8),
	      "%lu bytes are lost of %lu steps, %lu bytes were had of %lu", lost,
	      steps, whole, walk.steps);
	reader_end(&r);
	load_end(load);
}

/*
 * The smallest regions fill between two ticks: nothing is overwritten, and what
 * is missing is told.
 */
TEST(stream_overruns_are_told)
{
	struct mtrace_setup setup = stream_setup(KIB(4), 1, 256);
	struct load *load = load_spawn(1, work_walk);
	struct reader r = { 0 };
	struct session s;

	setup.pmu_type = 0;
	trace_begin(&s, setup, load);
	r.s = &s;
	WAIT_FOR((read_round(&r, load),
		  must_status(s.fd).stream_overruns > 10));
	follow_to_end(&r, load);
	reader_end(&r);
	load_end(load);
}

/*
 * What an overrun loses begins when the thread was last seen to be traced, which
 * is long after its region began where it has slept meanwhile.
 */
TEST(stream_overrun_loses_from_the_last_look)
{
	struct mtrace_setup setup = stream_setup(KIB(16), 1, 64);
	struct load *load = load_spawn(1, work_walk);
	const struct mtrace_stream_desc *full, *next;
	struct reader r = { 0 };
	uint64_t awake, i = 0;
	bool found = false;
	struct session s;
	int round;

	/* It is looked at when it leaves the CPU, and at no other time. */
	setup.pmu_type = 0;
	begin_without_tick(&s, setup, load);
	r.s = &s;

	/* Where others want its CPU there may be no overrun at once. */
	for (round = 0; round < 100 && !found; round++) {
		/* What the last round has lost is told. */
		wait_for_sleep(load->pid);
		awake = __builtin_ia32_rdtsc();
		wait_for_sleep(load->pid);
		read_round(&r, load);
		take(&r, MTRACE_STREAM_FLUSH);
		for (; i + 1 < r.nr && !found; i++) {
			full = &r.pieces[i].desc;
			next = &r.pieces[i + 1].desc;
			if (!(full->flags & MTRACE_STREAM_OVERRUN) ||
			    full->start_tsc > awake || full->end_tsc < awake)
				continue;
			CHECK(next->lost_from_tsc > awake,
			      "lost from %llu on, but it has slept since %lu",
			      next->lost_from_tsc, awake);
			found = true;
		}
	}
	CHECK(found, "no overrun of a region in which it has slept");
	follow_to_end(&r, load);
	reader_end(&r);
	load_end(load);
}

#define NR_SHORT	100

/*
 * Have many short threads traced, each after the other. Returns whether none was
 * refused: on a busy host the module's worker may be late to clean what the last
 * ones have left.
 */
static bool trace_short_threads(struct session *s)
{
	struct mtrace_setup setup = stream_setup(KIB(16), 4, 2);
	pid_t pid;
	int i;

	setup.flags |= MTRACE_SETUP_INHERIT_PROCESSES;
	session_open(s, setup);
	must_attach(s, getpid());
	must_start(s);
	for (i = 0; i < NR_SHORT; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	must_stop(s);
	return !must_status(s->fd).refused_threads;
}

/*
 * Many short threads that nobody reads: each is traced, none is refused, and of
 * each it is told what became of its trace.
 */
TEST(stream_of_short_threads)
{
	uint64_t i, lost = 0, last = 0, others = 0;
	struct reader r = { 0 };
	struct session s;
	int tries = 1;

	while (!trace_short_threads(&s)) {
		CHECK(tries++ < TRIES, "refused in each of %d tries", TRIES);
		session_close(&s);
	}
	r.s = &s;
	take(&r, 0);
	take(&r, MTRACE_STREAM_FLUSH);
	for (i = 0; i < r.nr; i++) {
		const struct mtrace_stream_desc *desc = &r.pieces[i].desc;

		if (desc->tid == getpid())
			continue;
		lost += desc->lost_bytes;
		last += !!(desc->flags & MTRACE_STREAM_LAST);
		if (!desc->tid) {
			others++;
			CHECK_EQ(desc->flags, MTRACE_STREAM_LOST);
			CHECK(desc->lost_from_tsc < desc->lost_to_tsc,
			      "the loss took no time");
		}
		if (desc->flags & MTRACE_STREAM_LAST)
			CHECK(desc->bytes || desc->lost_bytes,
			      "nothing is known of %d", desc->tid);
	}
	CHECK(last >= 8, "only %lu threads are told of", last);
	CHECK_EQ(others, 1);
	CHECK(lost, "no loss of theirs");
	check_counts(&r);
}
