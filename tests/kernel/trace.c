// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "trace.h"

void trace_begin(struct session *s, struct mtrace_setup setup,
		 const struct load *load)
{
	uint32_t i;

	session_open(s, setup);
	for (i = 0; i < load->nr; i++)
		must_attach(s, load->tids[i]);
	must_start(s);
}

struct mtrace_setup trace_stops(struct mtrace_setup setup)
{
	if (!must_caps().nr_ranges)
		skip("this CPU has no ranges");
	setup.nr_ranges = 1;
	setup.range[0] = (struct mtrace_range){
		.start = (uintptr_t)load_target,
		.end = (uintptr_t)load_target,
		.kind = MTRACE_RANGE_STOP,
	};
	return setup;
}

struct mtrace_region *trace_another(struct session *s, struct load *load,
				    uint64_t *id)
{
	load_round(load);
	return must_regions(s, load->nr, id);
}

struct mtrace_region *trace_round(struct session *s, struct mtrace_setup setup,
				  struct load *load)
{
	struct mtrace_region *regions;
	uint64_t id;

	trace_begin(s, setup, load);
	regions = trace_another(s, load, &id);
	CHECK_EQ(id, 1);
	return regions;
}

struct mtrace_setup trace_work(uint32_t flags, struct mtrace_setup setup,
			       void (*work)(struct load *load, uint32_t index),
			       uint64_t target, struct pt_stats *stats)
{
	struct load *load = load_spawn(1, work);
	struct mtrace_region *region;
	struct session s;

	setup.trace_flags |= flags;
	region = trace_round(&s, setup, load);
	pt_read(&s, region, target, stats);
	CHECK_EQ(region->flags, 0);
	CHECK_EQ(must_status(s.fd).errors, 0);
	CHECK(region->valid, "nothing was traced");
	free(region);
	session_close(&s);
	load_end(load);
	return s.setup;
}
