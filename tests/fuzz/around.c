// SPDX-License-Identifier: GPL-2.0
/* What else can be done with the file, its mapping, and who is traced. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/perf_event.h>

#include "fuzz.h"

static int result(long ret)
{
	return ret < 0 ? errno : 0;
}

static int run_close(struct fuzzer *f)
{
	int fd = __atomic_exchange_n(&f->slot->fd, -1, __ATOMIC_SEQ_CST);

	f->slot->setup.flags = 0;
	return fd < 0 ? EBADF : result(close(fd));
}

/* Has or has not the rights that make the calling thread privileged. */
static void set_privilege(bool has)
{
	static __thread struct __user_cap_data_struct all[2];
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct some[2];

	if (!all[0].permitted && syscall(SYS_capget, &header, all))
		return;
	memcpy(some, all, sizeof(some));
	if (!has) {
		some[0].effective &= ~(1U << CAP_SYS_ADMIN | 1U << CAP_IPC_LOCK);
		some[1].effective &= ~(1U << (CAP_PERFMON - 32));
	}
	syscall(SYS_capset, &header, some);
}

int run_open(struct fuzzer *f)
{
	struct mtrace_setup arg = { .size = sizeof(arg) };
	const struct call *setup = ioctl_calls;
	bool privileged = !one_in(f, 5);
	struct mtrace_thread thread = { .size = sizeof(thread) };
	unsigned int i;
	int fd, old, ret;

	set_privilege(privileged);
	fd = open("/dev/mtrace", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		ret = errno;
		set_privilege(true);
		return ret;
	}
	while (setup->cmd != MTRACE_IOC_SETUP)
		setup++;
	f->slot->id = 0;
	f->slot->oldest = 1;
	f->slot->newest = 0;
	if (!one_in(f, 8)) {
		setup->build(f, &arg);
		ret = ioctl(fd, MTRACE_IOC_SETUP, &arg);
		if (ret) {
			/* Without what this CPU has not, or what is at odds. */
			arg = (struct mtrace_setup){
				.size = sizeof(arg), .buffer_size = 1 << 20,
				.max_threads = 4, .max_snapshots = 3,
				.flags = MTRACE_SETUP_INHERIT_THREADS |
					 (arg.flags & (MTRACE_SETUP_STREAM |
						       MTRACE_SETUP_SIDEBAND)),
				.trace_flags = MTRACE_TRACE_USER,
				.pmu_type = pmu_type,
			};
			ret = ioctl(fd, MTRACE_IOC_SETUP, &arg);
		}
		if (!ret) {
			f->slot->setup = arg;
			for (i = below(f, 4); i; i--) {
				thread.tid = some_tid(f);
				ioctl(fd, MTRACE_IOC_ATTACH, &thread);
			}
			if (!one_in(f, 4))
				ioctl(fd, MTRACE_IOC_START);
		}
	}
	set_privilege(true);
	old = __atomic_exchange_n(&f->slot->fd, fd, __ATOMIC_SEQ_CST);
	if (old >= 0)
		close(old);
	return 0;
}

static int run_mmap(struct fuzzer *f)
{
	uint64_t size = f->slot->setup.buffer_size, offset = 0;
	int prot = PROT_READ, flags = MAP_SHARED;
	void *map;

	if (one_in(f, 3)) {
		offset = below(f, 64) * PAGE;
		size = (1 + below(f, 64)) * PAGE;
	}
	if (one_in(f, 16))
		offset = odd_number(f) & -PAGE;
	if (one_in(f, 16))
		prot = below(f, 8);
	if (one_in(f, 16))
		flags = MAP_PRIVATE;
	if (one_in(f, 16))
		flags |= MAP_POPULATE;
	/* MAP_FIXED that fails would leave a hole, for others to be put into. */
	map = mmap(NULL, size, prot, flags, f->slot->fd, offset);
	if (map == MAP_FAILED)
		return errno;
	if (size > WINDOW || mremap(map, size, size,
				    MREMAP_MAYMOVE | MREMAP_FIXED,
				    f->slot->window) == MAP_FAILED)
		munmap(map, size);
	return 0;
}

static int run_munmap(struct fuzzer *f)
{
	/* The whole, or a hole in it; nobody else gets the addresses. */
	size_t from = one_in(f, 2) ? 0 : below(f, 64) * PAGE;
	size_t size = from ? PAGE : WINDOW;

	return mmap(f->slot->window + from, size, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		    -1, 0) == MAP_FAILED ? errno : 0;
}

/* Reads the mapping in the kernel, where a fault is an error and no signal. */
static int run_read_map(struct fuzzer *f)
{
	static __thread int sink = -1;
	uint64_t at = below(f, f->slot->setup.buffer_size | PAGE) & -PAGE;

	if (sink < 0)
		sink = syscall(SYS_memfd_create, "sink", 0);
	return result(pwrite(sink, f->slot->window + at % WINDOW, PAGE, 0));
}

static int run_change_map(struct fuzzer *f)
{
	size_t size = (1 + below(f, 64)) * PAGE;
	uint8_t *map = f->slot->window;

	switch (below(f, 5)) {
	case 0:
		return result(mprotect(map, size, below(f, 8)));
	case 1:
		return result(madvise(map, size, below(f, 26)));
	case 2:
		return result(mlock(map, size));
	case 3:
		return result(msync(map, size, MS_SYNC));
	default:
		return mremap(map, size, size + PAGE, 0) == MAP_FAILED ?
		       errno : 0;
	}
}

static int run_poll(struct fuzzer *f)
{
	struct pollfd fd = { f->slot->fd, (short)rnd(f), 0 };

	if (one_in(f, 2))
		fd.events = POLLIN | POLLPRI | POLLRDBAND;
	return result(poll(&fd, 1, one_in(f, 16)));
}

static int run_read(struct fuzzer *f)
{
	uint64_t size = one_in(f, 4) ? odd_number(f) : BYTES;
	int flags = fcntl(f->slot->fd, F_GETFL);

	/* One that waits ends by a signal, if by nothing else. */
	if (flags >= 0)
		fcntl(f->slot->fd, F_SETFL, one_in(f, 64) ?
		      flags & ~O_NONBLOCK : flags | O_NONBLOCK);
	return result(read(f->slot->fd, size == BYTES ? f->bytes : bad_place(f),
			   size));
}

/* Another user of the hardware, who comes and goes. */
static int run_perf(struct fuzzer *f)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = pmu_type, .disabled = one_in(f, 2),
	};
	int fd;

	if (!pmu_type)
		return ENODEV;
	fd = syscall(SYS_perf_event_open, &attr, one_in(f, 2) ? 0 :
		     some_tid(f), -1, -1, PERF_FLAG_FD_CLOEXEC);
	return result(fd < 0 ? fd : close(fd));
}

static void *short_life(void *unused)
{
	volatile int i;

	for (i = 0; i < 100; i++)
		;
	return unused;
}

static int run_thread(struct fuzzer *f)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	(void)f;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 65536);
	ret = pthread_create(&thread, &attr, short_life, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

/* A process has the files, though not the mapping; some of it uses them. */
static int run_fork(struct fuzzer *f)
{
	struct mtrace_snapshot arg = { .size = sizeof(arg) };
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (!pid) {
		short_life(NULL);
		if (one_in(f, 2))
			ioctl(f->slot->fd, MTRACE_IOC_SNAPSHOT, &arg);
		if (one_in(f, 4))
			execl("/bin/true", "true", NULL);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

const struct call around_calls[] = {
	{ .name = "open", .weight = 3, .least = 500, .run = run_open },
	{ .name = "close", .weight = 2, .least = 100, .run = run_close },
	{ .name = "mmap", .weight = 6, .least = 1000, .run = run_mmap },
	{ .name = "munmap", .weight = 5, .least = 100, .run = run_munmap },
	{ .name = "read of the mapping", .weight = 15, .least = 500,
	  .run = run_read_map },
	{ .name = "mprotect and the like", .weight = 5, .run = run_change_map },
	{ .name = "poll", .weight = 40, .least = 5000, .run = run_poll },
	{ .name = "read", .weight = 60, .least = 1000,
	  .with = MTRACE_SETUP_SIDEBAND, .run = run_read },
	{ .name = "perf", .weight = 2, .run = run_perf },
	{ .name = "a short thread", .weight = 15, .least = 1000,
	  .run = run_thread },
	{ .name = "a short process", .weight = 1, .least = 50,
	  .run = run_fork },
	{ 0 }
};
