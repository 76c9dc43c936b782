// SPDX-License-Identifier: GPL-2.0
/* The ioctls: a builder of what is valid for each. */
#include <errno.h>
#include <sys/ioctl.h>

#include <linux/mtrace_sideband.h>

#include "fuzz.h"

static void build_size(struct fuzzer *f, void *arg)
{
	(void)f;
	(void)arg;
}

static void build_setup(struct fuzzer *f, void *arg)
{
	static const uint32_t flags[] = {
		MTRACE_TRACE_TSC, MTRACE_TRACE_MTC, MTRACE_TRACE_CYC,
		MTRACE_TRACE_NORETCOMP, MTRACE_TRACE_PTW,
		MTRACE_TRACE_PTW | MTRACE_TRACE_PTW_FUP, MTRACE_TRACE_POWER,
		MTRACE_TRACE_NOBRANCH, MTRACE_TRACE_EVENT, MTRACE_TRACE_NOTNT,
	};
	struct mtrace_setup *setup = arg;
	uint32_t i;

	setup->buffer_size = PAGE << (4 + below(f, 7));
	setup->max_threads = 1 + below(f, 8);
	setup->max_snapshots = 1 + below(f, 4);
	if (one_in(f, 16))
		setup->max_threads = 1 << below(f, 13);
	setup->flags = rnd(f) & MTRACE_SETUP_FLAGS_ALL;
	if (one_in(f, 3))
		setup->flags &= ~MTRACE_SETUP_STREAM;
	if (setup->flags & MTRACE_SETUP_SIDEBAND && one_in(f, 2))
		setup->sideband_size = MTRACE_SIDEBAND_MIN << below(f, 4);
	if (setup->flags & MTRACE_SETUP_STREAM)
		setup->flags &= ~(MTRACE_SETUP_SNAPSHOT_AT_EXIT |
				  MTRACE_SETUP_SNAPSHOT_AT_SIGNAL);
	setup->trace_flags = 1 + below(f, 3);
	for (i = below(f, 3); i; i--)
		setup->trace_flags |= flags[below(f, 10)];
	if (one_in(f, 8))
		setup->trace_flags |= MTRACE_TRACE_CR3;
	if (setup->trace_flags & MTRACE_TRACE_MTC)
		setup->mtc_freq = below(f, 10);
	if (setup->trace_flags & MTRACE_TRACE_CYC)
		setup->cyc_thresh = below(f, 10);
	setup->psb_freq = below(f, 6);
	setup->pmu_type = one_in(f, 3) ? 0 : pmu_type;
	if (one_in(f, 4))
		setup->nr_ranges = 1 + below(f, MTRACE_MAX_RANGES);
	for (i = 0; i < setup->nr_ranges; i++) {
		setup->range[i].start = 0x400000 + below(f, 1 << 20);
		setup->range[i].end = setup->range[i].start + below(f, 4096);
		setup->range[i].kind = one_in(f, 3) ? MTRACE_RANGE_STOP :
						      MTRACE_RANGE_FILTER;
	}
}

static void done_setup(struct fuzzer *f, const void *arg)
{
	f->slot->setup = *(const struct mtrace_setup *)arg;
}

static void build_thread(struct fuzzer *f, void *arg)
{
	((struct mtrace_thread *)arg)->tid = some_tid(f);
}

static void done_snapshot(struct fuzzer *f, const void *arg)
{
	f->slot->id = ((const struct mtrace_snapshot *)arg)->id;
}

/* One of the last, which are those that may be held still. */
static uint64_t some_id(struct fuzzer *f)
{
	uint64_t id = f->slot->id, back = below(f, 4);

	return id > back ? id - back : 1;
}

static void build_describe(struct fuzzer *f, void *arg)
{
	struct mtrace_describe *describe = arg;

	describe->region_size = sizeof(struct mtrace_region);
	describe->id = some_id(f);
	describe->regions = (uintptr_t)f->regions;
	describe->count = REGIONS;
	if (one_in(f, 16))
		describe->count = below(f, 4);
	if (one_in(f, 16))
		describe->regions = (uintptr_t)bad_place(f);
	if (one_in(f, 16))
		describe->regions = (uintptr_t)f->changing;
	if (one_in(f, 16))
		describe->region_size += 8 * below(f, 8);
}

static void done_describe(struct fuzzer *f, const void *arg)
{
	const struct mtrace_describe *describe = arg;
	uint32_t i;

	if (describe->regions != (uintptr_t)f->regions ||
	    describe->region_size != sizeof(struct mtrace_region))
		return;
	for (i = 0; i < describe->count; i++) {
		__atomic_add_fetch(&seen_regions, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&seen_bytes, f->regions[i].valid,
				   __ATOMIC_RELAXED);
	}
}

static void build_release(struct fuzzer *f, void *arg)
{
	((struct mtrace_release *)arg)->id = some_id(f);
}

/* A snapshot that others than the owner asked for. */
static void build_snapshot(struct fuzzer *f, void *arg)
{
	if (one_in(f, 8))
		((struct mtrace_snapshot *)arg)->flags = MTRACE_SNAPSHOT_WAIT;
}

/* Breakpoints and probes at what the targets run, and on what they write. */
static void build_trigger(struct fuzzer *f, void *arg)
{
	struct mtrace_trigger *trigger = arg;

	trigger->flags = below(f, 2) ? MTRACE_TRIGGER_ONESHOT : 0;
	if (one_in(f, 3)) {
		trigger->kind = MTRACE_TRIGGER_UPROBE;
		trigger->fd = probed_fd;
		trigger->address = below(f, 64);
		return;
	}
	trigger->kind = MTRACE_TRIGGER_BREAKPOINT;
	trigger->access = MTRACE_ACCESS_EXEC;
	trigger->address = (uintptr_t)probed_function;
	if (one_in(f, 2)) {
		trigger->access = one_in(f, 2) ? MTRACE_ACCESS_WRITE :
						 MTRACE_ACCESS_READWRITE;
		trigger->address = (uintptr_t)targets;
		trigger->length = 1 << below(f, 4);
	}
	if (one_in(f, 2))
		trigger->tid = some_tid(f);
}

static void done_add_trigger(struct fuzzer *f, const void *arg)
{
	f->slot->trigger = ((const struct mtrace_trigger *)arg)->number;
}

static void build_remove_trigger(struct fuzzer *f, void *arg)
{
	uint32_t back = below(f, 3);

	((struct mtrace_trigger *)arg)->number =
		f->slot->trigger > back ? f->slot->trigger - back : 1;
}

static void build_stream_read(struct fuzzer *f, void *arg)
{
	struct mtrace_stream_read *read = arg;

	read->desc_size = sizeof(struct mtrace_stream_desc);
	read->descs = (uintptr_t)f->regions;
	read->count = one_in(f, 4) ? below(f, 4) : REGIONS;
	if (one_in(f, 3))
		read->flags = MTRACE_STREAM_FLUSH;
	if (one_in(f, 16))
		read->descs = (uintptr_t)bad_place(f);
	if (one_in(f, 16))
		read->descs = (uintptr_t)f->changing;
	if (one_in(f, 16))
		read->desc_size += 8 * below(f, 8);
}

static void done_stream_read(struct fuzzer *f, const void *arg)
{
	const struct mtrace_stream_read *read = arg;
	const struct mtrace_stream_desc *desc;
	uint32_t i;

	if (read->descs != (uintptr_t)f->regions)
		return;
	for (i = 0; i < read->count && i < REGIONS; i++) {
		desc = (void *)((uint8_t *)f->regions + i * read->desc_size);
		f->slot->newest = desc->seq;
		__atomic_add_fetch(&seen_regions, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&seen_bytes, desc->bytes, __ATOMIC_RELAXED);
	}
}

static void build_stream_release(struct fuzzer *f, void *arg)
{
	struct mtrace_stream_release *release = arg;
	uint64_t oldest = f->slot->oldest, newest = f->slot->newest;

	/* Others release, too, and what they did may not be known here. */
	if (one_in(f, 4))
		oldest += below(f, 8);
	release->seq = oldest;
	release->count = 1;
	if (oldest < newest)
		release->count += below(f, newest - oldest + 1);
}

static void done_stream_release(struct fuzzer *f, const void *arg)
{
	const struct mtrace_stream_release *release = arg;

	f->slot->oldest = release->seq + release->count;
}

/* No call that there is, or with another size or direction. */
static int run_unknown(struct fuzzer *f)
{
	unsigned long cmd = rnd(f);

	if (!one_in(f, 4))
		cmd = (cmd & ~0xff00UL) | MTRACE_IOC_MAGIC << 8;
	return ioctl(f->slot->fd, cmd, bad_place(f)) ? errno : 0;
}

#define IOCTL(name_, weight_, least_, type_, build_, done_)		\
	.name = #name_, .weight = weight_, .least = least_,		\
	.cmd = MTRACE_IOC_##name_, .size = sizeof(struct type_),	\
	.build = build_, .done = done_, .counts = true
#define ANY(...) { IOCTL(__VA_ARGS__) }
#define SNAPSHOTS(...) { IOCTL(__VA_ARGS__), .without = MTRACE_SETUP_STREAM }
#define STREAM(...) { IOCTL(__VA_ARGS__), .with = MTRACE_SETUP_STREAM }
#define PLAIN(name_, weight_, least_)					\
	{ .name = #name_, .weight = weight_, .least = least_,		\
	  .cmd = MTRACE_IOC_##name_, .counts = true }

const struct call ioctl_calls[] = {
	ANY(GET_CAPS, 100, 10000, mtrace_caps, build_size, NULL),
	ANY(SETUP, 5, 40, mtrace_setup, build_setup, done_setup),
	ANY(GET_SETUP, 100, 3000, mtrace_setup, build_size, NULL),
	ANY(ATTACH, 80, 2000, mtrace_thread, build_thread, NULL),
	ANY(DETACH, 60, 300, mtrace_thread, build_thread, NULL),
	PLAIN(START, 60, 3000),
	PLAIN(STOP, 30, 3000),
	SNAPSHOTS(SNAPSHOT, 300, 10000, mtrace_snapshot, build_snapshot,
	      done_snapshot),
	SNAPSHOTS(NEXT_SNAPSHOT, 120, 500, mtrace_snapshot, build_size,
	      done_snapshot),
	SNAPSHOTS(ADD_TRIGGER, 5, 500, mtrace_trigger, build_trigger,
	      done_add_trigger),
	SNAPSHOTS(REMOVE_TRIGGER, 8, 200, mtrace_trigger, build_remove_trigger,
	      NULL),
	SNAPSHOTS(DESCRIBE, 400, 10000, mtrace_describe, build_describe,
	      done_describe),
	SNAPSHOTS(RELEASE, 400, 10000, mtrace_release, build_release, NULL),
	STREAM(STREAM_READ, 240, 10000, mtrace_stream_read, build_stream_read,
	      done_stream_read),
	STREAM(STREAM_RELEASE, 200, 500, mtrace_stream_release,
	      build_stream_release, done_stream_release),
	ANY(GET_STATUS, 240, 10000, mtrace_status, build_size, NULL),
	{ .name = "an unknown ioctl", .weight = 100, .run = run_unknown,
	  .counts = true },
	{ 0 }
};
