// SPDX-License-Identifier: GPL-2.0
/* Who can be attached, and by whom. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "pt.h"
#include "walk.h"

#define ATTACH(s, tid)	try_thread((s)->fd, MTRACE_IOC_ATTACH, tid)
#define DETACH(s, tid)	try_thread((s)->fd, MTRACE_IOC_DETACH, tid)

TEST(attach_errors)
{
	struct session s, other;
	struct load *load = load_spawn(4, work_calls);
	pid_t dead;

	session_open(&s, setup_of(MIB(1), 3, 1));
	session_open(&other, setup_of(MIB(1), 3, 1));
	CHECK_ERRNO(ATTACH(&s, 0), EINVAL);
	CHECK_ERRNO(ATTACH(&s, -1), EINVAL);
	CHECK_ERRNO(ATTACH(&s, INT32_MIN), EINVAL);
	CHECK_ERRNO(ATTACH(&s, INT32_MAX), ESRCH);
	CHECK_ERRNO(DETACH(&s, INT32_MAX), ESRCH);
	CHECK_ERRNO(DETACH(&s, load->tids[0]), ESRCH);

	CHECK_ERRNO(ATTACH(&s, load->tids[0]), 0);
	CHECK_ERRNO(ATTACH(&s, load->tids[0]), EEXIST);
	CHECK_ERRNO(ATTACH(&other, load->tids[0]), EBUSY);
	CHECK_ERRNO(DETACH(&other, load->tids[0]), ESRCH);
	CHECK_EQ(must_status(s.fd).nr_threads, 1);
	CHECK_EQ(must_status(other.fd).nr_threads, 0);
	CHECK_EQ(must_status(other.fd).regions_live, 0);

	CHECK_ERRNO(ATTACH(&s, load->tids[1]), 0);
	CHECK_ERRNO(ATTACH(&s, load->tids[2]), 0);
	CHECK_ERRNO(ATTACH(&s, load->tids[3]), ENOSPC);
	/* Who is there already is not told that there is no room. */
	CHECK_ERRNO(ATTACH(&s, load->tids[2]), EEXIST);
	CHECK_ERRNO(ATTACH(&other, load->tids[3]), 0);
	CHECK_ERRNO(ATTACH(&s, load->tids[3]), EBUSY);
	CHECK_EQ(must_status(s.fd).nr_threads, 3);
	CHECK_EQ(must_status(s.fd).regions_live, 3);

	CHECK_ERRNO(DETACH(&s, load->tids[0]), 0);
	CHECK_ERRNO(DETACH(&s, load->tids[0]), ESRCH);
	CHECK_ERRNO(ATTACH(&other, load->tids[0]), 0);
	CHECK_EQ(must_status(s.fd).nr_threads, 2);

	/* A thread that is dead but not buried. */
	dead = fork();
	if (!dead)
		_exit(0);
	WAIT_FOR(waitid(P_PID, dead, &(siginfo_t){ 0 },
			WEXITED | WNOWAIT) == 0);
	CHECK_ERRNO(ATTACH(&s, dead), ESRCH);
	waitpid(dead, NULL, 0);
	CHECK_ERRNO(ATTACH(&s, dead), ESRCH);
	CHECK_EQ(must_status(s.fd).nr_threads, 2);
	load_end(load);
}

TEST(attach_finds_no_region)
{
	struct load *load = load_spawn(3, work_calls);
	struct session s;
	uint64_t id;

	session_open(&s, setup_of(KIB(16), 2, 1));
	CHECK_EQ(s.setup.nr_regions, 4);
	must_attach(&s, load->tids[0]);
	must_attach(&s, load->tids[1]);
	must_start(&s);
	load_round(load);
	id = must_snapshot(&s).id;
	CHECK_EQ(must_status(s.fd).regions_free, 0);
	must_detach(&s, load->tids[1]);
	/* The detached thread's region is kept for the next snapshot. */
	CHECK_ERRNO(ATTACH(&s, load->tids[2]), 0);
	CHECK_EQ(must_status(s.fd).regions_frozen, 2);
	CHECK_EQ(must_status(s.fd).nr_threads, 2);
	must_release(&s, id);
	CHECK_EQ(must_status(s.fd).regions_frozen, 0);
	load_end(load);
}

/* The region of a thread that has just gone is clean in time for the next one. */
TEST(attach_waits_until_a_region_is_clean)
{
	struct session s;
	struct load *next, *load = load_spawn(1, work_walk);
	int i;

	session_open(&s, setup_of(MIB(1), 1, 1));
	CHECK_EQ(s.setup.nr_regions, 2);
	must_attach(&s, load->pid);
	must_start(&s);
	load_round(load);
	/* One region is the snapshot's, for good. */
	must_snapshot(&s);
	for (i = 0; i < 50; i++) {
		next = load_spawn(1, work_walk);
		load_round(load);
		load_round(load);
		load_end(load);
		must_attach(&s, next->pid);
		load = next;
	}
	load_end(load);
	session_close(&s);
}

/* A thread that spins on another CPU, and so is not switched in by itself. */
TEST(attach_to_a_running_thread)
{
	struct load *load = load_spawn(1, work_spin);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint64_t id, seen;

	pin_to(0);
	load_go(load);
	WAIT_FOR(load->progress[0] > 10);
	session_open(&s, setup_of(MIB(32), 1, 1));
	must_start(&s);
	must_attach(&s, load->tids[0]);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	must_detach(&s, load->tids[0]);

	regions = must_regions(&s, 1, &id);
	CHECK_EQ(regions[0].flags & MTRACE_REGION_EXITED, MTRACE_REGION_EXITED);
	CHECK_EQ(regions[0].tid, load->tids[0]);
	CHECK_EQ(regions[0].pid, load->pid);
	CHECK_EQ(regions[0].cpu, 1 % nr_cpus());
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK(stats.psb && stats.pge && stats.hits >= 200,
	      "%lu PSB, %lu TIP.PGE, %lu calls", stats.psb, stats.pge,
	      stats.hits);

	/* Once detached it writes no more. */
	must_release(&s, id);
	seen = load->progress[0];
	WAIT_FOR(load->progress[0] > seen + 10);
	CHECK_EQ(must_snapshot(&s).nr_regions, 0);
	load_end(load);
}

TEST(attach_to_oneself)
{
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;

	session_open(&s, setup_of(MIB(4), 1, 1));
	must_start(&s);
	must_attach(&s, thread_id());
	load_run(1000);
	regions = must_regions(&s, 1, NULL);
	CHECK_EQ(regions[0].flags & MTRACE_REGION_EXITED, 0);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, 1000);
}

TEST(two_sessions_at_once)
{
	struct load *load = load_spawn(2, work_calls);
	struct session s[2];
	int i;

	for (i = 0; i < 2; i++) {
		session_open(&s[i], setup_of(MIB(4), 2, 1));
		must_attach(&s[i], load->tids[i]);
		must_start(&s[i]);
	}
	load_round(load);
	for (i = 0; i < 2; i++) {
		struct mtrace_region *regions;
		struct pt_stats stats;
		uint64_t id;
		uint32_t count;

		regions = snapshot_regions(&s[i], &id, &count);
		CHECK_EQ(id, 1);
		CHECK_EQ(count, 1);
		CHECK_EQ(regions[0].tid, load->tids[i]);
		pt_read(&s[i], regions, (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.hits, WORK_CALLS);
		/* The end of one is nothing to the other. */
		session_close(&s[i]);
	}
	load_end(load);
}

/* In a pid namespace the first process is 1, for itself. */
TEST(pid_namespaces)
{
	struct mtrace_region *regions;
	struct session s;
	int status;
	pid_t pid;

	CHECK_ERRNO(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		if (status)
			_exit(1);
		return;
	}
	session_open(&s, setup_of(MIB(4), 1, 1));
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, getppid() ?: 99999),
		    ESRCH);
	must_start(&s);
	must_attach(&s, 1);
	load_run(10);
	regions = must_regions(&s, 1, NULL);
	CHECK_EQ(regions[0].tid, 1);
	CHECK_EQ(regions[0].pid, 1);
}
