// SPDX-License-Identifier: GPL-2.0
/* Sessions by generic netlink: from outside, by number and by process. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_netlink.h>

#include "ask.h"
#include "trace.h"

static bool is_announced(const struct session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLPRI };

	CHECK(poll(&fd, 1, 0) >= 0, "poll: %s", strerror(errno));
	return fd.revents & POLLPRI;
}

static struct mtrace_snapshot must_next(const struct session *s)
{
	struct mtrace_snapshot arg = { .size = sizeof(arg) };

	if (ioctl(s->fd, MTRACE_IOC_NEXT_SNAPSHOT, &arg))
		FAIL("NEXT_SNAPSHOT: %s", strerror(errno));
	CHECK_EQ(arg.size, sizeof(arg));
	return arg;
}

static int try_next(const struct session *s)
{
	struct mtrace_snapshot arg = { .size = sizeof(arg) };

	return ioctl(s->fd, MTRACE_IOC_NEXT_SNAPSHOT, &arg) ? errno : 0;
}

/* The snapshot of a session in an answer; NULL where there is none. */
static const struct nlattr *snapshot_of(uint32_t session)
{
	const struct nlmsghdr *message = nl_next(&answer, NULL);
	const struct nlattr *nest = NULL;

	CHECK_EQ(answer.nr, 1);
	CHECK_EQ(nl_cmd(message), MTRACE_NL_CMD_SNAPSHOT);
	while ((nest = nl_attr(message, MTRACE_NLA_SNAPSHOT, nest)))
		if (number_in(nest, MTRACE_NLA_SNAPSHOT_SESSION) == session)
			return nest;
	return NULL;
}

static unsigned int count_attrs(const struct nlmsghdr *message, uint16_t type)
{
	const struct nlattr *attr = NULL;
	unsigned int nr = 0;

	while ((attr = nl_attr(message, type, attr)))
		nr++;
	return nr;
}

/* By another process, while the owner sleeps in poll(). */
TEST(netlink_snapshot_wakes_the_owner)
{
	struct load *load = load_spawn(1, work_calls);
	struct pollfd fd = { .events = POLLPRI };
	struct mtrace_snapshot snapshot;
	const struct nlattr *told;
	struct mtrace_region *region;
	struct pt_stats stats;
	struct session s;
	uint32_t count;
	int status;
	pid_t pid;

	trace_begin(&s, setup_of(MIB(4), 1, 2), load);
	load_round(load);
	CHECK(!is_announced(&s), "a snapshot is announced before there is one");
	CHECK_EQ(try_next(&s), EAGAIN);

	pid = fork();
	if (!pid) {
		close(s.fd);
		usleep(20000);
		nl_open(&nl);
		CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION,
			  s.setup.session, 0);
		told = snapshot_of(s.setup.session);
		CHECK(told, "the answer is of another session");
		CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_ID), 1);
		CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_NR_REGIONS), 1);
		CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_NR_UNSWITCHED), 0);
		CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_REASON),
			 MTRACE_REASON_COMMAND);
		_exit(0);
	}
	fd.fd = s.fd;
	CHECK_EQ(poll(&fd, 1, -1), 1);
	CHECK_EQ(fd.revents, POLLPRI);
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);

	snapshot = must_next(&s);
	CHECK_EQ(snapshot.id, 1);
	CHECK_EQ(snapshot.reason, MTRACE_REASON_COMMAND);
	CHECK_EQ(snapshot.nr_regions, 1);
	CHECK(snapshot.tsc && snapshot.tsc <= snapshot.tsc_end, "no times");
	CHECK(!is_announced(&s), "a snapshot is announced that was told of");
	CHECK_EQ(try_next(&s), EAGAIN);
	region = must_describe(&s, 1, &count);
	pt_read(&s, region, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	load_end(load);
}

TEST(netlink_snapshots_are_told_in_order)
{
	struct session s;

	nl_open(&nl);
	session_open(&s, setup_of(MIB(1), 1, 4));
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session,
		  0);
	CHECK_EQ(must_snapshot(&s).id, 2);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session,
		  0);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session,
		  0);
	CHECK_EQ(number_in(snapshot_of(s.setup.session),
			   MTRACE_NLA_SNAPSHOT_ID), 4);
	CHECK_EQ(must_next(&s).id, 1);
	CHECK(is_announced(&s), "the third snapshot is not announced");
	/* What the owner has released it need not be told of. */
	must_release(&s, 3);
	CHECK_EQ(must_next(&s).id, 4);
	CHECK(!is_announced(&s), "a snapshot is announced that was released");
	CHECK_EQ(try_next(&s), EAGAIN);
	must_release(&s, 1);
	must_release(&s, 2);
	must_release(&s, 4);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 0);
}

/* Two sessions trace a thread each of one process, a third another process. */
TEST(netlink_snapshot_of_a_process)
{
	struct load *two = load_spawn(2, work_calls);
	struct load *other = load_spawn(1, work_calls);
	struct session a, b, c;
	const struct nlattr *told;

	nl_open(&nl);
	session_open(&a, setup_of(MIB(1), 1, 1));
	session_open(&b, setup_of(MIB(1), 1, 1));
	trace_begin(&c, setup_of(MIB(1), 1, 1), other);
	must_attach(&a, two->tids[0]);
	must_attach(&b, two->tids[1]);

	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, two->pid, 0);
	CHECK_EQ(count_attrs(nl_next(&answer, NULL), MTRACE_NLA_SNAPSHOT), 2);
	CHECK(snapshot_of(a.setup.session) && snapshot_of(b.setup.session),
	      "a session has no snapshot");
	CHECK_EQ(must_next(&a).nr_regions, 1);
	CHECK_EQ(must_next(&b).nr_regions, 1);
	CHECK_EQ(try_next(&c), EAGAIN);

	/* All regions of the first are in use: that much is told. */
	must_release(&b, 1);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, two->pid, 0);
	told = snapshot_of(a.setup.session);
	CHECK(told, "the session that failed is missing");
	CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_ERROR), ENOBUFS);
	CHECK(!nl_nested(told, MTRACE_NLA_SNAPSHOT_ID), "it has a number");
	told = snapshot_of(b.setup.session);
	CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_ID), 2);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, two->pid, ENOBUFS);
	CHECK(strstr(answer.text, "release"), "'%s'", answer.text);
	CHECK_EQ(answer.nr, 0);
	must_release(&a, 1);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, a.setup.session,
		  0);
	CHECK_EQ(number_in(snapshot_of(a.setup.session),
			   MTRACE_NLA_SNAPSHOT_MISSED), 2);
	CHECK_ASK(MTRACE_NL_CMD_STATUS, MTRACE_NLA_SESSION, a.setup.session, 0);
	CHECK_EQ(number_in(nl_attr(nl_next(&answer, NULL), MTRACE_NLA_STATUS,
				   NULL), MTRACE_NLA_STATUS_NOBUFS), 2);

	/* By the process that has opened them: it has all three. */
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, getpid(), 0);
	CHECK_EQ(count_attrs(nl_next(&answer, NULL), MTRACE_NLA_SNAPSHOT), 3);
	CHECK_EQ(must_next(&c).nr_regions, 1);
	load_end(two);
	load_end(other);
}

/* It has none, and says so; a session beside it is not in its way. */
TEST(netlink_snapshot_of_a_stream)
{
	struct load *two = load_spawn(2, work_calls);
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	struct session a, b;
	const struct nlattr *told;

	nl_open(&nl);
	setup.flags = MTRACE_SETUP_STREAM;
	session_open(&a, setup);
	must_attach(&a, two->tids[0]);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, two->pid, EINVAL);
	CHECK(strstr(answer.text, "streams"), "'%s'", answer.text);

	session_open(&b, setup_of(MIB(1), 1, 1));
	must_attach(&b, two->tids[1]);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, two->pid, 0);
	told = snapshot_of(a.setup.session);
	CHECK(told, "the session that streams is missing");
	CHECK_EQ(number_in(told, MTRACE_NLA_SNAPSHOT_ERROR), EINVAL);
	CHECK_EQ(must_next(&b).nr_regions, 1);
	session_close(&a);
	session_close(&b);
	load_end(two);
}

TEST(netlink_start_and_stop)
{
	struct load *load = load_spawn(1, work_calls);
	struct session a, b;
	struct mtrace_region *regions;
	struct pt_stats stats;
	uint32_t count;
	uint64_t id;

	nl_open(&nl);
	session_open(&a, setup_of(MIB(4), 1, 1));
	session_open(&b, setup_of(MIB(1), 1, 1));
	must_attach(&a, load->pid);
	load_round(load);
	CHECK_ASK(MTRACE_NL_CMD_STOP, MTRACE_NLA_SESSION, a.setup.session,
		  EALREADY);
	CHECK(strstr(answer.text, "stopped"), "'%s'", answer.text);
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_SESSION, a.setup.session, 0);
	CHECK_EQ(answer.nr, 0);
	CHECK_EQ(must_status(a.fd).running, 1);
	CHECK_EQ(must_status(b.fd).running, 0);
	load_round(load);
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_SESSION, a.setup.session,
		  EALREADY);
	CHECK(strstr(answer.text, "running"), "'%s'", answer.text);
	/* Of a process it is done to each that has it to be done. */
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_PID, getpid(), 0);
	CHECK_EQ(must_status(b.fd).running, 1);
	CHECK_ASK(MTRACE_NL_CMD_STOP, MTRACE_NLA_PID, load->pid, 0);
	CHECK_EQ(must_status(a.fd).running, 0);
	CHECK_EQ(must_status(b.fd).running, 1);
	load_round(load);

	regions = snapshot_regions(&a, &id, &count);
	pt_read(&a, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	load_end(load);
}

#define CHECK_STATUS(nest, attr, want)					\
	CHECK_EQ(number_in(nest, MTRACE_NLA_STATUS_##attr), want)

TEST(netlink_status)
{
	struct mtrace_setup setup = setup_of(MIB(2), 2, 2);
	struct load *load = load_spawn(1, work_calls);
	const struct nlmsghdr *message;
	const struct nlattr *status;
	struct session s;

	nl_open(&nl);
	trace_begin(&s, setup, load);
	load_round(load);
	must_snapshot(&s);
	CHECK_ASK(MTRACE_NL_CMD_STATUS, MTRACE_NLA_SESSION, s.setup.session, 0);
	CHECK_EQ(answer.nr, 1);
	message = nl_next(&answer, NULL);
	CHECK_EQ(nl_cmd(message), MTRACE_NL_CMD_STATUS);
	CHECK_EQ(nl_number(nl_attr(message, MTRACE_NLA_SESSION, NULL)),
		 s.setup.session);
	status = nl_attr(message, MTRACE_NLA_STATUS, NULL);
	CHECK_STATUS(status, OWNER, getpid());
	CHECK_STATUS(status, RUNNING, 1);
	CHECK_STATUS(status, TRACE_FLAGS, MTRACE_TRACE_USER);
	CHECK_STATUS(status, BUFFER_SIZE, MIB(2));
	/* 2 MiB for 2 threads and 2 snapshots of each: the power of two below. */
	CHECK_STATUS(status, REGION_SIZE, KIB(256));
	CHECK_STATUS(status, MAX_THREADS, 2);
	CHECK_STATUS(status, NR_THREADS, 1);
	CHECK_STATUS(status, NR_SNAPSHOTS, 1);
	CHECK_STATUS(status, REGIONS_LIVE, 1);
	CHECK_STATUS(status, REGIONS_FROZEN, 1);
	CHECK_STATUS(status, REGIONS_FREE, 6);
	CHECK_STATUS(status, REFUSED_THREADS, 0);
	CHECK_STATUS(status, WRAPS, must_status(s.fd).wraps);
	CHECK_STATUS(status, ERRORS, 0);
	CHECK_STATUS(status, STOPS, 0);
	CHECK_STATUS(status, UNSWITCHED, 0);
	CHECK_STATUS(status, RECYCLED, 0);
	CHECK_STATUS(status, NOBUFS, 0);
	CHECK_STATUS(status, GAINED, 0);
	CHECK_STATUS(status, STREAM_BYTES, 0);
	CHECK_STATUS(status, STREAM_LOST_BYTES, 0);
	CHECK_STATUS(status, STREAM_OVERRUNS, 0);
	CHECK_STATUS(status, UNARMED, 0);
	load_end(load);
}

#define MANY_SESSIONS	120

/* All of them, in order, each once, whatever else has been there before. */
TEST(netlink_dump_of_many_sessions)
{
	static struct session s[MANY_SESSIONS];
	const struct nlmsghdr *message = NULL;
	uint32_t number, last = 0;
	int i, found = 0;

	nl_open(&nl);
	for (i = 0; i < MANY_SESSIONS; i++)
		session_open(&s[i], setup_of(KIB(16), 1, 1));
	CHECK_EQ(dump(0, 0), 0);
	CHECK(answer.nr >= MANY_SESSIONS, "only %u messages", answer.nr);
	while ((message = nl_next(&answer, message))) {
		CHECK(message->nlmsg_flags & NLM_F_MULTI, "it is no dump");
		number = nl_number(nl_attr(message, MTRACE_NLA_SESSION, NULL));
		CHECK(number > last, "%u comes behind %u", number, last);
		last = number;
		CHECK_STATUS(nl_attr(message, MTRACE_NLA_STATUS, NULL),
			     BUFFER_SIZE, KIB(16));
		found++;
	}
	CHECK_EQ(found, MANY_SESSIONS);
	CHECK_EQ(last, s[MANY_SESSIONS - 1].setup.session);

	/* Of one, of those of a process, and of none any more. */
	CHECK_EQ(dump(MTRACE_NLA_SESSION, s[7].setup.session), 0);
	CHECK_EQ(answer.nr, 1);
	CHECK_EQ(nl_number(nl_attr(nl_next(&answer, NULL), MTRACE_NLA_SESSION,
				   NULL)), s[7].setup.session);
	CHECK_EQ(dump(MTRACE_NLA_PID, getpid()), 0);
	CHECK_EQ(answer.nr, MANY_SESSIONS);
	CHECK_EQ(dump(MTRACE_NLA_PID, getppid()), ESRCH);
	CHECK_EQ(dump(MTRACE_NLA_SESSION, last + 1), ENOENT);
	for (i = 0; i < MANY_SESSIONS; i++)
		session_close(&s[i]);
	CHECK_EQ(dump(MTRACE_NLA_SESSION, last), ENOENT);
	CHECK_EQ(dump(0, 0), 0);
	CHECK_EQ(answer.nr, 0);
}

#define MANY_THREADS	600

static pthread_barrier_t started;

static void *sleep_named(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "sleeper-%ld", (long)arg);
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&started);
	pause();
	return NULL;
}

/* More threads than one message has room for, each told once. */
TEST(netlink_dump_of_many_threads)
{
	static bool seen[MANY_THREADS];
	struct mtrace_setup setup = setup_of(MIB(8), 1024, 1);
	const struct nlmsghdr *message = NULL;
	const struct nlattr *thread;
	unsigned int messages = 0, number, main_seen = 0;
	struct session s, small;
	pthread_attr_t attr;
	pthread_t id;
	long i;

	nl_open(&nl);
	setup.flags = MTRACE_SETUP_INHERIT_THREADS;
	session_open(&s, setup);
	session_open(&small, setup_of(MIB(1), 2, 1));
	must_attach(&s, getpid());
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&started, NULL, MANY_THREADS + 1);
	for (i = 0; i < MANY_THREADS; i++)
		CHECK_EQ(pthread_create(&id, &attr, sleep_named, (void *)i), 0);
	pthread_barrier_wait(&started);

	CHECK_EQ(dump(MTRACE_NLA_PID, getpid()), 0);
	while ((message = nl_next(&answer, message))) {
		number = nl_number(nl_attr(message, MTRACE_NLA_SESSION, NULL));
		if (number != s.setup.session) {
			CHECK_EQ(number, small.setup.session);
			CHECK_EQ(count_attrs(message, MTRACE_NLA_THREAD), 0);
			continue;
		}
		CHECK_EQ(!messages, count_attrs(message, MTRACE_NLA_STATUS));
		messages++;
		thread = NULL;
		while ((thread = nl_attr(message, MTRACE_NLA_THREAD, thread))) {
			const char *comm;

			comm = nl_string(nl_nested(thread,
						   MTRACE_NLA_THREAD_COMM));
			CHECK_EQ(number_in(thread, MTRACE_NLA_THREAD_PID),
				 getpid());
			if (number_in(thread, MTRACE_NLA_THREAD_TID) ==
			    (uint64_t)getpid()) {
				main_seen++;
				continue;
			}
			CHECK_EQ(sscanf(comm, "sleeper-%u", &number), 1);
			CHECK(number < MANY_THREADS && !seen[number],
			      "%s is told twice", comm);
			seen[number] = true;
			/* It sleeps: it is on no CPU. */
			CHECK(!nl_nested(thread, MTRACE_NLA_THREAD_CPU),
			      "%s runs", comm);
		}
	}
	CHECK_EQ(main_seen, 1);
	CHECK(messages > 1, "%u threads fit into one message", MANY_THREADS);
	for (i = 0; i < MANY_THREADS; i++)
		CHECK(seen[i], "thread %ld is missing", i);
}

TEST(netlink_tells_where_a_thread_runs)
{
	const struct nlattr *thread;
	struct session s;
	struct load *load;

	/* On one it never runs while somebody asks. */
	need_two_cpus();
	load = load_spawn(1, work_spin);
	pin_to(0);
	nl_open(&nl);
	trace_begin(&s, setup_of(MIB(1), 1, 1), load);
	load_go(load);
	/* Once it has begun it is on CPU 1, where it has gone itself. */
	WAIT_FOR(load->progress[0]);
	do {
		CHECK_EQ(dump(MTRACE_NLA_SESSION, s.setup.session), 0);
		thread = nl_attr(nl_next(&answer, NULL), MTRACE_NLA_THREAD,
				 NULL);
	} while (!nl_nested(thread, MTRACE_NLA_THREAD_CPU));
	CHECK_EQ(number_in(thread, MTRACE_NLA_THREAD_CPU), 1);
	CHECK_EQ(number_in(thread, MTRACE_NLA_THREAD_TID), load->pid);
	load_end(load);
}

/* Ids are those of who asks: in a namespace of its own it knows but itself. */
TEST(netlink_speaks_of_the_callers_ids)
{
	struct load *load = load_spawn(1, work_calls);
	const struct nlmsghdr *message;
	const struct nlattr *thread;
	struct session s;
	int status;
	pid_t pid;

	session_open(&s, setup_of(MIB(1), 2, 1));
	must_attach(&s, load->pid);
	CHECK_ERRNO(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(getpid(), 1);
		nl_open(&nl);
		must_attach(&s, 1);
		CHECK_EQ(dump(MTRACE_NLA_SESSION, s.setup.session), 0);
		message = nl_next(&answer, NULL);
		CHECK_STATUS(nl_attr(message, MTRACE_NLA_STATUS, NULL), OWNER,
			     0);
		thread = nl_attr(message, MTRACE_NLA_THREAD, NULL);
		CHECK_EQ(number_in(thread, MTRACE_NLA_THREAD_TID), 0);
		thread = nl_attr(message, MTRACE_NLA_THREAD, thread);
		CHECK_EQ(number_in(thread, MTRACE_NLA_THREAD_TID), 1);
		CHECK_EQ(number_in(thread, MTRACE_NLA_THREAD_PID), 1);
		CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, 1, 0);
		CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, load->pid,
			  ESRCH);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	load_end(load);
}

/* All commands by turns, at sessions that may be there or not, for ever. */
static void hammer(const volatile uint32_t *number, pid_t owner)
{
	static const uint8_t cmds[] = {
		MTRACE_NL_CMD_SNAPSHOT, MTRACE_NL_CMD_STATUS,
		MTRACE_NL_CMD_START, MTRACE_NL_CMD_STOP,
	};
	unsigned int i;

	nl_open(&nl);
	for (i = 0;; i++) {
		ask(cmds[i % 4], MTRACE_NLA_SESSION, *number + i % 2);
		if (i % 8 == 0)
			ask(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_PID, owner);
		if (i % 16 == 0)
			dump(0, 0);
	}
}

/* Sessions that are closed while commands are at work on them. */
TEST(netlink_of_sessions_that_come_and_go)
{
	struct load *load = load_spawn(2, work_spin);
	volatile uint32_t *number;
	struct session s;
	pid_t pids[2];
	int i;

	number = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*number = 1;
	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			hammer(number, getppid());
	}
	load_go(load);
	for (i = 0; i < 150; i++) {
		session_open(&s, setup_of(MIB(1), 2, 2));
		*number = s.setup.session;
		/* The snapshots, which nobody releases, may have left no region. */
		try_thread(s.fd, MTRACE_IOC_ATTACH, load->tids[0]);
		try_thread(s.fd, MTRACE_IOC_ATTACH, load->tids[1]);
		usleep(1000);
		session_close(&s);
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(waitpid(pids[i], NULL, WNOHANG), 0);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	nl_open(&nl);
	CHECK_EQ(dump(0, 0), 0);
	CHECK_EQ(answer.nr, 0);
	load_end(load);
}
