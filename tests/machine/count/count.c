// SPDX-License-Identifier: GPL-2.0
/*
 * Has the PT machine count what a piece of work executes. It sets the markers
 * (include/mark.h); the plugin counts, and writes the counts to the file that run --count
 * names on the host.
 *
 *	count [-l LABEL] [-c CPU] ask
 *	count [-l LABEL] [-c CPU] loop N
 *	count [-l LABEL] [-c CPU] switch thread|process N
 *	count [-l LABEL] [-c CPU] -- COMMAND [ARG...]
 *
 * ask		does nothing; exit status 0 if something counts
 * loop		2 N + 2 user instructions, see mark_loop()
 * switch	N round trips between two threads, or two processes, on one CPU, an
 *		interval each: two context switches
 * COMMAND	from its start to its end, an interval for each CPU; the exit
 *		status is the command's
 *
 * LABEL is 1 if not said. All but COMMAND stays on CPU, or where it is.
 * Exit status 1: nothing counts, or the work failed; 2: bad usage.
 */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/mark.h"

/* Round trips before those that count, for what is done once and for caches. */
#define WARM_UP 8

static unsigned int label = 1;

static void __attribute__((noreturn, format(printf, 2, 3))) die(int status, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "count: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

static uint64_t number(const char *text, const char *what, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end || errno || n < min || n > max)
		die(2, "%s '%s' is not a number from %lu to %lu", what, text, min, max);
	return n;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die(1, "CPU %d: %s", cpu, strerror(errno));
}

/*
 * No wake-up may preempt who wakes: whether it does is up to what each has run so far,
 * and decides whether the other side is still to be woken when it is answered. Among
 * those of one real-time priority none does, and each round trip is two wake-ups and
 * two switches.
 */
static void do_not_preempt(void)
{
	const struct sched_param param = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die(1, "SCHED_FIFO: %s", strerror(errno));
}

static void must_count(void)
{
	if (mark(MARK_ASK, 0) != MARK_ON)
		die(1, "nothing counts here: start the machine by tests/machine/run --count");
}

struct pipes {
	int there[2];
	int back[2];
};

static void transfer(ssize_t (*how)(int, void *, size_t), int fd)
{
	char c = 0;

	if (how(fd, &c, 1) != 1)
		die(1, "the other side is gone");
}

static ssize_t put(int fd, void *buf, size_t len)
{
	return write(fd, buf, len);
}

static void answer(const struct pipes *pipes, uint64_t n)
{
	while (n--) {
		transfer(read, pipes->there[0]);
		transfer(put, pipes->back[1]);
	}
}

struct partner {
	const struct pipes *pipes;
	uint64_t n;
};

static void *answer_in_thread(void *arg)
{
	const struct partner *partner = arg;

	answer(partner->pipes, partner->n);
	return NULL;
}

static void round_trip(const struct pipes *pipes)
{
	transfer(put, pipes->there[1]);
	transfer(read, pipes->back[0]);
}

static void counted_switches(bool thread, uint64_t n)
{
	struct partner partner = {.n = n + WARM_UP};
	struct pipes pipes;
	pthread_t tid;
	struct rusage usage;
	pid_t pid = -1;
	uint64_t i;

	partner.pipes = &pipes;
	if (pipe(pipes.there) || pipe(pipes.back))
		die(1, "pipe: %s", strerror(errno));
	/* The partner inherits it. */
	do_not_preempt();
	if (thread) {
		if (pthread_create(&tid, NULL, answer_in_thread, &partner))
			die(1, "the thread cannot be created");
	} else {
		pid = fork();
		if (pid < 0)
			die(1, "fork: %s", strerror(errno));
		if (!pid) {
			answer(&pipes, partner.n);
			_exit(0);
		}
	}

	for (i = 0; i < WARM_UP; i++)
		round_trip(&pipes);
	for (i = 0; i < n; i++) {
		mark(MARK_BEGIN, label);
		round_trip(&pipes);
		mark(MARK_END, label);
	}

	if (thread)
		pthread_join(tid, NULL);
	else
		waitpid(pid, NULL, 0);
	/* It was the partner that ran meanwhile, on this CPU: else nothing was switched. */
	getrusage(RUSAGE_THREAD, &usage);
	if (usage.ru_nvcsw + usage.ru_nivcsw < (long)n)
		die(1, "%lu round trips, but only %ld switches", n,
		    usage.ru_nvcsw + usage.ru_nivcsw);
}

/* On each CPU that this may run on. */
static void mark_everywhere(unsigned int op)
{
	cpu_set_t all;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all))
		die(1, "sched_getaffinity: %s", strerror(errno));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		pin(cpu);
		mark(op, label);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

static int counted_command(char **argv)
{
	int status;
	pid_t pid;

	mark_everywhere(MARK_BEGIN);
	pid = fork();
	if (pid < 0)
		die(1, "fork: %s", strerror(errno));
	if (!pid) {
		execvp(argv[0], argv);
		fprintf(stderr, "count: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	waitpid(pid, &status, 0);
	mark_everywhere(MARK_END);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void __attribute__((noreturn)) usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: count [-l LABEL] [-c CPU] ask | loop N | switch thread|process N |"
		" -- COMMAND [ARG...]\n");
	exit(status);
}

int main(int argc, char **argv)
{
	const char *what;
	int opt, cpu = -1;
	bool thread;

	while ((opt = getopt(argc, argv, "+hl:c:")) != -1) {
		switch (opt) {
		case 'h':
			usage(0);
		case 'l':
			label = number(optarg, "label", 0, UINT32_MAX);
			break;
		case 'c':
			cpu = number(optarg, "CPU", 0, CPU_SETSIZE - 1);
			break;
		default:
			usage(2);
		}
	}
	argv += optind;
	argc -= optind;
	if (!argc)
		usage(2);
	what = argv[0];

	if (!strcmp(argv[-1], "--")) {
		must_count();
		if (cpu >= 0)
			pin(cpu);
		return counted_command(argv);
	}
	if (!strcmp(what, "ask") && argc == 1) {
		must_count();
	} else if (!strcmp(what, "loop") && argc == 2) {
		const uint64_t n = number(argv[1], "loop", 1, UINT64_MAX / 2 - 1);

		must_count();
		pin(cpu >= 0 ? cpu : sched_getcpu());
		mark_loop(label, n);
	} else if (!strcmp(what, "switch") && argc == 3) {
		const uint64_t n = number(argv[2], "switch", 1, 1 << 20);

		thread = !strcmp(argv[1], "thread");
		if (!thread && strcmp(argv[1], "process"))
			die(2, "switch between '%s'? say thread or process", argv[1]);
		must_count();
		pin(cpu >= 0 ? cpu : sched_getcpu());
		counted_switches(thread, n);
	} else {
		usage(2);
	}
	return 0;
}
