// SPDX-License-Identifier: GPL-2.0
/*
 * What a locked-down kernel forbids. There is no way back from lockdown before
 * the next boot, hence the name: it comes last.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "harness.h"

#define LOCKDOWN "/sys/kernel/security/lockdown"

TEST(lockdown_forbids_the_kernel)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	struct mtrace_setup before = setup;
	int fd = open_device(), earlier = open_device();

	before.trace_flags = MTRACE_TRACE_KERNEL;
	CHECK_ERRNO(ioctl(earlier, MTRACE_IOC_SETUP, &before), 0);
	mount("securityfs", "/sys/kernel/security", "securityfs", 0, NULL);
	CHECK(write_text(LOCKDOWN, "confidentiality"), LOCKDOWN ": %s",
	      strerror(errno));
	setup.trace_flags = MTRACE_TRACE_KERNEL;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EACCES);
	setup.trace_flags |= MTRACE_TRACE_USER;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EACCES);
	CHECK_EQ(must_status(fd).regions_free, 0);
	/* Nor is begun what was set up when it was not forbidden. */
	CHECK_ERRNO(ioctl(earlier, MTRACE_IOC_START), EACCES);
	CHECK_EQ(must_status(earlier).running, 0);
	setup.trace_flags = MTRACE_TRACE_USER;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), 0);
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_START), 0);
}
