// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "trace.h"

#define TICK_US	"/sys/module/mtrace/parameters/tick_us"

struct mtrace_setup stream_setup(uint64_t region_size, uint32_t threads,
					uint32_t regions)
{
	struct mtrace_setup setup;

	setup = setup_of(region_size * threads * regions, threads, regions - 1);
	setup.flags = MTRACE_SETUP_STREAM;
	setup.trace_flags |= MTRACE_TRACE_NORETCOMP;
	return setup;
}

int try_read(int fd, struct mtrace_stream_desc *descs, uint32_t room,
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

int try_release(int fd, uint64_t seq, uint32_t count)
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

uint32_t take(struct reader *r, uint32_t flags)
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

void reader_end(struct reader *r)
{
	uint64_t i;

	for (i = 0; i < r->nr; i++)
		free(r->pieces[i].bytes);
	free(r->pieces);
}

bool is_waiting(struct session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLRDBAND };

	return poll(&fd, 1, 0) == 1 && fd.revents == POLLRDBAND;
}

uint32_t fill(struct session *s, struct load *load, uint32_t held)
{
	uint32_t rounds = 0;

	do {
		CHECK(rounds < TRIES, "no %u regions in %u rounds", held, rounds);
		load_round(load);
		rounds++;
	} while (must_status(s->fd).regions_frozen < held);
	return rounds;
}

void read_round(struct reader *r, struct load *load)
{
	struct pollfd fd = { .fd = r->s->fd, .events = POLLRDBAND };

	load_go(load);
	while (load->done < load->nr)
		if (poll(&fd, 1, 10) == 1)
			take(r, 0);
}

struct walk follow(const struct reader *r, pid_t tid, uint32_t seed)
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

void check_counts(const struct reader *r)
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

void begin_without_tick(struct session *s, struct mtrace_setup setup,
			       const struct load *load)
{
	char before[16];

	snprintf(before, sizeof(before), "%lld", read_number(TICK_US));
	CHECK(write_text(TICK_US, "1000000000"), "no %s", TICK_US);
	trace_begin(s, setup, load);
	write_text(TICK_US, before);
}

struct walk follow_to_end(struct reader *r, const struct load *load)
{
	must_stop(r->s);
	take(r, 0);
	check_counts(r);
	return follow(r, load->pid, 0);
}
