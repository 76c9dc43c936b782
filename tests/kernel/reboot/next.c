// SPDX-License-Identifier: GPL-2.0
/*
 * What the next kernel finds: both halves of the test, static
 *
 *	next kexec|oops|panic KERNEL INITRAMFS
 *
 * traces threads on all CPUs by mtrace.ko, one of which then has the next
 * kernel started: as kexec does, or for a crash kernel by an oops of its own or
 * by a panic. The next kernel runs the same program as its init, which looks at
 * the registers, at what Linux's own driver makes of them, and whether mtrace.ko
 * works, and says so on the console in one line that begins with "next:".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/mtrace.h>
#include <linux/reboot.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MSR_RTIT_CTL	0x570
#define PMU		"/sys/bus/event_source/devices/intel_pt/type"
#define MAX_CPUS	8

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "next: %s: %s\n", what, strerror(errno));
	/* As init this is a panic, which says as much. */
	exit(1);
}

static uint32_t pmu_type(void)
{
	FILE *file = fopen(PMU, "r");
	uint32_t type = 0;

	if (!file || fscanf(file, "%u", &type) != 1)
		type = 0;
	if (file)
		fclose(file);
	return type;
}

static int open_session(void)
{
	struct mtrace_setup setup = {
		.size = sizeof(setup),
		.buffer_size = 1 << 20,
		.max_threads = MAX_CPUS,
		.max_snapshots = 1,
		.trace_flags = MTRACE_TRACE_USER,
		.pmu_type = pmu_type(),
	};
	int fd = open("/dev/mtrace", O_RDWR | O_CLOEXEC);

	must(fd >= 0, "/dev/mtrace");
	must(!ioctl(fd, MTRACE_IOC_SETUP, &setup), "SETUP");
	return fd;
}

static void attach(int fd, pid_t tid)
{
	struct mtrace_thread arg = { .size = sizeof(arg), .tid = tid };

	must(!ioctl(fd, MTRACE_IOC_ATTACH, &arg), "ATTACH");
}

static uint64_t rtit_ctl(int cpu)
{
	char path[64];
	uint64_t value;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	must(fd >= 0, path);
	must(pread(fd, &value, sizeof(value), MSR_RTIT_CTL) == sizeof(value),
	     path);
	close(fd);
	return value;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0, path);
	must(write(fd, text, strlen(text)) > 0, path);
	close(fd);
}

/*
 * The same console, and no more of what the first kernel was told. A crash kernel
 * is one for all CPUs, though Debian's kdump-tools has it use one alone: so it
 * starts the others, and can see how they were left.
 */
static void load(const char *kernel, const char *initramfs, int crash)
{
	const char *line = "console=ttyS0 loglevel=5 panic=-1 "
			   "tsc=nowatchdog cryptomgr.notests nmi_watchdog=0 "
			   "reset_devices";
	int kernel_fd = open(kernel, O_RDONLY);
	int initramfs_fd = open(initramfs, O_RDONLY);

	must(kernel_fd >= 0 && initramfs_fd >= 0, "kernel and initramfs");
	must(!syscall(SYS_kexec_file_load, kernel_fd, initramfs_fd,
		      strlen(line) + 1, line, crash ? KEXEC_FILE_ON_CRASH : 0),
	     "kexec_file_load");
}

static int trace_and_go(const char *how, const char *kernel,
			const char *initramfs)
{
	int fd, cpu, crash = strcmp(how, "kexec");
	pid_t pid;

	load(kernel, initramfs, crash);
	fd = open_session();
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		pid = fork();
		if (!pid) {
			pin_to(cpu);
			for (;;)
				;
		}
		attach(fd, pid);
	}
	/* Who ends it is traced itself, on the CPU where it does. */
	pin_to(0);
	attach(fd, getpid());
	must(!ioctl(fd, MTRACE_IOC_START), "START");
	while (!(rtit_ctl(1) & 1))
		usleep(1000);
	if (!crash)
		reboot(LINUX_REBOOT_CMD_KEXEC);
	else if (!strcmp(how, "oops"))
		write_text("/sys/module/mt_halt/parameters/oops", "1");
	else
		write_text("/proc/sysrq-trigger", "c");
	must(0, how);
	return 1;
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY);

	must(fd >= 0, path);
	must(!syscall(SYS_finit_module, fd, "", 0), path);
	close(fd);
}

/* Returns how many bytes mtrace.ko traced of this. */
static uint64_t trace(void)
{
	struct mtrace_snapshot snapshot = { .size = sizeof(snapshot) };
	struct mtrace_region region;
	struct mtrace_describe describe = {
		.size = sizeof(describe),
		.region_size = sizeof(region),
		.regions = (uintptr_t)&region,
		.count = 1,
	};
	int fd = open_session();

	attach(fd, getpid());
	must(!ioctl(fd, MTRACE_IOC_START), "START");
	must(!ioctl(fd, MTRACE_IOC_SNAPSHOT, &snapshot), "SNAPSHOT");
	describe.id = snapshot.id;
	must(!ioctl(fd, MTRACE_IOC_DESCRIBE, &describe), "DESCRIBE");
	close(fd);
	return region.valid;
}

static int judge(void)
{
	uint64_t ctl = 0;
	int cpu, fd, nr;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/console", O_RDWR);
	dup2(fd, 1);
	dup2(fd, 2);
	load_module("/msr.ko");
	nr = sysconf(_SC_NPROCESSORS_ONLN);
	for (cpu = 0; cpu < nr; cpu++)
		ctl |= rtit_ctl(cpu);
	if (nr < 2) {
		printf("next: it has %d CPU\n", nr);
	} else if (ctl & 1 || !pmu_type()) {
		printf("next: TraceEn is %d, Linux's driver is %s\n",
		       (int)(ctl & 1), pmu_type() ? "there" : "not there");
	} else {
		load_module("/mtrace.ko");
		printf("next: all is off, and %s\n",
		       trace() ? "can be traced" : "nothing is traced");
	}
	fflush(stdout);
	sync();
	reboot(LINUX_REBOOT_CMD_POWER_OFF);
	return 1;
}

int main(int argc, char **argv)
{
	if (getpid() == 1)
		return judge();
	if (argc != 4) {
		fprintf(stderr, "usage: next kexec|oops|panic KERNEL INITRAMFS\n");
		return 2;
	}
	return trace_and_go(argv[1], argv[2], argv[3]);
}
