// SPDX-License-Identifier: GPL-2.0
/*
 * The traced program and the trigger, with real programs under real ptrace and
 * no device: what a session would snapshot is counted. The programs are compiled
 * here, and say by their exit status how often they called what is looked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/log.h"
#include "user/record/tracee.h"
#include "user/record/trigger.h"
#include "user/recording/recording.h"

static char dir[] = "/tmp/mtrace-test-XXXXXX";

/* What happened to one program. */
struct run {
	struct mt_tracee *tracee;
	struct mt_trigger *trigger;
	bool once;		/* disarm at the first hit */
	bool watch;		/* have a trigger without a symbol */
	unsigned int hits;
	unsigned int other_hits;	/* in threads other than the first */
	unsigned int libraries;	/* changes that the linker told of */
	unsigned int execs;
	unsigned int threads;
	unsigned int last_exits;
	unsigned int interrupts;
	uint64_t addresses[8];	/* of the first hits */
	int status;
	unsigned int children;
};

static int on_exec(void *ctx, pid_t tid)
{
	struct run *run = ctx;

	run->execs++;
	return run->trigger ? mt_trigger_exec(run->trigger, tid) : 0;
}

static int on_thread(void *ctx, pid_t tid)
{
	struct run *run = ctx;

	assert_int_not_equal(tid, mt_tracee_pid(run->tracee));
	run->threads++;
	return 0;
}

static int on_trap(void *ctx, pid_t tid, const siginfo_t *info)
{
	struct run *run = ctx;
	uint64_t address;
	int event;

	if (!run->trigger)
		return 0;
	event = mt_trigger_trap(run->trigger, tid, info, &address);
	if (event == MT_TRIGGER_HIT) {
		if (run->hits < 8)
			run->addresses[run->hits] = address;
		run->hits++;
		run->other_hits += tid != mt_tracee_pid(run->tracee);
		if (run->once) {
			mt_trigger_disarm(run->trigger);
			mt_tracee_changed(run->tracee, false);
		}
		return 1;
	}
	run->libraries += event == MT_TRIGGER_LOADED || event == MT_TRIGGER_LIBRARIES;
	if (event == MT_TRIGGER_LOADED) {
		int err = mt_tracee_changed(run->tracee, true);

		return err ? err : 1;
	}
	return event == MT_TRIGGER_NONE ? 0 : event < 0 ? event : 1;
}

static int on_last_exit(void *ctx, pid_t tid)
{
	struct run *run = ctx;
	char name[64];

	/* There is memory still to be looked at. */
	snprintf(name, sizeof(name), "/proc/%d/maps", tid);
	assert_int_equal(access(name, R_OK), 0);
	run->last_exits++;
	return 0;
}

static int on_interrupted(void *ctx, int signal)
{
	struct run *run = ctx;

	(void)signal;
	run->interrupts++;
	return 0;
}

static int on_sync(void *ctx, pid_t tid)
{
	struct run *run = ctx;

	return run->trigger ? mt_trigger_sync(run->trigger, tid) : 0;
}

static const struct mt_tracee_ops ops = {
	on_exec, on_thread, on_trap, on_last_exit, on_interrupted, on_sync,
};

static void run_line(struct run *run, const char *symbol, const char *line)
{
	char copy[512], *argv[16];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s/%s", dir, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	if (symbol || run->watch)
		assert_int_equal(mt_trigger_new(symbol, &run->trigger), 0);
	assert_int_equal(mt_tracee_start(argv, &ops, run, &run->tracee), 0);
	assert_int_equal(on_exec(run, mt_tracee_pid(run->tracee)), 0);
	assert_int_equal(mt_tracee_run(run->tracee), 0);
	run->status = mt_tracee_status(run->tracee);
	run->children = mt_tracee_children(run->tracee);
	if (symbol && !run->hits)
		mt_trigger_report_never(run->trigger);
	mt_tracee_free(run->tracee);
	mt_trigger_free(run->trigger);
}

static struct run run_program(const char *symbol, bool once, const char *line)
{
	struct run run = { .once = once };

	run_line(&run, symbol, line);
	return run;
}

/* ---- the programs ---- */

static void build(const char *name, const char *flags, const char *source)
{
	char path[128], command[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.c", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(source, file);
	fclose(file);
	snprintf(command, sizeof(command), "cc -O1 -g0 -w -o %s/%s %s %s", dir, name, path, flags);
	assert_int_equal(system(command), 0);
}

/* argv[1] calls of hit(); exits with 7. */
static const char plain[] =
	"#include <stdlib.h>\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"int variable;\n"
	"int main(int c, char **v) { int n = c > 1 ? atoi(v[1]) : 1;\n"
	"  while (n--) hit(); return 7; }\n";

/* Two threads and the first call hit() 5 times each, main first starts them all. */
static const char threaded[] =
	"#include <pthread.h>\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"static void *work(void *x) { for (int i = 0; i < 5; i++) hit(); return x; }\n"
	"int main(void) { pthread_t t[2]; for (int i = 0; i < 2; i++)\n"
	"  pthread_create(&t[i], 0, work, 0); work(0);\n"
	"  for (int i = 0; i < 2; i++) pthread_join(t[i], 0); return 0; }\n";

/* A crowd of threads that live long, and many that do not: 1,000 calls of hit(). */
static const char crowd[] =
	"#include <pthread.h>\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"static void *shortly(void *x) { hit(); return x; }\n"
	"static void *work(void *x) { pthread_t t; for (int i = 0; i < 50; i++) {\n"
	"  hit(); pthread_create(&t, 0, shortly, 0); pthread_join(t, 0); } return x; }\n"
	"int main(void) { pthread_t t[9]; for (int i = 0; i < 9; i++)\n"
	"  pthread_create(&t[i], 0, work, 0); work(0);\n"
	"  for (int i = 0; i < 9; i++) pthread_join(t[i], 0); return 0; }\n";

/* Its constructor calls lib_hit() once, lib_call() each time. */
static const char library[] =
	"__attribute__((noinline)) void lib_hit(void) { __asm__ volatile(\"\"); }\n"
	"static __attribute__((noinline)) void lib_local(void) { __asm__ volatile(\"\"); }\n"
	"static __attribute__((noinline)) void _dl_exception_free(void)\n"
	"  { __asm__ volatile(\"\"); }\n"
	"__attribute__((constructor)) static void begin(void)\n"
	"  { lib_hit(); lib_local(); _dl_exception_free(); }\n"
	"void lib_call(void) { lib_hit(); }\n"
	"static void chosen_one(void) { __asm__ volatile(\"\"); }\n"
	"static void (*choose(void))(void) { return chosen_one; }\n"
	"void lib_chosen(void) __attribute__((ifunc(\"choose\")));\n";

static const char linked[] =
	"void lib_call(void); void lib_chosen(void);\n"
	"int main(void) { lib_call(); lib_call(); lib_chosen(); return 0; }\n";

/* A thread spins, hitting nothing, until the library is there, and then calls it. */
static const char opener[] =
	"#include <dlfcn.h>\n#include <pthread.h>\n"
	"static void (*volatile call)(void);\n"
	"static void *work(void *x) { while (!call) ; call(); call(); return x; }\n"
	"int main(int c, char **v) { pthread_t t; void *lib;\n"
	"  pthread_create(&t, 0, work, 0); lib = dlopen(v[1], RTLD_NOW); if (!lib) return 1;\n"
	"  call = dlsym(lib, \"lib_call\"); pthread_join(t, 0); call(); return 0; }\n";

/*
 * A library of one function, whatever its name: such libraries are of one size, and
 * go to one place, one after the other.
 */
static const char filled[] =
	"__attribute__((noinline)) void NAME(void) { __asm__ volatile(\"\"); }\n";

/*
 * Loads and unloads argv[1] ... in turn, calling its function three times each. A
 * name of "-" takes the place where the first one was. Exits with the number of
 * libraries that came to that place.
 */
static const char loader[] =
	"#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdint.h>\n#include <sys/mman.h>\n"
	"int main(int c, char **v) { void *first = 0; int same = 0;\n"
	"  for (int i = 1; i < c; i++) { void *lib, *f;\n"
	"    if (*v[i] == '-') {\n"
	"      if (mmap((void *)((uintptr_t)first & ~4095UL), 4096, PROT_READ, MAP_PRIVATE |\n"
	"          MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED) return 97;\n"
	"      continue; }\n"
	"    lib = dlopen(v[i], RTLD_NOW); if (!lib) return 99;\n"
	"    f = dlsym(lib, \"hit\"); if (!f) f = dlsym(lib, \"other\");\n"
	"    if (!first) first = f; same += f == first;\n"
	"    for (int n = 0; n < 3; n++) ((void (*)(void))f)();\n"
	"    if (dlclose(lib)) return 98; }\n"
	"  return same; }\n";

/* A child of each kind calls hit(), and so does the program, once each. */
static const char forker[] =
	"#define _GNU_SOURCE\n#include <sched.h>\n#include <signal.h>\n#include <unistd.h>\n"
	"#include <sys/wait.h>\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"static char stack[65536];\n"
	"static int child(void *x) { hit(); _exit(3); }\n"
	"int main(void) { int st, sum = 0; hit();\n"
	"  if (!fork()) child(0); wait(&st); sum += WEXITSTATUS(st);\n"
	"  if (!vfork()) child(0); wait(&st); sum += WEXITSTATUS(st);\n"
	"  clone(child, stack + sizeof(stack), SIGCHLD, 0); wait(&st); sum += WEXITSTATUS(st);\n"
	"  clone(child, stack + sizeof(stack), CLONE_VM, 0); waitpid(-1, &st, __WALL);\n"
	"  return sum + WEXITSTATUS(st); }\n";

/* Leaves a child behind that makes the file argv[1] after the program's end. */
static const char leaver[] =
	"#include <fcntl.h>\n#include <unistd.h>\n"
	"int main(int c, char **v) { if (!fork()) { usleep(300000); open(v[1], O_CREAT, 0600);\n"
	"  _exit(0); } return 0; }\n";

/* Signals of its own, traps among them, each counted; exits with their sum. */
static const char signals[] =
	"#include <signal.h>\n#include <unistd.h>\n"
	"static volatile int n;\n"
	"static void on(int s, siginfo_t *i, void *u) { if (i->si_signo == s) n++; }\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"int main(void) { struct sigaction a = { .sa_sigaction = on, .sa_flags = SA_SIGINFO };\n"
	"  sigaction(SIGTRAP, &a, 0); sigaction(SIGUSR1, &a, 0); sigaction(SIGCHLD, &a, 0);\n"
	"  raise(SIGTRAP); __asm__ volatile(\"int3\"); kill(getpid(), SIGTRAP); raise(SIGUSR1);\n"
	"  raise(SIGCHLD); hit(); return n; }\n";

/* Stops itself; a child wakes it a moment later. */
static const char stopper[] =
	"#include <signal.h>\n#include <unistd.h>\n#include <sys/wait.h>\n"
	"int main(void) { int st; pid_t me = getpid();\n"
	"  if (!fork()) { int i; char b[64], c = 0; for (i = 0; i < 200; i++) {\n"
	"    usleep(10000); if (i == 20) kill(me, SIGCONT); } _exit(0); }\n"
	"  raise(SIGSTOP); return 9; }\n";

/* Executes argv[1] ... from a thread that is not its first. */
static const char execer[] =
	"#include <pthread.h>\n#include <unistd.h>\n"
	"static char **args;\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"static void *work(void *x) { hit(); execv(args[1], args + 1); _exit(1); }\n"
	"static void *idle(void *x) { pause(); return x; }\n"
	"int main(int c, char **v) { pthread_t t; args = v; hit();\n"
	"  pthread_create(&t, 0, idle, 0); pthread_create(&t, 0, work, 0); pause(); }\n";

static const char killed[] =
	"#include <signal.h>\n#include <unistd.h>\n#include <pthread.h>\n"
	"static void *work(void *x) { for (;;) ; }\n"
	"int main(int c, char **v) { pthread_t t; pthread_create(&t, 0, work, 0);\n"
	"  pthread_create(&t, 0, work, 0); if (c > 1) kill(getpid(), SIGKILL);\n"
	"  else _exit(4); }\n";

/* The first thread ends, and a second one does later. */
static const char leader_first[] =
	"#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"__attribute__((noinline)) void hit(void) { __asm__ volatile(\"\"); }\n"
	"static void *work(void *x) { usleep(100000); hit(); exit(6); }\n"
	"int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_exit(0); }\n";

static const char sleeper[] =
	"#include <signal.h>\n#include <unistd.h>\n#include <string.h>\n"
	"int main(int c, char **v) { if (c > 1) signal(SIGTERM, SIG_IGN);\n"
	"  kill(getppid(), SIGTERM); for (;;) pause(); }\n";

static int build_all(void **state)
{
	char flags[256];

	(void)state;
	assert_non_null(mkdtemp(dir));
	build("plain", "", plain);
	build("fixed", "-no-pie", plain);
	build("static", "-static", plain);
	build("stripped", "-s", plain);
	build("threaded", "-pthread", threaded);
	build("crowd", "-pthread", crowd);
	build("lib.so", "-shared -fPIC -Wl,-soname,lib.so", library);
	snprintf(flags, sizeof(flags), "%s/lib.so -Wl,-rpath,%s", dir, dir);
	build("linked", flags, linked);
	snprintf(flags, sizeof(flags), "%s/lib.so -Wl,-rpath,%s -Wl,-z,now", dir, dir);
	build("linked_now", flags, linked);
	build("hit.so", "-shared -fPIC -DNAME=hit", filled);
	build("other.so", "-shared -fPIC -DNAME=other", filled);
	build("loader", "-ldl", loader);
	build("opener", "-pthread -ldl", opener);
	build("forker", "", forker);
	build("leaver", "", leaver);
	build("signals", "", signals);
	build("stopper", "", stopper);
	build("execer", "-pthread", execer);
	build("killed", "-pthread", killed);
	build("leader_first", "-pthread", leader_first);
	build("sleeper", "", sleeper);
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	return mt_recording_remove(dir);
}

/* ---- the tests ---- */

static void check_exit(const struct run *run, int code)
{
	if (!WIFEXITED(run->status) || WEXITSTATUS(run->status) != code)
		fail_msg("status 0x%x, not exit %d", run->status, code);
	assert_int_equal(run->last_exits, 1);
}

/* The low bits of hit()'s address, by nm. */
static uint64_t nm_address(const char *program, const char *symbol)
{
	char command[256];
	unsigned long address = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s/%s | awk '$3 == \"%s\" { print $1 }'", dir,
		 program, symbol);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%lx", &address), 1);
	pclose(pipe);
	return address;
}

static void test_no_trigger(void **state)
{
	struct run run = run_program(NULL, false, "plain 3");

	(void)state;
	check_exit(&run, 7);
	assert_int_equal(run.execs, 1);
	assert_int_equal(run.hits, 0);
}

static void test_program(void **state)
{
	static const char *const programs[] = { "plain", "fixed", "static" };
	char line[64];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct run run;
		uint64_t address = nm_address(programs[i], "hit");

		snprintf(line, sizeof(line), "%s 20", programs[i]);
		run = run_program("hit", false, line);
		check_exit(&run, 7);
		assert_int_equal(run.hits, 20);
		assert_int_equal(run.addresses[0] & 0xfff, address & 0xfff);
		if (i)
			assert_true(run.addresses[0] == address);
		run = run_program("symbol:hit", true, line);
		check_exit(&run, 7);
		assert_int_equal(run.hits, 1);
	}
}

static void test_main_and_start(void **state)
{
	struct run run = run_program("main", false, "plain");

	(void)state;
	assert_int_equal(run.hits, 1);
	run = run_program("_start", false, "fixed");
	assert_int_equal(run.hits, 1);
}

static void test_not_found(void **state)
{
	static const char *const names[] = { "no_such_function", "variable", "hix" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct run run = run_program(names[i], false, "plain");

		check_exit(&run, 7);
		assert_int_equal(run.hits, 0);
		run = run_program(names[i], false, "static");
		check_exit(&run, 7);
		assert_int_equal(run.hits, 0);
	}
}

static void test_names(void **state)
{
	struct mt_trigger *trigger;

	(void)state;
	assert_int_equal(mt_trigger_new("", &trigger), -EINVAL);
	assert_int_equal(mt_trigger_new("symbol:", &trigger), -EINVAL);
	assert_int_equal(mt_trigger_new("?", &trigger), -EINVAL);
	assert_int_equal(mt_trigger_new(".", &trigger), 0);
	assert_string_equal(mt_trigger_symbol(trigger), "magic_trace_stop_indicator");
	mt_trigger_free(trigger);
}

static void test_threads(void **state)
{
	struct run run = run_program("hit", false, "threaded");

	(void)state;
	check_exit(&run, 0);
	assert_int_equal(run.threads, 2);
	assert_int_equal(run.hits, 15);
	assert_int_equal(run.other_hits, 10);
	run = run_program("hit", true, "threaded");
	check_exit(&run, 0);
	assert_int_equal(run.hits, 1);
}

static void test_crowd(void **state)
{
	struct run run = run_program("hit", false, "crowd");

	(void)state;
	check_exit(&run, 0);
	assert_int_equal(run.threads, 9 + 500);
	assert_int_equal(run.hits, 1000);
}

/* In a library that the program is linked with: its constructor's call too. */
static void test_library(void **state)
{
	struct run run = run_program("lib_hit", false, "linked");

	(void)state;
	check_exit(&run, 0);
	assert_int_equal(run.hits, 3);
	/* Not exported, and called by the constructor alone. */
	run = run_program("lib_local", false, "linked");
	assert_int_equal(run.hits, 1);
	/* Of the C library. */
	run = run_program("exit", false, "plain");
	assert_int_equal(run.hits, 1);
	/* Of the dynamic linker itself, before any library is there. */
	run = run_program("_dl_debug_state", false, "plain");
	assert_true(run.hits >= 1);
	/* That the linker has a function of the name is no reason to miss a library's. */
	run = run_program("_dl_exception_free", false, "linked");
	assert_int_equal(run.hits, 1);
	assert_int_equal(run.addresses[0] & 0xfff,
			 nm_address("lib.so", "_dl_exception_free") & 0xfff);
}

static void test_stripped(void **state)
{
	struct run run = run_program("hit", false, "stripped");

	(void)state;
	check_exit(&run, 7);
	assert_int_equal(run.hits, 0);
	run = run_program("exit", false, "stripped 2");
	assert_int_equal(run.hits, 1);
}

/* At dlopen(), in one thread while another spins: both have the breakpoint then. */
static void test_dlopen(void **state)
{
	char line[256];
	struct run run;

	(void)state;
	snprintf(line, sizeof(line), "opener %s/lib.so", dir);
	run = run_program("lib_hit", false, line);
	check_exit(&run, 0);
	assert_int_equal(run.hits, 4);
	assert_int_equal(run.other_hits, 2);
}

/* Where a library was that is gone, another function is not the trigger. */
static void test_dlclose(void **state)
{
	char line[512];
	struct run run;

	(void)state;
	snprintf(line, sizeof(line), "loader %s/hit.so %s/other.so %s/other.so", dir, dir, dir);
	run = run_program("hit", false, line);
	/* All three were at one place, or this shows nothing. */
	check_exit(&run, 3);
	assert_int_equal(run.hits, 3);
	/* And it is one again when its library is there again. */
	snprintf(line, sizeof(line), "loader %s/hit.so %s/other.so %s/hit.so", dir, dir, dir);
	run = run_program("hit", false, line);
	check_exit(&run, 3);
	assert_int_equal(run.hits, 6);
}

/* A library that is loaded again, elsewhere. */
static void test_dlopen_again(void **state)
{
	char line[512];
	struct run run;

	(void)state;
	snprintf(line, sizeof(line), "loader %s/hit.so - %s/hit.so %s/hit.so", dir, dir, dir);
	run = run_program("hit", false, line);
	check_exit(&run, 1);
	assert_int_equal(run.hits, 9);
	assert_true(run.addresses[0] != run.addresses[3]);
	/* One that comes after another of that name was found, and has not gone. */
	snprintf(line, sizeof(line), "opener %s/lib.so", dir);
	run = run_program("_dl_exception_free", false, line);
	check_exit(&run, 0);
	assert_int_equal(run.hits, 1);
	assert_int_equal(run.addresses[0] & 0xfff,
			 nm_address("lib.so", "_dl_exception_free") & 0xfff);
}

/* Without a symbol the dynamic linker is watched, and nothing is hit. */
static void test_no_symbol(void **state)
{
	char line[512];
	struct run run = { 0 };

	(void)state;
	snprintf(line, sizeof(line), "loader %s/hit.so %s/other.so", dir, dir);
	run.watch = true;
	run_line(&run, NULL, line);
	check_exit(&run, 2);
	assert_int_equal(run.hits, 0);
	/* At least before and after each of two loadings and unloadings. */
	assert_true(run.libraries >= 8);
	run = (struct run){ .watch = true };
	run_line(&run, NULL, "static 3");
	check_exit(&run, 7);
	assert_int_equal(run.libraries, 0);
}

/* An indirect function is waited for as the function that it stands for. */
static void test_ifunc(void **state)
{
	static const char *const programs[] = { "linked", "linked_now" };
	uint64_t address = nm_address("lib.so", "chosen_one");

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct run run = run_program("lib_chosen", false, programs[i]);

		check_exit(&run, 0);
		assert_int_equal(run.hits, 1);
		assert_int_equal(run.addresses[0] & 0xfff, address & 0xfff);
	}
}

static void test_children(void **state)
{
	struct run run = run_program("hit", false, "forker");

	(void)state;
	/* Each child has exited as it should, untouched, and only the program was hit. */
	check_exit(&run, 12);
	assert_int_equal(run.hits, 1);
	assert_int_equal(run.children, 4);
}

static void test_child_survives(void **state)
{
	char line[256], file[128];
	struct run run;
	struct stat st;
	int tries = 0;

	(void)state;
	snprintf(file, sizeof(file), "%s/made", dir);
	snprintf(line, sizeof(line), "leaver %s", file);
	run = run_program("main", false, line);
	check_exit(&run, 0);
	while (stat(file, &st) && tries++ < 500)
		usleep(10000);
	assert_int_equal(stat(file, &st), 0);
}

static void test_signals(void **state)
{
	struct run run = run_program("hit", false, "signals");

	(void)state;
	check_exit(&run, 5);
	assert_int_equal(run.hits, 1);
}

static void test_stop_and_continue(void **state)
{
	struct run run = run_program("main", false, "stopper");

	(void)state;
	check_exit(&run, 9);
}

static void test_exec(void **state)
{
	char line[256];
	struct run run;

	(void)state;
	snprintf(line, sizeof(line), "execer %s/fixed 3", dir);
	run = run_program("hit", false, line);
	check_exit(&run, 7);
	assert_int_equal(run.execs, 2);
	assert_int_equal(run.hits, 2 + 3);
	assert_int_equal(run.other_hits, 1);
	assert_true(run.addresses[2] == nm_address("fixed", "hit"));
}

static void test_ends(void **state)
{
	struct run run = run_program(NULL, false, "killed");

	(void)state;
	check_exit(&run, 4);
	run = run_program(NULL, false, "killed by");
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGKILL);
	/* SIGKILL ends the stop at the exit too, mostly before it is seen: ptrace(2). */
	assert_true(run.last_exits <= 1);
	run = run_program("hit", false, "leader_first");
	check_exit(&run, 6);
	assert_int_equal(run.hits, 1);
	assert_int_equal(run.other_hits, 1);
}

static void test_interrupted(void **state)
{
	struct run run = run_program(NULL, false, "sleeper");

	(void)state;
	assert_int_equal(run.interrupts, 1);
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGTERM);
	assert_int_equal(run.last_exits, 1);
	/* One that does not care is killed. */
	run = run_program(NULL, false, "sleeper ignoring");
	assert_int_equal(run.interrupts, 1);
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGKILL);
}

static void test_cannot_start(void **state)
{
	static const struct {
		const char *name;
		int err;
	} names[] = {
		{ "/no/such/program", -ENOENT },
		{ "mtrace-no-such-program", -ENOENT },
		{ "/etc/passwd", -EACCES },
		{ "/etc", -EACCES },
	};
	struct mt_tracee *tracee;
	struct run run = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *argv[] = { (char *)(uintptr_t)names[i].name, NULL };

		assert_int_equal(mt_tracee_start(argv, &ops, &run, &tracee), names[i].err);
	}
	/* Nothing is left of them. */
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* A program that is not let run to its end is killed, its threads too. */
static void test_free_kills(void **state)
{
	char path[128], *argv[] = { path, NULL };
	struct run run = { 0 };
	struct mt_tracee *tracee;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/sleeper", dir);
	assert_int_equal(mt_tracee_start(argv, &ops, &run, &tracee), 0);
	pid = mt_tracee_pid(tracee);
	assert_int_equal(kill(pid, 0), 0);
	mt_tracee_free(tracee);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_trigger),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_main_and_start),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_dlopen),
		cmocka_unit_test(test_dlclose),
		cmocka_unit_test(test_dlopen_again),
		cmocka_unit_test(test_no_symbol),
		cmocka_unit_test(test_ifunc),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_child_survives),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_stop_and_continue),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_free_kills),
	};

	return cmocka_run_group_tests(tests, build_all, remove_all);
}
