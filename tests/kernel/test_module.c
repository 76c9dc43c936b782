// SPDX-License-Identifier: GPL-2.0
/* The module comes and goes, or does not come: nothing of it is left. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "msr.h"
#include "side.h"
#include "trace.h"

/* So often in the long run; check --debug asks for more. */
#define LOADS	setting("MTRACE_TEST_LOADS", 20)

static int load_file(const char *variable, const char *parameters)
{
	const char *path = getenv(variable);
	int fd, ret;

	CHECK(path, "%s does not say where a module is", variable);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	ret = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	close(fd);
	return ret;
}

TEST(module_is_in_use)
{
	struct session s;
	int fd = open_device();

	CHECK_ERRNO(syscall(SYS_delete_module, "mtrace", O_NONBLOCK), EAGAIN);
	close(fd);
	session_open(&s, setup_of(MIB(1), 1, 1));
	close(s.fd);
	/* The mapping holds the session as well. */
	CHECK_ERRNO(syscall(SYS_delete_module, "mtrace", O_NONBLOCK), EAGAIN);
	munmap((void *)s.map, MIB(1));
	CHECK_EQ(access("/dev/mtrace", F_OK), 0);
}

/* A session of all kinds of things that leave something to undo. */
static void use_all(void)
{
	struct load *load = load_spawn(1, work_calls);
	struct mtrace_setup setup = setup_of(MIB(4), 4, 1);
	struct mtrace_region *region;
	struct pt_stats stats;
	struct session s;

	setup.flags = MTRACE_SETUP_INHERIT_THREADS |
		      MTRACE_SETUP_INHERIT_PROCESSES |
		      MTRACE_SETUP_SNAPSHOT_AT_EXIT |
		      MTRACE_SETUP_SNAPSHOT_AT_SIGNAL;
	region = trace_round(&s, side_setup(setup, 0), load);
	pt_read(&s, region, (uintptr_t)load_target, &stats);
	CHECK_EQ(stats.hits, WORK_CALLS);
	free(region);
	session_close(&s);
	load_end(load);
}

/*
 * The hooks of a session stay in place until the module is unloaded, so that
 * each second unloading has them to take out.
 */
TEST(module_comes_and_goes)
{
	unsigned int loads = LOADS, i;
	long long vmalloc = 0, slab = 0;
	struct msrs before;

	read_msrs(&before);
	for (i = 0; i < loads + 4; i++) {
		/* What the kernel only does once it has done by then. */
		if (i == 4) {
			vmalloc = meminfo("VmallocUsed");
			slab = meminfo("SUnreclaim");
		}
		reload_module(NULL);
		if (i % 2 == 0)
			use_all();
		check_msrs_as(&before);
	}
	if (keeps_memory())
		return;
	/* Less than a page for each time; what others use comes and goes, too. */
	CHECK(meminfo("VmallocUsed") - vmalloc < (long long)(loads + 20) * 4096,
	      "%lld bytes of vmalloc are now %lld", vmalloc,
	      meminfo("VmallocUsed"));
	CHECK(meminfo("SUnreclaim") - slab < (long long)MIB(1) + loads * 4096,
	      "%lld bytes of slab are now %lld", slab, meminfo("SUnreclaim"));
}

/* That it does not load, and that what it did before it failed is undone. */
static void check_refused(int want, const char *parameters)
{
	struct msrs before;

	read_msrs(&before);
	CHECK_EQ(load_file("MTRACE_KO", parameters), want);
	CHECK_ERRNO(access("/dev/mtrace", F_OK), ENOENT);
	CHECK_ERRNO(access("/sys/module/mtrace", F_OK), ENOENT);
	check_msrs_as(&before);
}

TEST(module_does_not_come)
{
	unsigned int i;

	CHECK_EQ(load_file("MTRACE_KO", ""), EEXIST);
	use_all();
	remove_module();
	check_refused(EINVAL, "chunk_order=many");
	for (i = 0; i < LOADS; i++) {
		CHECK_EQ(load_file("MTRACE_TAKEN_KO", ""), 0);
		check_refused(EBUSY, "");
		CHECK_ERRNO(syscall(SYS_delete_module, "mt_taken", O_NONBLOCK),
			    0);
	}
	insert_module(NULL);
	use_all();
}
