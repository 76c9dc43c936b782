// SPDX-License-Identifier: GPL-2.0
/*
 * The hooks and the log. A hook takes the next record before it reads the clock:
 * a signal that comes between writes to later ones.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/truth/truth.h"

static struct truth_header *header;
static __thread struct truth_thread *own;
static __thread struct truth_record *records;

static inline __attribute__((always_inline)) void UNSEEN add(uint64_t what, uint64_t kind)
{
	struct truth_thread *thread = own;
	uint64_t index;
	uint32_t low, high;

	if (!thread)
		return;
	index = __atomic_fetch_add(&thread->count, 1, __ATOMIC_RELAXED);
	if (index >= TRUTH_RECORDS / sizeof(struct truth_record)) {
		thread->lost++;
		return;
	}
	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	records[index].tsc = (uint64_t)high << 32 | low;
	records[index].what = what << 2 | kind;
}

void UNSEEN __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	add((uint64_t)function, TRUTH_ENTER);
}

void UNSEEN __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	add((uint64_t)function, TRUTH_EXIT);
}

void UNSEEN truth_unwound(uint64_t calls)
{
	add(calls, TRUTH_UNWOUND);
}

void UNSEEN truth_thread(void)
{
	uint64_t i = __atomic_fetch_add(&header->nr_threads, 1, __ATOMIC_RELAXED);

	if (i >= TRUTH_THREADS)
		abort();
	header->thread[i].tid = (uint64_t)syscall(SYS_gettid);
	records = (struct truth_record *)((char *)header + TRUTH_RECORDS * (1 + i));
	own = &header->thread[i];
}

void UNSEEN truth_begin(void *main_function)
{
	const size_t size = TRUTH_RECORDS * (1 + TRUTH_THREADS);
	const char *path = getenv("TRUTH_LOG");
	int fd;

	fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
		perror("TRUTH_LOG");
		exit(1);
	}
	header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	close(fd);
	memcpy(header->magic, TRUTH_MAGIC, sizeof(header->magic));
	header->main = (uint64_t)main_function;
	truth_thread();
}

void UNSEEN __attribute__((noinline)) stop_here(void)
{
	__asm__ volatile("" : : : "memory");
}
