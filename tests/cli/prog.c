// SPDX-License-Identifier: GPL-2.0
/*
 * A program to be traced, with calls that are known from reading it:
 *
 *	prog			main -> outer -> inner -> target, once
 *	prog loop N		the same N times
 *	prog lib		main -> lib_entry (libcli.so) -> lib_target
 *	prog dlopen FILE	the same after dlopen(FILE)
 *	prog dlclose FILE	target; late_entry of FILE, whose address is printed, between
 *				dlopen(FILE) and dlclose(); target again
 *	prog thread		a second thread calls thread_outer -> target
 *	prog threads N M	N threads at a time, each calling thread_outer -> target M times
 *	prog serial N		the same once in each of N threads, one after the other
 *	prog forever		prints "ready", then outer -> inner -> target until killed
 *	prog slow		the same, three times a second, in silence
 *	prog quiet		outer_quiet only: target is never called
 *	prog exit N		exits with N
 *	prog abort		dies by SIGABRT
 *	prog fork		a child calls target, then the parent does
 *	prog exec FILE ARG	becomes FILE ARG
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))

int lib_entry(int n);
volatile int sink;
int target_data;

NOINLINE void target(int n)
{
	sink = n;
}

NOINLINE static void inner(int n)
{
	target(n);
	sink++;
}

NOINLINE static void outer(int n)
{
	inner(n);
	sink++;
}

NOINLINE static void outer_quiet(void)
{
	sink++;
}

NOINLINE static void *thread_outer(void *arg)
{
	target(7);
	sink++;
	return arg;
}

static int times;

NOINLINE static void *thread_times(void *arg)
{
	for (int i = 0; i < times; i++)
		thread_outer(arg);
	return arg;
}

/* So many threads, @apart: each when the one before has ended. */
static int run_threads(int count, int apart)
{
	pthread_t threads[64];

	for (int i = 0; i < count; i++) {
		pthread_t *thread = &threads[apart ? 0 : i];

		if (pthread_create(thread, NULL, thread_times, NULL))
			return 99;
		if (apart)
			pthread_join(*thread, NULL);
	}
	for (int i = 0; i < count && !apart; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int call_late(const char *file)
{
	void *lib = dlopen(file, RTLD_NOW);
	int (*entry)(int) = lib ? (int (*)(int))dlsym(lib, "late_entry") : NULL;

	if (!entry)
		return -1;
	printf("%p\n", (void *)entry);
	sink = entry(3);
	return dlclose(lib);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "loop";

	if (!strcmp(what, "loop")) {
		for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 1); i++)
			outer(i);
	} else if (!strcmp(what, "lib")) {
		sink = lib_entry(1);
	} else if (!strcmp(what, "dlopen") && argc > 2) {
		void *lib = dlopen(argv[2], RTLD_NOW);
		int (*entry)(int) = lib ? (int (*)(int))dlsym(lib, "late_entry") : NULL;

		if (!entry)
			return 99;
		sink = entry(2);
	} else if (!strcmp(what, "dlclose") && argc > 2) {
		outer(1);
		if (call_late(argv[2]))
			return 99;
		outer(2);
	} else if (!strcmp(what, "thread")) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_outer, NULL))
			return 99;
		pthread_join(thread, NULL);
	} else if (!strcmp(what, "threads") && argc > 3 && atoi(argv[2]) <= 64) {
		times = atoi(argv[3]);
		return run_threads(atoi(argv[2]), 0);
	} else if (!strcmp(what, "serial") && argc > 2) {
		times = 1;
		return run_threads(atoi(argv[2]), 1);
	} else if (!strcmp(what, "forever")) {
		puts("ready");
		fflush(stdout);
		for (int i = 0;; i++)
			outer(i);
	} else if (!strcmp(what, "slow")) {
		for (int i = 0;; i++) {
			usleep(300000);
			outer(i);
		}
	} else if (!strcmp(what, "quiet")) {
		outer_quiet();
	} else if (!strcmp(what, "exit") && argc > 2) {
		return atoi(argv[2]);
	} else if (!strcmp(what, "abort")) {
		abort();
	} else if (!strcmp(what, "fork")) {
		pid_t child = fork();

		if (!child) {
			target(1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		outer(2);
	} else if (!strcmp(what, "exec") && argc > 3) {
		execl(argv[2], argv[2], argv[3], (char *)NULL);
		return 99;
	} else {
		return 98;
	}
	return 0;
}
