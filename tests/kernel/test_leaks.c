// SPDX-License-Identifier: GPL-2.0
/* What the protocol tells, to the byte: nothing of the kernel is among it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "msr.h"
#include "pt.h"

#define FILL	0xa5
#define BEHIND	64

/* Where the CPUs write to: physical addresses that were seen in registers. */
static uint64_t seen[64];
static unsigned int nr_seen;

static void see_registers(void)
{
	int cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		uint64_t base = read_msr(cpu, MSR_RTIT_OUTPUT_BASE);

		if (base && nr_seen < 64)
			seen[nr_seen++] = base;
	}
}

/* A kernel's address; numbers near -1 are errors, and small ones below 0. */
static bool is_kernel_pointer(uint64_t value)
{
	return value >= 0xffff800000000000 && value < 0xffffffffff000000;
}

static void check_bytes(const void *bytes, size_t size, const char *what)
{
	uint64_t value;
	unsigned int i;
	size_t at;

	for (at = 0; at + sizeof(value) <= size; at += 8) {
		memcpy(&value, (const char *)bytes + at, sizeof(value));
		CHECK(!is_kernel_pointer(value),
		      "%s has %#lx at byte %zu: a pointer of the kernel", what,
		      value, at);
		for (i = 0; i < nr_seen; i++)
			CHECK(value != seen[i],
			      "%s has %#lx at byte %zu: where a CPU writes to",
			      what, value, at);
	}
}

/* Make a call by a structure that is followed by what must not change. */
static void check_call(int fd, unsigned long cmd, void *arg, size_t size,
		       const char *what)
{
	uint8_t *place = malloc(size + BEHIND);
	size_t i;

	memcpy(place, arg, size);
	memset(place + size, FILL, BEHIND);
	if (ioctl(fd, cmd, place))
		FAIL("%s: %s", what, strerror(errno));
	for (i = 0; i < BEHIND; i++)
		CHECK(place[size + i] == FILL, "%s writes behind its end",
		      what);
	check_bytes(place, size, what);
	memcpy(arg, place, size);
	free(place);
}

#define CALL(cmd, arg) \
	check_call(s.fd, cmd, &(arg), sizeof(arg), #cmd)

#define ZERO(arg, field) do {						\
	static const uint8_t zeros_[sizeof((arg).field)];		\
									\
	CHECK(!memcmp(&(arg).field, zeros_, sizeof(zeros_)),		\
	      #arg "." #field " is not zero");				\
} while (0)

/* As by a program of a later version: what it knows more is zero. */
static void check_regions(struct session *s, uint64_t id, uint32_t count)
{
	const size_t each = sizeof(struct mtrace_region) + BEHIND;
	struct mtrace_describe describe = {
		.size = sizeof(describe),
		.region_size = each,
		.id = id,
		.count = count,
	};
	uint8_t *regions = malloc(each * count + BEHIND);
	size_t i, j;

	memset(regions, FILL, each * count + BEHIND);
	describe.regions = (uintptr_t)regions;
	check_call(s->fd, MTRACE_IOC_DESCRIBE, &describe, sizeof(describe),
		   "DESCRIBE");
	check_bytes(regions, each * count, "a region");
	for (i = 0; i < count; i++) {
		struct mtrace_region region;
		size_t name;

		memcpy(&region, regions + each * i, sizeof(region));
		ZERO(region, pad);
		name = strnlen(region.comm, sizeof(region.comm));
		CHECK(name < sizeof(region.comm), "a name has no end");
		for (j = name; j < sizeof(region.comm); j++)
			CHECK(!region.comm[j], "there is more behind a name");
		for (j = sizeof(region); j < each; j++)
			CHECK(!regions[each * i + j],
			      "what is not known of a region is not zero");
	}
	for (j = 0; j < BEHIND; j++)
		CHECK(regions[each * count + j] == FILL,
		      "DESCRIBE writes behind its regions");
	free(regions);
}

/* Of what the module says in the kernel's log, no number is an address. */
static void check_log(void)
{
	const size_t size = MIB(1);
	char *log = malloc(size), *line, *next;
	int length = klogctl(3, log, size - 1);

	CHECK(length >= 0, "no log: %s", strerror(errno));
	log[length] = 0;
	for (line = log; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		CHECK(!strstr(line, "mtrace: ") || !strstr(line, "ffff"),
		      "the log has '%s'", line);
	}
	free(log);
}

TEST(nothing_of_the_kernel_is_told)
{
	struct mtrace_caps caps = { .size = sizeof(caps) };
	struct mtrace_setup got = { .size = sizeof(got) };
	struct mtrace_status status = { .size = sizeof(status) };
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct load *load = load_spawn(2, work_spin);
	struct mtrace_setup setup = setup_of(MIB(4), 2, 2);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint32_t i, count;
	int tries;

	/* All that can be asked for, but for the kernel itself. */
	setup.trace_flags = must_caps().trace_flags &
			    ~(MTRACE_TRACE_KERNEL | MTRACE_TRACE_NOBRANCH |
			      MTRACE_TRACE_NOTNT | MTRACE_TRACE_MTC);
	session_open(&s, setup);
	for (i = 0; i < 2; i++)
		must_attach(&s, load->tids[i]);
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10 && load->progress[1] > 10);
	for (tries = 0; tries < 10; tries++)
		see_registers();
	CHECK(nr_seen, "no CPU writes anywhere");

	CALL(MTRACE_IOC_GET_CAPS, caps);
	ZERO(caps, reserved);
	CALL(MTRACE_IOC_GET_SETUP, got);
	ZERO(got, reserved);
	CALL(MTRACE_IOC_GET_STATUS, status);
	CALL(MTRACE_IOC_SNAPSHOT, snapshot);
	ZERO(snapshot, reserved);
	ZERO(snapshot, regs);
	check_regions(&s, snapshot.id, snapshot.nr_regions);
	/* SETUP itself, of another session. */
	setup = setup_of(MIB(1), 1, 1);
	check_call(open_device(), MTRACE_IOC_SETUP, &setup, sizeof(setup),
		   "SETUP");
	ZERO(setup, reserved);

	/* The trace is the program's, wherever it was interrupted. */
	regions = must_describe(&s, snapshot.id, &count);
	for (i = 0; i < count; i++) {
		pt_read(&s, &regions[i], (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.kernel, 0);
		CHECK_EQ(stats.pip, 0);
		CHECK(stats.highest < 1ull << 47, "the trace has %#lx",
		      stats.highest);
	}
	check_log();
	session_close(&s);
	load_end(load);
}
