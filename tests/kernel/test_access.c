// SPDX-License-Identifier: GPL-2.0
/* The two kinds of callers, and what one without privilege is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trigger.h"
#include "user.h"

/* Of the header's text; all of one user. */
#define MAX_SESSIONS	16
#define MAX_THREADS	256

static void check_open_refused(void *unused)
{
	(void)unused;
	CHECK_ERRNO(open("/dev/mtrace", O_RDWR), 0);
}

TEST(unprivileged_is_off_by_default)
{
	char text[4] = "";
	int status, fd;
	pid_t pid;

	fd = open(USER_PARAMETER, O_RDONLY);
	CHECK(read(fd, text, 1) == 1 && text[0] == 'N', "it is '%s'", text);
	close(fd);

	pid = fork();
	if (!pid) {
		become_user(0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	write_text(USER_PARAMETER, "0");
	pid = fork();
	if (!pid) {
		CHECK_EQ(setresuid(USER_ID, USER_ID, USER_ID), 0);
		CHECK_ERRNO(open("/dev/mtrace", O_RDWR), EPERM);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	as_before();
	CHECK_EQ(status, 0);
	run_as_user(check_open_refused, NULL);
}

static void check_traces_tracee(void *unused)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;

	(void)unused;
	seize(load->pid, 0);
	regions = trace_round(&s, setup_of(MIB(1), 2, 1), load);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	CHECK_EQ(stats.kernel, 0);
	CHECK_EQ(stats.pip, 0);
	must_detach(&s, load->pid);
	session_close(&s);
	load_end(load);
}

static void check_session(void *unused)
{
	struct session s;

	(void)unused;
	session_open(&s, setup_of(MIB(1), 1, 1));
	session_close(&s);
}

/*
 * That knows no PMU, which is reserved when the user's is set up: not with the
 * user's rights, who has none to an event of a CPU.
 */
TEST(unprivileged_beside_a_session_without_pmu)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	struct session s;

	setup.pmu_type = 0;
	session_open(&s, setup);
	run_as_user(check_session, NULL);
	session_close(&s);
}

TEST(unprivileged_traces_its_tracee)
{
	run_as_user(check_traces_tracee, NULL);
}

/* A breakpoint as by ptrace, while it traces; and nothing in a file. */
static void check_triggers(void *unused)
{
	struct mtrace_trigger probe = {
		.size = sizeof(probe),
		.kind = MTRACE_TRIGGER_UPROBE,
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	};
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_trigger told;
	struct session s;
	uint32_t number;

	(void)unused;
	seize(load->pid, 0);
	trace_begin(&s, setup_of(MIB(1), 1, 1), load);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_ADD_TRIGGER, &probe), EPERM);
	number = must_add_trigger(&s, breakpoint_at(load_target));
	load_round(load);
	CHECK_EQ(must_next_hit(&s, number, load->pid).regs.ip,
		 (uintptr_t)load_target);
	detach(load->pid);
	load_round(load);
	told = must_remove_trigger(&s, number);
	CHECK_EQ(told.hits, WORK_CALLS);
	CHECK_EQ(told.missed, WORK_CALLS - 1);
	session_close(&s);
	load_end(load);
}

TEST(unprivileged_triggers)
{
	run_as_user(check_triggers, NULL);
}

static void check_others(void *unused)
{
	struct load *mine = load_spawn(2, work_calls);
	struct load *others = load_spawn(1, work_calls);
	struct session s;
	pid_t tracer;
	int ready[2];
	char byte;

	(void)unused;
	session_open(&s, setup_of(MIB(1), 4, 1));
	/* Itself, a child that is not traced, and a stranger. */
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, getpid()), EPERM);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, mine->pid), EPERM);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, 1), EPERM);
	/* Of a process with one traced thread the others are not. */
	seize(mine->tids[1], 0);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, mine->pid), EPERM);
	must_attach(&s, mine->tids[1]);

	/* A child that another process traces. */
	CHECK_EQ(pipe(ready), 0);
	tracer = fork();
	if (!tracer) {
		seize(others->pid, 0);
		/* The tracer has the file, but it is not whose it is. */
		CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, others->pid),
			    EPERM);
		CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_START), EPERM);
		CHECK_EQ(write(ready[1], "", 1), 1);
		pause();
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, others->pid), EPERM);
	CHECK_EQ(must_status(s.fd).nr_threads, 1);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	/* A thread that has a tracer is not gone before that knows. */
	detach(mine->tids[1]);
	load_end(others);
	load_end(mine);
}

TEST(unprivileged_traces_no_other)
{
	run_as_user(check_others, NULL);
}

static void check_options(void *unused)
{
	const struct mtrace_caps caps = must_caps();
	static const uint32_t refused[] = {
		MTRACE_TRACE_KERNEL, MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL,
		MTRACE_TRACE_USER | MTRACE_TRACE_POWER,
		MTRACE_TRACE_USER | MTRACE_TRACE_EVENT,
	};
	struct mtrace_setup setup;
	int fd = open_device();
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		setup = setup_of(MIB(1), 2, 1);
		setup.trace_flags = refused[i];
		if (refused[i] & ~caps.trace_flags)
			continue;
		CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EPERM);
	}
	setup = setup_of(MIB(1), 2, 1);
	setup.pmu_type = 0;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EPERM);
	/* Threads by the thousand would hold the CPU up at each snapshot. */
	CHECK_EQ(caps.max_threads, MAX_THREADS);
	setup = setup_of(MIB(4), MAX_THREADS + 1, 1);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EPERM);
	setup = setup_of(MIB(4), MAX_THREADS, 1);
	CHECK_ERRNO(ioctl(open_device(), MTRACE_IOC_SETUP, &setup), 0);
	/* A range of the kernel's is no range without KERNEL. */
	setup = setup_of(MIB(1), 2, 1);
	if (caps.nr_ranges) {
		setup.nr_ranges = 1;
		setup.range[0].start = 0xffffffff81000000;
		setup.range[0].end = 0xffffffff82000000;
		setup.range[0].kind = MTRACE_RANGE_FILTER;
		CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EINVAL);
	}
	/* All else can be had. */
	setup = setup_of(MIB(1), 2, 1);
	setup.trace_flags = caps.trace_flags &
			    ~(MTRACE_TRACE_KERNEL | MTRACE_TRACE_POWER |
			      MTRACE_TRACE_EVENT | MTRACE_TRACE_NOBRANCH |
			      MTRACE_TRACE_MTC);
	setup.flags = MTRACE_SETUP_INHERIT_THREADS |
		      MTRACE_SETUP_INHERIT_PROCESSES |
		      MTRACE_SETUP_SIDEBAND |
		      MTRACE_SETUP_SNAPSHOT_AT_EXIT |
		      MTRACE_SETUP_SNAPSHOT_AT_SIGNAL;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}

TEST(unprivileged_options)
{
	run_as_user(check_options, NULL);
}

static void check_sessions(void *unused)
{
	int fds[MAX_SESSIONS], i;

	(void)unused;
	for (i = 0; i < MAX_SESSIONS; i++)
		fds[i] = open_device();
	CHECK_ERRNO(open("/dev/mtrace", O_RDWR), EMFILE);
	close(fds[3]);
	CHECK_ERRNO(open("/dev/mtrace", O_RDWR), 0);
	CHECK_ERRNO(open("/dev/mtrace", O_RDWR), EMFILE);
}

TEST(unprivileged_sessions_are_limited)
{
	run_as_user(check_sessions, NULL);
	/* All are closed by now. */
	run_as_user(check_sessions, NULL);
}

static int try_setup(int fd, uint64_t size, uint64_t *available)
{
	struct mtrace_setup setup = setup_of(size, 1, 1);
	int ret = ioctl(fd, MTRACE_IOC_SETUP, &setup);

	*available = setup.available;
	return ret;
}

static void check_limit(void *unused)
{
	struct mtrace_setup bad = setup_of(MIB(4), 1, 1);
	uint64_t available;
	int a, b, c, i;
	int ready[2];
	pid_t owner;
	char byte;
	void *map;

	(void)unused;
	a = open_device();
	b = open_device();
	c = open_device();
	/* The tables count, too. */
	CHECK_ERRNO(try_setup(a, USER_LIMIT, &available), ENOMEM);
	CHECK_EQ(available, USER_LIMIT);
	CHECK_ERRNO(try_setup(a, MIB(4), &available), 0);
	CHECK_ERRNO(try_setup(b, MIB(4), &available), ENOMEM);
	CHECK(available < MIB(4) && available > MIB(3),
	      "%lu bytes are left", available);
	CHECK_ERRNO(try_setup(b, MIB(2), &available), 0);
	CHECK_ERRNO(try_setup(c, MIB(2), &available), ENOMEM);
	close(b);
	CHECK_ERRNO(try_setup(c, MIB(2), &available), 0);
	close(c);

	/* What fails later is not charged. */
	b = open_device();
	bad.pmu_type = 0x7fffffff;
	for (i = 0; i < 4; i++) {
		bad.buffer_size = MIB(2);
		CHECK_ERRNO(ioctl(b, MTRACE_IOC_SETUP, &bad), EINVAL);
	}
	CHECK_ERRNO(try_setup(b, MIB(2), &available), 0);
	close(b);

	/* A mapping keeps the memory, and so what it costs. */
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, a, 0);
	CHECK(map != MAP_FAILED, "mmap: %s", strerror(errno));
	close(a);
	a = open_device();
	CHECK_ERRNO(try_setup(a, MIB(4), &available), ENOMEM);
	munmap(map, 4096);
	CHECK_ERRNO(try_setup(a, MIB(4), &available), 0);
	close(a);

	/* So do other processes of the user, however they end. */
	for (i = 0; i < 4; i++) {
		CHECK_EQ(pipe(ready), 0);
		owner = fork();
		if (!owner) {
			CHECK_ERRNO(try_setup(open_device(), MIB(4),
					      &available), 0);
			CHECK_EQ(write(ready[1], "", 1), 1);
			for (;;)
				pause();
		}
		CHECK_EQ(read(ready[0], &byte, 1), 1);
		a = open_device();
		CHECK_ERRNO(try_setup(a, MIB(4), &available), ENOMEM);
		kill(owner, SIGKILL);
		waitpid(owner, NULL, 0);
		CHECK_ERRNO(try_setup(a, MIB(4), &available), 0);
		close(a);
	}
}

TEST(unprivileged_memory_is_limited)
{
	run_as_user(check_limit, NULL);
}

/* Neither who may lock what it likes is limited, nor who may trace all. */
TEST(memory_is_not_limited_with_privilege)
{
	static const int caps[] = { CAP_IPC_LOCK, CAP_PERFMON };
	uint64_t available;
	int status;
	pid_t pid;
	size_t i;

	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			set_limit(0);
			become_user(1ull << caps[i]);
			CHECK_ERRNO(try_setup(open_device(), MIB(1),
					      &available), 0);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		as_before();
		CHECK_EQ(status, 0);
	}
}
