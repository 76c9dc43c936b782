// SPDX-License-Identifier: GPL-2.0
/* The CR3 filter: which address space of a thread is traced. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "load.h"
#include "pt.h"

#define CALLS	500

static void work_calls_by_turns(struct load *load, uint32_t index)
{
	int i;

	(void)load;
	(void)index;
	pin_to(0);
	for (i = 0; i < CALLS; i++) {
		load_run(10);
		sched_yield();
	}
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
	struct mtrace_region *regions;
	struct pt_stats stats;
	struct session s;
	uint32_t count;
	uint64_t id;

	setup.trace_flags = flags | MTRACE_TRACE_CR3;
	session_open(&s, setup);
	CHECK_EQ(s.setup.rtit_ctl >> 7 & 1, 1);
	must_attach(&s, load->pid);
	must_start(&s);
	load_round(load);
	regions = snapshot_regions(&s, &id, &count);
	pt_read(&s, regions, (uintptr_t)load_target, &stats);
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
	uint32_t count;
	uint64_t id;
	int i;

	need_cr3();
	setup.trace_flags |= MTRACE_TRACE_CR3;
	for (i = 0; i < 2; i++)
		loads[i] = load_spawn(1, work_calls_by_turns);
	session_open(&s, setup);
	for (i = 0; i < 2; i++)
		must_attach(&s, loads[i]->pid);
	must_start(&s);
	load_rounds(loads, 2);
	regions = snapshot_regions(&s, &id, &count);
	CHECK_EQ(count, 2);
	for (i = 0; i < 2; i++) {
		CHECK(regions[i].switches > CALLS / 20, "%u switches",
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

/* After an exec the filter has the new address space, from the beginning on. */
TEST(cr3_follows_exec)
{
	struct mtrace_setup setup = setup_of(MIB(16), 1, 1);
	struct mtrace_region *regions;
	struct pt_stats stats;
	int go[2], entry[2], status;
	struct session s;
	uint64_t id, at = 0;
	uint32_t count;
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
	setup.trace_flags |= MTRACE_TRACE_CR3;
	session_open(&s, setup);
	must_attach(&s, pid);
	must_start(&s);
	CHECK_EQ(write(go[1], "", 1), 1);
	CHECK_EQ(read(entry[0], &at, sizeof(at)), sizeof(at));
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	regions = snapshot_regions(&s, &id, &count);
	CHECK_EQ(count, 1);
	CHECK_EQ(regions->flags, MTRACE_REGION_EXITED);
	pt_read(&s, regions, at, &stats);
	CHECK(stats.entries, "it did not begin at %#lx in the trace", at);
}
