// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

/*
 * A test that has not ended after so many seconds hangs. It is never what a
 * test is about.
 */
unsigned int test_limit = 300;

enum { TEST_OK = 0, TEST_FAILED = 1, TEST_SKIPPED = 77 };

static struct test *tests;
static struct test **tests_end = &tests;
static const char *current_name;

void test_add(struct test *test)
{
	*tests_end = test;
	tests_end = &test->next;
}

/* One write, so that processes do not mix their lines. */
static void say(const char *what, const char *format, va_list args)
{
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "%s %s: ", what, current_name);
	n += vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, n) < 0)
		_exit(TEST_FAILED);
}

void fail(const char *file, int line, const char *format, ...)
{
	char text[800];
	va_list args;

	snprintf(text, sizeof(text), "%s (%s:%d)", format,
		 strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
	va_start(args, format);
	say("not ok", text, args);
	va_end(args);
	_exit(TEST_FAILED);
}

void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("skip", format, args);
	va_end(args);
	_exit(TEST_SKIPPED);
}

int open_device(void)
{
	int fd = open("/dev/mtrace", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		FAIL("/dev/mtrace: %s", strerror(errno));
	return fd;
}

struct mtrace_setup setup_of(uint64_t size, uint32_t threads,
			     uint32_t snapshots)
{
	return (struct mtrace_setup){
		.size = sizeof(struct mtrace_setup),
		.buffer_size = size,
		.max_threads = threads,
		.max_snapshots = snapshots,
		.trace_flags = MTRACE_TRACE_USER,
		.pmu_type = pmu_type(),
	};
}

void session_open(struct session *s, struct mtrace_setup setup)
{
	void *map;

	s->fd = open_device();
	s->setup = setup;
	if (ioctl(s->fd, MTRACE_IOC_SETUP, &s->setup))
		FAIL("SETUP: %s", strerror(errno));
	map = mmap(NULL, setup.buffer_size, PROT_READ, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		FAIL("mmap: %s", strerror(errno));
	s->map = map;
}

void session_close(struct session *s)
{
	munmap((void *)s->map, s->setup.buffer_size);
	close(s->fd);
}

int try_thread(int fd, unsigned long call, pid_t tid)
{
	struct mtrace_thread arg = { .size = sizeof(arg), .tid = tid };

	return ioctl(fd, call, &arg);
}

void must_attach(struct session *s, pid_t tid)
{
	if (try_thread(s->fd, MTRACE_IOC_ATTACH, tid))
		FAIL("ATTACH %d: %s", tid, strerror(errno));
}

void must_detach(struct session *s, pid_t tid)
{
	if (try_thread(s->fd, MTRACE_IOC_DETACH, tid))
		FAIL("DETACH %d: %s", tid, strerror(errno));
}

void must_start(struct session *s)
{
	if (ioctl(s->fd, MTRACE_IOC_START))
		FAIL("START: %s", strerror(errno));
}

void must_stop(struct session *s)
{
	if (ioctl(s->fd, MTRACE_IOC_STOP))
		FAIL("STOP: %s", strerror(errno));
}

struct mtrace_snapshot must_snapshot(struct session *s)
{
	struct mtrace_snapshot arg = { .size = sizeof(arg) };

	if (ioctl(s->fd, MTRACE_IOC_SNAPSHOT, &arg))
		FAIL("SNAPSHOT: %s", strerror(errno));
	return arg;
}

struct mtrace_snapshot must_next_snapshot(struct session *s)
{
	struct mtrace_snapshot arg = { .size = sizeof(arg) };
	struct pollfd poller = { .fd = s->fd, .events = POLLPRI };

	if (poll(&poller, 1, 60000) != 1 || !(poller.revents & POLLPRI))
		FAIL("poll tells of no snapshot: %#x", poller.revents);
	if (ioctl(s->fd, MTRACE_IOC_NEXT_SNAPSHOT, &arg))
		FAIL("NEXT_SNAPSHOT: %s", strerror(errno));
	return arg;
}

struct mtrace_region *must_describe(struct session *s, uint64_t id,
				    uint32_t *count)
{
	struct mtrace_describe arg = {
		.size = sizeof(arg),
		.region_size = sizeof(struct mtrace_region),
		.id = id,
		.count = s->setup.nr_regions,
	};
	struct mtrace_region *regions;

	regions = calloc(arg.count, sizeof(*regions));
	arg.regions = (uintptr_t)regions;
	if (ioctl(s->fd, MTRACE_IOC_DESCRIBE, &arg))
		FAIL("DESCRIBE: %s", strerror(errno));
	*count = arg.count;
	return regions;
}

void must_release(struct session *s, uint64_t id)
{
	struct mtrace_release arg = { .size = sizeof(arg), .id = id };

	if (ioctl(s->fd, MTRACE_IOC_RELEASE, &arg))
		FAIL("RELEASE: %s", strerror(errno));
}

struct mtrace_status must_status(int fd)
{
	struct mtrace_status arg = { .size = sizeof(arg) };

	if (ioctl(fd, MTRACE_IOC_GET_STATUS, &arg))
		FAIL("GET_STATUS: %s", strerror(errno));
	return arg;
}

struct mtrace_caps must_caps(void)
{
	struct mtrace_caps arg = { .size = sizeof(arg) };
	int fd = open_device();

	if (ioctl(fd, MTRACE_IOC_GET_CAPS, &arg))
		FAIL("GET_CAPS: %s", strerror(errno));
	close(fd);
	return arg;
}

struct mtrace_region *snapshot_regions(struct session *s, uint64_t *id,
				       uint32_t *count)
{
	struct mtrace_snapshot snapshot = must_snapshot(s);
	struct mtrace_region *regions;

	regions = must_describe(s, snapshot.id, count);
	CHECK_EQ(*count, snapshot.nr_regions);
	*id = snapshot.id;
	return regions;
}

struct mtrace_region *must_regions(struct session *s, uint32_t nr, uint64_t *id)
{
	struct mtrace_region *regions;
	uint64_t any_id;
	uint32_t count;

	regions = snapshot_regions(s, id ? id : &any_id, &count);
	CHECK(count == nr, "a snapshot has %u regions, not %u", count, nr);
	return regions;
}

const struct mtrace_region *region_of(const struct mtrace_region *regions,
				      uint32_t count, pid_t tid)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (regions[i].tid == tid)
			return &regions[i];
	FAIL("no region of thread %d among %u", tid, count);
}

long long read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	close(fd);
	return text[0] ? strtoll(text, NULL, 0) : -1;
}

bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

long long meminfo(const char *field)
{
	size_t length = strlen(field);
	long long value = -1;
	char line[256];
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, length) && line[length] == ':')
			value = strtoll(line + length + 1, NULL, 10) * 1024;
	if (file)
		fclose(file);
	if (value < 0)
		FAIL("no %s in /proc/meminfo", field);
	return value;
}

bool keeps_memory(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
}

uint32_t pmu_type(void)
{
	long long type;

	type = read_number("/sys/bus/event_source/devices/intel_pt/type");
	return type < 0 ? 0 : type;
}

void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		FAIL("cannot run on CPU %d: %s", cpu, strerror(errno));
}

int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

void need_two_cpus(void)
{
	if (nr_cpus() < 2)
		skip("it takes two CPUs");
}

pid_t thread_id(void)
{
	return syscall(SYS_gettid);
}

unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static void hang(int signal)
{
	(void)signal;
	fail("harness", 0, "did not end within %u s", test_limit);
}

static int run(struct test *test)
{
	const time_t start = time(NULL);
	int status;
	pid_t pid;

	current_name = test->name;
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(TEST_FAILED);
	}
	if (!pid) {
		setpgid(0, 0);
		signal(SIGALRM, hang);
		alarm(test_limit);
		test->run();
		_exit(TEST_OK);
	}
	waitpid(pid, &status, 0);
	/* For who wants to make them quicker. */
	if (time(NULL) - start >= 5)
		printf("# %s: %lld s\n", test->name,
		       (long long)(time(NULL) - start));
	/* What a failed test left running would be in the next one's way. */
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (WIFSIGNALED(status)) {
		printf("not ok %s: died of signal %d\n", test->name,
		       WTERMSIG(status));
		return TEST_FAILED;
	}
	if (WEXITSTATUS(status) == TEST_OK)
		printf("ok %s\n", test->name);
	else if (WEXITSTATUS(status) != TEST_SKIPPED)
		return TEST_FAILED;
	return WEXITSTATUS(status);
}

/*
 * Runs the tests whose names match one of the patterns, and none that follows a
 * '!'; without any of the former all but those of the latter, and but
 * sleep_*: the emulated machine's console does not always survive that devices
 * are put to sleep, and then nothing is heard of the tests any more.
 */
/* A test that failed while the module was out shall not fail all others. */
static void recover(void)
{
	if (!access("/dev/mtrace", F_OK))
		return;
	syscall(SYS_delete_module, "mt_taken", O_NONBLOCK);
	if (!fork()) {
		insert_module(NULL);
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	unsigned int failed = 0, passed = 0, skipped = 0;
	struct test *test;
	bool wanted, all = true;
	int i;

	for (i = 1; i < argc; i++)
		all &= argv[i][0] == '!';
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_limit = setting("MTRACE_TEST_LIMIT", test_limit);
	/* Descendants of a test whose parent is gone come here. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (test = tests; test; test = test->next) {
		wanted = all && strncmp(test->name, "sleep_", 6);
		for (i = 1; i < argc; i++)
			if (!fnmatch(argv[i] + (argv[i][0] == '!'), test->name,
				     0))
				wanted = argv[i][0] != '!';
		if (!wanted)
			continue;
		switch (run(test)) {
		case TEST_OK:
			passed++;
			break;
		case TEST_SKIPPED:
			skipped++;
			break;
		default:
			failed++;
			recover();
		}
	}
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed || !passed;
}

void remove_module(void)
{
	CHECK_ERRNO(syscall(SYS_delete_module, "mtrace", O_NONBLOCK), 0);
	CHECK_ERRNO(access("/dev/mtrace", F_OK), ENOENT);
}

void insert_module(const char *parameter)
{
	const char *module = getenv("MTRACE_KO");
	int status;
	pid_t pid;

	CHECK(module, "MTRACE_KO does not say where mtrace.ko is");
	pid = fork();
	if (!pid) {
		execlp("insmod", "insmod", module, parameter, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

void reload_module(const char *parameter)
{
	remove_module();
	insert_module(parameter);
}

bool has_single_entry(void)
{
	/* CPUID.14H.0:ECX[1]. */
	return !(must_caps().cpuid14[2] & 2);
}

void reload_module_of_pieces(void)
{
	if (has_single_entry())
		skip("this CPU has one entry a table");
	reload_module("chunk_order=0");
}
