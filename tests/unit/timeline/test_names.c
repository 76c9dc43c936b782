// SPDX-License-Identifier: GPL-2.0
/*
 * What is one function, by its names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "user/timeline/names.h"

static bool same(const char *a, const char *b)
{
	const struct mt_function fa = { 0x1000, 0x2000, a, "prog" };
	const struct mt_function fb = { 0x5000, 0x6000, b, "prog" };

	assert_int_equal(mt_function_same(&fa, &fb), mt_function_same(&fb, &fa));
	return mt_function_same(&fa, &fb);
}

static void test_parts(void **state)
{
	(void)state;
	assert_true(same("f", "f.cold"));
	assert_true(same("f", "f.cold.17"));
	assert_true(same("f", "f.part.0"));
	assert_true(same("f.part.0", "f.part.1"));
	assert_true(same("f.part.0", "f.part.0.cold"));
	assert_true(same("f.constprop.0.isra.0", "f.cold"));
	assert_true(same("f", "f.llvm.1234567890"));
	assert_true(same("f(int)", "f(int) [clone .cold]"));
	assert_true(same("f(int) [clone .part.0]", "f(int) [clone .part.0] [clone .cold]"));
}

static void test_not_parts(void **state)
{
	const struct mt_function a = { 0x1000, 0x2000, "f", "prog" };
	const struct mt_function b = { 0x5000, 0x6000, "f.cold", "libother.so" };

	(void)state;
	assert_false(same("f", "g"));
	assert_false(same("f", "ff"));
	assert_false(same("f", "g.cold"));
	assert_false(same("f", "f@plt"));
	assert_false(same("f(int)", "f(char) [clone .cold]"));
	/* static functions of one name, in two files */
	assert_false(same("f", "f"));
	/* not a suffix that compilers make */
	assert_false(same("main", "main.fib"));
	assert_false(same("f", "f.1"));
	assert_false(same("f", "f.colder"));
	/* a name that is nothing but a suffix is a name */
	assert_false(same(".cold", ".part.0"));
	assert_false(same("", ".cold"));
	assert_false(mt_function_same(&a, &b));
	assert_true(mt_function_same(&a, &a));
}

static unsigned int traits(const char *name)
{
	const struct mt_function fn = { 0x1000, 0x2000, name, "libc.so.6" };

	return mt_function_traits(&fn);
}

static void test_traits(void **state)
{
	(void)state;
	assert_int_equal(traits("_setjmp"), MT_TRAIT_SETJMP);
	assert_int_equal(traits("_setjmp@plt"), MT_TRAIT_SETJMP);
	assert_int_equal(traits("__sigsetjmp@@GLIBC_2.2.5"), MT_TRAIT_SETJMP);
	assert_int_equal(traits("my_setjmp"), 0);
	assert_int_equal(traits("setjmp2"), 0);
	assert_int_equal(traits("set"), 0);
	assert_int_equal(traits(""), 0);
	assert_int_equal(traits("__longjmp"), MT_TRAIT_LONGJMP);
	assert_int_equal(traits("_Unwind_Resume"), MT_TRAIT_UNWINDER);
	assert_int_equal(traits("execve"), MT_TRAIT_EXEC);
	assert_int_equal(traits("_start"), MT_TRAIT_ENTRY_POINT);
	assert_int_equal(traits("__restore_rt"), MT_TRAIT_RESTORER);
	assert_int_equal(traits("f.cold"), MT_TRAIT_COLD);
	assert_int_equal(traits("f.cold.3"), MT_TRAIT_COLD);
	assert_int_equal(traits("f(int) [clone .cold]"), MT_TRAIT_COLD);
	assert_int_equal(traits("f.colder"), 0);
	assert_int_equal(traits("f.part.0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_not_parts),
		cmocka_unit_test(test_traits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
