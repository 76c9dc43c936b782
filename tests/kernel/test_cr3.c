// SPDX-License-Identifier: GPL-2.0
/* The CR3 filter: which address space of a thread is traced. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace.h"

#define CALLS	500

/* Where tiny, below, is in memory. */
#define TINY_BASE	0x400000

/* Whose turn it is: both processes have it in memory. */
static volatile uint32_t *turn;

static void take_turns(struct load *load, uint32_t which)
{
	uint32_t i;

	(void)load;
	pin_to(0);
	for (i = which; i < 2 * CALLS; i += 2) {
		while (*turn != i)
			sched_yield();
		load_run(10);
		*turn = i + 1;
	}
}

static void work_first(struct load *load, uint32_t index)
{
	take_turns(load, index);
}

static void work_second(struct load *load, uint32_t index)
{
	take_turns(load, index + 1);
}

static void need_cr3(void)
{
	if (!(must_caps().trace_flags & MTRACE_TRACE_CR3))
		skip("this CPU has no CR3 filter");
}

/* The kernel says of itself whether it isolates page tables. */
static bool isolated(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/vulnerabilities/meltdown",
			   "re");
	char line[100] = "";

	CHECK(file && fgets(line, sizeof(line), file), "no word of meltdown");
	fclose(file);
	return strstr(line, "PTI");
}

/* What goes on in one process with the CR3 filter, and with what options. */
static void check_cr3(uint32_t flags, bool user, bool kernel)
{
	struct mtrace_setup setup = setup_of(MIB(64), 1, 1);
	const uint64_t calls = WORK_YIELDS * WORK_CALLS_A_YIELD;
	struct load *load = load_spawn(1, work_yield);
	struct pt_stats stats;
	struct session s;

	setup.trace_flags = flags | MTRACE_TRACE_CR3;
	pt_read(&s, trace_round(&s, setup, load), (uintptr_t)load_target,
		&stats);
	CHECK_EQ(s.setup.rtit_ctl >> 7 & 1, 1);
	/* Where the kernel is traced an IRET may go there, too. */
	if (user && kernel)
		CHECK(stats.hits >= calls && stats.hits <= calls + calls / 100,
		      "%lu calls, not %lu", stats.hits, calls);
	else
		CHECK_EQ(stats.hits, user ? calls : 0);
	if (kernel)
		CHECK(stats.kernel > WORK_YIELDS, "%lu of the kernel",
		      stats.kernel);
	else
		CHECK_EQ(stats.kernel, 0);
	CHECK_EQ(must_status(s.fd).errors, 0);
	session_close(&s);
	load_end(load);
}

TEST(cr3_user)
{
	need_cr3();
	check_cr3(MTRACE_TRACE_USER, true, false);
}

TEST(cr3_kernel)
{
	need_cr3();
	check_cr3(MTRACE_TRACE_KERNEL, false, true);
}

TEST(cr3_user_and_kernel)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	int fd = open_device();

	need_cr3();
	if (!isolated()) {
		check_cr3(MTRACE_TRACE_USER | MTRACE_TRACE_KERNEL, true, true);
		return;
	}
	setup.trace_flags |= MTRACE_TRACE_KERNEL | MTRACE_TRACE_CR3;
	CHECK_ERRNO(ioctl(fd, MTRACE_IOC_SETUP, &setup), EOPNOTSUPP);
	CHECK_EQ(setup.missing, MTRACE_CAP_SAME_CR3);
}

/* Two processes of one session on one CPU, which must have each one's CR3. */
TEST(cr3_by_turns)
{
	struct mtrace_setup setup = setup_of(MIB(16), 2, 1);
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct load *loads[2];
	struct session s;
	int i;

	need_cr3();
	setup.trace_flags |= MTRACE_TRACE_CR3;
	turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(turn != MAP_FAILED, "no memory to share");
	loads[0] = load_spawn(1, work_first);
	loads[1] = load_spawn(1, work_second);
	session_open(&s, setup);
	for (i = 0; i < 2; i++)
		must_attach(&s, loads[i]->pid);
	must_start(&s);
	load_rounds(loads, 2);
	regions = must_regions(&s, 2, NULL);
	for (i = 0; i < 2; i++) {
		CHECK(regions[i].switches >= CALLS, "%u switches",
		      regions[i].switches);
		pt_read(&s, &regions[i], (uintptr_t)load_target, &stats);
		CHECK_EQ(stats.hits, CALLS * 10);
	}
	for (i = 0; i < 2; i++)
		load_end(loads[i]);
}

/* A kernel thread runs in whatever address space there is: it has none. */
TEST(cr3_of_a_kernel_thread)
{
	struct mtrace_setup setup = setup_of(MIB(1), 1, 1);
	const pid_t kthreadd = 2;
	struct session s;

	need_cr3();
	setup.trace_flags = MTRACE_TRACE_KERNEL;
	session_open(&s, setup);
	must_attach(&s, kthreadd);
	session_close(&s);
	setup.trace_flags |= MTRACE_TRACE_CR3;
	session_open(&s, setup);
	CHECK_ERRNO(try_thread(s.fd, MTRACE_IOC_ATTACH, kthreadd), EINVAL);
	CHECK_EQ(must_status(s.fd).nr_threads, 0);
}

#define EXEC_NAME	"tell-where-it-began"

/*
 * This program, started by that name, writes to its standard output where its
 * first instruction was: that of the dynamic linker.
 */
static void __attribute__((constructor)) tell_where_it_began(int argc,
							     char **argv)
{
	const Elf64_Ehdr *linker = (void *)getauxval(AT_BASE);
	uint64_t entry;

	if (!argc || strcmp(argv[0], EXEC_NAME))
		return;
	entry = (uintptr_t)linker + linker->e_entry;
	_exit(write(STDOUT_FILENO, &entry, sizeof(entry)) != sizeof(entry));
}

/* Trace a process by its CR3, from when it hears that it may go on to its end. */
static void trace_to_end(struct session *s, pid_t pid, int go)
{
	struct mtrace_setup setup = setup_of(MIB(16), 1, 1);
	int status;

	setup.trace_flags |= MTRACE_TRACE_CR3;
	session_open(s, setup);
	must_attach(s, pid);
	must_start(s);
	CHECK_EQ(write(go, "", 1), 1);
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

static void check_began_at(struct session *s, uint64_t at)
{
	struct mtrace_region *region = must_regions(s, 1, NULL);
	struct pt_stats stats;

	CHECK_EQ(region->flags, MTRACE_REGION_EXITED);
	pt_read(s, region, at, &stats);
	CHECK(stats.entries, "it did not begin at %#lx in the trace", at);
	free(region);
}

/* After an exec the filter has the new address space, from the beginning on. */
TEST(cr3_follows_exec)
{
	int go[2], entry[2], status;
	struct session s;
	uint64_t at = 0;
	pid_t pid;

	need_cr3();
	CHECK(!pipe(go) && !pipe(entry), "no pipe");
	pid = fork();
	if (!pid) {
		dup2(entry[1], STDOUT_FILENO);
		if (read(go[0], &status, 1) != 1)
			_exit(1);
		execl("/proc/self/exe", EXEC_NAME, NULL);
		_exit(127);
	}
	trace_to_end(&s, pid, go[1]);
	CHECK_EQ(read(entry[0], &at, sizeof(at)), sizeof(at));
	check_began_at(&s, at);
}

/*
 * The least program there is: exit(0). It is in memory, so that its exec waits
 * for nothing: the thread does not leave the CPU before it runs it, and has the
 * filter of its new address space all the same.
 */
static const struct {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint8_t code[9];
} tiny = {
	.head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = TINY_BASE + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	},
	.segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = TINY_BASE,
		.p_filesz = sizeof(tiny),
		.p_memsz = sizeof(tiny),
		.p_align = 0x1000,
	},
	/* mov $60, %eax; xor %edi, %edi; syscall */
	.code = { 0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05 },
};

TEST(cr3_follows_exec_that_waits_for_nothing)
{
	char *const none[] = { NULL };
	struct session s;
	int go[2], status, file;
	pid_t pid;

	need_cr3();
	CHECK(!pipe(go), "no pipe");
	file = memfd_create("tiny", 0);
	CHECK_EQ(write(file, &tiny, sizeof(tiny)), sizeof(tiny));
	pid = fork();
	if (!pid) {
		if (read(go[0], &status, 1) == 1)
			syscall(SYS_execveat, file, "", none, none,
				AT_EMPTY_PATH);
		_exit(127);
	}
	trace_to_end(&s, pid, go[1]);
	check_began_at(&s, tiny.head.e_entry);
}
