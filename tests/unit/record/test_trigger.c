// SPDX-License-Identifier: GPL-2.0
/*
 * The trigger, in real programs under real ptrace and with no device: what a
 * session would snapshot is counted. The programs say by their exit status how
 * often they called what is looked for.
 */
#include "traced_program.h"

/* ---- the programs ---- */

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
	return 0;
}

/* ---- the tests ---- */

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

int main(void)
{
	static const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, build_all, remove_all);
}
