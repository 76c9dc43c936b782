// SPDX-License-Identifier: GPL-2.0
/* Who must not wait, and what must be waited for. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mtrace_netlink.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>

#include "ask.h"
#include "load.h"
#include "trigger.h"
#include "walk.h"

/* progress[] of work_read_slowly(): what a thread waits for, and what it has done. */
enum { READING = 4, MAY_END, HAS_READ };

static int faults;
static char *volatile slow;

/* A page that is not there before somebody puts it there. */
static void make_slow_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range.len = 4096,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	range.range.start = (uintptr_t)page;
	if (faults < 0 || page == MAP_FAILED || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &range))
		_exit(1);
	slow = page;
}

static void put_slow_page(struct load *load)
{
	struct uffdio_zeropage zero = { .range.len = 4096 };
	struct pollfd fault = { .events = POLLIN };

	while (!slow)
		usleep(1000);
	zero.range.start = (uintptr_t)slow;
	fault.fd = faults;
	if (poll(&fault, 1, -1) != 1 || fault.revents != POLLIN)
		_exit(1);
	load->progress[READING] = 1;
	while (!load->progress[MAY_END])
		usleep(1000);
	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
		_exit(1);
}

/*
 * The first thread reads an event of its own to a page which the second puts there
 * when it is told to: until then perf lets nobody change the first one's events.
 */
static void work_read_slowly(struct load *load, uint32_t index)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};
	int fd;

	if (index) {
		put_slow_page(load);
		return;
	}
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	make_slow_page();
	if (fd < 0 || read(fd, slow, 8) != 8)
		_exit(1);
	close(fd);
	load->progress[HAS_READ] = 1;
}

static char state_of(pid_t pid)
{
	char path[64], line[256] = "", state = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, line, sizeof(line) - 1) > 0, "no %s", path);
	close(fd);
	CHECK(sscanf(strrchr(line, ')'), ") %c", &state) == 1, "%s says '%s'", path,
	      line);
	return state;
}

/*
 * ATTACH has to wait for perf, and so for who reads the thread's events. Netlink's
 * commands do not wait for that: while they do, no family can be registered, and
 * behind that nobody gets to generic netlink any more.
 */
TEST(netlink_does_not_wait_for_a_breakpoint)
{
	struct load *load;
	struct session s;
	int status;
	pid_t pid;

	status = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (status < 0)
		skip("this kernel has no userfaultfd");
	close(status);
	load = load_spawn(2, work_read_slowly);
	session_open(&s, setup_of(MIB(1), 2, 2));
	must_add_trigger(&s, breakpoint_at(trigger_here));
	load_go(load);
	WAIT_FOR(load->progress[READING]);

	pid = fork();
	if (!pid)
		_exit(try_thread(s.fd, MTRACE_IOC_ATTACH, load->tids[0]) ? errno : 0);
	WAIT_FOR(state_of(pid) == 'D');
	nl_open(&nl);
	CHECK_EQ(dump(MTRACE_NLA_SESSION, s.setup.session), 0);
	CHECK_EQ(answer.nr, 1);
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_SESSION, s.setup.session, 0);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session, 0);
	CHECK_ASK(MTRACE_NL_CMD_STOP, MTRACE_NLA_SESSION, s.setup.session, 0);
	/* Nor does the owner, where no breakpoint is concerned. */
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
	CHECK_EQ(load->progress[HAS_READ], 0);
	CHECK_EQ(state_of(pid), 'D');

	load->progress[MAY_END] = 1;
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	WAIT_FOR(load->done == 2);
	CHECK_EQ(load->progress[HAS_READ], 1);
	CHECK_EQ(must_status(s.fd).nr_threads, 1);
	must_detach(&s, load->tids[0]);
	load_end(load);
	session_close(&s);
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
