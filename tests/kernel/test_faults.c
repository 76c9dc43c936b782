// SPDX-License-Identifier: GPL-2.0
/*
 * Calls in which one allocation fails, each in its turn, by the kernel's fault
 * injection: for the debug kernel, which also says what is freed twice or leaked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "side.h"
#include "trigger.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define INJECTION	"/sys/kernel/debug/"

static void need_faults(void)
{
	/* Also of those who may wait for memory, and without a word. */
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
	};
	char path[64];
	size_t i;

	if (access(FAIL_NTH, W_OK))
		skip("the kernel injects no faults");
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(path, sizeof(path), INJECTION "%s", settings[i][0]);
		CHECK(write_text(path, settings[i][1]), "no %s", path);
	}
}

/**
 * struct fault - a call under test
 * @s: its session
 * @tid: a thread
 * @setup: a set-up
 * @trigger: a trigger
 * @snapshot: a snapshot
 * @call: makes it; returns the errno, or 0
 * @undo: undoes it
 */
struct fault {
	struct session s;
	pid_t tid;
	struct mtrace_setup setup;
	struct mtrace_trigger trigger;
	struct mtrace_snapshot snapshot;
	int (*call)(struct fault *fault);
	void (*undo)(struct fault *fault);
};

/*
 * Make the call again and again, each time with another allocation that fails,
 * until there is none left. It may bear that; or it fails for want of memory,
 * and has then changed nothing: without a fault it succeeds.
 */
static void check_faults(struct fault *fault, unsigned int least)
{
	int fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC), err;
	unsigned int nth = 0, failed = 0;
	char left[16];
	ssize_t n;

	CHECK(fd >= 0, "%s: %s", FAIL_NTH, strerror(errno));
	do {
		nth++;
		CHECK(dprintf(fd, "%u", nth) > 0, "%s: %s", FAIL_NTH,
		      strerror(errno));
		err = fault->call(fault);
		n = pread(fd, left, sizeof(left) - 1, 0);
		CHECK(n > 0, "%s: %s", FAIL_NTH, strerror(errno));
		left[n] = '\0';
		CHECK(dprintf(fd, "0") > 0, "%s: %s", FAIL_NTH,
		      strerror(errno));
		if (err) {
			CHECK(!atoi(left), "errno %d without a fault", err);
			CHECK_EQ(err, ENOMEM);
			failed++;
			CHECK_EQ(fault->call(fault), 0);
		}
		fault->undo(fault);
	} while (!atoi(left));
	close(fd);
	CHECK(failed >= least, "%u of %u allocations matter", failed, nth - 1);
}

static int call_setup(struct fault *fault)
{
	struct mtrace_setup setup = fault->setup;

	if (fault->s.fd < 0)
		fault->s.fd = open("/dev/mtrace", O_RDWR | O_CLOEXEC);
	if (fault->s.fd < 0)
		return errno;
	return ioctl(fault->s.fd, MTRACE_IOC_SETUP, &setup) ? errno : 0;
}

static void undo_setup(struct fault *fault)
{
	close(fault->s.fd);
	fault->s.fd = -1;
}

static void check_setup(struct mtrace_setup setup, unsigned int least)
{
	struct fault fault = {
		.s.fd = -1, .setup = setup,
		.call = call_setup, .undo = undo_setup,
	};

	check_faults(&fault, least);
}

/* The first session, for which the CPUs are taken, too. */
TEST(faults_of_setup)
{
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);

	need_faults();
	check_setup(setup, 3);
	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	check_setup(side_setup(setup, 0), 3);
	setup.flags = MTRACE_SETUP_STREAM;
	check_setup(setup, 3);
}

/* A page and an entry of a table for each 4 KiB. */
TEST(faults_of_setup_in_pieces)
{
	struct mtrace_setup setup = setup_of(KIB(256), 1, 1);

	need_faults();
	reload_module_of_pieces();
	check_setup(setup, 3);
	setup.flags = MTRACE_SETUP_STREAM;
	check_setup(setup, 3);
	reload_module(NULL);
}

static int call_trigger(struct fault *fault)
{
	struct mtrace_trigger arg = fault->trigger;

	if (ioctl(fault->s.fd, MTRACE_IOC_ADD_TRIGGER, &arg))
		return errno;
	fault->trigger.number = arg.number;
	return 0;
}

static void undo_trigger(struct fault *fault)
{
	must_remove_trigger(&fault->s, fault->trigger.number);
	fault->trigger.number = 0;
}

static int call_attach(struct fault *fault)
{
	return try_thread(fault->s.fd, MTRACE_IOC_ATTACH, fault->tid) ?
	       errno : 0;
}

static void undo_attach(struct fault *fault)
{
	must_detach(&fault->s, fault->tid);
}

static int call_snapshot(struct fault *fault)
{
	fault->snapshot = (struct mtrace_snapshot){
		.size = sizeof(fault->snapshot),
	};
	return ioctl(fault->s.fd, MTRACE_IOC_SNAPSHOT, &fault->snapshot) ?
	       errno : 0;
}

static void undo_snapshot(struct fault *fault)
{
	struct mtrace_region *regions;
	uint32_t count;

	regions = must_describe(&fault->s, fault->snapshot.id, &count);
	CHECK_EQ(count, 2);
	free(regions);
	must_release(&fault->s, fault->snapshot.id);
}

TEST(faults_of_threads_and_triggers)
{
	struct load *load = load_spawn(2, work_spin);
	struct fault fault = { .tid = load->pid };
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);

	need_faults();
	session_open(&fault.s, side_setup(setup, 0));
	must_attach(&fault.s, load->tids[1]);
	load_go(load);

	fault.trigger = breakpoint_at(trigger_here);
	fault.call = call_trigger;
	fault.undo = undo_trigger;
	check_faults(&fault, 1);
	fault.trigger = probe_at(trigger_here);
	check_faults(&fault, 1);

	/* One that a breakpoint is for, too. */
	must_add_trigger(&fault.s, breakpoint_at(trigger_here));
	fault.call = call_attach;
	fault.undo = undo_attach;
	check_faults(&fault, 1);

	/* No memory is asked for where threads have to stop. */
	must_attach(&fault.s, fault.tid);
	must_start(&fault.s);
	fault.call = call_snapshot;
	fault.undo = undo_snapshot;
	check_faults(&fault, 0);
	CHECK_EQ(must_status(fault.s.fd).nr_threads, 2);
	session_close(&fault.s);
	load_end(load);
}
