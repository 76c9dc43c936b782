// SPDX-License-Identifier: GPL-2.0
/*
 * Answers to memory that comes late: whoever asks may be the one who has to bring
 * it, and others must not wait for that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mtrace_netlink.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ask.h"
#include "trigger.h"

#define PAGE	4096

/**
 * struct late - a page that is not there before somebody says so
 * @fd: where that is said
 * @page: the page
 */
struct late {
	int fd;
	void *page;
};

static struct late late_new(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.len = PAGE,
	};
	struct late late;

	late.fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (late.fd < 0 && errno == ENOSYS)
		skip("this kernel has no userfaultfd");
	CHECK(late.fd >= 0, "userfaultfd: %s", strerror(errno));
	late.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(late.page != MAP_FAILED, "mmap: %s", strerror(errno));
	range.range.start = (uintptr_t)late.page;
	CHECK_ERRNO(ioctl(late.fd, UFFDIO_API, &api), 0);
	CHECK_ERRNO(ioctl(late.fd, UFFDIO_REGISTER, &range), 0);
	return late;
}

/* Wait until somebody waits for the page. */
static void late_wait(const struct late *late)
{
	struct uffd_msg message;

	CHECK_EQ(read(late->fd, &message, sizeof(message)), sizeof(message));
	CHECK_EQ(message.event, UFFD_EVENT_PAGEFAULT);
}

static void late_come(const struct late *late)
{
	struct uffdio_zeropage zero = {
		.range.start = (uintptr_t)late->page,
		.range.len = PAGE,
	};

	CHECK_ERRNO(ioctl(late->fd, UFFDIO_ZEROPAGE, &zero), 0);
	close(late->fd);
}

/**
 * struct call - a call that is made by a thread of its own
 * @fd: the session
 * @request: of ioctl()
 * @arg: likewise
 * @ret: what it returned
 * @done: it has returned
 * @tid: the thread
 */
struct call {
	int fd;
	unsigned long request;
	void *arg;
	int ret;
	volatile bool done;
	volatile pid_t tid;
};

static void *call_run(void *data)
{
	struct call *call = data;

	call->tid = thread_id();
	call->ret = ioctl(call->fd, call->request, call->arg);
	__atomic_store_n(&call->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static pthread_t call_begin(struct call *call)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, call_run, call), 0);
	return thread;
}

/* While a call waits for its memory, others can be made. */
static void check_late(struct session *s, unsigned long request, void *arg,
		       const struct late *late)
{
	struct mtrace_status status = { .size = sizeof(status) };
	struct call slow = { .fd = s->fd, .request = request, .arg = arg };
	struct call fast = {
		.fd = s->fd,
		.request = MTRACE_IOC_GET_STATUS,
		.arg = &status,
	};
	pthread_t threads[2];

	threads[0] = call_begin(&slow);
	late_wait(late);
	threads[1] = call_begin(&fast);
	WAIT_FOR(fast.done);
	CHECK_EQ(fast.ret, 0);
	CHECK(!slow.done, "it has not waited");
	late_come(late);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK_EQ(slow.ret, 0);
}

TEST(describe_to_memory_that_is_late)
{
	struct load *load = load_spawn(1, work_calls);
	struct late late = late_new();
	struct mtrace_describe describe = {
		.size = sizeof(describe),
		.region_size = sizeof(struct mtrace_region),
		.regions = (uintptr_t)late.page,
		.count = 1,
	};
	const struct mtrace_region *region = late.page;
	struct session s;

	trace_begin(&s, setup_of(MIB(1), 1, 1), load);
	load_round(load);
	describe.id = must_snapshot(&s).id;
	check_late(&s, MTRACE_IOC_DESCRIBE, &describe, &late);
	CHECK_EQ(describe.count, 1);
	CHECK_EQ(region->tid, load->pid);
	session_close(&s);
	load_end(load);
}

TEST(stream_to_memory_that_is_late)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 3);
	struct load *load = load_spawn(1, work_calls);
	struct late late = late_new();
	struct mtrace_stream_read arg = {
		.size = sizeof(arg),
		.flags = MTRACE_STREAM_FLUSH,
		.descs = (uintptr_t)late.page,
		.desc_size = sizeof(struct mtrace_stream_desc),
		.count = 1,
	};
	const struct mtrace_stream_desc *desc = late.page;
	struct session s;

	setup.flags = MTRACE_SETUP_STREAM;
	trace_begin(&s, setup, load);
	load_round(load);
	check_late(&s, MTRACE_IOC_STREAM_READ, &arg, &late);
	CHECK_EQ(arg.count, 1);
	CHECK_EQ(desc->seq, 1);
	CHECK_EQ(desc->tid, load->pid);
	session_close(&s);
	load_end(load);
}

/**
 * struct reading - a thread that reads an event of its own
 * @to: where to
 * @tid: the thread
 * @ret: what read() returned
 * @end: it may end
 */
struct reading {
	void *to;
	volatile pid_t tid;
	ssize_t ret;
	volatile bool end;
};

static void *read_event(void *data)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};
	struct reading *reading = data;
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	reading->tid = thread_id();
	reading->ret = read(fd, reading->to, sizeof(uint64_t));
	while (!reading->end)
		usleep(1000);
	close(fd);
	return NULL;
}

/*
 * While perf reads an event of a thread, nobody gives the thread another one, and
 * ATTACH waits for its breakpoint. Netlink's commands must not wait with it: who
 * registers a family waits for them, and all of generic netlink for that.
 */
TEST(netlink_beside_an_event_to_memory_that_is_late)
{
	struct late late = late_new();
	struct reading reading = { .to = late.page };
	struct mtrace_thread arg = { .size = sizeof(arg) };
	struct session s;
	struct call call = { .request = MTRACE_IOC_ATTACH, .arg = &arg };
	pthread_t threads[2];

	session_open(&s, setup_of(MIB(1), 2, 2));
	must_add_trigger(&s, breakpoint_at(trigger_here));
	CHECK_EQ(pthread_create(&threads[0], NULL, read_event, &reading), 0);
	late_wait(&late);
	arg.tid = reading.tid;
	call.fd = s.fd;
	threads[1] = call_begin(&call);
	WAIT_FOR(call.tid && thread_state(call.tid) == 'D');

	nl_open(&nl);
	CHECK_EQ(dump(MTRACE_NLA_SESSION, s.setup.session), 0);
	CHECK_EQ(answer.nr, 1);
	CHECK_ASK(MTRACE_NL_CMD_START, MTRACE_NLA_SESSION, s.setup.session, 0);
	CHECK_ASK(MTRACE_NL_CMD_SNAPSHOT, MTRACE_NLA_SESSION, s.setup.session,
		  0);
	CHECK_ASK(MTRACE_NL_CMD_STOP, MTRACE_NLA_SESSION, s.setup.session, 0);
	/* Nor do the owner's calls, where no breakpoint is concerned. */
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
	CHECK(!call.done, "it has not waited");

	late_come(&late);
	pthread_join(threads[1], NULL);
	CHECK_EQ(call.ret, 0);
	CHECK_EQ(must_status(s.fd).nr_threads, 1);
	reading.end = true;
	pthread_join(threads[0], NULL);
	CHECK_EQ(reading.ret, sizeof(uint64_t));
	session_close(&s);
}
