// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz [--calls N] [--seconds S] [--seed S] [--patience S]: makes N calls of
 * mtrace and more around them, or as many as S seconds allow.
 *
 * Prints a table of what each kind of call gave, and a line "ok" or "not ok"
 * for each that must have succeeded often enough for anything to be proven.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/mtrace_sideband.h>

#include "fuzz.h"

#define FUZZERS	2
#define CALLS_A_SIGNAL	4

struct slot slots[SLOTS];
pid_t *targets;
int probed_fd;
void (*probed_function)(void);
uint32_t pmu_type;
uint64_t seen_regions, seen_bytes;

/* How often a CPU came back. */
static unsigned int cpus_taken;

static const struct call *table[MAX_CALLS];
static unsigned int nr_calls, all_weights;
static uint64_t calls_wanted = 60000, calls_made;
static unsigned int patience = 60, seconds_allowed;
static bool finished;
static struct fuzzer fuzzers[FUZZERS];
static pthread_t threads[FUZZERS];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* splitmix64 */
uint64_t rnd(struct fuzzer *f)
{
	uint64_t z = f->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t below(struct fuzzer *f, uint64_t n)
{
	return rnd(f) % n;
}

bool one_in(struct fuzzer *f, unsigned int n)
{
	return !below(f, n);
}

uint64_t odd_number(struct fuzzer *f)
{
	uint64_t n = 1ull << below(f, 64);

	switch (below(f, 6)) {
	case 0:
		return 0;
	case 1:
		return n - 1;
	case 2:
		return -n;
	case 3:
		return rnd(f);
	case 4:
		return below(f, 300);
	default:
		return n;
	}
}

pid_t some_tid(struct fuzzer *f)
{
	switch (below(f, 16)) {
	case 0:
		return odd_number(f);
	case 1:
		return below(f, 40);	/* init and the kernel's threads */
	case 2:
		return syscall(SYS_gettid);
	case 3:
		return getpid() + below(f, 30);	/* those that come and go */
	default:
		return targets[below(f, TARGETS)];
	}
}

/*
 * A buffer that is large but possible takes long and proves nothing, and a few
 * of them take all memory.
 */
static void spare_memory(uint8_t *arg, size_t size)
{
	struct mtrace_setup *setup = (void *)arg;

	if (size != sizeof(*setup))
		return;
	if (setup->buffer_size > 2 * PAGE << 10 &&
	    setup->buffer_size < 1ull << 36)
		setup->buffer_size = PAGE << 8;
	if (setup->sideband_size > MTRACE_SIDEBAND_DEFAULT &&
	    setup->sideband_size <= MTRACE_SIDEBAND_MAX)
		setup->sideband_size = MTRACE_SIDEBAND_MIN;
}

/*
 * Where a structure has the pointer to f->regions, or 0. If some bits of that
 * changed, the kernel would write, as it was told, over the fuzzer itself.
 */
static size_t pointer_in(const struct fuzzer *f, const void *arg, size_t size)
{
	uint64_t word;
	size_t at;

	for (at = 8; at < size; at += 8) {
		memcpy(&word, (const uint8_t *)arg + at, 8);
		if (word == (uintptr_t)f->regions)
			return at;
	}
	return 0;
}

void mutate(struct fuzzer *f, void *arg, size_t size)
{
	size_t pointer = pointer_in(f, arg, size);
	uint8_t *bytes = arg;
	uint64_t odd;
	uint32_t n;

	for (n = 1 + below(f, 3); n; n--) {
		odd = odd_number(f);
		switch (below(f, 4)) {
		case 0:
			memcpy(bytes + below(f, size / 8) * 8, &odd, 8);
			break;
		case 1:
			memcpy(bytes + below(f, size / 4) * 4, &odd, 4);
			break;
		case 2:
			bytes[below(f, size)] ^= 1 << below(f, 8);
			break;
		default:
			/* The size, which comes first in each of them. */
			memcpy(bytes, &odd, 4);
			if (one_in(f, 2))
				*(uint32_t *)arg = size + 8 * below(f, 9) - 32;
		}
	}
	spare_memory(bytes, size);
	if (pointer)
		memcpy(bytes + pointer, &f->regions, 8);
}

void *bad_place(struct fuzzer *f)
{
	switch (below(f, 6)) {
	case 0:
		return NULL;
	case 1:
		return (void *)odd_number(f);
	case 2:
		return (void *)(0xffff800000000000 | (rnd(f) >> 17));
	case 3:
		return f->page + PAGE - 4 * below(f, 8);
	case 4:
		return f->slot->window;
	default:
		return f->fixed;
	}
}

void *place(struct fuzzer *f, const void *arg, size_t size)
{
	uint8_t *to = f->page + PAGE - size;	/* with nothing behind it */

	if (one_in(f, 4))
		to = f->page + 8 * below(f, 64);
	if (one_in(f, 24) && !pointer_in(f, arg, size))
		to = f->changing;
	memcpy(to, arg, size);
	if (to == f->changing)
		return to;
	if (one_in(f, 32))
		return bad_place(f);
	if (one_in(f, 32)) {
		mprotect(f->fixed, PAGE, PROT_READ | PROT_WRITE);
		memcpy(f->fixed, arg, size);
		mprotect(f->fixed, PAGE, PROT_READ);
		return f->fixed;
	}
	return to;
}

static int run_ioctl(struct fuzzer *f, const struct call *call)
{
	uint8_t arg[512] = { 0 };
	unsigned long cmd = call->cmd;
	const void *at;

	if (!call->size)
		return ioctl(f->slot->fd, cmd, rnd(f)) ? errno : 0;
	*(uint32_t *)arg = call->size;
	call->build(f, arg);
	if (one_in(f, 5))
		mutate(f, arg, call->size);
	at = place(f, arg, call->size);
	if (ioctl(f->slot->fd, cmd, at))
		return errno;
	if (call->done && at != f->changing) {
		memcpy(arg, at, call->size);
		call->done(f, arg);
	}
	return 0;
}

static unsigned int any_call(struct fuzzer *f)
{
	uint64_t at = below(f, all_weights);
	unsigned int i;

	for (i = 0; at >= table[i]->weight; i++)
		at -= table[i]->weight;
	return i;
}

/* Most of the time one that the session can take. */
static unsigned int some_call(struct fuzzer *f)
{
	uint32_t flags = f->slot->setup.flags;
	unsigned int i;

	/* One that is closed is not left so for long. */
	if (f->slot->fd < 0 && one_in(f, 4)) {
		for (i = 0; table[i]->run != run_open;)
			i++;
		return i;
	}
	do {
		i = any_call(f);
	} while ((flags & table[i]->without || ~flags & table[i]->with) &&
		 !one_in(f, 16));
	return i;
}

static void *make_calls(void *data)
{
	struct fuzzer *f = data;
	uint64_t start;
	unsigned int i;
	int ret;

	for (i = 0; i < SLOTS / FUZZERS; i++) {
		f->slot = &slots[FUZZERS * i + (f - fuzzers)];
		run_open(f);
	}
	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		/* A while with one, for what belongs together. */
		if (one_in(f, 20))
			f->slot = &slots[below(f, SLOTS)];
		i = some_call(f);
		start = now_ns();
		ret = table[i]->run ? table[i]->run(f) :
				      run_ioctl(f, table[i]);
		f->ns[i] += now_ns() - start;
		f->counts[i][ret < MAX_ERRNO ? ret : MAX_ERRNO - 1]++;
		if (table[i]->counts &&
		    __atomic_add_fetch(&calls_made, 1, __ATOMIC_RELAXED) >=
		    calls_wanted)
			__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* A file of NOPs and returns, so that a probe anywhere in it harms nobody. */
static void make_probed(void)
{
	uint8_t code[PAGE];

	memset(code, 0xc3, sizeof(code));
	memset(code, 0x90, 64);
	probed_fd = syscall(SYS_memfd_create, "probed", MFD_CLOEXEC);
	if (write(probed_fd, code, sizeof(code)) != sizeof(code))
		exit(1);
	probed_function = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			       probed_fd, 0);
}

static void *end_soon(void *unused)
{
	probed_function();
	return unused;
}

/* A child that ends by itself, or by a signal. */
static void start_child(bool dies)
{
	pid_t pid = fork();

	if (pid)
		return;
	end_soon(NULL);
	if (dies)
		raise(SIGQUIT);
	_exit(0);
}

/* Code comes and goes, and with it what is probed in it. */
static void map_code(void)
{
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			  probed_fd, 0);

	if (code == MAP_FAILED)
		return;
	((void (*)(void))code)();
	munmap(code, PAGE);
}

/*
 * What is traced: threads that run a little, give way, and sleep; and now and
 * then bear another, or map code.
 */
static void *be_traced(void *data)
{
	volatile uint32_t i;
	pthread_t thread;
	uint32_t round;
	uint64_t start;

	*(pid_t *)data = syscall(SYS_gettid);
	setpriority(PRIO_PROCESS, 0, 10);
	for (round = 1;; round++) {
		start = now_ns();
		for (i = 0; i < 5000; i++)
			;
		*(volatile pid_t *)data = *(volatile pid_t *)data;
		probed_function();
		if (round % 8 == 0)
			map_code();
		if (round % 32 == 0 &&
		    !pthread_create(&thread, NULL, end_soon, NULL))
			pthread_detach(thread);
		if (round % 128 == 0)
			start_child(round % 256);
		sched_yield();
		/* Without much of the CPUs: it is the calls that matter. */
		usleep(5000 + 20 * (now_ns() - start) / 1000);
	}
	return NULL;
}

static pid_t start_targets(void)
{
	pid_t pid = fork();
	pthread_t thread;
	unsigned int i;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	signal(SIGCHLD, SIG_IGN);
	for (i = 1; i < TARGETS; i++)
		pthread_create(&thread, NULL, be_traced, &targets[i]);
	be_traced(&targets[0]);
	return 0;
}

/*
 * Traces half of the targets by ptrace, too, which lets sessions without
 * privilege trace them. They go on: nobody sends them a signal that stops.
 */
static void seize_targets(void)
{
	unsigned int i;

	for (i = 0; i < TARGETS; i += 2)
		ptrace(PTRACE_SEIZE, targets[i], NULL, NULL);
}

static void end_targets(pid_t pid)
{
	kill(pid, SIGKILL);
	/* Each that is traced by ptrace, and their process. */
	while (waitpid(-1, NULL, __WALL | __WNOTHREAD) > 0)
		;
}

/* Takes a CPU away, or gives it back. */
static void set_cpu(bool online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online",
		      O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* A CPU that stays is as good: another has made it busy. */
	if (write(fd, online ? "1" : "0", 1) == 1 && online)
		cpus_taken++;
	close(fd);
}

/* Whether the number of calls has come to @at of each @every. */
static bool passes(uint64_t last, uint64_t calls, uint64_t every, uint64_t at)
{
	return (last + every - at) / every != (calls + every - at) / every;
}

/*
 * Writes to the pages that arguments may be in, ends and restarts what is
 * traced, interrupts what waits, and takes a CPU away for a while.
 */
static void *disturb(void *unused)
{
	struct fuzzer f = { .state = fuzzers[0].state ^ 0x5a5a };
	pid_t pid = start_targets();
	uint64_t calls = 0, last = 0, interrupted = 0;
	unsigned int i, rounds = 0;

	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		for (i = 0; i < 200; i++) {
			uint8_t *page = fuzzers[below(&f, FUZZERS)].changing;
			size_t at = below(&f, 256);

			/* mtrace_setup.buffer_size has its reason. */
			if (at < 8 || at >= 16)
				page[at] = one_in(&f, 2) ? 0 : rnd(&f);
		}
		/* As often as there are calls; what waits is none. */
		if (calls - interrupted >= CALLS_A_SIGNAL || ++rounds >= 100) {
			for (i = 0; i < FUZZERS; i++)
				pthread_kill(threads[i], SIGUSR1);
			interrupted = calls;
			rounds = 0;
		}
		usleep(5000);
		calls = __atomic_load_n(&calls_made, __ATOMIC_RELAXED);
		if (passes(last, calls, 5000, 1000))
			seize_targets();
		if (passes(last, calls, 5000, 5000)) {
			end_targets(pid);
			pid = start_targets();
		}
		/* Seldom: it takes half a minute in the debug kernel. */
		if (passes(last, calls, 50000, 5000))
			set_cpu(false);
		if (passes(last, calls, 50000, 5400))
			set_cpu(true);
		last = calls;
	}
	set_cpu(true);
	end_targets(pid);
	return unused;
}

static void nothing(int signal)
{
	(void)signal;
}

static void *memory(size_t size, int prot)
{
	void *at = mmap(NULL, size, prot,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED) {
		perror("fuzz: mmap");
		exit(1);
	}
	return at;
}

static void prepare(uint64_t seed)
{
	struct sigaction interrupt = { .sa_handler = nothing };
	const struct call *lists[] = { ioctl_calls, netlink_calls,
				       around_calls };
	const struct call *call;
	unsigned int i;
	FILE *file;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (call = lists[i]; call->name; call++) {
			table[nr_calls++] = call;
			all_weights += call->weight;
		}
	file = fopen("/sys/bus/event_source/devices/intel_pt/type", "re");
	if (file && fscanf(file, "%" SCNu32, &pmu_type) != 1)
		pmu_type = 0;
	if (file)
		fclose(file);
	file = fopen("/sys/module/mtrace/parameters/unprivileged", "we");
	if (!file || fputs("1", file) < 0 || fclose(file))
		printf("# no session without privilege\n");
	make_probed();
	targets = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < SLOTS; i++) {
		slots[i].fd = -1;
		slots[i].window = memory(WINDOW, PROT_NONE);
	}
	for (i = 0; i < FUZZERS; i++) {
		fuzzers[i].state = seed + i;
		fuzzers[i].slot = &slots[i];
		fuzzers[i].page = memory(2 * PAGE, PROT_READ | PROT_WRITE);
		mprotect(fuzzers[i].page + PAGE, PAGE, PROT_NONE);
		fuzzers[i].fixed = memory(PAGE, PROT_READ);
		/* An element may be told to be as large as a page. */
		fuzzers[i].regions = memory(REGIONS * PAGE,
					    PROT_READ | PROT_WRITE);
		/* No child needs it, and thousands of pages take seconds. */
		madvise(fuzzers[i].regions, REGIONS * PAGE, MADV_DONTFORK);
		fuzzers[i].bytes = memory(BYTES, PROT_READ | PROT_WRITE);
		fuzzers[i].changing = memory(PAGE, PROT_READ | PROT_WRITE);
	}
	/* Without SA_RESTART: what waits is to end. */
	sigaction(SIGUSR1, &interrupt, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static uint64_t count_of(unsigned int call, unsigned int error)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < FUZZERS; i++)
		sum += fuzzers[i].counts[call][error];
	return sum;
}

/* Returns how many rows succeeded too seldom. */
static unsigned int report(void)
{
	unsigned int i, error, bad = 0;
	uint64_t least, count, ns;

	for (i = 0; i < nr_calls; i++) {
		for (ns = 0, error = 0; error < FUZZERS; error++)
			ns += fuzzers[error].ns[i];
		printf("# %-22s %6" PRIu64 " ms:", table[i]->name,
		       ns / 1000000);
		for (error = 0; error < MAX_ERRNO; error++) {
			count = count_of(i, error);
			if (count)
				printf(" %s %" PRIu64 ",", error ?
				       strerrorname_np(error) ?: "?" :
				       "success", count);
		}
		printf("\n");
	}
	printf("# %" PRIu64 " regions with %" PRIu64 " MB of trace; a CPU came back"
	       " %u times\n", seen_regions, seen_bytes >> 20, cpus_taken);
	for (i = 0; i < nr_calls; i++) {
		least = table[i]->least * calls_made / 1000000;
		count = count_of(i, 0);
		if (!least)
			continue;
		if (count < least)
			bad++;
		printf("%s %s: %" PRIu64 " succeeded, of %" PRIu64 " wanted\n",
		       count < least ? "not ok" : "ok", table[i]->name, count,
		       least);
	}
	bad += seen_bytes < calls_made;
	printf("%s tracing went on\n", seen_bytes < calls_made ? "not ok" :
	       "ok");
	return bad;
}

/* Where in the kernel each thread is. */
static void tell_stacks(void)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "for t in /proc/%d/task/*; do echo \"# $t: $(cat $t/syscall)\";"
		 " sed 's/^/#   /' $t/stack; done", getpid());
	if (system(command))
		printf("# the stacks cannot be read\n");
}

/* Waits, and tells how far it is; a while without a call is a failure. */
static void watch(void)
{
	uint64_t last = 0;
	unsigned int idle = 0, seconds = 0;

	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		sleep(1);
		if (++seconds == seconds_allowed)
			__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
		if (seconds % 60 == 0)
			printf("# %" PRIu64 " calls\n", calls_made);
		idle = calls_made == last ? idle + 1 : 0;
		last = calls_made;
		if (idle < patience)
			continue;
		printf("not ok fuzz: no call has ended for %u s, after %"
		       PRIu64 "\n", idle, last);
		tell_stacks();
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "calls", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "patience", required_argument, NULL, 'p' },
		{ 0 }
	};
	pthread_t disturber;
	unsigned int i;
	uint64_t seed;
	time_t start;
	int option;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			calls_wanted = strtoull(optarg, NULL, 0);
			break;
		case 't':
			seconds_allowed = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			patience = strtoul(optarg, NULL, 0);
			break;
		default:
			fprintf(stderr, "usage: fuzz [--calls N] [--seconds S] "
				"[--seed S] [--patience SECONDS]\n");
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# seed %#" PRIx64 "\n", seed);
	prepare(seed);
	start = time(NULL);
	for (i = 0; i < FUZZERS; i++)
		pthread_create(&threads[i], NULL, make_calls, &fuzzers[i]);
	pthread_create(&disturber, NULL, disturb, NULL);
	watch();
	for (i = 0; i < FUZZERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(disturber, NULL);
	printf("# %" PRIu64 " calls in %ld s\n", calls_made,
	       (long)(time(NULL) - start));
	return report() ? 1 : 0;
}
