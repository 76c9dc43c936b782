/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the kernel module have in common
 *
 * Each test runs in a process of its own, by TEST(name) { ... }. It passes if
 * it returns; FAIL() and the must_ functions end it. Whatever a test leaves
 * open is closed by its end, as the module promises.
 */
#ifndef MT_TEST_HARNESS_H
#define MT_TEST_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/mtrace.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_add(struct test *test);

#define TEST(name_)							\
	static void test_##name_(void);					\
	static void __attribute__((constructor)) add_##name_(void)	\
	{								\
		static struct test test = { #name_, test_##name_, 0 };	\
									\
		test_add(&test);					\
	}								\
	static void test_##name_(void)

void __attribute__((noreturn, format(printf, 3, 4)))
fail(const char *file, int line, const char *format, ...);
#define FAIL(...)	fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond, ...) do { if (!(cond)) FAIL(__VA_ARGS__); } while (0)

void __attribute__((noreturn, format(printf, 1, 2)))
skip(const char *format, ...);

/* The value of an expression, and that it is what it must be. */
#define CHECK_EQ(expr, want) do {					\
	long long got_ = (long long)(expr), want_ = (long long)(want);	\
									\
	if (got_ != want_)						\
		FAIL("%s is %lld, not %lld", #expr, got_, want_);	\
} while (0)

/* That a call fails with an error, or, with 0, that it does not. */
#define CHECK_ERRNO(call, want) do {					\
	int got_ = (call) == -1 ? errno : 0;				\
									\
	if (got_ != (want))						\
		FAIL("%s gives errno %d (%s), not %d", #call, got_,	\
		     strerror(got_), (want));				\
} while (0)

/**
 * struct session - an open /dev/mtrace
 * @fd: the file
 * @setup: what SETUP gave
 * @map: the whole buffer, mapped
 */
struct session {
	int fd;
	struct mtrace_setup setup;
	const uint8_t *map;
};

#define KIB(n)	((uint64_t)(n) << 10)
#define MIB(n)	((uint64_t)(n) << 20)

int open_device(void);
struct mtrace_setup setup_of(uint64_t size, uint32_t threads,
			     uint32_t snapshots);
void session_open(struct session *s, struct mtrace_setup setup);
void session_close(struct session *s);

int try_thread(int fd, unsigned long call, pid_t tid);
void must_attach(struct session *s, pid_t tid);
void must_detach(struct session *s, pid_t tid);
void must_start(struct session *s);
void must_stop(struct session *s);
struct mtrace_snapshot must_snapshot(struct session *s);
/* Wait for one that was not asked for by SNAPSHOT. */
struct mtrace_snapshot must_next_snapshot(struct session *s);
struct mtrace_region *must_describe(struct session *s, uint64_t id,
				    uint32_t *count);
void must_release(struct session *s, uint64_t id);
struct mtrace_status must_status(int fd);
struct mtrace_caps must_caps(void);

/*
 * The least value that a bitmap of CPUID lacks, 16 where it lacks none. It is not
 * 0, the default of all, for a CPU that has no bitmap, either.
 */
static inline uint8_t lacking(uint32_t bitmap)
{
	return __builtin_ctz(~((bitmap | 1) & 0xffff));
}


/* The regions of a new snapshot, which is the caller's to release. */
struct mtrace_region *snapshot_regions(struct session *s, uint64_t *id,
				       uint32_t *count);
/* The same of one that must have so many; @id can be NULL. */
struct mtrace_region *must_regions(struct session *s, uint32_t nr, uint64_t *id);
const struct mtrace_region *region_of(const struct mtrace_region *regions,
				      uint32_t count, pid_t tid);

/* A number in a file, such as those in /proc and /sys; -1 where it is not. */
long long read_number(const char *path);
bool write_text(const char *path, const char *text);
long long meminfo(const char *field);
/*
 * Whether it is the debug kernel, which keeps what was freed for some time and
 * its own books beside; there the machine looks for leaks when the tests end.
 */
bool keeps_memory(void);
uint32_t pmu_type(void);
void pin_to(int cpu);
int nr_cpus(void);
/* Skips the test on a machine with one. */
void need_two_cpus(void);
/* A number in the environment, by which check makes a test longer. */
unsigned int setting(const char *name, unsigned int otherwise);
pid_t thread_id(void);
/* So many seconds a test may take. */
extern unsigned int test_limit;

/* The module itself, with a parameter or NULL. */
void remove_module(void);
void insert_module(const char *parameter);
void reload_module(const char *parameter);
/* Whether the CPU has one entry a table, so that a region is one piece. */
bool has_single_entry(void);
/*
 * Have regions of which no two pages are together, until reload_module(NULL). Skips
 * the test on a CPU with one entry a table.
 */
void reload_module_of_pieces(void);

/*
 * Wait until a condition holds; a test that waits in vain, which is for half of
 * the time that it may take at least, fails.
 */
#define WAIT_FOR(cond) do {						\
	unsigned int tries_ = 0;					\
									\
	while (!(cond)) {						\
		if (tries_++ > test_limit * 500)			\
			FAIL("waited in vain for %s", #cond);		\
		usleep(1000);						\
	}								\
} while (0)

#endif
