// SPDX-License-Identifier: GPL-2.0
/* Full execution: regions are handed over as they fill. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msr.h"
#include "reader.h"
#include "trace.h"
#include "trigger.h"

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

TEST(stream_flush)
{
	struct load *load = load_spawn(2, work_spin);
	struct reader r = { 0 };
	struct session s;
	uint64_t i;

	/* Threads that sleep, most of the time. */
	trace_begin(&s, stream_setup(MIB(1), 2, 2), load);
	r.s = &s;
	for (i = 0; i < 2; i++)
		wait_for_sleep(load->tids[i]);
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
}

/*
 * A flush while no region is free. Returns whether the thread had not half filled
 * its own meanwhile, which it loses, flush or not.
 */
static bool flush_without_room(struct load *load)
{
	struct mtrace_stream_desc descs[8];
	struct mtrace_stream_read arg;
	struct session s;
	uint64_t seen;
	bool in_time;

	trace_begin(&s, stream_setup(MIB(4), 1, 2), load);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	CHECK_ERRNO(try_read(s.fd, descs, 8, MTRACE_STREAM_FLUSH, &arg), 0);
	CHECK_EQ(arg.count, 1);
	if (arg.nr_unflushed) {
		/* The other region is handed over already, half full. */
		session_close(&s);
		return false;
	}
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	CHECK_ERRNO(try_read(s.fd, descs, 8, MTRACE_STREAM_FLUSH, &arg), 0);
	CHECK_EQ(arg.count, 0);
	CHECK_EQ(arg.nr_unflushed, 1);
	CHECK_ERRNO(try_release(s.fd, 1, 1), 0);
	CHECK_ERRNO(try_read(s.fd, descs, 8, MTRACE_STREAM_FLUSH, &arg), 0);
	CHECK_EQ(arg.count, 1);
	in_time = !must_status(s.fd).stream_lost_bytes;
	CHECK_EQ(descs[0].flags, in_time ? 0 : MTRACE_STREAM_LOST);
	session_close(&s);
	return in_time;
}

/* Nobody loses anything for it. */
TEST(stream_flush_without_room)
{
	struct load *load;
	int i;

	pin_to(0);
	load = load_spawn(1, work_spin);
	load_go(load);
	for (i = 0; i < TRIES; i++)
		if (flush_without_room(load))
			break;
	CHECK(i < TRIES, "something is lost in each of %d tries", TRIES);
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
	fill(&s, load, 3);
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
	fill(&s, load, 3);
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
