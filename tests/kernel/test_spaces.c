// SPDX-License-Identifier: GPL-2.0
/* Sideband: code that comes into address spaces and goes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "side.h"
#include "trace.h"

#define PAGE 4096ull
#define CODE "/tmp/mtrace-code"

/**
 * struct expected - a record that there must be
 * @may: it need not be, either
 * @type: MMAP or MUNMAP
 * @tid: of the thread that it is of
 * @addr: its address
 * @len: its length
 * @offset: in the file, of an MMAP of CODE; else -1
 * @before: time before that ...
 * @after: ... and after
 */
struct expected {
	bool may;
	uint32_t type;
	pid_t tid;
	uint64_t addr;
	uint64_t len;
	int64_t offset;
	uint64_t before;
	uint64_t after;
};

/* In memory that the worker shares with the test. */
struct script {
	struct expected expected[64];
	uint32_t nr;
	uint64_t before;
	uint64_t after;
};

static struct script *script;

static void script_new(void)
{
	script = mmap(NULL, sizeof(*script), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(script != MAP_FAILED, "no memory to share");
}

/* A call was made; the records that it must have made follow. */
static void step(bool done)
{
	if (!done)
		_exit(1);
	script->before = script->after;
	script->after = rdtsc();
}

static void expect(uint32_t type, const void *addr, uint64_t len,
		   int64_t offset)
{
	script->expected[script->nr++] = (struct expected){
		.type = type,
		.tid = thread_id(),
		.addr = (uintptr_t)addr,
		.len = len,
		.offset = offset,
		.before = script->before,
		.after = script->after,
	};
}

static void expect_mmap(const void *addr, uint64_t len, int64_t offset)
{
	expect(MTRACE_RECORD_MMAP, addr, len, offset);
}

static void expect_munmap(const void *addr, uint64_t len)
{
	expect(MTRACE_RECORD_MUNMAP, addr, len, -1);
}

static void expect_or_not(void)
{
	script->expected[script->nr - 1].may = true;
}

#define RX (PROT_READ | PROT_EXEC)
#define RW (PROT_READ | PROT_WRITE)

static bool map(uint8_t *at, uint64_t len, int prot, int fd, uint64_t offset)
{
	return mmap(at, len, prot, MAP_PRIVATE | MAP_FIXED |
		    (fd < 0 ? MAP_ANONYMOUS : 0), fd, offset) == (void *)at;
}

/* All that can happen to code, each at a place that touches no other code. */
static void work_script(struct load *load, uint32_t index)
{
	uint8_t *at = mmap(NULL, 64 * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(CODE, O_RDONLY);

	(void)load;
	(void)index;
	script->after = rdtsc();
	/* A file's; a part is unmapped, a part becomes data and code again. */
	step(fd >= 0);
	step(map(at, 4 * PAGE, RX, fd, PAGE));
	expect_mmap(at, 4 * PAGE, PAGE);
	step(!munmap(at + PAGE, PAGE));
	expect_munmap(at + PAGE, PAGE);
	step(!mprotect(at, PAGE, RW));
	expect_munmap(at, PAGE);
	step(!mprotect(at, PAGE, PROT_READ));
	step(!mprotect(at, PAGE, RX));
	expect_mmap(at, PAGE, PAGE);
	/* Less allowed, but still code: the same as before. */
	step(!mprotect(at + 2 * PAGE, 2 * PAGE, PROT_EXEC));
	expect_mmap(at + 2 * PAGE, 2 * PAGE, 3 * PAGE);
	/* Data, and then nothing, take its place. */
	step(map(at + 2 * PAGE, PAGE, RW, -1, 0));
	expect_munmap(at + 2 * PAGE, PAGE);
	step(map(at + 3 * PAGE, PAGE, PROT_NONE, -1, 0));
	expect_munmap(at + 3 * PAGE, PAGE);
	/* Other code takes its place: until 6.12 in two steps. */
	step(map(at, PAGE, RX, fd, 0));
	expect_munmap(at, PAGE);
	expect_or_not();
	expect_mmap(at, PAGE, 0);
	step(!munmap(at, PAGE));
	expect_munmap(at, PAGE);

	/* Made at run time. */
	at += 8 * PAGE;
	step(map(at, 2 * PAGE, RW, -1, 0));
	memset(at, 0xc3, 2 * PAGE);
	step(!mprotect(at, 2 * PAGE, RX));
	expect_mmap(at, 2 * PAGE, -1);
	/* It moves. */
	step(mremap(at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    at + 8 * PAGE) == at + 8 * PAGE);
	expect_mmap(at + 8 * PAGE, 2 * PAGE, -1);
	expect_munmap(at, 2 * PAGE);
	at += 8 * PAGE;
	/* Two of three parts are unmapped at once, with what is between. */
	step(map(at + 4 * PAGE, 2 * PAGE, RX, fd, 0));
	expect_mmap(at + 4 * PAGE, 2 * PAGE, 0);
	step(!munmap(at + PAGE, 4 * PAGE));
	expect_munmap(at + PAGE, PAGE);
	expect_munmap(at + 4 * PAGE, PAGE);

	/* It grows where it is, with room behind it. */
	step(!munmap(at + 20 * PAGE, 8 * PAGE));
	step(map(at + 20 * PAGE, PAGE, RX, fd, PAGE));
	expect_mmap(at + 20 * PAGE, PAGE, PAGE);
	step(mremap(at + 20 * PAGE, PAGE, 3 * PAGE, 0) == at + 20 * PAGE);
	expect_mmap(at + 21 * PAGE, 2 * PAGE, 2 * PAGE);
	step(mremap(at + 20 * PAGE, 3 * PAGE, 2 * PAGE, 0) == at + 20 * PAGE);
	expect_munmap(at + 22 * PAGE, PAGE);
	/* Data that does is none of it. */
	step(map(at + 24 * PAGE, PAGE, RW, -1, 0));
	step(mremap(at + 24 * PAGE, PAGE, 2 * PAGE, 0) == at + 24 * PAGE);

	/* What fails changes nothing. */
	step(mprotect(at, 3 * PAGE, RW) && errno == ENOMEM);
	/* ... but the part that there was. */
	expect_munmap(at, PAGE);
	step(munmap(at + 1, PAGE) && errno == EINVAL);
	close(fd);
}

static void make_code(void)
{
	uint8_t page[PAGE];
	int fd, i;

	memset(page, 0xc3, sizeof(page));
	fd = open(CODE, O_CREAT | O_TRUNC | O_RDWR, 0755);
	for (i = 0; i < 8; i++)
		CHECK_EQ(write(fd, page, sizeof(page)), sizeof(page));
	close(fd);
}

static void check_mmap(const struct mtrace_record_mmap *mmap, int64_t offset)
{
	bool is_file = offset >= 0;
	struct stat st;

	CHECK(mmap->prot & PROT_EXEC && !(mmap->prot & PROT_WRITE),
	      "it is mapped as %#x", mmap->prot);
	CHECK(!strcmp(mmap->path, is_file ? CODE : ""), "its path is '%s'",
	      mmap->path);
	CHECK_EQ(mmap->offset, is_file ? offset : 0);
	if (!is_file) {
		CHECK_EQ(mmap->ino, 0);
		return;
	}
	CHECK(!stat(CODE, &st), "%s is gone", CODE);
	CHECK_EQ(mmap->ino, st.st_ino);
	CHECK_EQ(makedev(mmap->major, mmap->minor), st.st_dev);
}

/* The records of memory are those that the script says, and no other. */
static void check_script(const struct side *side, pid_t pid)
{
	const union record *record;
	uint32_t at = 0, i, n = 0;
	uint64_t space;

	record = side_must(side, &at, MTRACE_RECORD_THREAD, pid);
	space = record->thread.space;
	for (i = 0; i < side->nr; i++) {
		const struct expected *e = &script->expected[n];

		record = side->records[i];
		if (record->head.type != MTRACE_RECORD_MMAP &&
		    record->head.type != MTRACE_RECORD_MUNMAP)
			continue;
		if (n < script->nr && e->may && record->head.type != e->type) {
			e++;
			n++;
		}
		CHECK(n < script->nr, "one record of memory too many");
		CHECK(record->head.type == e->type &&
		      record->mmap.addr == e->addr && record->mmap.len == e->len,
		      "record %u is %s %#llx %#llx and not %s %#lx %#lx", n,
		      record->head.type == MTRACE_RECORD_MMAP ? "+" : "-",
		      record->mmap.addr, record->mmap.len,
		      e->type == MTRACE_RECORD_MMAP ? "+" : "-", e->addr,
		      e->len);
		CHECK_EQ(record->head.tid, e->tid);
		CHECK_EQ(record->head.pid, pid);
		CHECK(record->head.tsc > e->before && record->head.tsc < e->after,
		      "record %u is of another time", n);
		CHECK_EQ(record->mmap.space, space);
		if (e->type == MTRACE_RECORD_MMAP)
			check_mmap(&record->mmap, e->offset);
		n++;
	}
	CHECK_EQ(n, script->nr);
	CHECK_EQ(side_count(side, MTRACE_RECORD_LOSS, 0), 0);
}

TEST(sideband_of_memory)
{
	struct side side = {};
	struct session s;
	struct load *load;

	make_code();
	script_new();
	load = load_spawn(1, work_script);
	trace_begin(&s, side_setup(setup_of(MIB(1), 1, 1), 0), load);
	load_round(load);
	side_read(&s, &side);
	CHECK(script->nr > 15, "only %u steps", script->nr);
	check_script(&side, load->pid);
	side_free(&side);
	session_close(&s);
	load_end(load);
}

static void work_second(struct load *load, uint32_t index)
{
	if (index)
		work_script(load, index);
}

static void work_script_elsewhere(struct load *load, uint32_t index)
{
	struct script other = {}, *mine = script;

	script = &other;
	work_script(load, index);
	script = mine;
}

/*
 * What an untraced thread of a process maps, the traced one can run. What other
 * processes do is none of the session's, even if another session wants it.
 */
TEST(sideband_of_memory_of_others)
{
	struct side side = {}, other_side = {};
	struct load *load, *other;
	struct session s, other_s;

	make_code();
	script_new();
	load = load_spawn(2, work_second);
	other = load_spawn(1, work_script_elsewhere);
	session_open(&s, side_setup(setup_of(MIB(1), 1, 1), 0));
	must_attach(&s, load->pid);
	trace_begin(&other_s, side_setup(setup_of(MIB(1), 1, 1), 0), other);
	load_rounds((struct load *[]){ other, load }, 2);
	side_read(&s, &side);
	check_script(&side, load->pid);
	CHECK(script->expected[0].tid == load->tids[1],
	      "the script is of thread %d", script->expected[0].tid);
	side_read(&other_s, &other_side);
	CHECK_EQ(side_count(&other_side, MTRACE_RECORD_MMAP, load->tids[1]), 0);
	CHECK(side_count(&other_side, MTRACE_RECORD_MMAP, other->pid) > 5,
	      "the other session has no records");

	/* A thread that has left takes its address space with it. */
	must_detach(&s, load->pid);
	side_free(&side);
	side_read(&s, &side);
	side_free(&side);
	load_round(load);
	CHECK_EQ(side_read(&s, &side), 0);
	side_free(&side);
	side_free(&other_side);
	session_close(&s);
	session_close(&other_s);
	load_end(load);
	load_end(other);
}

#define OVERLAY "/tmp/mtrace-overlay"

static void work_overlay(struct load *load, uint32_t index)
{
	int fd = open(OVERLAY "/merged/code", O_RDONLY);

	(void)load;
	(void)index;
	if (fd < 0 || mmap(NULL, PAGE, RX, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
}

/* What /proc says of a process's mapping of a file. */
static void read_maps(pid_t pid, const char *file, unsigned int *major,
		      unsigned int *minor, uint64_t *ino)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	CHECK(maps, "%s: %s", path, strerror(errno));
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, file) &&
			sscanf(line, "%*s %*s %*s %x:%x %lu", major, minor,
			       ino) == 3;
	fclose(maps);
	CHECK(found, "%s has no %s", path, file);
}

/* A file is the one that programs see, not the one that an overlay has it from. */
TEST(sideband_of_an_overlay)
{
	const char file[] = OVERLAY "/merged/code";
	const union record *record;
	struct side side = {};
	uint32_t at = 0, found = 0;
	unsigned int major, minor;
	struct session s;
	struct load *load;
	uint64_t ino;

	make_code();
	CHECK_ERRNO(unshare(CLONE_NEWNS), 0);
	CHECK_ERRNO(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	mkdir(OVERLAY, 0755);
	CHECK_ERRNO(mount("none", OVERLAY, "tmpfs", 0, NULL), 0);
	mkdir(OVERLAY "/upper", 0755);
	mkdir(OVERLAY "/lower", 0755);
	mkdir(OVERLAY "/merged", 0755);
	CHECK_EQ(system("cp " CODE " " OVERLAY "/lower/code"), 0);
	if (mount("none", OVERLAY "/merged", "overlay", 0,
		  "lowerdir=" OVERLAY "/upper:" OVERLAY "/lower"))
		skip("no overlay can be mounted: %s", strerror(errno));

	load = load_spawn(1, work_overlay);
	trace_begin(&s, side_setup(setup_of(MIB(1), 1, 1), 0), load);
	load_round(load);
	side_read(&s, &side);
	read_maps(load->pid, file, &major, &minor, &ino);
	while ((record = side_next(&side, &at, MTRACE_RECORD_MMAP))) {
		if (strcmp(record->mmap.path, file))
			continue;
		found++;
		CHECK_EQ(record->mmap.major, major);
		CHECK_EQ(record->mmap.minor, minor);
		CHECK_EQ(record->mmap.ino, ino);
	}
	CHECK_EQ(found, 1);
	side_free(&side);
	session_close(&s);
	load_end(load);
	umount2(OVERLAY "/merged", MNT_DETACH);
	umount2(OVERLAY, MNT_DETACH);
	rmdir(OVERLAY);
}

/* Whether the kernel says that the module's probe of a function is armed. */
static bool is_armed(const char *function)
{
	char line[256];
	bool armed = false, found = false;
	FILE *f = fopen("/sys/kernel/debug/kprobes/list", "r");

	CHECK(f, "no list of kprobes: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, function))
			continue;
		found = true;
		armed = !strstr(line, "[DISABLED]");
	}
	fclose(f);
	CHECK(found, "no probe of %s", function);
	return armed;
}

static int nr_armed(void)
{
	return is_armed("perf_event_mmap") + is_armed("vm_area_free") +
	       is_armed("copy_vma") + is_armed("mprotect_fixup");
}

TEST(sideband_probes_are_there_while_wanted)
{
	struct session s[3];
	pid_t owner;

	/* Those of the test before stay for some seconds. */
	WAIT_FOR(!nr_armed());
	session_open(&s[0], setup_of(MIB(1), 1, 1));
	CHECK_EQ(nr_armed(), 0);
	session_open(&s[1], side_setup(setup_of(MIB(1), 1, 1), 0));
	session_open(&s[2], side_setup(setup_of(MIB(1), 1, 1), 0));
	CHECK_EQ(nr_armed(), 4);
	session_close(&s[1]);
	CHECK_EQ(nr_armed(), 4);
	session_close(&s[2]);
	WAIT_FOR(!nr_armed());

	owner = fork();
	if (!owner) {
		session_open(&s[1], side_setup(setup_of(MIB(1), 1, 1), 0));
		must_attach(&s[1], getpid());
		must_start(&s[1]);
		raise(SIGKILL);
	}
	waitpid(owner, NULL, 0);
	WAIT_FOR(!nr_armed());
	session_close(&s[0]);
}

/*
 * Each time that they are armed or not the kernel's code is patched: not so often
 * as somebody opens a session and closes it. Once might be late on a busy host.
 */
TEST(sideband_probes_stay_for_some_time)
{
	struct mtrace_setup setup = side_setup(setup_of(MIB(1), 1, 1), 0);
	int i, stayed = 0;
	struct session s;

	for (i = 0; i < 5; i++) {
		session_open(&s, setup);
		CHECK_EQ(nr_armed(), 4);
		session_close(&s);
		stayed += nr_armed() == 4;
	}
	CHECK(stayed, "they are put in and out each time");
}

/* Code comes and goes, threads and processes too, all the time. */
static void work_storm(struct load *load, uint32_t index)
{
	uint8_t *at;
	pid_t pid;

	while (!__atomic_load_n(&load->stop, __ATOMIC_RELAXED)) {
		at = mmap(NULL, 4 * PAGE, RX, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
		mprotect(at, PAGE, RW);
		munmap(at, 4 * PAGE);
		prctl(PR_SET_NAME, "storm");
		pid = fork();
		if (!pid) {
			if (index & 1)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		load->progress[index]++;
	}
}

TEST(sideband_in_a_storm)
{
	struct load *load = load_spawn(4, work_storm);
	struct side side = {};
	struct session s;
	uint32_t i, round;
	uint64_t seen;

	load_go(load);
	for (round = 0; round < 12; round++) {
		struct mtrace_setup setup = setup_of(MIB(1), 8, 1);

		setup.flags = MTRACE_SETUP_INHERIT_PROCESSES;
		session_open(&s, side_setup(setup, KIB(64)));
		for (i = 0; i < 4; i++)
			must_attach(&s, load->tids[i]);
		must_start(&s);
		seen = load->progress[0] + load->progress[1];
		WAIT_FOR(load->progress[0] + load->progress[1] > seen + 6);
		if (round % 3 == 0)
			side_read(&s, &side);
		if (round % 4 == 0)
			must_detach(&s, load->tids[round % 3]);
		session_close(&s);
		if (round % 3 == 0)
			CHECK(side_count(&side, MTRACE_RECORD_MMAP,
					 load->tids[0]), "no code was mapped");
		side_free(&side);
	}
	load->stop = 1;
	load_end(load);
}
