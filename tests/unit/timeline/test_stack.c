// SPDX-License-Identifier: GPL-2.0
/*
 * The call stack within the scope: calls, returns, jumps, unwinding, callers that
 * were not seen being called, gaps. Each flow and its tree are written by hand.
 */
#include "tests/unit/timeline/flow_text.h"

static void test_call_and_return(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > fib\n"
		   "call fib+8 > fib\n"
		   "ret fib+30 > fib+d\n"
		   "ret fib+30 > main+25\n"
		   "call main+30 > puts\n"
		   "ret puts+9 > main+35\n"
		   "end main+40",
		   "main 1-8 no-call no-return\n"
		   "  fib 2-5\n"
		   "    fib 3-4\n"
		   "  puts 6-7\n");
}

/* What is open at the end ends there. */
static void test_end_of_trace(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; call a+4 > b; end b+9",
		   "main 1-4 no-call no-return\n"
		   "  a 2-4 no-return\n"
		   "    b 3-4 no-return\n");
}

/* Each return below the first frame finds a caller that encloses all before it. */
static void test_callers_not_seen(void **state)
{
	(void)state;
	check_flow("start c+10\n"
		   "call c+12 > d\n"
		   "ret d+3 > c+17\n"
		   "ret c+20 > b+10\n"
		   "call b+12 > e\n"
		   "ret e+3 > b+17\n"
		   "ret b+20 > a+10\n"
		   "end a+14",
		   "a 1-8 no-call no-return\n"
		   "  b 1-7 no-call\n"
		   "    c 1-4 no-call\n"
		   "      d 2-3\n"
		   "    e 5-6\n");
}

/* A thousand unseen callers: depth and order hold. */
static void test_many_callers_not_seen(void **state)
{
	char *flow = malloc(100000);
	char *expected = malloc(4000000);
	size_t f = 0, e = 0;
	int i;

	(void)state;
	f += sprintf(flow + f, "start leaf+10");
	for (i = 0; i < 1000; i++)
		f += sprintf(flow + f, ";ret %s+20 > rec+10", i ? "rec" : "leaf");
	sprintf(flow + f, "; end rec+30");
	for (i = 0; i < 1000; i++)
		e += sprintf(expected + e, "%*srec 1-%d no-call%s\n", i * 2, "",
			     1002 - i, i ? "" : " no-return");
	sprintf(expected + e, "%*sleaf 1-2 no-call\n", 2000, "");
	check_flow(flow, expected);
	free(flow);
	free(expected);
}

static void test_tail_call(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > a\n"
		   "jump a+8 > b\n"
		   "call b+4 > c\n"
		   "ret c+6 > b+9\n"
		   "ret b+10 > main+25\n"
		   "end main+30",
		   "main 1-7 no-call no-return\n"
		   "  a 2-3\n"
		   "  b 3-6 tail-call\n"
		   "    c 4-5\n");
}

/* Into the middle of a function that is nowhere on the stack: a tail call too. */
static void test_jump_into_the_middle(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; jump a+8 > b+100; ret b+110 > main+25\n"
		   "end main+30",
		   "main 1-5 no-call no-return\n"
		   "  a 2-3\n"
		   "  b 3-4 tail-call\n");
}

static void test_jump_within_a_function(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; jump a+8 > a+100; jump a+110 > a\n"
		   "ret a+8 > main+25; end main+30",
		   "main 1-6 no-call no-return\n"
		   "  a 2-5\n");
}

/* Parts that the compiler split off are the function itself. */
static void test_cold_part(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > a\n"
		   "jump a+8 > a.cold\n"
		   "call a.cold+4 > log\n"
		   "ret log+6 > a.cold+9\n"
		   "jump a.cold+10 > a+20\n"
		   "jump a+30 > a.part.0\n"
		   "ret a.part.0+10 > main+25\n"
		   "end main+30",
		   "main 1-9 no-call no-return\n"
		   "  a 2-8\n"
		   "    log 4-5\n");
	/* ... whichever of them it was entered by. */
	check_flow("start main+10; call main+20 > a.constprop.0; jump a.constprop.0+8 > a.cold+2\n"
		   "ret a.cold+10 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  a.constprop.0 2-4\n");
	/* Another function's part is another function. */
	check_flow("start main+10; call main+20 > a; jump a+8 > b.cold\n"
		   "ret b.cold+10 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  a 2-3\n"
		   "  b.cold 3-4 tail-call\n");
	/* A call of a part is a call. */
	check_flow("start main+10; call main+20 > a.part.0; ret a.part.0+1 > main+25; end main+30",
		   "main 1-4 no-call no-return\n"
		   "  a.part.0 2-3\n");
}

static void test_plt(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > puts@plt; jump puts@plt+6 > puts\n"
		   "ret puts+50 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  puts@plt 2-3\n"
		   "  puts 3-4 tail-call\n");
}

/* The first call through the PLT: the loader finds the function and jumps to it. */
static void test_lazy_binding(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > puts@plt\n"
		   "jump puts@plt+b > plt0\n"
		   "jump plt0+6 > _dl_runtime_resolve_xsavec\n"
		   "call _dl_runtime_resolve_xsavec+70 > _dl_fixup\n"
		   "ret _dl_fixup+90 > _dl_runtime_resolve_xsavec+75\n"
		   "jump _dl_runtime_resolve_xsavec+b0 > puts\n"
		   "ret puts+50 > main+25\n"
		   "end main+30",
		   "main 1-9 no-call no-return\n"
		   "  puts@plt 2-3\n"
		   "  plt0 3-4 tail-call\n"
		   "  _dl_runtime_resolve_xsavec 4-7 tail-call\n"
		   "    _dl_fixup 5-6\n"
		   "  puts 7-8 tail-call\n");
}

/* "call next; pop" reads the program counter. */
static void test_call_of_the_next_instruction(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > main+25; call main+30 > a; ret a+4 > main+35\n"
		   "end main+40",
		   "main 1-5 no-call no-return\n"
		   "  a 3-4\n");
}

/* The thunk calls into itself, replaces the address pushed and returns to it. */
static void test_retpoline(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > thunk\n"
		   "call thunk+0 > thunk+c\n"
		   "ret thunk+10 > target\n"
		   "ret target+30 > main+25\n"
		   "end main+30",
		   "main 1-6 no-call no-return\n"
		   "  thunk 2-4\n"
		   "    thunk 3-4\n"
		   "  target 4-5 tail-call\n");
}

/* "push target; ret" */
static void test_return_as_a_jump(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; ret a+8 > b; ret b+8 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  a 2-3\n"
		   "  b 3-4 tail-call\n");
	/* from the outermost frame too: no call ends where a function begins */
	check_flow("start a+10; ret a+18 > b; call b+8 > c; ret c+1 > b+d; end b+20",
		   "a 1-2 no-call\n"
		   "b 2-5 no-return tail-call\n"
		   "  c 3-4\n");
}

/* A stack switched by a return to a place that nobody called from. */
static void test_return_to_another_stack(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > resume\n"
		   "call resume+4 > swapcontext\n"
		   "ret swapcontext+40 > worker+80\n"
		   "call worker+90 > yield\n"
		   "ret yield+50 > resume+9\n"
		   "ret resume+10 > main+25\n"
		   "end main+30",
		   "main 1-8 no-call no-return\n"
		   "  resume 2-7\n"
		   "    swapcontext 3-4\n"
		   "    worker 4-6 tail-call\n"
		   "      yield 5-6\n");
}

/* Kernel returns by way of a thunk: no function is entered. */
static void test_return_thunk(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; jump a+8 > __x86_return_thunk\n"
		   "ret __x86_return_thunk+0 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  a 2-4\n");
}

/* Code that runs on into the next function: functions here adjoin. */
static void test_fall_through(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; call b+4 > c; ret c+1 > b+9\n"
		   "ret b+20 > main+25; end main+30",
		   "main 1-6 no-call no-return\n"
		   "  a 2-3\n"
		   "  b 3-5 tail-call\n"
		   "    c 3-4\n");
}

static void test_longjmp(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > _setjmp\n"
		   "ret _setjmp+40 > main+25\n"
		   "call main+30 > a\n"
		   "call a+4 > b\n"
		   "call b+4 > longjmp\n"
		   "call longjmp+30 > __longjmp\n"
		   "jump __longjmp+50 > main+25\n"
		   "call main+40 > c\n"
		   "ret c+1 > main+45\n"
		   "end main+50",
		   "main 1-11 no-call no-return\n"
		   "  _setjmp 2-3\n"
		   "  a 4-8\n"
		   "    b 5-8\n"
		   "      longjmp 6-8\n"
		   "        __longjmp 7-8\n"
		   "  c 9-10\n");
}

/* The frame that called setjmp is meant, not a later one of the same function. */
static void test_longjmp_to_the_right_recursion(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > f\n"
		   "call f+10 > __sigsetjmp@plt\n"
		   "jump __sigsetjmp@plt+6 > __sigsetjmp\n"
		   "ret __sigsetjmp+40 > f+15\n"
		   "call f+30 > f\n"
		   "call f+30 > f\n"
		   "jump f+50 > siglongjmp\n"
		   "jump siglongjmp+30 > f+15\n"
		   "ret f+60 > main+25\n"
		   "end main+30",
		   "main 1-11 no-call no-return\n"
		   "  f 2-10\n"
		   "    __sigsetjmp@plt 3-4\n"
		   "    __sigsetjmp 4-5 tail-call\n"
		   "    f 6-9\n"
		   "      f 7-8\n"
		   "      siglongjmp 8-9 tail-call\n");
}

/* setjmp before the trace began: the function still tells. */
static void test_longjmp_without_setjmp(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; call a+4 > longjmp; jump longjmp+9 > main+5\n"
		   "call main+40 > c; ret c+1 > main+45; end main+50",
		   "main 1-7 no-call no-return\n"
		   "  a 2-4\n"
		   "    longjmp 3-4\n"
		   "  c 5-6\n");
	/* ... and even the function's own call is older. */
	check_flow("start a+2; call a+4 > longjmp; jump longjmp+9 > main+5\n"
		   "call main+40 > c; ret c+1 > main+45; end main+50",
		   "main 1-6 no-call no-return\n"
		   "  a 1-3 no-call\n"
		   "    longjmp 2-3\n"
		   "  c 4-5\n");
}

/* setjmp by a stub without a name. */
static void test_longjmp_to_a_tail_call(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > f\n"
		   "call f+10 > stub\n"
		   "jump stub+6 > _setjmp\n"
		   "ret _setjmp+40 > f+15\n"
		   "call f+30 > f\n"
		   "call f+50 > longjmp\n"
		   "jump longjmp+30 > f+15\n"
		   "ret f+60 > main+25\n"
		   "end main+30",
		   "main 1-10 no-call no-return\n"
		   "  f 2-9\n"
		   "    stub 3-4\n"
		   "    _setjmp 4-5 tail-call\n"
		   "    f 6-8\n"
		   "      longjmp 7-8\n");
}

/*
 * Of a recursion, setjmp was called before the trace began: not by the call that
 * was seen to begin and call none.
 */
static void test_longjmp_to_an_old_recursion(void **state)
{
	(void)state;
	check_flow("start f+20\n"
		   "call f+30 > f\n"
		   "call f+50 > longjmp\n"
		   "jump longjmp+30 > f+15\n"
		   "ret f+60 > main+25\n"
		   "end main+30",
		   "main 1-6 no-call no-return\n"
		   "  f 1-5 no-call\n"
		   "    f 2-4\n"
		   "      longjmp 3-4\n");
	/* ... nor by one that was not of that function. */
	check_flow("start g+20\n"
		   "call g+30 > f\n"
		   "call f+50 > longjmp\n"
		   "jump longjmp+30 > f+15\n"
		   "ret f+60 > main+25\n"
		   "end main+30",
		   "main 1-6 no-call no-return\n"
		   "  f 1-5 no-call\n"
		   "    g 1-4 no-call\n"
		   "      f 2-4\n"
		   "        longjmp 3-4\n");
}

/* A jump buffer whose function has returned and been entered again is dead. */
static void test_stale_setjmp(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > f\n"
		   "call f+10 > setjmp\n"
		   "ret setjmp+9 > f+15\n"
		   "ret f+40 > main+25\n"
		   "call main+20 > g\n"
		   "call g+10 > f\n"
		   "call f+20 > h\n"
		   "jump h+4 > f+15\n"
		   "ret f+40 > g+15\n"
		   "ret g+40 > main+25\n"
		   "end main+50",
		   "main 1-12 no-call no-return\n"
		   "  f 2-5\n"
		   "    setjmp 3-4\n"
		   "  g 6-11\n"
		   "    f 7-10\n"
		   "      h 8-9\n");
}

/* The unwinder returns into a landing pad, in the cold part as gcc does it. */
static void test_exception(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > f\n"
		   "call f+4 > g\n"
		   "call g+4 > __cxa_throw\n"
		   "call __cxa_throw+40 > _Unwind_RaiseException\n"
		   "ret _Unwind_RaiseException+300 > g.cold\n"	/* clean-up in g */
		   "call g.cold+4 > destroy\n"
		   "ret destroy+8 > g.cold+9\n"
		   "call g.cold+10 > _Unwind_Resume\n"
		   "jump _Unwind_Resume+100 > f+60\n"		/* catch in f */
		   "call f+64 > __cxa_begin_catch\n"
		   "ret __cxa_begin_catch+8 > f+69\n"
		   "ret f+70 > main+25\n"
		   "end main+30",
		   "main 1-14 no-call no-return\n"
		   "  f 2-13\n"
		   "    g 3-10\n"
		   "      __cxa_throw 4-6\n"
		   "        _Unwind_RaiseException 5-6\n"
		   "      destroy 7-8\n"
		   "      _Unwind_Resume 9-10\n"
		   "    __cxa_begin_catch 11-12\n");
	/* caught in a caller not seen being called */
	check_flow("start g+10; call g+20 > _Unwind_RaiseException\n"
		   "ret _Unwind_RaiseException+300 > f+60; ret f+70 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  f 1-4 no-call\n"
		   "    g 1-3 no-call\n"
		   "      _Unwind_RaiseException 2-3\n");
}

/* A return to an outer caller ends all that is between. */
static void test_return_to_an_outer_caller(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; call a+4 > b; call b+4 > c\n"
		   "ret c+9 > main+25; end main+30",
		   "main 1-6 no-call no-return\n"
		   "  a 2-5\n"
		   "    b 3-5\n"
		   "      c 4-5\n");
}

/* Which of several frames of one function it is, the return address tells. */
static void test_return_to_the_right_recursion(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > f\n"
		   "call f+10 > g\n"
		   "call g+4 > f\n"
		   "call f+20 > h\n"
		   "ret h+9 > f+15\n"
		   "ret f+30 > main+25\n"
		   "end main+30",
		   "main 1-8 no-call no-return\n"
		   "  f 2-7\n"
		   "    g 3-6\n"
		   "      f 4-6\n"
		   "        h 5-6\n");
}

/* vfork takes its return address off the stack and puts it back. */
static void test_vfork(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > vfork; off vfork+6 syscall; on vfork+8\n"
		   "ret vfork+10 > main+25; end main+30",
		   "main 1-6 no-call no-return\n"
		   "  vfork 2-5\n"
		   "    [syscall] 3-4 syscall\n");
	/* the child begins within it */
	check_flow("start vfork+8; ret vfork+10 > main+25; end main+30",
		   "main 1-3 no-call no-return\n"
		   "  vfork 1-2 no-call\n");
}

static void test_gap(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > a\n"
		   "gap a+4\n"
		   "start b+4\n"
		   "ret b+9 > a+20\n"
		   "call a+24 > c\n"
		   "end c+1",
		   "main 1-3 no-call no-return\n"
		   "  a 2-3 no-return\n"
		   "[lost trace] 3-4 gap\n"
		   "a 4-7 no-call no-return\n"
		   "  b 4-5 no-call\n"
		   "  c 6-7 no-return\n");
}

static void test_gaps_at_the_ends(void **state)
{
	(void)state;
	check_flow("gap x; start main+10; gap main+20",
		   "[lost trace] 1-2 gap\n"
		   "main 2-3 no-call no-return\n"
		   "[lost trace] 3-3 gap\n");
	/* Two losses in a row are one. */
	check_flow("start a+1; gap a+3; gap a+3; start b+1; end b+2",
		   "a 1-2 no-call no-return\n"
		   "[lost trace] 2-4 gap\n"
		   "b 4-5 no-call no-return\n");
}

static void test_nothing(void **state)
{
	(void)state;
	check_flow("", "");
	check_flow("end main+1", "");
	check_flow("start main", "main 1-1 no-call no-return\n");
}

/* A jump buffer, an outer frame and the like must not outlive their segment. */
static void test_segments_are_separate(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > setjmp; ret setjmp+1 > main+25\n"
		   "call main+30 > a; gap a+1; start a+2; ret a+8 > main+35\n"
		   "ret main+40 > b+10; end b+20",
		   "main 1-5 no-call no-return\n"
		   "  setjmp 2-3\n"
		   "  a 4-5 no-return\n"
		   "[lost trace] 5-6 gap\n"
		   "b 6-9 no-call no-return\n"
		   "  main 6-8 no-call\n"
		   "    a 6-7 no-call\n");
	check_flow("start a+2; ret a+8 > main+35; gap main+36; start b+1; call b+2 > c; end c+1",
		   "main 1-3 no-call no-return\n"
		   "  a 1-2 no-call\n"
		   "[lost trace] 3-4 gap\n"
		   "b 4-6 no-call no-return\n"
		   "  c 5-6 no-return\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_and_return),
		cmocka_unit_test(test_end_of_trace),
		cmocka_unit_test(test_callers_not_seen),
		cmocka_unit_test(test_many_callers_not_seen),
		cmocka_unit_test(test_tail_call),
		cmocka_unit_test(test_jump_into_the_middle),
		cmocka_unit_test(test_jump_within_a_function),
		cmocka_unit_test(test_cold_part),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_lazy_binding),
		cmocka_unit_test(test_call_of_the_next_instruction),
		cmocka_unit_test(test_retpoline),
		cmocka_unit_test(test_return_as_a_jump),
		cmocka_unit_test(test_return_to_another_stack),
		cmocka_unit_test(test_return_thunk),
		cmocka_unit_test(test_fall_through),
		cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_longjmp_to_the_right_recursion),
		cmocka_unit_test(test_longjmp_without_setjmp),
		cmocka_unit_test(test_longjmp_to_a_tail_call),
		cmocka_unit_test(test_longjmp_to_an_old_recursion),
		cmocka_unit_test(test_stale_setjmp),
		cmocka_unit_test(test_exception),
		cmocka_unit_test(test_return_to_an_outer_caller),
		cmocka_unit_test(test_return_to_the_right_recursion),
		cmocka_unit_test(test_vfork),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_gaps_at_the_ends),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_segments_are_separate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
