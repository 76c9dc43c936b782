// SPDX-License-Identifier: GPL-2.0
/*
 * Recordings: code as it is in memory, and the description of a trace.
 */
#include "recording.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bits of IA32_RTIT_CTL, 36.2.8.2 */
#define CTL_MTC_EN	(1ULL << 9)
#define CTL_MTC_FREQ(ctl)	((ctl) >> 14 & 0xf)

void die(const char *who, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", who);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

FILE *recording_create(const char *prefix, const char *suffix)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s", prefix, suffix);
	f = fopen(path, "wb");
	if (!f)
		die("recording", "%s: %s", path, strerror(errno));
	setvbuf(f, NULL, _IOFBF, 4 << 20);
	return f;
}

void recording_finish(FILE *f)
{
	if (ferror(f) || fclose(f))
		die("recording", "write: %s", strerror(errno));
}

static void write_section(FILE *out, int mem, uint64_t offset, uint64_t start, uint64_t size)
{
	const uint64_t header[2] = { start, size };
	uint8_t *buf = malloc(size);

	if (!buf || pread(mem, buf, size, offset) != (ssize_t)size)
		die("recording", "cannot read the code at %lx", start);
	fwrite(header, sizeof(header), 1, out);
	fwrite(buf, 1, size, out);
	free(buf);
}

static FILE *open_read(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f)
		die("recording", "%s: %s", path, strerror(errno));
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
			die("recording", "/proc/kcore is unusable");
	}
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD && start >= phdr[i].p_vaddr &&
		    end <= phdr[i].p_vaddr + phdr[i].p_memsz) {
			write_section(out, kcore, phdr[i].p_offset + start - phdr[i].p_vaddr,
				      start, end - start);
			return;
		}
	}
	die("recording", "%lx is not in /proc/kcore", start);
}

/* The kernel patches itself: its memory is right, its file is not. */
static void write_kernel(FILE *out)
{
	uint64_t addr, size, start = 0, end = 0;
	char line[4096], name[256];
	const char *symbols = getenv("JUDGE_KALLSYMS");
	FILE *f = open_read(symbols ? symbols : "/proc/kallsyms");

	while (!end && fgets(line, sizeof(line), f)) {
		/* The kernel's own symbols come first, by address. */
		if (!start && strstr(line, " _stext\n"))
			start = strtoull(line, NULL, 16);
		else if (start && strstr(line, " _etext\n"))
			end = strtoull(line, NULL, 16);
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

void recording_image(const char *prefix, pid_t pid, bool with_kernel)
{
	FILE *out = recording_create(prefix, "image");

	write_user(out, pid);
	if (with_kernel)
		write_kernel(out);
	recording_finish(out);
}

/* ---- options and ranges ---- */

uint64_t recording_ctl(char *options)
{
	static const struct {
		const char *name;
		unsigned int bit;
	} table[] = {
		{ "cyc", 1 }, { "pwr_evt", 4 }, { "fup_on_ptw", 5 }, { "mtc", 9 },
		{ "tsc", 10 }, { "noretcomp", 11 }, { "ptw", 12 }, { "mtc_period", 14 },
		{ "cyc_thresh", 19 }, { "psb_period", 24 }, { "event", 31 }, { "notnt", 55 },
	};
	uint64_t ctl = 1 | 1 << 13;		/* pt, branch */
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
			die("recording", "unknown option '%s'", option);
		ctl |= (val ? strtoull(val, NULL, 0) : 1) << table[i].bit;
	}
	return ctl;
}

struct recording_range recording_range[RECORDING_RANGES];
unsigned int recording_n_ranges;

void recording_ranges(const char *text)
{
	char *copy = strdup(text), *rest = copy, *part, kind[16];

	while ((part = strsep(&rest, ","))) {
		struct recording_range *r = &recording_range[recording_n_ranges];
		int n;

		if (recording_n_ranges == RECORDING_RANGES)
			die("recording", "more than %d ranges", RECORDING_RANGES);
		n = sscanf(part, " %15s %lx/%lx@%4095s", kind, &r->start, &r->size, r->file);
		if (n < 3 || (strcmp(kind, "filter") && strcmp(kind, "stop")))
			die("recording", "bad range '%s'", part);
		r->stops = !strcmp(kind, "stop");
		r->placed = n == 3;
		recording_n_ranges++;
	}
	free(copy);
}

void recording_place_ranges(pid_t pid)
{
	char path[64], line[8192], file[4096], perm[5];
	uint64_t start, end, offset;
	unsigned int i;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = open_read(path);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095s", &start, &end, perm, &offset,
			   file) != 5 || perm[2] != 'x')
			continue;
		for (i = 0; i < recording_n_ranges; i++) {
			struct recording_range *r = &recording_range[i];

			if (r->placed || strcmp(r->file, file) || r->start < offset ||
			    r->start - offset >= end - start)
				continue;
			r->start += start - offset;
			r->placed = true;
		}
	}
	fclose(maps);
	for (i = 0; i < recording_n_ranges; i++) {
		if (!recording_range[i].placed)
			die("recording", "%s is not mapped", recording_range[i].file);
	}
}

FILE *recording_describe(const char *prefix, const char *image_prefix, const uint64_t span[2],
			 uint64_t ctl)
{
	const char *slash = strrchr(image_prefix, '/');
	FILE *f = recording_create(prefix, "trace");
	const struct recording_range *r = recording_range;

	fprintf(f, "span %lu %lu\n", span[0], span[1]);
	fprintf(f, "image %s.image\n", slash ? slash + 1 : image_prefix);
	if (ctl & CTL_MTC_EN)
		fprintf(f, "mtc %lu\n", CTL_MTC_FREQ(ctl));
	for (; r < recording_range + recording_n_ranges; r++)
		fprintf(f, "%s %lx %lx\n", r->stops ? "stop" : "filter", r->start,
			r->start + r->size - 1);
	return f;
}

pid_t recording_start_stopped(char **argv, int cpu)
{
	const pid_t pid = fork();
	int status;

	if (pid < 0)
		die("recording", "fork: %s", strerror(errno));
	if (pid) {
		if (waitpid(pid, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
			die("recording", "the program did not start");
		return pid;
	}

	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			die("recording", "CPU %d: %s", cpu, strerror(errno));
	}
	raise(SIGSTOP);
	execvp(argv[0], argv);
	die("recording", "%s: %s", argv[0], strerror(errno));
}
