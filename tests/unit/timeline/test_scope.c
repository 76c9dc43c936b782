// SPDX-License-Identifier: GPL-2.0
/*
 * The call stack across the edge of the traced scope: syscalls, faults, signal
 * handlers, exec, address filters, the kernel. Each flow and its tree are
 * written by hand.
 */
#include "tests/unit/timeline/flow_text.h"

static void test_syscall(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > read; off read+7 syscall; on read+9\n"
		   "ret read+10 > main+25; end main+30",
		   "main 1-6 no-call no-return\n"
		   "  read 2-5\n"
		   "    [syscall] 3-4 syscall\n");
	/* the decoder may give the far call as well */
	check_flow("start read+1; syscall read+7; off read+7 syscall; on read+9; end read+10",
		   "read 1-5 no-call no-return\n"
		   "  [syscall] 2-4 syscall\n");
}

static void test_interrupt(void **state)
{
	(void)state;
	check_flow("start main+10; off main+14 async; on main+14 resumed; call main+20 > a\n"
		   "ret a+4 > main+25; end main+30",
		   "main 1-6 no-call no-return\n"
		   "  [untraced] 2-3 untraced\n"
		   "  a 4-5\n");
}

/* The page of a function that is called is not there, or that of the stack. */
static void test_fault_in_a_call(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > a; off a async; on a resumed; ret a+4 > main+25\n"
		   "off main+30 async; on main+30; call main+30 > b; ret b+1 > main+35; end main+40",
		   "main 1-10 no-call no-return\n"
		   "  a 2-5\n"
		   "    [untraced] 3-4 untraced\n"
		   "  [untraced] 6-7 untraced\n"
		   "  b 8-9\n");
}

/* A fault at the first instruction of a function reached by a jump. */
static void test_fault_in_a_tail_call(void **state)
{
	(void)state;
	check_flow("start main+10; call main+20 > f@plt; jump f@plt+6 > f; off f async; on f\n"
		   "ret f+4 > main+25; end main+30",
		   "main 1-7 no-call no-return\n"
		   "  f@plt 2-3\n"
		   "  f 3-6 tail-call\n"
		   "    [untraced] 4-5 untraced\n");
}

static void test_signal(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > work\n"
		   "off work+30 async\n"
		   "on handler\n"
		   "call handler+8 > log\n"
		   "ret log+6 > handler+d\n"
		   "ret handler+20 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on work+30\n"
		   "ret work+40 > main+25\n"
		   "end main+30",
		   "main 1-11 no-call no-return\n"
		   "  work 2-10\n"
		   "    [untraced] 3-4 untraced\n"
		   "    handler 4-7 async\n"
		   "      log 5-6\n"
		   "    __restore_rt 7-9 async\n"
		   "      [syscall] 8-9 syscall\n");
}

/* Nothing has symbols but the handler's start: only the places tell. */
static void test_signal_without_symbols(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > libc+1000\n"
		   "off libc+1030 async\n"
		   "on prog+500\n"
		   "ret prog+520 > libc+3c50\n"
		   "off libc+3c57 syscall\n"
		   "on libc+1030\n"
		   "ret libc+1040 > main+25\n"
		   "end main+30",
		   "main 1-9 no-call no-return\n"
		   "  libc 2-8\n"
		   "    [untraced] 3-4 untraced\n"
		   "    prog 4-5 async\n"
		   "    libc 5-7 async\n"
		   "      [syscall] 6-7 syscall\n");
}

/* In a syscall: it fails with EINTR, and goes on behind it ... */
static void test_signal_in_a_syscall(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > pause\n"
		   "off pause+7 syscall\n"
		   "on handler\n"
		   "ret handler+20 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on pause+9\n"
		   "ret pause+10 > main+25\n"
		   "end main+30",
		   "main 1-9 no-call no-return\n"
		   "  pause 2-8\n"
		   "    [syscall] 3-4 syscall\n"
		   "    handler 4-5 async\n"
		   "    __restore_rt 5-7 async\n"
		   "      [syscall] 6-7 syscall\n");
	/* ... or is restarted: the same instruction again. */
	check_flow("start read+1; off read+7 syscall; on handler; ret handler+20 > __restore_rt\n"
		   "off __restore_rt+7 syscall; on read+7; off read+7 syscall; on read+9\n"
		   "end read+10",
		   "read 1-9 no-call no-return\n"
		   "  [syscall] 2-3 syscall\n"
		   "  handler 3-4 async\n"
		   "  __restore_rt 4-6 async\n"
		   "    [syscall] 5-6 syscall\n"
		   "  [syscall] 7-8 syscall\n");
}

/* A second signal while the first one is handled. */
static void test_nested_signals(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "off main+30 async\n"
		   "on h1\n"
		   "off h1+10 async\n"
		   "on h2\n"
		   "ret h2+8 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on h1+10\n"
		   "ret h1+20 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on main+30\n"
		   "end main+40",
		   "main 1-12 no-call no-return\n"
		   "  [untraced] 2-3 untraced\n"
		   "  h1 3-9 async\n"
		   "    [untraced] 4-5 untraced\n"
		   "    h2 5-6 async\n"
		   "    __restore_rt 6-8 async\n"
		   "      [syscall] 7-8 syscall\n"
		   "  __restore_rt 9-11 async\n"
		   "    [syscall] 10-11 syscall\n");
	/* the same handler, interrupted by itself at another place */
	check_flow("start main+10; off main+30 async; on h; off h+10 async; on h\n"
		   "ret h+8 > __restore_rt; off __restore_rt+7 syscall; on h+10; end h+20",
		   "main 1-9 no-call no-return\n"
		   "  [untraced] 2-3 untraced\n"
		   "  h 3-9 no-return async\n"
		   "    [untraced] 4-5 untraced\n"
		   "    h 5-6 async\n"
		   "    __restore_rt 6-8 async\n"
		   "      [syscall] 7-8 syscall\n");
}

/* A place where a function was interrupted once is no such place when it goes on. */
static void test_interrupted_before(void **state)
{
	(void)state;
	check_flow("start f; off f async; on f; call f+10 > a; off a+5 async; on f\n"
		   "ret f+20 > __restore_rt; off __restore_rt+7 syscall; on a+5; end a+9",
		   "f 1-10 no-call no-return\n"
		   "  [untraced] 2-3 untraced\n"
		   "  a 4-10 no-return\n"
		   "    [untraced] 5-6 untraced\n"
		   "    f 6-7 async\n"
		   "    __restore_rt 7-9 async\n"
		   "      [syscall] 8-9 syscall\n");
}

/* sigreturn called like any function: where it goes was interrupted, and is left alone. */
static void test_sigreturn_by_a_call(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > f\n"
		   "off f+30 async\n"
		   "on handler\n"
		   "call handler+10 > f\n"
		   "call f+40 > sigreturn\n"
		   "off sigreturn+7 syscall\n"
		   "on f+30\n"
		   "ret f+50 > main+25\n"
		   "end main+30",
		   "main 1-10 no-call no-return\n"
		   "  f 2-9\n"
		   "    [untraced] 3-4 untraced\n"
		   "    handler 4-8 async\n"
		   "      f 5-8\n"
		   "        sigreturn 6-8\n"
		   "          [syscall] 7-8 syscall\n");
}

/* A handler that lies right behind the syscall is not where the syscall goes on. */
static void test_handler_behind_the_syscall(void **state)
{
	(void)state;
	check_flow("start pause; off pause+fff8 syscall; on handler; end handler+4",
		   "pause 1-4 no-call no-return\n"
		   "  [syscall] 2-3 syscall\n"
		   "  handler 3-4 no-return async\n");
}

/*
 * Two signals pending at once: the kernel builds both frames, so the second
 * handler runs first and its sigreturn goes to the start of the first.
 */
static void test_two_signals_at_once(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "off main+30 async\n"
		   "on h2\n"
		   "ret h2+8 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on h1\n"
		   "ret h1+8 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on main+30\n"
		   "end main+40",
		   "main 1-10 no-call no-return\n"
		   "  [untraced] 2-3 untraced\n"
		   "  h2 3-4 async\n"
		   "  __restore_rt 4-6 async\n"
		   "    [syscall] 5-6 syscall\n"
		   "  h1 6-7 async\n"
		   "  __restore_rt 7-9 async\n"
		   "    [syscall] 8-9 syscall\n");
}

static void test_longjmp_out_of_a_handler(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > __sigsetjmp\n"
		   "ret __sigsetjmp+9 > main+25\n"
		   "call main+30 > work\n"
		   "off work+30 async\n"
		   "on handler\n"
		   "call handler+10 > siglongjmp\n"
		   "off siglongjmp+20 syscall\n"	/* sigprocmask */
		   "on siglongjmp+22\n"
		   "jump siglongjmp+40 > main+25\n"
		   "call main+50 > after\n"
		   "ret after+2 > main+55\n"
		   "end main+60",
		   "main 1-13 no-call no-return\n"
		   "  __sigsetjmp 2-3\n"
		   "  work 4-10\n"
		   "    [untraced] 5-6 untraced\n"
		   "    handler 6-10 async\n"
		   "      siglongjmp 7-10\n"
		   "        [syscall] 8-9 syscall\n"
		   "  after 11-12\n");
}

/* The trace begins in a handler: what it interrupted is a caller not seen. */
static void test_begin_in_a_handler(void **state)
{
	(void)state;
	check_flow("start handler+10\n"
		   "ret handler+20 > __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on work+30\n"
		   "ret work+40 > main+25\n"
		   "end main+30",
		   "main 1-6 no-call no-return\n"
		   "  work 1-5 no-call\n"
		   "    handler 1-2 no-call\n"
		   "    __restore_rt 2-4 tail-call\n"
		   "      [syscall] 3-4 syscall\n");
}

/* ... or in what a handler returns to. */
static void test_begin_in_a_restorer(void **state)
{
	(void)state;
	check_flow("start __restore_rt\n"
		   "off __restore_rt+7 syscall\n"
		   "on work+30\n"
		   "ret work+40 > main+25\n"
		   "end main+30",
		   "main 1-5 no-call no-return\n"
		   "  work 1-4 no-call\n"
		   "    __restore_rt 1-3 no-call\n"
		   "      [syscall] 2-3 syscall\n");
}

static void test_exec(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > execve\n"
		   "off execve+7 syscall\n"
		   "on _start\n"
		   "call _start+3 > _dl_start\n"
		   "ret _dl_start+90 > _start+8\n"
		   "jump _start+20 > _start2\n"
		   "end _start2+4",
		   "main 1-4 no-call no-return\n"
		   "  execve 2-4 no-return\n"
		   "    [syscall] 3-4 syscall\n"
		   "_start 4-7 no-call\n"
		   "  _dl_start 5-6\n"
		   "_start2 7-8 no-return tail-call\n");
	/* a loader without symbols */
	check_flow("start execve+1; off execve+7 syscall; on ld.so+b100; end ld.so+b110",
		   "execve 1-3 no-call no-return\n"
		   "  [syscall] 2-3 syscall\n"
		   "ld.so 3-4 no-call no-return\n");
	/* an exec that failed */
	check_flow("start execve+1; off execve+7 syscall; on execve+9; end execve+10",
		   "execve 1-4 no-call no-return\n"
		   "  [syscall] 2-3 syscall\n");
}

/* A thread's first instruction is behind clone's syscall. */
static void test_new_thread(void **state)
{
	(void)state;
	check_flow("start __clone3+2a; call __clone3+30 > start_thread; end start_thread+8",
		   "__clone3 1-3 no-call no-return\n"
		   "  start_thread 2-3 no-return\n");
}

/* Only "f" and "cb" are traced: f is called and returns, out of the scope. */
static void test_filter(void **state)
{
	(void)state;
	check_flow("start f; off f+20 return; on f; off f+20 return; end f+20",
		   "f 1-2 no-call\n"
		   "[untraced] 2-3 untraced\n"
		   "f 3-4\n"
		   "[untraced] 4-5 no-return untraced\n");
	/* f calls out, is called back, and gets its return */
	check_flow("start f; off f+10 call; on cb; off cb+8 return; on f+15 resumed\n"
		   "off f+20 return; end f+20",
		   "f 1-6 no-call\n"
		   "  [untraced] 2-3 untraced\n"
		   "  cb 3-4\n"
		   "  [untraced] 4-5 untraced\n"
		   "[untraced] 6-7 no-return untraced\n");
	/* the same when the decoder does not say that it resumed */
	check_flow("start f; off f+10 call; on cb; off cb+8 return; on f+15; call f+16 > cb\n"
		   "ret cb+8 > f+1b; end f+20",
		   "f 1-8 no-call no-return\n"
		   "  [untraced] 2-3 untraced\n"
		   "  cb 3-4\n"
		   "  [untraced] 4-5 untraced\n"
		   "  cb 6-7\n");
	/* a tail call out of the scope: back in the caller */
	check_flow("start f; call f+10 > cb; off cb+8; on f+15; end f+20",
		   "f 1-5 no-call no-return\n"
		   "  cb 2-4\n"
		   "    [untraced] 3-4 untraced\n");
}

/* The kernel is traced too. */
static void test_kernel(void **state)
{
	(void)state;
	check_flow("start main+10\n"
		   "call main+20 > read\n"
		   "syscall read+7 > entry_SYSCALL_64\n"
		   "call entry_SYSCALL_64+40 > do_syscall_64\n"
		   "async do_syscall_64+10 > asm_sysvec_apic_timer\n"
		   "call asm_sysvec_apic_timer+5 > sysvec\n"
		   "ret sysvec+9 > asm_sysvec_apic_timer+a\n"
		   "farret asm_sysvec_apic_timer+40 > do_syscall_64+10\n"
		   "ret do_syscall_64+30 > entry_SYSCALL_64+45\n"
		   "farret entry_SYSCALL_64+90 > read+9\n"
		   "ret read+10 > main+25\n"
		   "end main+30",
		   "main 1-12 no-call no-return\n"
		   "  read 2-11\n"
		   "    entry_SYSCALL_64 3-10\n"
		   "      do_syscall_64 4-9\n"
		   "        asm_sysvec_apic_timer 5-8 async\n"
		   "          sysvec 6-7\n");
	/* begun within it: what called is not seen */
	check_flow("start do_syscall_64+20; ret do_syscall_64+30 > entry_SYSCALL_64+45\n"
		   "farret entry_SYSCALL_64+90 > read+9; ret read+10 > main+25; end main+30",
		   "main 1-5 no-call no-return\n"
		   "  read 1-4 no-call\n"
		   "    entry_SYSCALL_64 1-3 no-call\n"
		   "      do_syscall_64 1-2 no-call\n");
	/* a signal: the way back is to the handler, and from sigreturn to the syscall */
	check_flow("start pause+1; syscall pause+7 > entry; farret entry+9 > handler\n"
		   "ret handler+9 > __restore_rt; syscall __restore_rt+7 > entry\n"
		   "farret entry+9 > pause+9; end pause+10",
		   "pause 1-7 no-call no-return\n"
		   "  entry 2-3\n"
		   "  handler 3-4 async\n"
		   "  __restore_rt 4-6 async\n"
		   "    entry 5-6\n");
}

/* The tracer's own stop at the trigger is not part of the program: all ends there. */
static void test_trigger(void **state)
{
	(void)state;
	check_flow_with("start main+10; call main+20 > f; off f async; end f", NULL, "f",
			"main 1-3 no-call no-return\n"
			"  f 2-3 no-return trigger\n");
	/* the trigger's first address counts, wherever the trap is reported */
	check_flow_with("start main+10; call main+20 > f; off f+1 async; end f+1", NULL, "f",
			"main 1-3 no-call no-return\n"
			"  f 2-3 no-return trigger\n");
	/* no off event: the trace just ends */
	check_flow_with("start main+10; call main+20 > f; end f", NULL, "f",
			"main 1-3 no-call no-return\n"
			"  f 2-3 no-return trigger\n");
	/* a trigger elsewhere marks nothing, and a syscall stays */
	check_flow_with("start main+10; call main+20 > f; off f+30 syscall; end f+30", NULL, "g",
			"main 1-4 no-call no-return\n"
			"  f 2-4 no-return\n"
			"    [syscall] 3-4 no-return syscall\n");
}

/* A thread that sleeps when it is looked at: until then it was in its syscall. */
static void test_asleep_at_the_end(void **state)
{
	const struct mt_timeline_config config = { .end_tsc = 2500 };

	(void)state;
	check_flow_with("start read+1; off read+7 syscall; end read+7", &config, NULL,
			"read 1-25 no-call no-return\n"
			"  [syscall] 2-25 no-return syscall\n");
	check_flow_with("start read+1; gap read+7", &config, NULL,
			"read 1-2 no-call no-return\n"
			"[lost trace] 2-25 gap\n");
	/* a running one was stopped: nothing is known of it after the last event */
	check_flow_with("start read+1; end read+7", &config, NULL,
			"read 1-2 no-call no-return\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscall),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_fault_in_a_call),
		cmocka_unit_test(test_fault_in_a_tail_call),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_signal_without_symbols),
		cmocka_unit_test(test_signal_in_a_syscall),
		cmocka_unit_test(test_nested_signals),
		cmocka_unit_test(test_interrupted_before),
		cmocka_unit_test(test_sigreturn_by_a_call),
		cmocka_unit_test(test_handler_behind_the_syscall),
		cmocka_unit_test(test_two_signals_at_once),
		cmocka_unit_test(test_longjmp_out_of_a_handler),
		cmocka_unit_test(test_begin_in_a_handler),
		cmocka_unit_test(test_begin_in_a_restorer),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_new_thread),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_trigger),
		cmocka_unit_test(test_asleep_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
