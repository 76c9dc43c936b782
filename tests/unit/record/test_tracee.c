// SPDX-License-Identifier: GPL-2.0
/*
 * The traced program's life under real ptrace: children, signals, exec, threads,
 * and each way to end. The programs say by their exit status what they saw.
 */
#include <netinet/in.h>

#include "traced_program.h"

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
	(void)state;
	assert_non_null(mkdtemp(dir));
	build("plain", "", plain);
	build("fixed", "-no-pie", plain);
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

/* ---- the tests ---- */

static void test_no_trigger(void **state)
{
	struct run run = run_program(NULL, false, "plain 3");

	(void)state;
	check_exit(&run, 7);
	assert_int_equal(run.execs, 1);
	assert_int_equal(run.hits, 0);
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

/* Two ends of a TCP connection, which has urgent data; [1] is read from. */
static void make_pair(int fds[2])
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(server, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &len), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&address, len), 0);
	fds[1] = accept(server, NULL, NULL);
	assert_true(fds[1] >= 0);
	close(server);
}

/* While the program sleeps, and while it is stopped, the tool hears of the file. */
static void test_watched(void **state)
{
	struct run run = { 0 };
	int fds[2];

	(void)state;
	make_pair(fds);
	run.watched_fd = fds[1];
	assert_int_equal(send(fds[0], "1", 1, MSG_OOB), 1);
	run_line(&run, "main", "stopper");
	check_exit(&run, 9);
	assert_int_equal(run.hits, 1);
	assert_int_equal(run.watched, 1);
	/* What is not urgent is nobody's business. */
	run = (struct run){ .watched_fd = fds[1] };
	assert_int_equal(send(fds[0], "1", 1, 0), 1);
	run_line(&run, NULL, "stopper");
	check_exit(&run, 9);
	assert_int_equal(run.watched, 0);
	close(fds[0]);
	close(fds[1]);
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
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_child_survives),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_stop_and_continue),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_free_kills),
	};

	return cmocka_run_group_tests(tests, build_all, remove_all);
}
