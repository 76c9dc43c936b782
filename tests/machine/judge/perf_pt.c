// SPDX-License-Identifier: GPL-2.0
/*
 * Traces one program with Linux's own intel_pt driver, from exec to exit: user
 * code, and with -k what the kernel does for it. Runs in the emulated machine.
 *
 *	perf_pt [-k] [-c OPTION,…] [-a MiB] [-p CPU] -o PREFIX PROGRAM [ARG…]
 *
 * OPTION: tsc, mtc, cyc, noretcomp, mtc_period=N, cyc_thresh=N, psb_period=N
 *
 * The buffer (of -a MiB, 16 if not said) is emptied while the program runs, so
 * that a long trace goes around it, with a PMI from the driver each half.
 *
 * PREFIX.pt	the raw trace
 * PREFIX.image	the executable mappings at exit: for each a header of two
 *		64-bit numbers, address and size, then the bytes
 * PREFIX.span	the TSC before and after, as text: which part of the log of
 *		executed program counters belongs to this trace
 *
 * Exit status: 0, or 1 if the trace is incomplete or could not be made.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define PAGE		4096UL
#define DATA_PAGES	64

static const char *prefix;
static size_t aux_size = 16 << 20;
static struct perf_event_mmap_page *page;
static uint8_t *aux;
static FILE *trace;
static bool with_kernel;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "perf_pt: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static FILE *create(const char *suffix)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s", prefix, suffix);
	f = fopen(path, "wb");
	if (!f)
		die("%s: %s", path, strerror(errno));
	/* Small writes to the host are slow. */
	setvbuf(f, NULL, _IOFBF, 4 << 20);
	return f;
}

static void finish(FILE *f)
{
	if (fclose(f))
		die("write: %s", strerror(errno));
}

/* The bits of intel_pt/format, which are those of IA32_RTIT_CTL. */
static uint64_t parse_config(char *options)
{
	static const struct {
		const char *name;
		unsigned int bit;
	} table[] = {
		{ "cyc", 1 }, { "mtc", 9 }, { "tsc", 10 }, { "noretcomp", 11 },
		{ "mtc_period", 14 }, { "cyc_thresh", 19 }, { "psb_period", 24 },
	};
	uint64_t config = 1 | 1 << 13;		/* pt, branch */
	char *option;

	while ((option = strsep(&options, ","))) {
		char *val = strchr(option, '=');
		size_t i;

		if (val)
			*val++ = 0;
		for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
			if (!strcmp(option, table[i].name))
				break;
		}
		if (i == sizeof(table) / sizeof(table[0]))
			die("unknown option '%s'", option);
		config |= (val ? strtoull(val, NULL, 0) : 1) << table[i].bit;
	}
	return config;
}

static int pmu_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/intel_pt/type", "r");
	int type = -1;

	if (!f || fscanf(f, "%d", &type) != 1)
		die("this kernel has no intel_pt");
	fclose(f);
	return type;
}

static pid_t start_stopped(char **argv, int cpu)
{
	const pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;

	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			die("CPU %d: %s", cpu, strerror(errno));
	}
	raise(SIGSTOP);
	execvp(argv[0], argv);
	die("%s: %s", argv[0], strerror(errno));
}

static void write_section(FILE *out, int mem, uint64_t offset, uint64_t start, uint64_t size)
{
	const uint64_t header[2] = { start, size };
	uint8_t *buf = malloc(size);

	if (!buf || pread(mem, buf, size, offset) != (ssize_t)size)
		die("cannot read the code at %lx", start);
	fwrite(header, sizeof(header), 1, out);
	fwrite(buf, 1, size, out);
	free(buf);
}

static FILE *open_read(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f)
		die("%s: %s", path, strerror(errno));
	return f;
}

static void write_user(FILE *out, pid_t pid)
{
	char path[64], line[4096], perm[5];
	uint64_t start, end;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = open_read(path);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &start, &end, perm) == 3 &&
		    perm[2] == 'x' && !strstr(line, "[vsyscall]"))
			write_section(out, mem, start, start, end - start);
	}
	fclose(maps);
	close(mem);
}

/* Part of the kernel's memory, through the segments of /proc/kcore. */
static void write_kcore(FILE *out, uint64_t start, uint64_t end)
{
	static Elf64_Phdr phdr[64];
	static int kcore = -1;
	static Elf64_Ehdr ehdr;
	int i;

	if (kcore < 0) {
		kcore = open("/proc/kcore", O_RDONLY);
		if (pread(kcore, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) || ehdr.e_phnum > 64 ||
		    pread(kcore, phdr, ehdr.e_phnum * sizeof(phdr[0]), ehdr.e_phoff) < 0)
			die("/proc/kcore is unusable");
	}
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD && start >= phdr[i].p_vaddr &&
		    end <= phdr[i].p_vaddr + phdr[i].p_memsz) {
			write_section(out, kcore, phdr[i].p_offset + start - phdr[i].p_vaddr,
				      start, end - start);
			return;
		}
	}
	die("%lx is not in /proc/kcore", start);
}

/* The kernel patches itself: its memory is right, its file is not. */
static void write_kernel(FILE *out)
{
	uint64_t addr, size, start = 0, end = 0;
	char line[4096], name[256];
	FILE *f = open_read("/proc/kallsyms");

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %255s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "_stext"))
			start = addr;
		else if (!strcmp(name, "_etext"))
			end = addr;
	}
	fclose(f);
	write_kcore(out, start, end);

	f = open_read("/proc/modules");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%255s %lu %*s %*s %*s %lx", name, &size, &addr) == 3)
			write_kcore(out, addr, addr + size);
	}
	fclose(f);
}

static void write_image(pid_t pid)
{
	FILE *out = create("image");

	write_user(out, pid);
	if (with_kernel)
		write_kernel(out);
	finish(out);
}

/* Did the driver report a loss? */
static bool truncated(void)
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

static void drain(void)
{
	const uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->aux_tail;

	if (truncated())
		die("the trace is incomplete");
	while (tail < head) {
		const uint64_t offset = tail % aux_size;
		uint64_t n = head - tail;

		if (n > aux_size - offset)
			n = aux_size - offset;
		fwrite(aux + offset, 1, n, trace);
		tail += n;
	}
	__atomic_store_n(&page->aux_tail, tail, __ATOMIC_RELEASE);
}

/* Until its end; the image is taken at the last moment of its memory. */
static void run(pid_t pid, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int status, sig;
	pid_t got;

	for (;;) {
		got = waitpid(pid, &status, WNOHANG);
		if (got < 0)
			die("waitpid: %s", strerror(errno));
		if (!got) {
			poll(&pfd, 1, 5);
			drain();
			continue;
		}
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;

		sig = WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_EXIT)
			write_image(pid);
		if (status >> 16)
			sig = 0;
		ptrace(PTRACE_CONT, pid, 0, sig);
	}
	drain();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("the program failed, status %x", status);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.disabled = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	uint64_t begin, end;
	int opt, fd, status, cpu = -1;
	pid_t pid;
	FILE *f;

	attr.config = parse_config(NULL);
	while ((opt = getopt(argc, argv, "+a:c:ko:p:")) != -1) {
		switch (opt) {
		case 'a':
			aux_size = strtoull(optarg, NULL, 0) << 20;
			break;
		case 'c':
			attr.config = parse_config(optarg);
			break;
		case 'k':
			with_kernel = true;
			attr.exclude_kernel = 0;
			break;
		case 'o':
			prefix = optarg;
			break;
		case 'p':
			cpu = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!prefix || optind == argc)
		die("usage: perf_pt [-k] [-c OPTIONS] [-a MiB] [-p CPU] -o PREFIX PROGRAM…");
	attr.type = pmu_type();

	pid = start_stopped(argv + optind, cpu);
	if (waitpid(pid, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
		die("the program did not start");
	fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	page = mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	page->aux_offset = (1 + DATA_PAGES) * PAGE;
	page->aux_size = aux_size;
	aux = mmap(NULL, aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page->aux_offset);
	if (aux == MAP_FAILED)
		die("mmap of %zu MiB: %s", aux_size >> 20, strerror(errno));

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL))
		die("ptrace: %s", strerror(errno));
	trace = create("pt");
	begin = __rdtsc();
	kill(pid, SIGCONT);
	run(pid, fd);
	end = __rdtsc();

	finish(trace);
	f = create("span");
	fprintf(f, "%lu %lu\n", begin, end);
	finish(f);
	return 0;
}
