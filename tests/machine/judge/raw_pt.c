// SPDX-License-Identifier: GPL-2.0
/*
 * Traces one program through pt_raw.ko (raw/), on all processors at once from its
 * exec to its exit, with what Linux's driver never uses. Runs in the emulated
 * machine.
 *
 *	raw_pt [-u] [-k] [-C user|kernel] [-c OPTION,…] [-f RANGES] [-s] [-r N] [-O N]
 *	       -o PREFIX PROGRAM [ARG…]
 *	raw_pt -T
 *
 * -u, -k	user code, the kernel's code
 * -C WHICH	with the CR3 filter: of the page table that the program's own code
 *		runs on, or that the kernel serves it with (another under PTI)
 * -c, -f	options and address ranges: recording.h
 * -s		output to a single range; else a ToPA table of -r regions (4)
 * -O N		a region has 2^N pages (9)
 * -T		no trace: times of TSC packets between two RDTSC in the kernel, on
 *		each processor. Says by how much they can differ at most, which
 *		must be less than a microsecond. Exit status 1: it is not.
 *
 * PREFIX.N.pt has the trace of processor N; recording.h says what is beside it.
 *
 * Exit status: 0, or 1 if the trace is incomplete or could not be made.
 */
#include "raw/kmod/pt_raw.h"
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define ME		"raw_pt"
#define CTL_OS		(1ULL << 2)
#define CTL_USER	(1ULL << 3)
#define CTL_ADDR_CFG(n)	(32 + 4 * (n))	/* 1: filter, 2: TraceStop */
#define STATUS_TRIGGER_EN	(1ULL << 2)
#define STATUS_ERROR	(1ULL << 4)
#define STATUS_STOPPED	(1ULL << 5)
#define CTL_BITS(ctl)	((ctl) & ~1ULL)

static struct pt_raw_start setup = { .regions = 4, .order = 9 };
static const char *prefix;
static int device;

static void clocks(void)
{
	static struct pt_raw_clock clock;
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool right = true;
	unsigned int i;

	for (clock.cpu = 0; clock.cpu < cpus; clock.cpu++) {
		int64_t early = INT64_MIN, late = INT64_MAX;

		if (ioctl(device, PT_RAW_CLOCK, &clock))
			die(ME, "the clock of CPU %u: %s", clock.cpu, strerror(errno));
		for (i = 0; i < PT_RAW_PAIRS; i++) {
			const struct pt_raw_pair *p = &clock.pair[i];

			/* packet - error is between the two */
			if ((int64_t)(p->packet - p->after) > early)
				early = p->packet - p->after;
			if ((int64_t)(p->packet - p->before) < late)
				late = p->packet - p->before;
		}
		printf("CPU %u: the packets' time is %ld to %ld ns off\n", clock.cpu,
		       early * 1000000 / clock.tsc_khz, late * 1000000 / clock.tsc_khz);
		right &= early <= 0 && late >= 0 && -early * 1000 < clock.tsc_khz &&
			 late * 1000 < clock.tsc_khz;
	}
	exit(!right);
}

static void start(pid_t pid)
{
	unsigned int i;

	recording_place_ranges(pid);
	for (i = 0; i < recording_n_ranges; i++) {
		const struct recording_range *r = &recording_range[i];

		setup.addr[2 * i] = r->start;
		setup.addr[2 * i + 1] = r->start + r->size - 1;
		setup.ctl |= (r->stops ? 2ULL : 1ULL) << CTL_ADDR_CFG(i);
	}
	setup.pid = pid;
	if (ioctl(device, PT_RAW_START, &setup))
		die(ME, "start: %s", strerror(errno));
}

static void write_trace(unsigned int cpu, const uint64_t span[2], uint64_t size)
{
	static uint8_t buf[1 << 20];
	char path[4096];
	uint64_t pos = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s.%u", prefix, cpu);
	f = recording_create(path, "pt");
	while (pos < size) {
		const ssize_t n = pread(device, buf, sizeof(buf), ((uint64_t)cpu << 32) + pos);

		if (n <= 0)
			die(ME, "the trace of CPU %u: %s", cpu, strerror(errno));
		fwrite(buf, 1, n, f);
		pos += n;
	}
	recording_finish(f);

	f = recording_describe(path, prefix, span, setup.ctl);
	fprintf(f, "cpu %u\n", cpu);
	if (setup.cr3)
		fprintf(f, "cr3 %llx\n", setup.cr3_match);
	recording_finish(f);
}

/* Returns when the program has stopped for @event. */
static void run_until(pid_t pid, int event)
{
	int status, sig;

	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0)
			die(ME, "waitpid: %s", strerror(errno));
		if (!WIFSTOPPED(status))
			die(ME, "the program ended too early, status %x", status);
		if (status >> 16 == event)
			return;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, 0, sig);
	}
}

static void run(char **argv)
{
	const pid_t pid = recording_start_stopped(argv, -1);
	unsigned int stopped = 0, i;
	bool may_stop = false;
	struct pt_raw_result result;
	unsigned int cpu;
	uint64_t span[2];
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		   PTRACE_O_EXITKILL))
		die(ME, "ptrace: %s", strerror(errno));
	kill(pid, SIGCONT);
	run_until(pid, PTRACE_EVENT_EXEC);
	span[0] = __rdtsc();
	start(pid);
	ptrace(PTRACE_CONT, pid, 0, 0);
	run_until(pid, PTRACE_EVENT_EXIT);
	if (ioctl(device, PT_RAW_STOP, &result))
		die(ME, "stop: %s", strerror(errno));
	span[1] = __rdtsc();
	recording_image(prefix, pid, setup.ctl & CTL_OS);
	ptrace(PTRACE_CONT, pid, 0, 0);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		die(ME, "the program failed, status %x", status);

	for (i = 0; i < recording_n_ranges; i++)
		may_stop |= recording_range[i].stops;
	for (cpu = 0; cpu < result.cpus; cpu++) {
		const uint64_t state = result.status[cpu];

		printf("CPU %u: %llu bytes, status %lx\n", cpu, result.size[cpu], state);
		stopped += !!(state & STATUS_STOPPED);
		if (result.wrapped || (state & STATUS_ERROR) ||
		    !(state & (may_stop ? STATUS_TRIGGER_EN | STATUS_STOPPED : STATUS_TRIGGER_EN)))
			die(ME, "the trace is incomplete");
		write_trace(cpu, span, result.size[cpu]);
	}
	if (may_stop && !stopped)
		die(ME, "nothing stopped the trace");
}

int main(int argc, char **argv)
{
	bool only_clocks = false;
	int opt;

	setup.ctl = CTL_BITS(recording_ctl(NULL));
	while ((opt = getopt(argc, argv, "+C:O:Tc:f:ko:r:su")) != -1) {
		switch (opt) {
		case 'C':
			setup.cr3 = strcmp(optarg, "user") ? PT_RAW_CR3_KERNEL : PT_RAW_CR3_USER;
			break;
		case 'O':
			setup.order = atoi(optarg);
			break;
		case 'T':
			only_clocks = true;
			break;
		case 'c':
			setup.ctl |= CTL_BITS(recording_ctl(optarg));
			break;
		case 'f':
			recording_ranges(optarg);
			break;
		case 'k':
			setup.ctl |= CTL_OS;
			break;
		case 'o':
			prefix = optarg;
			break;
		case 'r':
			setup.regions = atoi(optarg);
			break;
		case 's':
			setup.regions = 0;
			break;
		case 'u':
			setup.ctl |= CTL_USER;
			break;
		default:
			return 2;
		}
	}
	device = open("/dev/pt_raw", O_RDWR);
	if (device < 0)
		die(ME, "/dev/pt_raw: %s", strerror(errno));
	if (only_clocks)
		clocks();
	if (!prefix || optind == argc)
		die(ME, "usage: see the head of raw_pt.c");
	run(argv + optind);
	return 0;
}
