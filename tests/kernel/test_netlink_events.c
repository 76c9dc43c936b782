// SPDX-License-Identifier: GPL-2.0
/* What is told by generic netlink of what happens to a session. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_netlink.h>

#include "msr.h"
#include "nl.h"
#include "side.h"
#include "trigger.h"

static struct nl nl;

static void listen_to_events(void)
{
	nl_open(&nl);
	if (!nl.group)
		skip("this kernel cannot keep others out of a group");
	CHECK_ERRNO(nl_join(&nl), 0);
}

/* The next event, which must be one of these. */
static const struct nlmsghdr *must_hear(uint8_t cmd)
{
	const struct nlmsghdr *message = nl_event(&nl, 60000);

	CHECK(message, "no event came");
	CHECK_EQ(nl_cmd(message), cmd);
	return message;
}

static uint64_t number_in(const struct nlattr *nest, uint16_t type)
{
	return nl_number(nl_nested(nest, type));
}

static pid_t must_hear_thread(const struct session *s, uint32_t what)
{
	const struct nlmsghdr *message = must_hear(MTRACE_NL_CMD_THREAD_EVENT);
	const struct nlattr *nest = nl_attr(message, MTRACE_NLA_THREAD, NULL);

	CHECK_EQ(nl_number(nl_attr(message, MTRACE_NLA_SESSION, NULL)),
		 s->setup.session);
	CHECK_EQ(number_in(nest, MTRACE_NLA_THREAD_EVENT), what);
	CHECK(*nl_string(nl_nested(nest, MTRACE_NLA_THREAD_COMM)), "no name");
	CHECK(!nl_nested(nest, MTRACE_NLA_THREAD_CPU), "a CPU");
	return number_in(nest, MTRACE_NLA_THREAD_TID);
}

static uint64_t must_hear_loss(const struct session *s, uint32_t kind,
			       pid_t tid)
{
	const struct nlmsghdr *message = must_hear(MTRACE_NL_CMD_LOSS_EVENT);
	const struct nlattr *nest = nl_attr(message, MTRACE_NLA_LOSS, NULL);

	CHECK_EQ(nl_number(nl_attr(message, MTRACE_NLA_SESSION, NULL)),
		 s->setup.session);
	CHECK_EQ(number_in(nest, MTRACE_NLA_LOSS_KIND), kind);
	if (tid)
		CHECK_EQ(number_in(nest, MTRACE_NLA_LOSS_TID), tid);
	else
		CHECK(!nl_nested(nest, MTRACE_NLA_LOSS_TID), "a thread's loss");
	return number_in(nest, MTRACE_NLA_LOSS_COUNT);
}

static void must_hear_snapshot(const struct session *s,
			       const struct mtrace_snapshot *want)
{
	const struct nlmsghdr *message = must_hear(MTRACE_NL_CMD_SNAPSHOT_EVENT);
	const struct nlattr *nest = nl_attr(message, MTRACE_NLA_SNAPSHOT, NULL);

	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_SESSION),
		 s->setup.session);
	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_ID), want->id);
	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_REASON), want->reason);
	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_TSC), want->tsc);
	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_TSC_END), want->tsc_end);
	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_NR_REGIONS),
		 want->nr_regions);
	CHECK_EQ(number_in(nest, MTRACE_NLA_SNAPSHOT_NR_UNSWITCHED),
		 want->nr_unswitched);
}

/* Of another one's session, and not one more than there are. */
static void must_hear_nothing(void)
{
	CHECK(!nl_event(&nl, 50), "there is one event more");
}

static void work_two_children(struct load *load, uint32_t index)
{
	pid_t pids[2];
	int i;

	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			while (load->progress[index + 1] <= (uint64_t)i)
				usleep(500);
			_exit(0);
		}
	}
	load->progress[index] = 1;
	for (i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
}

/* Two children, of which there is room for one. */
TEST(netlink_tells_of_threads)
{
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	struct load *load = load_spawn(1, work_two_children);
	struct session s;
	pid_t first;

	listen_to_events();
	setup.flags = MTRACE_SETUP_INHERIT_PROCESSES;
	session_open(&s, setup);
	must_attach(&s, load->pid);
	CHECK_EQ(must_hear_thread(&s, MTRACE_NL_THREAD_START), load->pid);
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0]);
	first = must_hear_thread(&s, MTRACE_NL_THREAD_START);
	CHECK(first != load->pid, "the child has its parent's id");
	CHECK(must_hear_thread(&s, MTRACE_NL_THREAD_REFUSED) != first,
	      "who is traced is refused");
	must_hear_nothing();
	load->progress[1] = 1;
	CHECK_EQ(must_hear_thread(&s, MTRACE_NL_THREAD_EXIT), first);
	load->progress[1] = 2;
	WAIT_FOR(load->done == 1);
	must_detach(&s, load->pid);
	CHECK_EQ(must_hear_thread(&s, MTRACE_NL_THREAD_DETACHED), load->pid);
	must_hear_nothing();
	load_end(load);
}

TEST(netlink_tells_of_snapshots)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	static struct nl_answer answer;
	struct session s;
	struct nl other;

	trace_begin(&s, setup_of(MIB(1), 1, 1), load);
	listen_to_events();
	nl_open(&other);
	snapshot = must_snapshot(&s);
	must_hear_snapshot(&s, &snapshot);
	must_release(&s, snapshot.id);
	CHECK_EQ(nl_ask(&other, MTRACE_NL_CMD_SNAPSHOT, 0, MTRACE_NLA_SESSION,
			s.setup.session, &answer), 0);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_NEXT_SNAPSHOT, &snapshot), 0);
	CHECK_EQ(snapshot.reason, MTRACE_REASON_COMMAND);
	must_hear_snapshot(&s, &snapshot);
	/* One that is not taken. */
	snapshot.flags = 1u << 31;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), EINVAL);
	must_hear_nothing();
	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.size = sizeof(snapshot);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), ENOBUFS);
	CHECK_EQ(must_hear_loss(&s, MTRACE_NL_LOSS_NOBUFS, 0), 1);
	must_hear_nothing();
	load_end(load);
}

/* Two threads, a snapshot of one of them, and one region left for the next. */
TEST(netlink_tells_of_unswitched_threads)
{
	struct load *load = load_spawn(2, work_calls);
	struct mtrace_snapshot snapshot;
	struct session s;

	session_open(&s, setup_of(MIB(1), 2, 1));
	CHECK_EQ(s.setup.nr_regions, 4);
	must_attach(&s, load->tids[0]);
	must_start(&s);
	must_snapshot(&s);
	must_attach(&s, load->tids[1]);
	listen_to_events();
	snapshot = must_snapshot(&s);
	CHECK_EQ(snapshot.nr_unswitched, 1);
	CHECK_EQ(must_hear_loss(&s, MTRACE_NL_LOSS_UNSWITCHED, 0), 1);
	must_hear_snapshot(&s, &snapshot);
	must_hear_nothing();
	load_end(load);
}

TEST(netlink_tells_of_wraps_and_recycling)
{
	struct mtrace_setup setup = setup_of(KIB(16), 1, 1);
	struct load *loads[2] = {
		load_spawn(1, work_calls), load_spawn(1, work_calls),
	};
	struct mtrace_snapshot snapshot;
	struct session s;
	int i;

	/* Regions of 8 KiB: 20,000 calls are more. */
	trace_begin(&s, setup, loads[0]);
	listen_to_events();
	load_round(loads[0]);
	snapshot = must_snapshot(&s);
	CHECK_EQ(must_hear_loss(&s, MTRACE_NL_LOSS_WRAPS, 0), 1);
	must_hear_snapshot(&s, &snapshot);
	must_release(&s, snapshot.id);
	/* Of two regions one stays free: there is none for who is gone. */
	load_round(loads[0]);
	must_detach(&s, loads[0]->pid);
	must_hear_thread(&s, MTRACE_NL_THREAD_DETACHED);
	must_attach(&s, loads[1]->pid);
	must_hear_thread(&s, MTRACE_NL_THREAD_START);
	CHECK_EQ(must_hear_loss(&s, MTRACE_NL_LOSS_RECYCLED, 0), 1);
	must_hear_nothing();
	for (i = 0; i < 2; i++)
		load_end(loads[i]);
}

/* All that is called by pointer, of which the first stops it. */
TEST(netlink_tells_of_stops)
{
	struct load *load = load_spawn(1, work_calls);
	struct session s;

	trace_begin(&s, trace_stops(setup_of(MIB(1), 1, 1)), load);
	listen_to_events();
	load_round(load);
	CHECK_EQ(must_hear_loss(&s, MTRACE_NL_LOSS_STOPS, load->pid), 1);
	must_hear_nothing();
	CHECK_EQ(must_status(s.fd).stops, 1);
	load_end(load);
}

/*
 * A CPU whose TraceEn somebody else has set takes no output: each try to trace
 * there is an error. Neither user nor kernel code is traced by that.
 */
TEST(netlink_tells_of_errors)
{
	struct load *load = load_spawn(1, work_spin);
	uint64_t heard = 0, errors;
	int cpu = 1 % nr_cpus();	/* where the load goes itself */
	struct session s;
	cpu_set_t set;

	pin_to(0);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_EQ(sched_setaffinity(load->pid, sizeof(set), &set), 0);
	session_open(&s, setup_of(MIB(1), 1, 1));
	must_attach(&s, load->pid);
	listen_to_events();
	/* BranchEn, without which Broadwell refuses it. */
	write_msr(cpu, MSR_RTIT_CTL, 1 | 1 << 8 | 1 << 13);
	must_start(&s);
	load_go(load);
	WAIT_FOR(load->progress[0] > 100);
	must_stop(&s);
	write_msr(cpu, MSR_RTIT_CTL, 0);
	errors = must_status(s.fd).errors;
	CHECK(errors, "the CPU has accepted it all");
	/* What came in quick succession is told at once. */
	while (heard < errors)
		heard += must_hear_loss(&s, MTRACE_NL_LOSS_ERRORS, load->pid);
	CHECK_EQ(heard, errors);
	must_hear_nothing();
	load_end(load);
}

#define BURST	700
#define WORKERS	"/sys/devices/virtual/workqueue/cpumask"

/*
 * More events than the queue has room for, before anybody can take them out:
 * the kernel's workers have one CPU, and there the test is the only one that
 * runs, with a priority above theirs. What is not told is counted.
 */
TEST(netlink_counts_events_that_are_not_told)
{
	const struct sched_param fifo = { .sched_priority = 98 }, usual = { 0 };
	struct load *load = load_spawn(1, work_calls);
	const struct nlmsghdr *message;
	const struct nlattr *nest;
	unsigned int told = 0;
	uint64_t untold = 0;
	struct session s;
	char all[16];
	int i;

	session_open(&s, setup_of(MIB(1), 1, 1));
	listen_to_events();
	pin_to(0);
	CHECK(write_text(WORKERS, "1"), WORKERS ": %s", strerror(errno));
	CHECK_ERRNO(sched_setscheduler(0, SCHED_FIFO, &fifo), 0);
	for (i = 0; i < BURST; i++) {
		must_attach(&s, load->pid);
		must_detach(&s, load->pid);
	}
	CHECK_ERRNO(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	snprintf(all, sizeof(all), "%x", (1U << nr_cpus()) - 1);
	CHECK(write_text(WORKERS, all), WORKERS ": %s", strerror(errno));
	while ((message = nl_event(&nl, 500))) {
		if (nl_cmd(message) != MTRACE_NL_CMD_LOSS_EVENT) {
			told++;
			continue;
		}
		CHECK_EQ(nl_number(nl_attr(message, MTRACE_NLA_SESSION, NULL)),
			 0);
		nest = nl_attr(message, MTRACE_NLA_LOSS, NULL);
		CHECK_EQ(number_in(nest, MTRACE_NLA_LOSS_KIND),
			 MTRACE_NL_LOSS_EVENTS);
		untold += number_in(nest, MTRACE_NLA_LOSS_COUNT);
	}
	CHECK_EQ(told + untold, 2 * BURST);
	CHECK(told >= 512, "only %u events were told", told);
	CHECK(untold, "none was lost");
	load_end(load);
}

static char set_uid_sleep[] = "/tmp/mt-test-sleep";

/* Bear a child that stays, and gain rights, at which perf drops breakpoints. */
static void work_bear_and_gain(struct load *load, uint32_t index)
{
	(void)load;
	(void)index;
	if (!fork()) {
		pause();
		_exit(1);
	}
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		_exit(1);
	execl(set_uid_sleep, "sleep", "1000", NULL);
	_exit(1);
}

/*
 * What a child has inherited of an event keeps that alive, and the kernel takes
 * its register to be in use by the thread that had it. So with four triggers
 * there is none left for a new one.
 */
TEST(netlink_tells_of_missing_breakpoints)
{
	struct mtrace_setup setup = side_setup(setup_of(MIB(1), 2, 1), KIB(64));
	struct side side = {};
	struct load *load;
	struct session s;
	uint32_t i, at = 0;

	CHECK_EQ(system("cp /bin/sleep /tmp/mt-test-sleep"), 0);
	CHECK_EQ(chmod(set_uid_sleep, 04755), 0);
	load = load_spawn(1, work_bear_and_gain);
	setup.flags |= MTRACE_SETUP_INHERIT_PROCESSES;
	trace_begin(&s, setup, load);
	for (i = 0; i < 4; i++)
		must_add_trigger(&s, breakpoint_at((void *)(4096ul + i)));
	listen_to_events();
	load_go(load);
	must_hear_thread(&s, MTRACE_NL_THREAD_START);
	CHECK_EQ(must_hear_loss(&s, MTRACE_NL_LOSS_UNARMED, load->pid), 1);
	must_hear_nothing();
	CHECK_EQ(must_status(s.fd).unarmed, 1);
	side_read(&s, &side);
	CHECK_EQ(side_must(&side, &at, MTRACE_RECORD_LOSS, load->pid)->loss.what,
		 MTRACE_LOSS_UNARMED);
	CHECK_EQ(side_count(&side, MTRACE_RECORD_LOSS, load->pid), 1);
	side_free(&side);
	session_close(&s);
	load_end(load);
}
