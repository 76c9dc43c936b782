// SPDX-License-Identifier: GPL-2.0
/* Full execution: regions are handed over as they fill, and losses are told. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_netlink.h>

#include "harness.h"
#include "load.h"
#include "msr.h"
#include "nl.h"
#include "trigger.h"
#include "walk.h"

#define TICK_US	"/sys/module/mtrace/parameters/tick_us"

/**
 * struct piece - what one descriptor gave
 * @desc: the descriptor
 * @bytes: its bytes, copied
 */
struct piece {
	struct mtrace_stream_desc desc;
	uint8_t *bytes;
};

/**
 * struct reader - all that was read of a session
 * @s: the session
 * @pieces: what was read
 * @nr: how many
 * @released: how many were released
 */
struct reader {
	struct session *s;
	struct piece *pieces;
	uint64_t nr, released;
};

static struct mtrace_setup stream_setup(uint64_t region_size, uint32_t threads,
					uint32_t regions)
{
	struct mtrace_setup setup;

	setup = setup_of(region_size * threads * regions, threads, regions - 1);
	setup.flags = MTRACE_SETUP_STREAM;
	setup.trace_flags |= MTRACE_TRACE_NORETCOMP;
	return setup;
}

static int try_read(int fd, struct mtrace_stream_desc *descs, uint32_t room,
		    uint32_t flags, struct mtrace_stream_read *arg)
{
	*arg = (struct mtrace_stream_read){
		.size = sizeof(*arg),
		.flags = flags,
		.descs = (uintptr_t)descs,
		.desc_size = sizeof(*descs),
		.count = room,
	};
	return ioctl(fd, MTRACE_IOC_STREAM_READ, arg);
}

static int try_release(int fd, uint64_t seq, uint32_t count)
{
	struct mtrace_stream_release arg = {
		.size = sizeof(arg),
		.seq = seq,
		.count = count,
	};

	return ioctl(fd, MTRACE_IOC_STREAM_RELEASE, &arg);
}

static void keep(struct reader *r, const struct mtrace_stream_desc *desc)
{
	struct session *s = r->s;
	struct piece *piece;

	CHECK_EQ(desc->seq, r->nr + 1);
	CHECK_EQ(desc->pad, 0);
	CHECK(desc->end_tsc >= desc->start_tsc &&
	      desc->start_tsc > s->setup.start_tsc, "its times are not in order");
	CHECK(desc->bytes <= s->setup.region_size &&
	      desc->offset % s->setup.region_size == 0 &&
	      desc->offset < s->setup.buffer_size, "%llu bytes at %#llx",
	      desc->bytes, desc->offset);
	if (!(desc->flags & MTRACE_STREAM_LOST))
		CHECK(!desc->lost_bytes && !desc->lost_from_tsc &&
		      !desc->lost_to_tsc, "a loss without the flag");
	CHECK_EQ(!!(desc->flags & MTRACE_STREAM_OVERRUN),
		 desc->bytes == s->setup.region_size);

	r->pieces = realloc(r->pieces, (r->nr + 1) * sizeof(*r->pieces));
	piece = &r->pieces[r->nr++];
	piece->desc = *desc;
	piece->bytes = malloc(desc->bytes + 1);
	memcpy(piece->bytes, s->map + desc->offset, desc->bytes);
}

/* Read what there is, and release it; returns how many there were. */
static uint32_t take(struct reader *r, uint32_t flags)
{
	struct mtrace_stream_desc descs[16];
	struct mtrace_stream_read arg;
	uint32_t i, n = 0;

	do {
		if (try_read(r->s->fd, descs, 16, flags, &arg))
			FAIL("STREAM_READ: %s", strerror(errno));
		for (i = 0; i < arg.count; i++)
			keep(r, &descs[i]);
		if (arg.count &&
		    try_release(r->s->fd, r->released + 1, arg.count))
			FAIL("STREAM_RELEASE: %s", strerror(errno));
		r->released += arg.count;
		n += arg.count;
		flags = 0;
	} while (arg.nr_waiting);
	return n;
}

static void reader_end(struct reader *r)
{
	uint64_t i;

	for (i = 0; i < r->nr; i++)
		free(r->pieces[i].bytes);
	free(r->pieces);
}

static bool is_waiting(struct session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLRDBAND };

	return poll(&fd, 1, 0) == 1 && fd.revents == POLLRDBAND;
}

/* One round of the load, read while it goes on. */
static void read_round(struct reader *r, struct load *load)
{
	struct pollfd fd = { .fd = r->s->fd, .events = POLLRDBAND };

	load_go(load);
	while (load->done < load->nr)
		if (poll(&fd, 1, 10) == 1)
			take(r, 0);
}

/*
 * Follow a thread's walks through all that was read. Losses must be told where
 * the walk is not whole, and be where they are told.
 */
static struct walk follow(const struct reader *r, pid_t tid, uint32_t seed)
{
	struct walk walk = { .seed = seed };
	const struct mtrace_stream_desc *last = NULL;
	uint64_t i;

	for (i = 0; i < r->nr; i++) {
		const struct mtrace_stream_desc *desc = &r->pieces[i].desc;
		bool lost = desc->flags & MTRACE_STREAM_LOST;

		if (desc->tid != tid)
			continue;
		CHECK_EQ(!!(desc->flags & MTRACE_STREAM_FIRST), !last);
		if (last)
			CHECK(!(last->flags & MTRACE_STREAM_LAST),
			      "one after the last");
		/* It is lost from where the CPU stopped, or all of a region. */
		if (last)
			CHECK(!(last->flags & MTRACE_STREAM_OVERRUN) || lost,
			      "an overrun without a loss");
		if (lost)
			CHECK_EQ(desc->lost_to_tsc, desc->start_tsc);
		else if (last)
			CHECK_EQ(desc->start_tsc, last->end_tsc);
		if (lost && last && !(last->flags & MTRACE_STREAM_OVERRUN))
			CHECK_EQ(desc->lost_from_tsc, last->end_tsc);
		if (desc->bytes)
			walk_follow(&walk, r->pieces[i].bytes, desc->bytes,
				    lost, desc->flags & MTRACE_STREAM_OVERRUN);
		last = desc;
	}
	return walk;
}

/* That the session's counts are what its descriptors say. */
static void check_counts(const struct reader *r)
{
	struct mtrace_status status = must_status(r->s->fd);
	uint64_t i, bytes = 0, lost = 0, overruns = 0;

	for (i = 0; i < r->nr; i++) {
		bytes += r->pieces[i].desc.bytes;
		lost += r->pieces[i].desc.lost_bytes;
		overruns += !!(r->pieces[i].desc.flags & MTRACE_STREAM_OVERRUN);
	}
	CHECK_EQ(status.stream_bytes, bytes);
	CHECK_EQ(status.stream_lost_bytes, lost);
	if (!lost)
		CHECK_EQ(status.stream_overruns, overruns);
	CHECK_EQ(status.errors, 0);
	CHECK_EQ(status.wraps, 0);
	CHECK_EQ(status.stops, 0);
	CHECK_EQ(status.regions_frozen, 0);
}

/*
 * Rounds of a load whose reader keeps up. Nothing may be lost but by an overrun:
 * the host may be so busy that the guest's timer comes late. Returns whether
 * there was none.
 */
static bool stream_rounds(struct mtrace_setup setup, struct load *load,
			  uint32_t rounds, uint64_t pieces)
{
	struct reader r = { 0 };
	struct session s;
	bool whole;
	uint32_t i;

	trace_begin(&s, setup, load);
	r.s = &s;
	for (i = 0; i < rounds; i++)
		read_round(&r, load);
	must_stop(&s);
	take(&r, 0);
	CHECK(!is_waiting(&s), "a descriptor waits that was read");
	check_counts(&r);
	CHECK_EQ(must_status(s.fd).stream_lost_bytes, 0);
	whole = !must_status(s.fd).stream_overruns;
	for (i = 0; i < load->nr; i++) {
		struct walk walk = follow(&r, load->tids[i], i);

		if (whole)
			CHECK_EQ(walk.steps, (uint64_t)rounds * WALK_STEPS);
		CHECK(!whole || !walk.inside, "the end of a walk is missing");
	}
	CHECK(!whole || r.nr >= pieces, "only %lu descriptors", r.nr);
	reader_end(&r);
	session_close(&s);
	return whole;
}

#define TRIES	10

/* Threads and rounds so many, and how large a region. */
static void stream_whole(uint32_t threads, uint32_t rounds, uint64_t size,
			 void (*work)(struct load *load, uint32_t index),
			 uint32_t pmu_type)
{
	struct mtrace_setup setup = stream_setup(size, threads, 16);
	uint64_t bytes = (uint64_t)threads * rounds * WALK_STEPS *
			 WALK_STEP_BYTES;
	struct load *load = load_spawn(threads, work);
	int i;

	setup.pmu_type = pmu_type;
	for (i = 0; i < TRIES; i++)
		if (stream_rounds(setup, load, rounds, bytes / size))
			break;
	CHECK(i < TRIES, "overruns in each of %d tries", TRIES);
	load_end(load);
}

TEST(stream_is_whole)
{
	stream_whole(1, 4, KIB(256), work_walk, pmu_type());
}

/*
 * By the timer alone, which is late where the host is busy. A round is longer
 * than a region, so that no switch of threads comes in time.
 */
TEST(stream_is_whole_without_interrupts)
{
	stream_whole(1, 4, KIB(256), work_walk, 0);
}

TEST(stream_of_four_threads)
{
	stream_whole(4, 1, KIB(128), work_walk, pmu_type());
}

TEST(stream_over_migrations)
{
	stream_whole(4, 1, KIB(128), work_walk_about, pmu_type());
}

/* Begin with a tick that never comes. */
static void begin_without_tick(struct session *s, struct mtrace_setup setup,
			       const struct load *load)
{
	char before[16];

	snprintf(before, sizeof(before), "%lld", read_number(TICK_US));
	CHECK(write_text(TICK_US, "1000000000"), "no %s", TICK_US);
	trace_begin(s, setup, load);
	write_text(TICK_US, before);
}

/* Stop, read what is left, and follow the load's first thread through all. */
static struct walk follow_to_end(struct reader *r, const struct load *load)
{
	must_stop(r->s);
	take(r, 0);
	check_counts(r);
	return follow(r, load->pid, 0);
}

/* All depends on PT's interrupt. */
TEST(pmi_hands_over)
{
	struct load *load = load_spawn(1, work_walk);
	struct reader r = { 0 };
	struct walk walk;
	struct session s;

	begin_without_tick(&s, stream_setup(KIB(128), 1, 16), load);
	r.s = &s;
	read_round(&r, load);
	walk = follow_to_end(&r, load);
	CHECK_EQ(must_status(s.fd).stream_overruns, 0);
	CHECK_EQ(walk.walks, 1);
	CHECK(r.nr >= WALK_STEPS * WALK_STEP_BYTES / KIB(128),
	      "only %lu descriptors", r.nr);
	reader_end(&r);
	load_end(load);
}

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
	uint32_t rounds = 0;
	struct session s;
	struct walk walk;
	struct nl nl;

	nl_open(&nl);
	if (nl.group)
		CHECK_ERRNO(nl_join(&nl), 0);
	trace_begin(&s, stream_setup(KIB(64), 1, held + 1), load);
	r.s = &s;
	/*
	 * One round fills them all, unless the timer is all there is to hand
	 * them over and comes late: the trace waits for it at the end of a
	 * region.
	 */
	do {
		CHECK(rounds < TRIES, "no %u regions in %u rounds", held, rounds);
		load_round(load);
		rounds++;
	} while (must_status(s.fd).regions_frozen < held);
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

/* How often a thread has left its CPU: all in all, or because it slept. */
static long long switches_of(pid_t tid, bool sleeps)
{
	long long n, sum = 0;
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	CHECK(file, "no %s", path);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %lld", &n) == 1 ||
		    (!sleeps &&
		     sscanf(line, "nonvoluntary_ctxt_switches: %lld", &n) == 1))
			sum += n;
	fclose(file);
	return sum;
}

/* It hands over what a thread writes that does not leave its CPU. */
TEST(stream_by_the_timer)
{
	struct mtrace_setup setup = stream_setup(KIB(64), 1, 16);
	struct load *load = load_spawn(1, work_spin);
	struct reader r = { 0 };
	int times = 0, round;
	long long switches;
	struct session s;

	need_two_cpus();
	setup.pmu_type = 0;
	trace_begin(&s, setup, load);
	r.s = &s;
	load_go(load);
	for (round = 0; round < 1000 && times < 3; round++) {
		switches = switches_of(load->pid, false);
		take(&r, 0);
		WAIT_FOR(is_waiting(&s));
		times += switches_of(load->pid, false) == switches;
	}
	CHECK_EQ(times, 3);
	reader_end(&r);
	load_end(load);
}

/* A thread that sleeps again and again does so once at least, from now on. */
static void wait_for_sleep(pid_t tid)
{
	long long sleeps = switches_of(tid, true);

	/* The switch of the last that is counted may be yet to come. */
	WAIT_FOR(switches_of(tid, true) > sleeps + 1);
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

TEST(stream_flush)
{
	struct load *load = load_spawn(2, work_spin);
	struct mtrace_stream_desc descs[8];
	struct mtrace_stream_read arg;
	struct reader r = { 0 };
	struct session s;
	uint64_t i, seen;

	/* Threads that sleep, most of the time. */
	trace_begin(&s, stream_setup(MIB(1), 2, 2), load);
	r.s = &s;
	usleep(10000);
	CHECK_EQ(take(&r, 0), 0);
	CHECK_EQ(take(&r, MTRACE_STREAM_FLUSH), 2);
	for (i = 0; i < 2; i++) {
		CHECK(r.pieces[i].desc.bytes, "nothing of thread %d",
		      r.pieces[i].desc.tid);
		CHECK_EQ(r.pieces[i].desc.pid, load->pid);
		CHECK_EQ(r.pieces[i].desc.flags, MTRACE_STREAM_FIRST);
		CHECK(!strcmp(r.pieces[i].desc.comm, "kernel-tests"),
		      "its name is '%s'", r.pieces[i].desc.comm);
	}
	load_end(load);
	reader_end(&r);
	session_close(&s);

	/*
	 * One that runs all the time, beside the test. Where no region is free
	 * nobody loses anything for a flush.
	 */
	pin_to(0);
	load = load_spawn(1, work_spin);
	trace_begin(&s, stream_setup(MIB(1), 1, 2), load);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	CHECK_ERRNO(try_read(s.fd, descs, 8, MTRACE_STREAM_FLUSH, &arg), 0);
	CHECK_EQ(arg.count, 1);
	CHECK_EQ(arg.nr_unflushed, 0);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	CHECK_ERRNO(try_read(s.fd, descs, 8, MTRACE_STREAM_FLUSH, &arg), 0);
	CHECK_EQ(arg.count, 0);
	CHECK_EQ(arg.nr_unflushed, 1);
	CHECK_EQ(must_status(s.fd).stream_lost_bytes, 0);
	CHECK_ERRNO(try_release(s.fd, 1, 1), 0);
	CHECK_ERRNO(try_read(s.fd, descs, 8, MTRACE_STREAM_FLUSH, &arg), 0);
	CHECK_EQ(arg.count, 1);
	CHECK_EQ(descs[0].flags, 0);
	load_end(load);
}

static void work_walk_and_exit(struct load *load, uint32_t index)
{
	work_walk(load, index);
	__atomic_add_fetch(&load->done, 1, __ATOMIC_SEQ_CST);
	_exit(0);
}

TEST(stream_of_a_thread_that_exits)
{
	struct reader r = { 0 };
	struct load *load;
	struct session s;
	struct walk walk;
	int i;

	for (i = 0; i < TRIES; i++) {
		load = load_spawn(1, work_walk_and_exit);
		trace_begin(&s, stream_setup(KIB(128), 1, 16), load);
		r = (struct reader){ .s = &s };
		read_round(&r, load);
		waitpid(load->pid, NULL, 0);
		take(&r, 0);
		check_counts(&r);
		CHECK_EQ(must_status(s.fd).nr_threads, 0);
		CHECK_EQ(must_status(s.fd).regions_live, 0);
		CHECK(r.nr && r.pieces[r.nr - 1].desc.flags &
		      MTRACE_STREAM_LAST, "the last is not said to be it");
		CHECK_EQ(r.pieces[r.nr - 1].desc.tid, load->pid);
		walk = follow(&r, load->pid, 0);
		i = must_status(s.fd).stream_overruns ? i : TRIES;
		if (i == TRIES)
			CHECK_EQ(walk.walks, 1);
		reader_end(&r);
		session_close(&s);
	}
	CHECK(i > TRIES, "overruns in each of %d tries", TRIES);
}

/*
 * Many short threads that nobody reads: each is traced, none is refused, and of
 * each it is told what became of its trace.
 */
TEST(stream_of_short_threads)
{
	struct mtrace_setup setup = stream_setup(KIB(16), 4, 2);
	uint64_t i, lost = 0, last = 0, others = 0;
	const int nr = 100;
	struct reader r = { 0 };
	struct session s;
	pid_t pid;
	int j;

	setup.flags |= MTRACE_SETUP_INHERIT_PROCESSES;
	session_open(&s, setup);
	r.s = &s;
	must_attach(&s, getpid());
	must_start(&s);
	for (j = 0; j < nr; j++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	must_stop(&s);
	CHECK_EQ(must_status(s.fd).refused_threads, 0);
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

TEST(stream_poll)
{
	struct load *load = load_spawn(1, work_walk);
	struct mtrace_stream_desc descs[4];
	struct mtrace_stream_read arg;
	struct pollfd fd = { .events = POLLRDBAND | POLLIN };
	struct session s;

	trace_begin(&s, stream_setup(KIB(64), 1, 4), load);
	CHECK(!is_waiting(&s), "it has nothing yet");
	load_go(load);
	/* Woken, not polled: without an end the test would hang. */
	fd.fd = s.fd;
	CHECK_EQ(poll(&fd, 1, -1), 1);
	CHECK_EQ(fd.revents, POLLRDBAND);
	WAIT_FOR(load->done == 1);
	CHECK_ERRNO(try_read(s.fd, descs, 2, 0, &arg), 0);
	CHECK_EQ(arg.count, 2);
	CHECK_EQ(arg.nr_waiting, 1);
	CHECK(is_waiting(&s), "one waits");
	CHECK_ERRNO(try_read(s.fd, descs, 2, 0, &arg), 0);
	CHECK_EQ(arg.count, 1);
	CHECK_EQ(descs[0].seq, 3);
	/* They are held, but were read. */
	CHECK(!is_waiting(&s), "none waits");
	CHECK_ERRNO(try_read(s.fd, descs, 2, 0, &arg), 0);
	CHECK_EQ(arg.count, 0);
	load_end(load);
}

TEST(stream_errors)
{
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct load *load = load_spawn(1, work_walk);
	struct mtrace_stream_desc descs[4];
	struct mtrace_stream_release bad;
	struct mtrace_trigger trigger = breakpoint_at(load_target);
	struct mtrace_stream_read arg;
	struct session s;
	int fd;

	fd = open_device();
	CHECK_ERRNO(try_read(fd, descs, 4, 0, &arg), EINVAL);
	CHECK_ERRNO(try_release(fd, 1, 1), EINVAL);
	close(fd);
	session_open(&s, setup_of(KIB(64), 1, 1));
	CHECK_ERRNO(try_read(s.fd, descs, 4, 0, &arg), EINVAL);
	CHECK_ERRNO(try_release(s.fd, 1, 1), EINVAL);
	session_close(&s);

	/* What is handed over as it fills is no part of a snapshot. */
	s.fd = open_device();
	s.setup = stream_setup(KIB(64), 1, 4);
	s.setup.flags |= MTRACE_SETUP_SNAPSHOT_AT_EXIT;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SETUP, &s.setup), EINVAL);
	close(s.fd);
	trace_begin(&s, stream_setup(KIB(64), 1, 4), load);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), EINVAL);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_ADD_TRIGGER, &trigger), EINVAL);
	CHECK_ERRNO(try_release(s.fd, 1, 1), EINVAL);
	load_round(load);
	must_stop(&s);
	/* Not before it was read; the oldest first; not more than were read. */
	CHECK_ERRNO(try_release(s.fd, 1, 1), EINVAL);
	CHECK_ERRNO(try_read(s.fd, descs, 2, 2, &arg), EINVAL);
	CHECK_ERRNO(try_read(s.fd, (void *)8, 2, 0, &arg), EFAULT);
	CHECK_ERRNO(try_read(s.fd, descs, 2, 0, &arg), 0);
	CHECK_EQ(arg.count, 2);
	CHECK_EQ(descs[0].seq, 1);
	CHECK_ERRNO(try_release(s.fd, 2, 1), EINVAL);
	CHECK_ERRNO(try_release(s.fd, 0, 1), EINVAL);
	CHECK_ERRNO(try_release(s.fd, 1, 0), EINVAL);
	CHECK_ERRNO(try_release(s.fd, 1, 3), EINVAL);
	CHECK_ERRNO(try_release(s.fd, 1, UINT32_MAX), EINVAL);
	CHECK_EQ(must_status(s.fd).regions_frozen, 3);
	CHECK_ERRNO(try_release(s.fd, 1, 2), 0);
	CHECK_EQ(must_status(s.fd).regions_frozen, 1);
	CHECK_ERRNO(try_release(s.fd, 1, 1), EINVAL);
	bad = (struct mtrace_stream_release){
		.size = sizeof(bad), .seq = 3, .count = 1, .flags = 1
	};
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_STREAM_RELEASE, &bad), EINVAL);
	bad.flags = 0;
	bad.pad = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_STREAM_RELEASE, &bad), EINVAL);
	load_end(load);
}

/* A range that stops the trace does so until a flush. */
TEST(stream_stopped_by_a_range)
{
	struct load *load = load_spawn(1, work_calls);
	struct reader r = { 0 };
	struct session s;

	trace_begin(&s, trace_stops(stream_setup(KIB(64), 1, 4)), load);
	r.s = &s;
	load_round(load);
	CHECK_EQ(take(&r, 0), 0);
	CHECK_EQ(must_status(s.fd).stops, 1);
	CHECK_EQ(take(&r, MTRACE_STREAM_FLUSH), 1);
	CHECK(r.pieces[0].desc.flags & MTRACE_STREAM_STOPPED, "flags %#x",
	      r.pieces[0].desc.flags);
	/* It begins anew, and comes there again. */
	load_round(load);
	CHECK_EQ(must_status(s.fd).stops, 2);
	CHECK_EQ(take(&r, MTRACE_STREAM_FLUSH), 1);
	CHECK_EQ(r.pieces[1].desc.flags, MTRACE_STREAM_STOPPED);
	load_end(load);
}

/* Neither the reader's death nor what it held is left behind. */
TEST(stream_reader_is_killed)
{
	struct load *load = load_spawn(2, work_spin);
	volatile uint32_t *ready = &load->done;
	struct msrs before;
	struct session s;
	uint64_t seen;
	uint32_t i;
	pid_t pid;

	read_msrs(&before);
	load_go(load);
	pid = fork();
	if (!pid) {
		struct mtrace_stream_desc descs[4];
		struct mtrace_stream_read arg;

		trace_begin(&s, stream_setup(KIB(64), 2, 8), load);
		while (try_read(s.fd, descs, 4, 0, &arg) || !arg.count)
			usleep(100);
		*ready = 1;
		for (;;)
			pause();
	}
	WAIT_FOR(*ready);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check_msrs_as(&before);
	for (i = 0; i < 2; i++) {
		seen = load->progress[i];
		WAIT_FOR(load->progress[i] > seen + 10);
	}
	/* The threads can be had again. */
	trace_begin(&s, stream_setup(KIB(64), 2, 8), load);
	WAIT_FOR(is_waiting(&s));
	load_end(load);
}
