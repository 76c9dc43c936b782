// SPDX-License-Identifier: GPL-2.0
/* The ioctls of /dev/mtrace, and what their errors mean for people. */
#include "user/record/device.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/size.h"

#define DEVICE_PATH	"/dev/" MTRACE_DEVICE_NAME
#define PMU_TYPE_PATH	"/sys/bus/event_source/devices/intel_pt/type"

#define CPUID_7_EBX_PT	(1U << 25)

/* Regions of a snapshot are first asked for with room for so many. */
#define DESCRIBE_ROOM	64

static bool cpu_has_pt(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & CPUID_7_EBX_PT);
}

void mt_device_explain(int err, bool has_pt, char *line, size_t len)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		if (!has_pt)
			snprintf(line, len, "this CPU has no Intel Processor Trace (or the virtual "
				 "machine hides it): use a machine that has it, or the emulated "
				 "one: tests/machine/run -- mtrace-user ...");
		else
			snprintf(line, len, "the kernel module is not loaded (there is no "
				 DEVICE_PATH "): load it with 'modprobe mtrace' or 'insmod "
				 "mtrace.ko'");
		break;
	case -EACCES:
	case -EPERM:
		snprintf(line, len, "no permission to trace (" DEVICE_PATH ": %s): run as root, or "
			 "grant CAP_PERFMON and access to the file, or load the module with "
			 "unprivileged=1 to let users trace what they start themselves",
			 strerror(-err));
		break;
	default:
		snprintf(line, len, DEVICE_PATH ": cannot be opened: %s", strerror(-err));
		break;
	}
}

int mt_device_open(struct mt_device *dev)
{
	struct mtrace_caps *caps = &dev->caps;
	char line[512];
	int err;

	memset(dev, 0, sizeof(*dev));
	dev->fd = open(DEVICE_PATH, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (dev->fd < 0) {
		err = -errno;
		mt_device_explain(err, cpu_has_pt(), line, sizeof(line));
		mt_error("%s", line);
		return err;
	}
	caps->size = sizeof(*caps);
	if (ioctl(dev->fd, MTRACE_IOC_GET_CAPS, caps)) {
		err = -errno;
		mt_error(DEVICE_PATH ": the module does not tell what it can do (%s): load "
			 "the one that came with this mtrace-user", strerror(-err));
		goto fail;
	}
	if (caps->abi_version != MTRACE_ABI_VERSION) {
		err = -EPROTONOSUPPORT;
		mt_error("the module speaks version %u of the protocol and this mtrace-user "
			 "version %u: build and load both from the same release",
			 caps->abi_version, MTRACE_ABI_VERSION);
		goto fail;
	}
	return 0;

fail:
	close(dev->fd);
	dev->fd = -1;
	return err;
}

void mt_device_close(struct mt_device *dev)
{
	if (dev->buffer)
		munmap((void *)(uintptr_t)dev->buffer, dev->setup.buffer_size);
	dev->buffer = NULL;
	if (dev->fd >= 0)
		close(dev->fd);
	dev->fd = -1;
}

/* By what perf knows PT, so that the module can reserve it; 0 where perf does not. */
static uint32_t pmu_type(void)
{
	FILE *file = fopen(PMU_TYPE_PATH, "re");
	uint32_t type = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu32, &type) != 1)
		type = 0;
	fclose(file);
	return type;
}

void mt_device_missing(uint32_t missing, char *line, size_t len)
{
	static const struct {
		uint32_t cap;
		const char *what;
	} words[] = {
		{ MTRACE_CAP_CR3_FILTER, "no filter by address space (CR3)" },
		{ MTRACE_CAP_PSB_CYC, "no cycle-accurate timing (CYC) nor PSB periods" },
		{ MTRACE_CAP_IP_FILTER, "no filter by address" },
		{ MTRACE_CAP_MTC, "no MTC timing, and no tracing without branches" },
		{ MTRACE_CAP_PTWRITE, "no PTWRITE" },
		{ MTRACE_CAP_POWER, "no power events" },
		{ MTRACE_CAP_EVENT, "no event trace" },
		{ MTRACE_CAP_NOTNT, "no tracing without TNT packets" },
		{ MTRACE_CAP_MTC_FREQ, "no MTC timing of that period" },
		{ MTRACE_CAP_CYC_THRESH, "no cycle threshold of that value" },
		{ MTRACE_CAP_PSB_FREQ, "no PSB period of that value" },
		{ MTRACE_CAP_RANGES, "not that many address ranges" },
		{ MTRACE_CAP_SAME_CR3, "other page tables for the kernel than for user code (PTI), "
				       "so that only one of them can be traced by CR3" },
	};
	const char *comma = " ";
	size_t used;

	snprintf(line, len, "this CPU cannot trace with the options asked for: it has");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!(missing & words[i].cap))
			continue;
		used = strlen(line);
		snprintf(line + used, len - used, "%s%s", comma, words[i].what);
		missing &= ~words[i].cap;
		comma = ", ";
	}
	used = strlen(line);
	if (missing)
		snprintf(line + used, len - used, "%snot what the module calls %#x", comma,
			 missing);
	used = strlen(line);
	snprintf(line + used, len - used, "; leave out what needs that, or try --timing tsc");
}

/* Without privilege the memory counts as locked, of which a user may have little. */
bool mt_device_is_limited(const struct mt_device *dev)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	       dev->setup.available <= limit.rlim_cur;
}

static void setup_error(int err, const struct mt_device *dev)
{
	const struct mtrace_setup *setup = &dev->setup;
	char buffer[64], snapshot[64], available[64], missing[1024];

	mt_size_format(setup->buffer_size, buffer, sizeof(buffer));
	mt_size_format(setup->buffer_size / 2, snapshot, sizeof(snapshot));
	mt_size_format(setup->available & (setup->available >> 20 ? ~0xfffffULL : ~0x3ffULL),
		       available, sizeof(available));
	switch (err) {
	case -EBUSY:
		mt_error("Processor Trace is in use, by perf, another tracer or the firmware: "
			 "end that first");
		break;
	case -ENOMEM:
		mt_error("cannot allocate %s of trace memory, twice the snapshot size of %s%s: %s "
			 "were available; choose a smaller --snapshot-size%s", buffer, snapshot,
			 setup->available < setup->buffer_size ? "" :
			 ", and what is kept beside it", available,
			 mt_device_is_limited(dev) ? ", or allow more locked memory (ulimit -l)" : "");
		break;
	case -ENOSPC:
		mt_error("snapshot size %s is too small for %u threads: choose a larger "
			 "--snapshot-size or fewer --threads", snapshot, setup->max_threads);
		break;
	case -EOPNOTSUPP:
		mt_device_missing(setup->missing, missing, sizeof(missing));
		mt_error("%s", missing);
		break;
	case -EACCES:
	case -EPERM:
		mt_error("the kernel forbids tracing here (%s): run as root, and see "
			 "/sys/kernel/security/lockdown", strerror(-err));
		break;
	default:
		mt_error("tracing cannot be set up: %s", strerror(-err));
		break;
	}
}

int mt_device_setup(struct mt_device *dev, const struct mtrace_setup *setup, bool try_less)
{
	void *mapping;
	int err;

	dev->setup = *setup;
	dev->setup.size = sizeof(dev->setup);
	dev->setup.pmu_type = pmu_type();
	if (ioctl(dev->fd, MTRACE_IOC_SETUP, &dev->setup)) {
		err = -errno;
		if (err != -ENOMEM || !try_less)
			setup_error(err, dev);
		return err;
	}
	mapping = mmap(NULL, dev->setup.buffer_size, PROT_READ, MAP_SHARED, dev->fd, 0);
	if (mapping == MAP_FAILED) {
		err = -errno;
		mt_error(DEVICE_PATH ": the trace memory cannot be mapped: %s", strerror(-err));
		return err;
	}
	dev->buffer = mapping;
	return 0;
}

int mt_device_attach(struct mt_device *dev, pid_t tid)
{
	struct mtrace_thread thread = { .size = sizeof(thread), .tid = tid };
	int err;

	if (!ioctl(dev->fd, MTRACE_IOC_ATTACH, &thread))
		return 0;
	err = -errno;
	if (err == -EBUSY)
		mt_error("thread %d is traced by another session already", tid);
	else if (err != -EEXIST)
		mt_error("thread %d cannot be traced: %s", tid, strerror(-err));
	return err;
}

static int start_or_stop(struct mt_device *dev, unsigned long request, const char *what)
{
	int err;

	if (!ioctl(dev->fd, request) || errno == EALREADY)
		return 0;
	err = -errno;
	mt_error("tracing cannot be %s: %s", what, strerror(-err));
	return err;
}

int mt_device_start(struct mt_device *dev)
{
	return start_or_stop(dev, MTRACE_IOC_START, "started");
}

int mt_device_stop(struct mt_device *dev)
{
	return start_or_stop(dev, MTRACE_IOC_STOP, "stopped");
}

int mt_device_snapshot(struct mt_device *dev, struct mtrace_snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->size = sizeof(*snapshot);
	return ioctl(dev->fd, MTRACE_IOC_SNAPSHOT, snapshot) ? -errno : 0;
}

void mt_device_snapshot_error(int err)
{
	if (err == -ENOBUFS)
		mt_error("no snapshot could be taken: all trace memory holds threads that ended or "
			 "snapshots not yet written; choose more --threads");
	else if (err == -ENODEV)
		mt_error("no snapshot could be taken: the kernel has ended the session");
	else
		mt_error("no snapshot could be taken: %s", strerror(-err));
}

int mt_device_next_snapshot(struct mt_device *dev, struct mtrace_snapshot *snapshot)
{
	int err;

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->size = sizeof(*snapshot);
	if (!ioctl(dev->fd, MTRACE_IOC_NEXT_SNAPSHOT, snapshot))
		return 1;
	if (errno == EAGAIN)
		return 0;
	err = -errno;
	mt_error("snapshots that others take cannot be had: %s", strerror(-err));
	return err;
}

int mt_device_describe(struct mt_device *dev, uint64_t id, struct mtrace_region **regions,
		       size_t *count)
{
	struct mtrace_describe describe = { .size = sizeof(describe), .id = id };
	struct mtrace_region *list = NULL, *grown;
	uint32_t room = DESCRIBE_ROOM;
	int err;

	do {
		grown = realloc(list, room * sizeof(*list));
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		list = grown;
		describe.region_size = sizeof(*list);
		describe.regions = (uintptr_t)list;
		describe.count = room;
		err = ioctl(dev->fd, MTRACE_IOC_DESCRIBE, &describe) ? -errno : 0;
		/* Then it has said how many there are. */
	} while (err == -ENOSPC && describe.count > room && (room = describe.count));
	if (err) {
		free(list);
		mt_error("snapshot %" PRIu64 " cannot be listed: %s", id, strerror(-err));
		return err;
	}
	*regions = list;
	*count = describe.count;
	return 0;
}

int mt_device_release(struct mt_device *dev, uint64_t id)
{
	struct mtrace_release release = { .size = sizeof(release), .id = id };
	int err;

	if (!ioctl(dev->fd, MTRACE_IOC_RELEASE, &release))
		return 0;
	err = -errno;
	mt_error("snapshot %" PRIu64 " cannot be released: %s", id, strerror(-err));
	return err;
}

ssize_t mt_device_read(struct mt_device *dev, void *records, size_t len)
{
	ssize_t n;

	do {
		n = read(dev->fd, records, len);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		return 0;
	n = -errno;
	mt_error("the sideband cannot be read: %s", strerror(errno));
	return n;
}

int mt_device_status(struct mt_device *dev, struct mtrace_status *status)
{
	memset(status, 0, sizeof(*status));
	status->size = sizeof(*status);
	return ioctl(dev->fd, MTRACE_IOC_GET_STATUS, status) ? -errno : 0;
}
