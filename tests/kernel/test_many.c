// SPDX-License-Identifier: GPL-2.0
/* As many threads as a session can have, and one more. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"

#define CAP	4096	/* the protocol's: mtrace_caps.max_threads */
#define BEYOND	3

/* A small kernel begins with 4,096. */
#define PID_MAX	"/proc/sys/kernel/pid_max"

/**
 * struct crowd - what the threads of the crowd and the test have in common
 * @wanted: how many threads there shall be, the first one included
 * @started: how many have run
 * @refused: thread ids of the last of them
 */
struct crowd {
	uint32_t wanted;
	uint32_t started;
	pid_t refused[BEYOND];
};

static struct crowd *crowd;

/* What they sleep on, until the test closes it. */
static int hold[2];

static void *crowd_thread(void *arg)
{
	const uint32_t index = (uintptr_t)arg;
	char c;

	load_run(10);
	if (index >= CAP)
		crowd->refused[index - CAP] = thread_id();
	__atomic_add_fetch(&crowd->started, 1, __ATOMIC_SEQ_CST);
	if (read(hold[0], &c, 1) < 0)
		FAIL("read: %s", strerror(errno));
	return NULL;
}

/* Has as many threads as are wanted, all of which sleep. */
static void work_crowd(struct load *load, uint32_t index)
{
	static uint32_t threads = 1;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	(void)load;
	(void)index;
	close(hold[1]);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (; threads < crowd->wanted; threads++) {
		err = pthread_create(&thread, &attr, crowd_thread,
				     (void *)(uintptr_t)threads);
		if (err)
			FAIL("thread %u: %s", threads, strerror(err));
		pthread_detach(thread);
	}
}

static void crowd_grow(struct load *load, uint32_t wanted)
{
	crowd->wanted = wanted;
	load_round(load);
	WAIT_FOR(__atomic_load_n(&crowd->started, __ATOMIC_SEQ_CST) ==
		 wanted - 1);
}

/* That all threads which sleep are in a snapshot, and no other. */
static void check_all_in_snapshot(struct session *s, uint32_t least_traced)
{
	struct mtrace_region *regions;
	uint32_t i, traced = 0;
	uint64_t id;
	int j;

	regions = must_regions(s, CAP, &id);
	for (i = 0; i < CAP; i++) {
		traced += regions[i].valid > 0;
		for (j = 0; j < BEYOND; j++)
			CHECK(regions[i].tid != crowd->refused[j],
			      "a thread beyond the cap is traced");
	}
	CHECK(traced >= least_traced, "only %u threads have a trace", traced);
	CHECK_EQ(must_status(s->fd).unswitched, 0);
	must_release(s, id);
	free(regions);
}

TEST(as_many_threads_as_can_be)
{
	struct mtrace_setup setup = setup_of(MIB(32), CAP, 1);
	struct mtrace_status status;
	struct session s;
	struct load *load;
	int i;

	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK_ERRNO(pipe(hold), 0);
	CHECK_EQ(must_caps().max_threads, CAP);
	if (read_number(PID_MAX) < 4 * CAP)
		CHECK(write_text(PID_MAX, "32768"), "no %s", PID_MAX);
	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	load = load_spawn(1, work_crowd);
	session_open(&s, setup);
	CHECK_EQ(s.setup.region_size, 4096);
	must_attach(&s, load->pid);
	must_start(&s);

	crowd_grow(load, CAP);
	status = must_status(s.fd);
	CHECK_EQ(status.nr_threads, CAP);
	CHECK_EQ(status.refused_threads, 0);
	/* Each has run once at least, when it was made. */
	check_all_in_snapshot(&s, CAP);

	/* At fork, and by a call. They run all the same. */
	crowd_grow(load, CAP + BEYOND);
	status = must_status(s.fd);
	CHECK_EQ(status.nr_threads, CAP);
	CHECK_EQ(status.refused_threads, BEYOND);
	for (i = 0; i < BEYOND; i++) {
		CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH,
				       crowd->refused[i]), ENOSPC);
		CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_DETACH,
				       crowd->refused[i]), ESRCH);
	}
	CHECK_EQ(must_status(s.fd).refused_threads, BEYOND);
	load_round(load);
	check_all_in_snapshot(&s, 1);

	/* When some are gone others can come. */
	close(hold[1]);
	WAIT_FOR(must_status(s.fd).nr_threads == 1);
	must_attach(&s, thread_id());
	CHECK_EQ(must_status(s.fd).nr_threads, 2);
	CHECK_EQ(must_status(s.fd).errors, 0);
	must_detach(&s, thread_id());
	load_end(load);
}
