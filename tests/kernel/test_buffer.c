// SPDX-License-Identifier: GPL-2.0
/* The buffer: how it is divided, what is refused, how it is mapped. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "trace.h"

TEST(setup_divides_the_buffer)
{
	static const struct {
		uint64_t size;
		uint32_t threads, snapshots;
		uint64_t region_size;
		uint32_t regions;
	} cases[] = {
		{ KIB(8),	1, 1,	KIB(4), 2 },
		{ KIB(16),	1, 1,	KIB(8), 2 },
		{ KIB(64),	2, 3,	KIB(8), 8 },
		{ MIB(1),	3, 1,	KIB(128), 8 },
		{ MIB(1),	1, 4,	KIB(128), 8 },
		{ MIB(1),	128, 1,	KIB(4), 256 },
		{ MIB(32),	2, 1,	MIB(8), 4 },
	};
	uint64_t most = must_caps().max_region_size;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t region = cases[i].region_size;
		uint32_t regions = cases[i].regions;
		struct mtrace_status status;
		struct session s;

		if (region > most) {
			regions *= region / most;
			region = most;
		}
		session_open(&s, setup_of(cases[i].size, cases[i].threads,
					  cases[i].snapshots));
		CHECK_EQ(s.setup.region_size, region);
		CHECK_EQ(s.setup.nr_regions, regions);
		CHECK_EQ(s.setup.available, 0);
		CHECK_EQ(s.setup.size, sizeof(s.setup));
		status = must_status(s.fd);
		CHECK_EQ(status.regions_free, regions);
		CHECK_EQ(status.regions_live, 0);
		session_close(&s);
	}
}

TEST(setup_tells_clocks_and_control)
{
	struct timespec mono, real;
	struct session s;
	int64_t apart;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	session_open(&s, setup_of(MIB(1), 2, 1));
	clock_gettime(CLOCK_REALTIME, &real);
	/* TraceEn, User, ToPA, BranchEn. */
	CHECK_EQ(s.setup.rtit_ctl, 1 | 1 << 3 | 1 << 8 | 1 << 13);
	CHECK(s.setup.start_tsc, "no TSC");
	CHECK(s.setup.start_monotonic_ns >=
	      mono.tv_sec * 1000000000ull + mono.tv_nsec,
	      "the monotonic clock is told as of before the call");
	CHECK(s.setup.start_realtime_ns <=
	      real.tv_sec * 1000000000ull + real.tv_nsec,
	      "the real-time clock is told as of after the call");
	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	/* Both are of the same moment, so that they differ as they do now. */
	apart = (real.tv_sec - mono.tv_sec) * 1000000000ll + real.tv_nsec -
		mono.tv_nsec;
	apart -= s.setup.start_realtime_ns - s.setup.start_monotonic_ns;
	CHECK(apart > -1000000000 && apart < 1000000000,
	      "the clocks are told %ld ns apart", apart);
}

TEST(setup_too_large)
{
	struct mtrace_setup setup;
	int fd = open_device();
	uint64_t total = meminfo("MemTotal");
	int bit;

	/* From the first power of two that cannot be there, to the last. */
	for (bit = 63; 1ull << bit > total; bit--) {
		setup = setup_of(1ull << bit, 1, 1);
		CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), ENOMEM);
		CHECK(setup.available && setup.available < total &&
		      setup.available % 4096 == 0,
		      "%#llx bytes available of %#lx", setup.available, total);
		CHECK_EQ(setup.nr_regions, 0);
		setup = setup_of(1ull << bit, 4096, 15);
		CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), ENOMEM);
	}
	CHECK_EQ(must_status(fd).regions_free, 0);
	setup = setup_of(MIB(1), 1, 1);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}

TEST(buffer_is_given_back)
{
	uint64_t size = MIB(128), sum = 0;
	struct mtrace_setup setup;
	int fd;

	/* More in sum than there is: what is kept is missed at the end. */
	while (sum < 2 * (uint64_t)meminfo("MemTotal")) {
		fd = open_device();
		setup = setup_of(size, 2, 1);
		CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
		close(fd);
		sum += size;
	}
}

TEST(map_rules)
{
	const uint64_t size = KIB(64);
	struct session s;
	uint8_t *map;

	session_open(&s, setup_of(size, 1, 1));
#define MAP(length, prot, flags, offset)				\
	((map = mmap(NULL, length, prot, flags, s.fd, offset)) ==	\
	 MAP_FAILED ? -1 : 0)
	CHECK_ERRNO(MAP(size, PROT_READ | PROT_WRITE, MAP_SHARED, 0), EACCES);
	CHECK_ERRNO(MAP(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0), EACCES);
	CHECK_ERRNO(MAP(size, PROT_READ | PROT_EXEC, MAP_SHARED, 0), EACCES);
	CHECK_ERRNO(MAP(size + 4096, PROT_READ, MAP_SHARED, 0), EINVAL);
	CHECK_ERRNO(MAP(size, PROT_READ, MAP_SHARED, 4096), EINVAL);
	CHECK_ERRNO(MAP(4096, PROT_READ, MAP_SHARED, size), EINVAL);
	CHECK_ERRNO(MAP(4096, PROT_READ, MAP_SHARED, 1ll << 62), EINVAL);

	/* A part, from within: the same bytes as in the whole. */
	CHECK_ERRNO(MAP(4096, PROT_READ, MAP_SHARED, size - 4096), 0);
	CHECK(!memcmp(map, s.map + size - 4096, 4096),
	      "a partial mapping shows something else");
	CHECK_ERRNO(mprotect(map, 4096, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO(mprotect(map, 4096, PROT_READ | PROT_EXEC), EACCES);
	CHECK(mremap(map, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED,
	      "a mapping can be made to grow");
	munmap(map, 4096);

	/* With a hole in it the rest still shows the right pages. */
	CHECK_ERRNO(MAP(size, PROT_READ, MAP_SHARED, 0), 0);
	munmap(map + 4096, 4096);
	CHECK(!memcmp(map + 8192, s.map + 8192, size - 8192),
	      "a mapping with a hole shows something else");
}

/* That the clean regions are zero but for what is at their ends. */
TEST(buffer_is_zeroed)
{
	uint64_t i, j, used = 0;
	struct session s;

	session_open(&s, setup_of(MIB(4), 2, 1));
	for (i = 0; i < MIB(4); i += s.setup.region_size) {
		for (j = 0; j < s.setup.region_size - 16; j++)
			if (s.map[i + j])
				FAIL("byte %#lx is %#x", i + j, s.map[i + j]);
		for (; j < s.setup.region_size; j++)
			used += !!s.map[i + j];
	}
	CHECK(used, "no region has a canary");
}

/* The same of a region that comes back, whether the trace has wrapped or not. */
TEST(buffer_is_zeroed_for_the_next)
{
	static const uint64_t sizes[] = { KIB(64), MIB(4) };
	struct load *load = load_spawn(1, work_calls);
	uint64_t offset, i, id, used;
	struct mtrace_region *regions;
	struct session s;
	int n;

	for (n = 0; n < 2; n++) {
		trace_begin(&s, setup_of(sizes[n], 1, 1), load);
		load_round(load);
		regions = must_regions(&s, 1, &id);
		CHECK_EQ(regions->flags, n ? 0 : MTRACE_REGION_WRAPPED);
		offset = regions->offset;
		for (i = used = 0; i < s.setup.region_size; i++)
			used += !!s.map[offset + i];
		CHECK(used > KIB(8), "only %lu bytes are a trace", used);
		must_release(&s, id);
		for (i = 0; i < s.setup.region_size - 16; i++)
			if (s.map[offset + i])
				FAIL("byte %#lx of %#llx is %#x", i,
				     s.setup.region_size, s.map[offset + i]);
		session_close(&s);
		free(regions);
	}
	load_end(load);
}

TEST(map_is_not_written_by_others)
{
	struct iovec local, remote;
	struct session s;
	uint8_t byte = 1;
	int memory;

	session_open(&s, setup_of(KIB(64), 1, 1));
	local = (struct iovec){ &byte, 1 };
	remote = (struct iovec){ (void *)s.map, 1 };
	CHECK_ERRNO(process_vm_writev(getpid(), &local, 1, &remote, 1, 0),
		    EFAULT);
	/* As a debugger writes, over what the mapping allows. */
	memory = open("/proc/self/mem", O_RDWR);
	CHECK(memory >= 0, "/proc/self/mem: %s", strerror(errno));
	CHECK(pwrite(memory, &byte, 1, (uintptr_t)s.map) < 0,
	      "the mapping can be written by /proc/self/mem");
	CHECK_EQ(s.map[0], 0);
}

TEST(map_is_not_inherited)
{
	struct session s;
	uint8_t seen;
	int status;
	pid_t pid;

	session_open(&s, setup_of(KIB(64), 1, 1));
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		seen = *(volatile const uint8_t *)s.map;
		_exit(seen);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	      "a child has the mapping");
}

TEST(map_outlives_the_descriptor)
{
	struct mtrace_setup setup = setup_of(KIB(64), 1, 1);
	struct session s;
	uint8_t sum = 0;
	int i, fd;

	session_open(&s, setup);
	close(s.fd);
	/* All pages are touched for the first time after that. */
	for (i = 0; i < (int)KIB(64); i += 4096)
		sum |= s.map[i];
	CHECK_EQ(sum, 0);
	munmap((void *)s.map, KIB(64));
	fd = open_device();
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
}
