// SPDX-License-Identifier: GPL-2.0
/* Bad arguments: the right error, and nothing changed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Every call that takes a structure, and the size of that. */
static const struct {
	unsigned long cmd;
	uint32_t size;
} calls[] = {
	{ MTRACE_IOC_GET_CAPS, sizeof(struct mtrace_caps) },
	{ MTRACE_IOC_SETUP, sizeof(struct mtrace_setup) },
	{ MTRACE_IOC_ATTACH, sizeof(struct mtrace_thread) },
	{ MTRACE_IOC_DETACH, sizeof(struct mtrace_thread) },
	{ MTRACE_IOC_SNAPSHOT, sizeof(struct mtrace_snapshot) },
	{ MTRACE_IOC_DESCRIBE, sizeof(struct mtrace_describe) },
	{ MTRACE_IOC_RELEASE, sizeof(struct mtrace_release) },
	{ MTRACE_IOC_GET_STATUS, sizeof(struct mtrace_status) },
	{ MTRACE_IOC_NEXT_SNAPSHOT, sizeof(struct mtrace_snapshot) },
	{ MTRACE_IOC_ADD_TRIGGER, sizeof(struct mtrace_trigger) },
	{ MTRACE_IOC_REMOVE_TRIGGER, sizeof(struct mtrace_trigger) },
	{ MTRACE_IOC_GET_SETUP, sizeof(struct mtrace_setup) },
	{ MTRACE_IOC_STREAM_RELEASE, sizeof(struct mtrace_stream_release) },
	{ MTRACE_IOC_STREAM_READ, sizeof(struct mtrace_stream_read) },
};

#define NR_CALLS (sizeof(calls) / sizeof(calls[0]))

/* A session that nothing has happened to since it was set up. */
static void check_untouched(int fd)
{
	struct mtrace_status status = must_status(fd);

	CHECK_EQ(status.running, 0);
	CHECK_EQ(status.nr_threads, 0);
	CHECK_EQ(status.nr_snapshots, 0);
	CHECK_EQ(status.regions_live, 0);
	CHECK_EQ(status.regions_frozen, 0);
}

TEST(caps_are_told)
{
	struct mtrace_caps caps = must_caps();

	CHECK_EQ(caps.abi_version, MTRACE_ABI_VERSION);
	CHECK_EQ(caps.size, sizeof(caps));
	CHECK(caps.tsc_khz, "no frequency of the TSC");
	CHECK(caps.max_threads >= 64, "only %u threads", caps.max_threads);
	CHECK(caps.cpuid14[2] & 1, "CPUID.14H:ECX says no ToPA: %#x",
	      caps.cpuid14[2]);
	CHECK(caps.max_region_size >= MIB(4), "regions end at %#llx",
	      caps.max_region_size);
	CHECK_EQ(caps.trace_flags & MTRACE_TRACE_USER, MTRACE_TRACE_USER);
	CHECK_EQ(!!(caps.trace_flags & MTRACE_TRACE_MTC),
		 caps.cpuid14[1] >> 3 & 1);
	CHECK_EQ(!!(caps.trace_flags & MTRACE_TRACE_CYC),
		 caps.cpuid14[1] >> 1 & 1);
}

TEST(unknown_calls)
{
	struct mtrace_status arg = { .size = sizeof(arg) };
	int fd = open_device();

	CHECK_ERRNO(ioctl(fd, _IOWR(MTRACE_IOC_MAGIC, 200, arg), &arg), ENOTTY);
	CHECK_ERRNO(ioctl(fd, _IOWR('M', 0, struct mtrace_caps), &arg), ENOTTY);
	/* A call of ours in another direction is none of ours. */
	CHECK_ERRNO(ioctl(fd, _IOR(MTRACE_IOC_MAGIC, 9, arg), &arg), ENOTTY);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_GET_STATUS, &arg), 0);
}

TEST(struct_sizes)
{
	union {
		uint32_t size;
		uint8_t bytes[8192];
	} arg;
	struct session s;
	size_t i;

	session_open(&s, setup_of(MIB(1), 2, 1));
	for (i = 0; i < NR_CALLS; i++) {
		memset(&arg, 0, sizeof(arg));
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, &arg), EINVAL);
		arg.size = 4;
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, &arg), EINVAL);
		arg.size = calls[i].size - 8;
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, &arg), EINVAL);
		/* Longer, with something that this kernel cannot know. */
		arg.size = calls[i].size + 8;
		arg.bytes[calls[i].size + 7] = 1;
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, &arg), E2BIG);
		arg.size = 5000;
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, &arg), E2BIG);
		arg.size = UINT32_MAX;
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, &arg), E2BIG);
	}
	check_untouched(s.fd);

	/* Longer, but with zeros, by a command that says so: as if it were not. */
	memset(&arg, 0, sizeof(arg));
	arg.size = sizeof(struct mtrace_status) + 64;
	CHECK_ERRNO(ioctl(s.fd, _IOC(_IOC_READ | _IOC_WRITE, MTRACE_IOC_MAGIC,
				     9, arg.size), &arg), 0);
	CHECK_EQ(arg.size, sizeof(struct mtrace_status) + 64);
}

TEST(bad_pointers)
{
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct session s;
	uint8_t *page;
	size_t i;

	session_open(&s, setup_of(MIB(1), 2, 1));
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED, "mmap: %s", strerror(errno));
	mprotect(page + 4096, 4096, PROT_NONE);
	for (i = 0; i < NR_CALLS; i++) {
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, NULL), EFAULT);
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, (void *)-4096L), EFAULT);
		/* Its size can be read, but not all of it. */
		memcpy(page + 4096 - 8, &calls[i].size, 4);
		CHECK_ERRNO(ioctl(s.fd, calls[i].cmd, page + 4096 - 8), EFAULT);
	}

	/* What cannot be told must not come about. */
	memcpy(page, &snapshot, sizeof(snapshot));
	mprotect(page, 4096, PROT_READ);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, page), EFAULT);
	check_untouched(s.fd);
	CHECK_EQ(must_snapshot(&s).id, 1);
}

TEST(setup_to_read_only_memory)
{
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	int fd = open_device();
	void *page;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(page, &setup, sizeof(setup));
	mprotect(page, 4096, PROT_READ);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, page), EFAULT);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}

TEST(reserved_fields)
{
	struct mtrace_caps caps = { .size = sizeof(caps), .reserved[2] = 1 };
	struct mtrace_thread thread = { .size = sizeof(thread), .tid = 1 };
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct mtrace_describe describe = {
		.size = sizeof(describe),
		.region_size = sizeof(struct mtrace_region),
		.id = 1,
	};
	struct mtrace_release release = { .size = sizeof(release), .id = 1 };
	struct mtrace_status status = { .size = sizeof(status) };
	struct session s;

	session_open(&s, setup_of(MIB(1), 2, 1));
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_GET_CAPS, &caps), EINVAL);

	thread.flags = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_ATTACH, &thread), EINVAL);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DETACH, &thread), EINVAL);
	thread.flags = 0;
	thread.pad = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_ATTACH, &thread), EINVAL);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DETACH, &thread), EINVAL);

	snapshot.flags = MTRACE_SNAPSHOT_WAIT << 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), EINVAL);
	snapshot.flags = MTRACE_SNAPSHOT_WAIT;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_NEXT_SNAPSHOT, &snapshot), EINVAL);
	snapshot.flags = 0;
	snapshot.reserved[1] = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_SNAPSHOT, &snapshot), EINVAL);
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_NEXT_SNAPSHOT, &snapshot), EINVAL);
	check_untouched(s.fd);

	CHECK_EQ(must_snapshot(&s).id, 1);
	describe.pad = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_DESCRIBE, &describe), EINVAL);
	release.flags = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_RELEASE, &release), EINVAL);
	CHECK_EQ(must_status(s.fd).nr_snapshots, 1);

	status.flags = 1;
	CHECK_ERRNO(ioctl(s.fd, MTRACE_IOC_GET_STATUS, &status), EINVAL);
}

TEST(order_of_calls)
{
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	struct mtrace_thread thread = { .size = sizeof(thread), .tid = 1 };
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct mtrace_describe describe = {
		.size = sizeof(describe),
		.region_size = sizeof(struct mtrace_region),
		.id = 1,
	};
	struct mtrace_release release = { .size = sizeof(release), .id = 1 };
	int fd = open_device();

	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_ATTACH, &thread), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_DETACH, &thread), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_START), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_STOP), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SNAPSHOT, &snapshot), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_NEXT_SNAPSHOT, &snapshot), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_DESCRIBE, &describe), EINVAL);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_RELEASE, &release), EINVAL);
	CHECK_EQ(must_status(fd).regions_free, 0);
	check_untouched(fd);

	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EBUSY);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_STOP), EALREADY);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_NEXT_SNAPSHOT, &snapshot), EAGAIN);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_DESCRIBE, &describe), ENOENT);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_RELEASE, &release), ENOENT);
	check_untouched(fd);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_START), 0);
	CHECK_EQ(must_status(fd).running, 1);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_START), EALREADY);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_STOP), 0);
	CHECK_EQ(must_status(fd).running, 0);
}

TEST(sessions_have_numbers)
{
	struct mtrace_setup setup = { .size = sizeof(setup) };
	uint32_t number, last = 0;
	struct session s[3];
	int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 3; i++) {
			session_open(&s[i], setup_of(MIB(1), 2, 1));
			number = s[i].setup.session;
			/* From 1, and none comes twice. */
			CHECK(number > last, "%u comes after %u", number, last);
			last = number;
		}
		memset(&setup, 0, sizeof(setup));
		setup.size = sizeof(setup);
		CHECK_ERRNO(ioctl(s[0].fd, MTRACE_IOC_GET_SETUP, &setup), 0);
		CHECK_EQ(setup.session, last - 2);
		for (i = 0; i < 3; i++)
			session_close(&s[i]);
	}
}

/* One field of a good set-up changed. */
static void check_setup(int fd, int want, size_t offset, size_t size,
			uint64_t value, const char *what)
{
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	int got;

	memcpy((uint8_t *)&setup + offset, &value, size);
	got = ioctl(fd, MTRACE_IOC_SETUP, &setup) ? errno : 0;
	CHECK(got == want, "a set-up with %s %#lx gives errno %d, not %d", what,
	      value, got, want);
}

#define SETUP(want, field, value)					\
	check_setup(fd, want, offsetof(struct mtrace_setup, field),	\
		    sizeof(((struct mtrace_setup *)0)->field), value, #field)

TEST(setup_bad_fields)
{
	struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
	struct mtrace_caps caps = must_caps();
	int fd = open_device();

	SETUP(EINVAL, flags, MTRACE_SETUP_FLAGS_ALL + 1);
	SETUP(EINVAL, flags, 1u << 31);
	SETUP(EINVAL, buffer_size, 0);
	SETUP(EINVAL, buffer_size, 1);
	SETUP(EINVAL, buffer_size, 2048);
	SETUP(EINVAL, buffer_size, MIB(3));
	SETUP(EINVAL, buffer_size, MIB(1) + 4096);
	SETUP(EINVAL, buffer_size, UINT64_MAX);
	SETUP(EINVAL, max_threads, 0);
	SETUP(EINVAL, max_threads, caps.max_threads + 1);
	SETUP(EINVAL, max_threads, UINT32_MAX);
	SETUP(EINVAL, max_snapshots, 0);
	SETUP(EINVAL, trace_flags, 0);
	SETUP(EINVAL, trace_flags, MTRACE_TRACE_TSC);
	SETUP(EINVAL, trace_flags, MTRACE_TRACE_USER | 1u << 13);
	SETUP(EINVAL, mtc_freq, 3);
	SETUP(EINVAL, cyc_thresh, 1);
	SETUP(EINVAL, psb_freq, 16);
	SETUP(EINVAL, trace_flags, MTRACE_TRACE_USER | MTRACE_TRACE_PTW_FUP);
	SETUP(EINVAL, nr_ranges, 1);
	SETUP(EINVAL, nr_ranges, MTRACE_MAX_RANGES + 1);
	SETUP(EINVAL, range[0].kind, MTRACE_RANGE_FILTER);
	SETUP(EINVAL, pad, 1);
	SETUP(EINVAL, sideband_size, 1);
	SETUP(EINVAL, reserved[0], 1);
	SETUP(EINVAL, reserved[2], 1ull << 63);
	/* No PMU has this type; the software PMU, 1, is the wrong one. */
	SETUP(EINVAL, pmu_type, 0x7fffffff);
	SETUP(EINVAL, pmu_type, 1);
	/* Of 256 pages: 128 threads with one spare each take them all. */
	SETUP(ENOSPC, max_threads, 129);
	SETUP(ENOSPC, max_snapshots, UINT32_MAX);
	SETUP(ENOSPC, buffer_size, 8192);

	check_untouched(fd);
	CHECK_EQ(must_status(fd).regions_free, 0);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED,
	      "a file can be mapped that is not set up");
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}

TEST(setup_unsupported)
{
	struct mtrace_caps caps = must_caps();
	int fd = open_device();
	struct {
		uint32_t flag;
		uint32_t bitmap;
		uint8_t mtrace_setup_offset;
	} values[] = {
		{ MTRACE_TRACE_MTC, caps.cpuid14[4] >> 16,
		  offsetof(struct mtrace_setup, mtc_freq) },
		{ MTRACE_TRACE_CYC, caps.cpuid14[5],
		  offsetof(struct mtrace_setup, cyc_thresh) },
		{ MTRACE_TRACE_USER, caps.cpuid14[5] >> 16,
		  offsetof(struct mtrace_setup, psb_freq) },
	};
	unsigned int tried = 0;
	size_t i;

	for (i = 0; i < 3; i++) {
		struct mtrace_setup setup = setup_of(MIB(1), 2, 1);
		uint8_t value = lacking(values[i].bitmap);

		setup.trace_flags |= values[i].flag;
		if (!(caps.trace_flags & values[i].flag)) {
			CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup),
				    EOPNOTSUPP);
			tried++;
		} else if (value < 16) {
			((uint8_t *)&setup)[values[i].mtrace_setup_offset] =
				value;
			CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup),
				    EOPNOTSUPP);
			tried++;
		}
	}
	CHECK(tried, "the machine can do everything");
	check_untouched(fd);
}

TEST(open_needs_privilege)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	int status;
	pid_t pid;

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1u << CAP_SYS_ADMIN);
	data[1].effective &= ~(1u << (CAP_PERFMON - 32));
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
	CHECK_ERRNO(open("/dev/mtrace", O_RDWR), EPERM);

	/* Any of the two is enough. */
	data[1].effective |= 1u << (CAP_PERFMON - 32);
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
	CHECK_ERRNO(open("/dev/mtrace", O_RDWR), 0);

	pid = fork();
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(100);
		_exit(open("/dev/mtrace", O_RDWR) < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(WEXITSTATUS(status), EACCES);
}
