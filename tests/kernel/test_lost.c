// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU that ends its output at the end of an entry, as if that had a STOP, each
 * 64 KiB: for a machine that is started with --fault stop=64.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "load.h"
#include "pt.h"

#define ROUNDS	12
#define STOP	KIB(64)

static const uint8_t psb[16] = {
	2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
};

static void want_stops(void)
{
	const char *fault = getenv("MTRACE_TEST_FAULT");

	if (!fault || strcmp(fault, "stop=64"))
		skip("the machine has not the fault stop=64");
}

/* What was written since the last loss is whole, and begins anew. */
static uint64_t check_rest(const struct session *s,
			   const struct mtrace_region *region, uint64_t start)
{
	struct mtrace_region rest = *region;
	struct session from = *s;
	struct pt_stats stats;

	from.map += region->offset + start;
	rest.offset = 0;
	rest.flags = 0;
	rest.head -= start;
	rest.valid = rest.head;
	if (!rest.valid)
		return 0;
	pt_read(&from, &rest, (uintptr_t)load_target, &stats);
	return stats.hits;
}

/* Where in the region PSB stands at the beginning of a page, the last time. */
static uint64_t last_beginning(const struct session *s,
			       const struct mtrace_region *region,
			       uint32_t *beginnings)
{
	uint64_t at, last = 0;

	for (at = 0; at < region->head; at += 4096) {
		if (memcmp(s->map + region->offset + at, psb, sizeof(psb)))
			continue;
		last = at;
		++*beginnings;
	}
	return last;
}

/*
 * Each end is counted once, not at each switch from then on; the region says
 * so; and the trace goes on behind it, where it begins anew.
 */
static void check_output_ends(uint64_t region_size, bool wraps)
{
	/* Two that give way to each other: it is a switch that notices an end. */
	struct load *load = load_spawn(2, work_yield);
	uint32_t round, lost = 0, beginnings = 0, cut = 0;
	struct mtrace_region *regions;
	struct mtrace_status status;
	struct mtrace_setup setup = setup_of(2 * region_size, 1, 1);
	uint64_t id, last, want, hits = 0, bytes = 0;
	struct session s;

	/* Each 64 KiB, so that it is seldom by chance that one begins a page. */
	setup.psb_freq = 5;
	session_open(&s, setup);
	CHECK_EQ(s.setup.region_size, region_size);
	must_attach(&s, load->pid);
	must_start(&s);
	for (round = 0; round < ROUNDS; round++) {
		load_round(load);
		regions = must_regions(&s, 1, &id);
		CHECK_EQ(regions->flags &
			 ~(MTRACE_REGION_LOST | MTRACE_REGION_WRAPPED), 0);
		if (!wraps)
			CHECK_EQ(regions->flags & MTRACE_REGION_WRAPPED, 0);
		lost += !!(regions->flags & MTRACE_REGION_LOST);
		bytes += regions->valid;
		last = last_beginning(&s, regions, &beginnings);
		/* It was frozen where the output had ended. */
		if (regions->head % 4096)
			hits += check_rest(&s, regions, last);
		else
			cut++;
		must_release(&s, id);
		free(regions);
	}
	status = must_status(s.fd);
	CHECK(lost, "no region has lost anything");
	CHECK(status.errors >= lost, "%llu errors, but %u regions that lost",
	      status.errors, lost);
	CHECK_EQ(status.stops, 0);
	CHECK(hits, "nothing is traced behind a loss");
	if (!wraps) {
		/*
		 * Behind each end there is a beginning, if not in the next. One
		 * more by chance: a PSB that comes of its period has that of
		 * one in 4,096.
		 */
		want = ROUNDS + status.errors - cut;
		CHECK(beginnings == want || beginnings == want + 1,
		      "%u beginnings, not %lu", beginnings, want);
		/* Each CPU counts for itself, and has done so before. */
		CHECK(llabs((long long)(status.errors - bytes / STOP)) <=
		      nr_cpus() + 1, "%llu errors in %lu bytes", status.errors,
		      bytes);
	}
	/* 2,500 switches a round. */
	CHECK(status.errors <= 8 * ROUNDS, "%llu errors", status.errors);
	session_close(&s);
	load_end(load);
}

TEST(output_ends_with_the_region)
{
	want_stops();
	check_output_ends(KIB(64), true);
}

TEST(output_ends_with_a_piece)
{
	want_stops();
	reload_module_of_pieces();
	check_output_ends(MIB(4), false);
	reload_module(NULL);
}
