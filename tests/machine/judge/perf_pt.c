// SPDX-License-Identifier: GPL-2.0
/*
 * Traces one program with Linux's own intel_pt driver, from exec to exit: user
 * code, and with -k what the kernel does for it. Runs in the emulated machine.
 *
 *	perf_pt [-k] [-j] [-c OPTION,…] [-f FILTER] [-a MiB] [-p CPU] -o PREFIX
 *		PROGRAM [ARG…]
 *
 * OPTION	of the driver, as perf has them: recording.h
 * -j		all the program's threads and children, a trace for each CPU:
 *		PREFIX.N. Without: its first thread, wherever it runs.
 * -f FILTER	as perf's --filter has it, "filter 0xOFFSET/0xSIZE@FILE" or
 *		for the kernel "filter 0xADDRESS/0xSIZE", several with commas.
 *		FILE must not be on an overlay: perf sees through it to another
 *		inode, and never traces.
 * -a MiB	size of a buffer, 16 if not said
 * -p CPU	the program runs there alone
 *
 * The buffers are emptied while the program runs, so that a long trace goes
 * around them, with a PMI from the driver each half.
 *
 * PREFIX.pt has the raw trace, recording.h says what is beside it. The image is
 * taken at the exit of the first thread, which should be the last.
 *
 * Exit status: 0, or 1 if the trace is incomplete or could not be made.
 */
#include "recording.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define ME		"perf_pt"
#define PAGE		4096UL
#define DATA_PAGES	64
#define CPUS		8

static const char *prefix;
static size_t aux_size = 16 << 20;
static bool with_kernel;
static char *filter;

static struct perf_event_attr attr = {
	.size = sizeof(attr),
	.disabled = 1,
	.enable_on_exec = 1,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

/* One event and its buffers: of a thread, or of a CPU. */
static struct source {
	char prefix[4096];
	int fd;
	struct perf_event_mmap_page *page;
	uint8_t *aux;
	FILE *trace;
} sources[CPUS];
static unsigned int n_sources;

static int pmu_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/intel_pt/type", "r");
	int type = -1;

	if (!f || fscanf(f, "%d", &type) != 1)
		die(ME, "this kernel has no intel_pt");
	fclose(f);
	return type;
}

/* ---- the driver ---- */

static void open_source(pid_t pid, int cpu)
{
	struct source *s = &sources[n_sources++];

	if (cpu >= 0)
		snprintf(s->prefix, sizeof(s->prefix), "%s.%d", prefix, cpu);
	else
		snprintf(s->prefix, sizeof(s->prefix), "%s", prefix);
	attr.inherit = cpu >= 0;
	s->fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	if (s->fd < 0)
		die(ME, "perf_event_open: %s", strerror(errno));
	s->page = mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       s->fd, 0);
	if (s->page == MAP_FAILED)
		die(ME, "mmap: %s", strerror(errno));
	s->page->aux_offset = (1 + DATA_PAGES) * PAGE;
	s->page->aux_size = aux_size;
	s->aux = mmap(NULL, aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		      s->page->aux_offset);
	if (s->aux == MAP_FAILED)
		die(ME, "mmap of %zu MiB: %s", aux_size >> 20, strerror(errno));
	if (filter && ioctl(s->fd, PERF_EVENT_IOC_SET_FILTER, filter))
		die(ME, "the filter '%s': %s", filter, strerror(errno));
	s->trace = recording_create(s->prefix, "pt");
}

/* Did the driver report a loss? */
static bool truncated(struct perf_event_mmap_page *page)
{
	const uint8_t *data = (const uint8_t *)page + page->data_offset;
	const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t pos = page->data_tail;
	bool lost = false;

	while (pos < head) {
		const struct perf_event_header *header =
			(const void *)(data + pos % page->data_size);
		const struct {
			struct perf_event_header header;
			uint64_t offset, size, flags;
		} *record = (const void *)header;

		lost |= header->type == PERF_RECORD_LOST;
		lost |= header->type == PERF_RECORD_AUX &&
			(record->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL));
		pos += header->size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}

static void drain(const struct source *s)
{
	const uint64_t head = __atomic_load_n(&s->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = s->page->aux_tail;

	if (truncated(s->page))
		die(ME, "the trace is incomplete");
	while (tail < head) {
		const uint64_t offset = tail % aux_size;
		uint64_t n = head - tail;

		if (n > aux_size - offset)
			n = aux_size - offset;
		fwrite(s->aux + offset, 1, n, s->trace);
		tail += n;
	}
	__atomic_store_n(&s->page->aux_tail, tail, __ATOMIC_RELEASE);
}

static void drain_all(void)
{
	unsigned int i;

	for (i = 0; i < n_sources; i++)
		drain(&sources[i]);
}

/* Until its end; the image is taken at the last moment of its memory. */
static void run(pid_t pid)
{
	struct pollfd pfd[CPUS];
	unsigned int i;
	int status, sig;
	pid_t got;

	for (i = 0; i < n_sources; i++)
		pfd[i] = (struct pollfd) { .fd = sources[i].fd, .events = POLLIN };

	for (;;) {
		got = waitpid(pid, &status, WNOHANG);
		if (got < 0)
			die(ME, "waitpid: %s", strerror(errno));
		if (!got) {
			poll(pfd, n_sources, 5);
			drain_all();
			continue;
		}
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;

		sig = WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_EXIT) {
			recording_place_ranges(pid);
			recording_image(prefix, pid, with_kernel);
		}
		if (status >> 16)
			sig = 0;
		ptrace(PTRACE_CONT, pid, 0, sig);
	}
	drain_all();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die(ME, "the program failed, status %x", status);
}

static void describe(const struct source *s, const uint64_t span[2], int cpu)
{
	FILE *f = recording_describe(s->prefix, prefix, span, attr.config);

	if (cpu >= 0)
		fprintf(f, "cpu %d\n", cpu);
	recording_finish(f);
}

int main(int argc, char **argv)
{
	bool each_cpu = false;
	int opt, cpu, pinned = -1;
	uint64_t span[2];
	unsigned int i;
	pid_t pid;

	attr.config = recording_ctl(NULL);
	while ((opt = getopt(argc, argv, "+a:c:f:jko:p:")) != -1) {
		switch (opt) {
		case 'a':
			aux_size = strtoull(optarg, NULL, 0) << 20;
			break;
		case 'c':
			attr.config = recording_ctl(optarg);
			break;
		case 'f':
			filter = optarg;
			recording_ranges(filter);
			/* The kernel looks at new mappings only if someone wants to be told. */
			attr.mmap = 1;
			break;
		case 'j':
			each_cpu = true;
			break;
		case 'k':
			with_kernel = true;
			attr.exclude_kernel = 0;
			break;
		case 'o':
			prefix = optarg;
			break;
		case 'p':
			pinned = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!prefix || optind == argc)
		die(ME, "usage: see the head of perf_pt.c");
	attr.type = pmu_type();

	pid = recording_start_stopped(argv + optind, pinned);
	if (each_cpu) {
		const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

		for (cpu = 0; cpu < cpus && cpu < CPUS; cpu++)
			open_source(pid, cpu);
	} else {
		open_source(pid, -1);
	}

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL))
		die(ME, "ptrace: %s", strerror(errno));
	span[0] = __rdtsc();
	kill(pid, SIGCONT);
	run(pid);
	span[1] = __rdtsc();

	for (i = 0; i < n_sources; i++) {
		recording_finish(sources[i].trace);
		describe(&sources[i], span, each_cpu ? (int)i : pinned);
	}
	return 0;
}
