// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "regs.h"
#include "trigger.h"

static void __attribute__((used, noinline, noclone)) trigger_define(void)
{
	__asm__ volatile(".globl trigger_go\n"
			 "trigger_go:\n"
			 "push %%rbx; push %%rbp; push %%r12\n"
			 "push %%r13; push %%r14; push %%r15\n"
			 REGS_LOAD
			 "lea trigger_here(%%rip), %%rax\n"
			 "jmp *%%rax\n"
			 "int3\n"
			 ".globl trigger_here\n"
			 "trigger_here:\n"
			 "mov %%rdi, %%rax\n"
			 "pop %%r15; pop %%r14; pop %%r13\n"
			 "pop %%r12; pop %%rbp; pop %%rbx\n"
			 "ret\n"
			 : : REGS_VALUES);
}

struct mtrace_trigger breakpoint_at(const void *address)
{
	return (struct mtrace_trigger){
		.size = sizeof(struct mtrace_trigger),
		.kind = MTRACE_TRIGGER_BREAKPOINT,
		.access = MTRACE_ACCESS_EXEC,
		.address = (uintptr_t)address,
	};
}

struct mtrace_trigger probe_at(const void *address)
{
	struct mtrace_trigger arg = {
		.size = sizeof(arg),
		.kind = MTRACE_TRIGGER_UPROBE,
	};
	unsigned long start, end, offset, at = (uintptr_t)address;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	arg.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(arg.fd > 0 && maps, "this program is not to be found");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end,
			   &offset) == 3 && at >= start && at < end)
			arg.address = at - start + offset;
	fclose(maps);
	CHECK(arg.address, "%p is in no file", address);
	return arg;
}

uint32_t must_add_trigger(struct session *s, struct mtrace_trigger arg)
{
	if (ioctl(s->fd, MTRACE_IOC_ADD_TRIGGER, &arg))
		FAIL("ADD_TRIGGER: %s", strerror(errno));
	return arg.number;
}

struct mtrace_trigger must_remove_trigger(struct session *s, uint32_t number)
{
	struct mtrace_trigger arg = { .size = sizeof(arg), .number = number };

	if (ioctl(s->fd, MTRACE_IOC_REMOVE_TRIGGER, &arg))
		FAIL("REMOVE_TRIGGER: %s", strerror(errno));
	return arg;
}

struct mtrace_snapshot must_next_hit(struct session *s, uint32_t number,
				     pid_t tid)
{
	struct mtrace_snapshot snapshot = must_next_snapshot(s);

	CHECK_EQ(snapshot.reason, MTRACE_REASON_TRIGGER);
	CHECK_EQ(snapshot.trigger, number);
	CHECK_EQ(snapshot.tid, tid);
	CHECK_EQ(snapshot.signal, 0);
	return snapshot;
}

void read_thread(struct session *s, uint64_t id, pid_t tid,
		 struct pt_stats *stats)
{
	struct mtrace_region *regions;
	uint32_t count;

	regions = must_describe(s, id, &count);
	pt_read(s, region_of(regions, count, tid), (uintptr_t)load_target,
		stats);
	free(regions);
}

void check_led_there(const struct pt_stats *stats)
{
	CHECK_EQ(stats->last, (uintptr_t)trigger_here);
	CHECK_EQ(stats->since, 0);
}

void work_trigger(struct load *load, uint32_t index)
{
	load_run(TRIGGER_CALLS);
	trigger_go();
	load->progress[index]++;
}
