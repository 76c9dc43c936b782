// SPDX-License-Identifier: GPL-2.0
/*
 * The decoder on streams made by hand. The expected events are derived from the
 * code in the comments, not from what the decoder said.
 */
#include "tests/unit/decode/pt.h"

static struct code code;
static struct pt pt;

static int setup(void **state)
{
	(void)state;
	code_init(&code, 0x1000);
	pt.len = 0;
	return 0;
}

/*
 *	1000	call 1100
 *	1005	nop
 *	1006	ret
 *	1100	nop; ret
 */
static void call_code(void)
{
	CODE(&code, 0x1000, 0xe8, 0xfb, 0x00, 0x00, 0x00, 0x90, 0xc3);
	CODE(&code, 0x1100, 0x90, 0xc3);
}

static void test_call_return(void **state)
{
	(void)state;
	call_code();
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip(&pt, 0x1005);			/* ret at 1101, not compressed */
	pt_tip(&pt, 0x2000 - 0x100);		/* ret at 1006 */
	pt_tip_pgd(&pt);			/* syscall at 1f00 */
	CODE(&code, 0x1f00, 0x0f, 0x05);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "RETURN 1101>1005 +2\n"
	       "RETURN 1006>1f00 +2\n"
	       "DISABLE 1f00 next 1f02 syscall +1\n"
	       "END 1f00\n");
}

static void test_compressed_return(void **state)
{
	(void)state;
	call_code();
	pt_psb_off(&pt, 100);
	pt_enable(&pt, 101, 0x1000);
	pt_tnt(&pt, "T");			/* ret at 1101, compressed */
	pt_tip(&pt, 0x1f00);			/* ret at 1006: its call was not seen */
	pt_tip_pgd(&pt);
	CODE(&code, 0x1f00, 0x0f, 0x05);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "RETURN 1101>1005 +2\n"
	       "RETURN 1006>1f00 +2\n"
	       "DISABLE 1f00 next 1f02 syscall +1\n"
	       "END 1f00\n");
}

/*
 *	1000	je 1010		(2 bytes)
 *	1002	jne 1000
 *	1004	je 1006		(to the next instruction: taken or not is the same)
 *	1006	jmp 1020
 *	1020	jmp *%rax
 *	1030	call *%rax
 *	1040	jmp *disp(%rip)
 *	1050	syscall
 *	1010	jmp 1002
 */
static void test_jumps(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0x74, 0x0e, 0x75, 0xfc, 0x74, 0x00, 0xeb, 0x18);
	CODE(&code, 0x1010, 0xe9, 0xed, 0xff, 0xff, 0xff);
	CODE(&code, 0x1020, 0xff, 0xe0);
	CODE(&code, 0x1030, 0xff, 0xd0);
	CODE(&code, 0x1040, 0xff, 0x25, 0x00, 0x01, 0x00, 0x00);
	CODE(&code, 0x1050, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tnt(&pt, "NTTNT");	/* 1000 N, 1002 T, 1000 T, 1002 N, 1004 T */
	pt_tip(&pt, 0x1030);
	pt_tip(&pt, 0x1040);
	pt_tip(&pt, 0x1050);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "JUMP 1002>1000 +2\n"
	       "JUMP 1000>1010 +1\n"
	       "JUMP 1010>1002 +1\n"
	       "JUMP 1006>1020 +3\n"
	       "JUMP 1020>1030 +1\n"
	       "CALL 1030>1040 next 1032 +1\n"
	       "JUMP 1040>1050 +1\n"
	       "DISABLE 1050 next 1052 syscall +1\n"
	       "END 1050\n");
}

/* The second instruction of "call +0; pop" runs next; no one returns from it. */
static void test_get_pc(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x58, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "JUMP 1000>1005 +1\n"
	       "DISABLE 1006 next 1008 syscall +2\n"
	       "END 1006\n");
}

static void test_syscall_resume(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0x90, 0x0f, 0x05, 0x90, 0x0f, 0x05, 0x90, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip_pgd(&pt);
	pt_enable(&pt, 200, 0x1003);		/* behind the syscall */
	pt_tip_pgd(&pt);
	pt_enable(&pt, 300, 0x1007);		/* elsewhere: a signal handler, say */
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "DISABLE 1001 next 1003 syscall +2\n"
	       "ENABLE >1003 resumed\n"
	       "DISABLE 1004 next 1006 syscall +2\n"
	       "ENABLE >1007\n"
	       "DISABLE 1007 next 1009 syscall +1\n"
	       "END 1007\n");
}

/* A page fault at 1001, and one at the target of a jump. */
static void test_fault_resume(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0x90, 0x90, 0xeb, 0x0c);
	CODE(&code, 0x1010, 0x90, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_fup(&pt, 0x1001);
	pt_tip_pgd(&pt);
	pt_enable(&pt, 200, 0x1001);
	pt_fup(&pt, 0x1010);
	pt_tip_pgd(&pt);
	pt_enable(&pt, 300, 0x1010);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "DISABLE 1001 async +1\n"
	       "ENABLE >1001 resumed\n"
	       "JUMP 1002>1010 +2\n"
	       "DISABLE 1010 async\n"
	       "ENABLE >1010 resumed\n"
	       "DISABLE 1011 next 1013 syscall +2\n"
	       "END 1011\n");
}

/*
 * A breakpoint at the first instruction of 1200: the trace ends there, and the
 * direct calls that lead to it have no packet of their own.
 *	1000	call 1100
 *	1100	nop; call 1200
 */
static void test_calls_to_the_trigger(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0xe8, 0xfb, 0x00, 0x00, 0x00);
	CODE(&code, 0x1100, 0x90, 0xe8, 0xfa, 0x00, 0x00, 0x00);
	pt_psb_on(&pt, 100, 0x1000);
	pt_fup(&pt, 0x1200);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "CALL 1101>1200 next 1106 +2\n"
	       "DISABLE 1200 async\n"
	       "END 1200\n");
}

/* The same without an end: cut off after the last packet. 1200: ret */
static void test_calls_behind_last_packet(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0xe8, 0xfb, 0x00, 0x00, 0x00);
	CODE(&code, 0x1100, 0x90, 0xe8, 0xfa, 0x00, 0x00, 0x00);
	CODE(&code, 0x1200, 0xc3);
	pt_psb_on(&pt, 100, 0x1000);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "CALL 1101>1200 next 1106 +2\n"
	       "END 1200 +1\n");
}

/* A filter on [1000, 1800): calls, returns and jumps lead out of it. */
static void test_out_of_scope(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0xe8, 0xfb, 0x0f, 0x00, 0x00);	/* call 2000 */
	CODE(&code, 0x1005, 0xff, 0xd0);			/* call *%rax */
	CODE(&code, 0x1007, 0xe9, 0xf4, 0x0f, 0x00, 0x00);	/* jmp 2000 */
	CODE(&code, 0x1100, 0x90, 0xc3);			/* ret */
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip_pgd_ip(&pt, 0x2000);
	pt_enable(&pt, 200, 0x1005);
	pt_tip_pgd_ip(&pt, 0x2100);
	pt_enable(&pt, 300, 0x1007);
	pt_tip_pgd_ip(&pt, 0x2000);
	pt_enable(&pt, 400, 0x1100);
	pt_tip_pgd_ip(&pt, 0x2200);
	expect(&code, &pt,
	       "START >1000\n"
	       "DISABLE 1000>2000 next 1005 call +1\n"
	       "ENABLE >1005 resumed\n"
	       "DISABLE 1005>2100 next 1007 call +1\n"
	       "ENABLE >1007 resumed\n"
	       "DISABLE 1007>2000 +1\n"
	       "ENABLE >1100\n"
	       "DISABLE 1101>2200 return +2\n"
	       "END 1101\n");
}

/* An interrupt and iret, both in scope, as in a trace of the kernel. */
static void test_interrupt_in_scope(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0x90, 0x90, 0x0f, 0x05);
	CODE(&code, 0x1800, 0x90, 0x48, 0xcf);			/* nop; iretq */
	CODE(&code, 0x1900, 0x48, 0x0f, 0x07);			/* sysretq */
	pt_psb_on(&pt, 100, 0x1000);
	pt_fup(&pt, 0x1001);
	pt_tip(&pt, 0x1800);
	pt_tip(&pt, 0x1001);			/* iret */
	pt_tip(&pt, 0x1900);			/* syscall */
	pt_tip(&pt, 0x1004);			/* sysret */
	pt_fup(&pt, 0x1004);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "ASYNC 1001>1800 +1\n"
	       "FAR_RETURN 1801>1001 +2\n"
	       "FAR_CALL 1002>1900 next 1004 +2\n"
	       "FAR_RETURN 1900>1004 +1\n"
	       "DISABLE 1004 async\n"
	       "END 1004\n");
}

/* Packets lost while tracing, then across a stop. 1000: call 1100; 1100: jmp *%rax */
static void test_overflow(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0xe8, 0xfb, 0x00, 0x00, 0x00);
	CODE(&code, 0x1100, 0xff, 0xe0);
	CODE(&code, 0x1200, 0x90, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip(&pt, 0x1000);
	pt_ovf(&pt);
	pt_fup(&pt, 0x1200);
	pt_tip_pgd(&pt);
	pt_ovf(&pt);
	pt_enable(&pt, 300, 0x1201);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "GAP 1100 overflow +1\n"
	       "START >1200\n"
	       "DISABLE 1201 next 1203 syscall +2\n"
	       "GAP 1201 overflow\n"
	       "START >1201\n"
	       "DISABLE 1201 next 1203 syscall +1\n"
	       "END 1201\n");
}

/* An abort is a jump to the fallback code, and no interrupt. */
static void test_tsx_abort(void **state)
{
	(void)state;
	CODE(&code, 0x1100, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tsx(&pt, true, false);
	pt_fup(&pt, 0x1002);
	pt_tsx(&pt, false, true);
	pt_fup(&pt, 0x1005);
	pt_tip(&pt, 0x1100);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "JUMP 1005>1100 +5\n"
	       "DISABLE 1100 next 1102 syscall +1\n"
	       "END 1100\n");
}

/* 32-bit code: 40 is no REX prefix but inc %eax. */
static void test_32_bit(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0x40, 0xe8, 0xfa, 0x00, 0x00, 0x00);
	CODE(&code, 0x1100, 0xff, 0x25, 0x00, 0x10, 0x00, 0x00);
	CODE(&code, 0x1200, 0xcd, 0x80);
	pt_psb(&pt);
	pt_tsc(&pt, 100);
	pt_fup(&pt, 0x1000);
	pt_mode(&pt, 32);
	pt_psbend(&pt);
	pt_tip(&pt, 0x1200);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1001>1100 next 1006 +2\n"
	       "JUMP 1100>1200 +1\n"
	       "DISABLE 1200 next 1202 syscall +1\n"
	       "END 1200\n");
}

/* Nothing before the first PSB counts, wherever the ring was cut. */
static void test_starts_mid_packet(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0x0f, 0x05);
	pt_value(&pt, 0x0000123456789a, 6);
	pt_tip(&pt, 0x1234);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "DISABLE 1000 next 1002 syscall +1\n"
	       "END 1000\n");
}

/*
 * Garbage between two PSBs: what the first one led to is kept, and decoding
 * begins anew at the second one, although the garbage reads as a CYC packet that
 * takes in that PSB's first byte.
 */
static void test_resync(void **state)
{
	(void)state;
	call_code();
	CODE(&code, 0x1f00, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip(&pt, 0x1005);
	pt_value(&pt, 0xffffffffffffffff, 8);
	pt_psb_on(&pt, 200, 0x1f00);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "RETURN 1101>1005 +2\n"
	       "GAP 1006 error +2\n"
	       "START >1f00\n"
	       "DISABLE 1f00 next 1f02 syscall +1\n"
	       "END 1f00\n");
}

/* A PSB in the middle of a good stream is no event. */
static void test_second_psb(void **state)
{
	(void)state;
	call_code();
	CODE(&code, 0x1f00, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip(&pt, 0x1005);
	pt_psb_on(&pt, 200, 0x1005);
	pt_tip(&pt, 0x1f00);
	pt_tip_pgd(&pt);
	pt_psb_off(&pt, 300);
	pt_enable(&pt, 400, 0x1f02);
	pt_fup(&pt, 0x1f03);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>1100 next 1005 +1\n"
	       "RETURN 1101>1005 +2\n"
	       "RETURN 1006>1f00 +2\n"
	       "DISABLE 1f00 next 1f02 syscall +1\n"
	       "ENABLE >1f02 resumed\n"
	       "DISABLE 1f03 async +1\n"
	       "END 1f03\n");
}

/* A call to where there is no code: it is told, and then the trouble. */
static void test_missing_code(void **state)
{
	(void)state;
	CODE(&code, 0x1000, 0xff, 0xd0);
	CODE(&code, 0x1f00, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tip(&pt, 0x777000);
	pt_tnt(&pt, "TT");
	pt_psb_on(&pt, 200, 0x1f00);
	pt_tip_pgd(&pt);
	expect(&code, &pt,
	       "START >1000\n"
	       "CALL 1000>777000 next 1002 +1\n"
	       "GAP 777000 error\n"
	       "START >1f00\n"
	       "DISABLE 1f00 next 1f02 syscall +1\n"
	       "END 1f00\n");
}

/* "jmp ." needs no packets: it must not be followed for ever. */
static void test_endless_loop(void **state)
{
	struct mt_decode_stats stats;
	struct events events;

	(void)state;
	CODE(&code, 0x1000, 0xeb, 0xfe);
	pt_psb_on(&pt, 100, 0x1000);
	code_ready(&code, true);
	assert_int_equal(decode(&code, pt.bytes, pt.len, &events, &stats), 0);
	assert_true(events.count > 1 && events.count < 10000);
	free(events.data);

	/* a packet that does not fit, then a good part */
	pt_tnt(&pt, "T");
	pt_psb_on(&pt, 200, 0x1f00);
	CODE(&code, 0x1f00, 0x0f, 0x05);
	pt_tip_pgd(&pt);
	code_done(&code);
	code_ready(&code, true);
	assert_int_equal(decode(&code, pt.bytes, pt.len, &events, &stats), 0);
	assert_int_equal(stats.errors, 1);
	assert_int_equal(events.data[events.count - 1].from, 0x1f00);
	free(events.data);
	code_done(&code);
}

/*
 *	1000	call *%rax
 *	1100	call *%rax
 *	1200	call 1300
 *	1300	syscall
 */
static void test_times(void **state)
{
	const struct mt_decode_config config = {
		.cpu_family = 6, .cpu_model = 0x8e, .end_tsc = 1000,
	};
	struct mt_code view = { .read = code_read, .ctx = &code };
	struct mt_decode_stats stats;
	struct events events = { 0 };

	(void)state;
	CODE(&code, 0x1000, 0xff, 0xd0);
	CODE(&code, 0x1100, 0xff, 0xd0);
	CODE(&code, 0x1200, 0xe8, 0xfb, 0x00, 0x00, 0x00);
	CODE(&code, 0x1300, 0x0f, 0x05);
	pt_psb_on(&pt, 100, 0x1000);
	pt_tsc(&pt, 150);
	pt_tip(&pt, 0x1100);
	pt_tsc(&pt, 0x00fffffffffffe);		/* damaged: far behind the end */
	pt_tip(&pt, 0x1200);
	pt_tsc(&pt, 900);
	pt_tip_pgd(&pt);
	code_ready(&code, true);
	view.image = code.image;
	assert_int_equal(mt_decode(&config, &view, pt.bytes, pt.len, events_take, &events,
				   &stats), 0);
	events_check(&events);
	assert_int_equal(events.count, 6);
	assert_int_equal(events.data[0].tsc, 100);	/* START */
	assert_int_equal(events.data[1].tsc, 150);	/* CALL 1000>1100: its packet's time */
	assert_int_equal(events.data[2].tsc, 150);	/* CALL 1100>1200 */
	assert_int_equal(events.data[3].tsc, 150);	/* CALL 1200>1300: not that of the end */
	assert_int_equal(events.data[4].tsc, 900);	/* DISABLE */
	assert_int_equal(stats.calls, 3);
	assert_int_equal(stats.segments, 1);
	assert_int_equal(stats.insns, 4);
	free(events.data);
	code_done(&code);
}

static int refuse(void *ctx, const struct mt_flow *events, unsigned int count)
{
	(void)events;
	(void)count;
	++*(int *)ctx;
	return -7;
}

/* What the caller returns ends it all, at once. */
static void test_refused(void **state)
{
	const struct mt_decode_config config = { .cpu_family = 6 };
	struct mt_code view = { .read = code_read, .ctx = &code };
	struct mt_decode_stats stats;
	int i, calls = 0;

	(void)state;
	CODE(&code, 0x1000, 0xff, 0xd0);
	pt_psb_on(&pt, 100, 0x1000);
	for (i = 0; i < 2000; i++)
		pt_tip(&pt, 0x1000);
	code_ready(&code, true);
	view.image = code.image;
	assert_int_equal(mt_decode(&config, &view, pt.bytes, pt.len, refuse, &calls, &stats), -7);
	assert_int_equal(calls, 1);
	code_done(&code);
}

static void test_nothing(void **state)
{
	(void)state;
	expect(&code, &pt, "");
	pt_tip(&pt, 0x1000);
	expect(&code, &pt, "");
}

/* Where nothing ran, all the same a PSB was there, and whole. */
static void expect_synced(size_t len, uint64_t synced)
{
	struct mt_decode_stats stats;
	struct events events;

	code_ready(&code, false);
	assert_int_equal(decode(&code, pt.bytes, len, &events, &stats), 0);
	assert_int_equal(events.count, 0);
	assert_int_equal(stats.synced, synced);
	assert_int_equal(stats.segments, 0);
	assert_int_equal(stats.errors, 0);
	free(events.data);
	code_done(&code);
}

static void test_synced(void **state)
{
	size_t whole, i;

	(void)state;
	expect_synced(0, 0);
	pt_tip(&pt, 0x1000);
	expect_synced(pt.len, 0);
	pt_psb_off(&pt, 100);
	whole = pt.len;
	expect_synced(whole, 1);
	for (i = 0; i < whole; i++)
		expect_synced(i, 0);
	pt_tsc(&pt, 101);
	pt_pad(&pt);
	expect_synced(pt.len, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_call_return, setup),
		cmocka_unit_test_setup(test_compressed_return, setup),
		cmocka_unit_test_setup(test_jumps, setup),
		cmocka_unit_test_setup(test_get_pc, setup),
		cmocka_unit_test_setup(test_syscall_resume, setup),
		cmocka_unit_test_setup(test_fault_resume, setup),
		cmocka_unit_test_setup(test_calls_to_the_trigger, setup),
		cmocka_unit_test_setup(test_calls_behind_last_packet, setup),
		cmocka_unit_test_setup(test_out_of_scope, setup),
		cmocka_unit_test_setup(test_interrupt_in_scope, setup),
		cmocka_unit_test_setup(test_overflow, setup),
		cmocka_unit_test_setup(test_tsx_abort, setup),
		cmocka_unit_test_setup(test_32_bit, setup),
		cmocka_unit_test_setup(test_starts_mid_packet, setup),
		cmocka_unit_test_setup(test_resync, setup),
		cmocka_unit_test_setup(test_second_psb, setup),
		cmocka_unit_test_setup(test_missing_code, setup),
		cmocka_unit_test_setup(test_endless_loop, setup),
		cmocka_unit_test_setup(test_times, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_nothing, setup),
		cmocka_unit_test_setup(test_synced, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
