// SPDX-License-Identifier: GPL-2.0
/*
 * Timing packets: TSC, TMA, MTC, CYC, and when they are due. Expected bytes are
 * written down from the SDM (volume 3C, 36.3.6, 36.4.2.11-14).
 */
#include "encoder_fixture.h"

static void test_resume(void **state)
{
	static struct fixture f;
	const struct pt_config timed = { .tsc_en = true, .mtc_en = true, .psb_period = 2048 };

	(void)state;
	f.tsc = 1020 + 57;
	begin(&f, &timed);
	pt_encode_resume(&f.enc);
	/* 36.2.7.3: "timing packets will be generated, including TSC, TMA, and CBR" */
	EXPECT(&f, "19 35 04 00 00 00 00 00	# TSC 1077\n"
		   "02 73 0a 00 00 39 00		# TMA: CTC 10, FC 57\n"
		   CBR);
}

/* Without MTC and CYC the clock is read when a TSC is due. */
static void test_tsc_alone(void **state)
{
	static struct fixture f;
	static const struct pt_psb_state nothing;
	const struct pt_config timed = { .tsc_en = true, .psb_period = 2048 };

	(void)state;
	f.tsc = 0x1000;
	begin(&f, &timed);
	f.tsc = 0x2000;
	pt_encode_time(&f.enc);
	pt_encode_psb(&f.enc, &nothing);
	EXPECT(&f, PSB "19 00 20 00 00 00 00 00\n" CBR PSBEND);
	f.tsc = 0x3000;
	pt_encode_resume(&f.enc);
	EXPECT(&f, "19 00 30 00 00 00 00 00\n" CBR);
	f.tsc = 0x2fff;
	pt_encode_resume(&f.enc);
	EXPECT(&f, "19 00 30 00 00 00 00 00	# time does not go back\n" CBR);
}

/* FastCounter has nine bits, table 36-32. */
static void test_tma_fast_counter(void **state)
{
	static struct fixture f;
	const struct pt_config timed = { .tsc_en = true, .mtc_en = true, .psb_period = 2048 };

	(void)state;
	f.tsc = 10 * 300 + 0x123;
	begin(&f, &timed);
	f.enc.clock.art_num = 1;
	f.enc.clock.art_den = 300;
	pt_encode_resume(&f.enc);
	EXPECT(&f, "19 db 0c 00 00 00 00 00	# TSC 3291\n"
		   "02 73 0a 00 00 23 01		# TMA: CTC 10, FC 0x123\n"
		   CBR);
}

static void test_mtc(void **state)
{
	static struct fixture f;
	const struct pt_config timed = {
		.tsc_en = true, .mtc_en = true, .mtc_freq = 3, .psb_period = 2048,
	};
	const uint64_t period = 8 * 102;	/* TSC ticks */

	(void)state;
	/* Table 36-31: payload (ART >> N) & 0xFF, sent when it changes. */
	f.tsc = 254 * period + 5;
	begin(&f, &timed);
	f.tsc = 255 * period - 1;
	pt_encode_time(&f.enc);
	EXPECT(&f, "");
	f.tsc = 255 * period;
	pt_encode_time(&f.enc);
	EXPECT(&f, "59 ff	# MTC\n");
	f.tsc += 10;
	pt_encode_time(&f.enc);
	EXPECT(&f, "");
	f.tsc = 256 * period + 3;
	tnt(&f, "T");
	pt_encode_time(&f.enc);
	EXPECT(&f, "06	# what was before in time comes first\n"
		   "59 00	# MTC, eight bits\n");
	f.tsc = 259 * period + 3;
	pt_encode_time(&f.enc);
	EXPECT(&f, "59 01	# none is left out\n"
		   "59 02\n"
		   "59 03\n");
	f.tsc = 290 * period;
	pt_encode_time(&f.enc);
	pt_encoder_flush(&f.enc);
	assert_int_equal(f.len, 2 * 31);	/* 4 to 34 */
	f.len = 0;
	/* The processor stood still: 36.4.2.11. 359 * 8 = 2872 = 0x0b38 */
	f.tsc = 359 * period + 7;
	pt_encode_time(&f.enc);
	EXPECT(&f, "19 57 78 04 00 00 00 00	# TSC 292951\n"
		   "02 73 38 0b 00 07 00		# TMA\n"
		   CBR);
	f.tsc = 360 * period;
	pt_encode_time(&f.enc);
	EXPECT(&f, "59 68	# and on\n");
	f.tsc = 392 * period;
	pt_encode_time(&f.enc);
	/* 392 * 816 = 319872 = 0x4e180, 392 * 8 = 3136 = 0x0c40 */
	EXPECT(&f, "19 80 e1 04 00 00 00 00	# 32 at once are a gap\n"
		   "02 73 40 0c 00 00 00\n"
		   CBR);
}

/* Without TSC a long gap is told by MTCs, as far as eight bits can tell it. */
static void test_mtc_gap(void **state)
{
	static struct fixture f;
	const struct pt_config timed = { .mtc_en = true, .mtc_freq = 0, .psb_period = 2048 };
	int i;

	(void)state;
	f.tsc = 0;
	begin(&f, &timed);
	f.tsc = 102 * 0x1234;
	pt_encode_time(&f.enc);
	pt_encoder_flush(&f.enc);
	assert_int_equal(f.len, 2 * 255);
	for (i = 0; i < 255; i++) {
		assert_int_equal(f.out[2 * i], 0x59);
		assert_int_equal(f.out[2 * i + 1], (0x34 - 254 + i) & 0xff);
	}
}

static void test_cyc(void **state)
{
	static struct fixture f;
	const struct pt_config timed = { .cyc_en = true, .psb_period = 2048 };
	static const struct {
		uint64_t cycles;
		const char *bytes;
	} table[] = {
		/* table 36-33: 11b in bits 1:0, Exp in bit 2, 5 bits in 7:3 */
		{ 1, "0b		# 1: 00001 0 11\n" },
		{ 31, "fb		# 31: 11111 0 11\n" },
		{ 32, "07 02		# 32: 00000 1 11, 0000001 0\n" },
		{ 4095, "ff fe		# 4095: 11111 1 11, 1111111 0\n" },
		{ 4096, "07 01 02	# 4096: 00000 1 11, 0000000 1, 0000001 0\n" },
		{ 0x7ffff, "ff ff fe	# 5 + 7 + 7 bits\n" },
	};
	size_t i;

	(void)state;
	f.tsc = 1000;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[128];

		begin(&f, &timed);
		f.tsc += table[i].cycles;
		pt_encode_time(&f.enc);
		pt_encode_tip_pgd(&f.enc);
		pt_encode_tip_pgd(&f.enc);
		snprintf(text, sizeof(text), "%s01 01 # one CYC a cycle\n", table[i].bytes);
		EXPECT(&f, text);
	}
}

static void test_cyc_of_tnt_is_the_first_branch(void **state)
{
	static struct fixture f;
	const struct pt_config timed = { .cyc_en = true, .psb_period = 2048 };

	(void)state;
	f.tsc = 1000;
	begin(&f, &timed);
	f.tsc = 1004;
	pt_encode_time(&f.enc);
	tnt(&f, "T");
	f.tsc = 1009;
	pt_encode_time(&f.enc);
	tnt(&f, "T");
	f.tsc = 1020;
	pt_encode_time(&f.enc);
	pt_encode_tip_pgd(&f.enc);
	EXPECT(&f, "23	# CYC 4, 36.3.6.2: the time of the first branch\n"
		   "0e	# TNT T T\n"
		   "83	# CYC 16\n"
		   "01	# TIP.PGD\n");
}

static void test_cyc_threshold(void **state)
{
	static struct fixture f;
	const struct pt_config timed = {
		.cyc_en = true, .cyc_threshold = 16, .psb_period = 2048,
	};

	(void)state;
	f.tsc = 1000;
	begin(&f, &timed);
	f.tsc = 1015;
	pt_encode_time(&f.enc);
	pt_encode_tip_pgd(&f.enc);
	f.tsc = 1017;
	pt_encode_time(&f.enc);
	pt_encode_tip_pgd(&f.enc);
	EXPECT(&f, "01		# 15 cycles: below the threshold (36.3.6.3)\n"
		   "8b 01		# CYC 17, since the last CYC\n");
	f.tsc = 1033;
	pt_encode_time(&f.enc);
	pt_encode_tip_pgd(&f.enc);
	EXPECT(&f, "83 01		# CYC 16: the threshold is enough\n");
}

/* A CYC before an MTC is the time of the tick, which came before now. */
static void test_cyc_of_mtc(void **state)
{
	static struct fixture f;
	const struct pt_config timed = {
		.cyc_en = true, .mtc_en = true, .mtc_freq = 0, .psb_period = 2048,
	};

	(void)state;
	f.tsc = 102 * 10 + 100;
	begin(&f, &timed);
	f.tsc = 102 * 11 + 20;
	pt_encode_time(&f.enc);
	pt_encode_tip_pgd(&f.enc);
	EXPECT(&f, "13 59 0b	# CYC 2, MTC\n"
		   "a3 01	# CYC 20, TIP.PGD\n");
}

/*
 * 36.3.6: which packets take a CYC. Each of them, and those that do not, force
 * out the TNT.
 */
static void test_cyc_eligible(void **state)
{
	static struct fixture f;
	const struct pt_config timed = { .cyc_en = true, .tsc_en = true, .psb_period = 2048 };
	static const struct {
		int kind;
		bool eligible;
		const char *bytes;
	} table[] = {
		{ PT_TIP, true,		"2d 00 10" },
		{ PT_TIP_PGE, true,	"31 00 10" },
		{ PT_TIP_PGD, true,	"21 00 10" },
		{ PT_FUP, false,	"3d 00 10" },
		{ PT_MODE_EXEC, true,	"99 01" },
		{ PT_PIP, true,		"02 43 00 01 00 00 00 00" },
		{ PT_TRACESTOP, false,	"02 83" },
		{ PT_PTW, true,		"02 12 01 00 00 00" },
		{ PT_EXSTOP, true,	"02 62" },
		{ PT_MWAIT, true,	"02 c2 10 00 00 00 00 00 00 00" },
		{ PT_PWRE, false,	"02 22 00 10" },
		{ PT_PWRX, false,	"02 a2 11 01 00 00 00" },
		{ PT_CFE, true,		"02 13 01 02" },
		{ PT_EVD, true,		"02 53 00 01 00 00 00 00 00 00 00" },
		{ PT_CBR, true,		"19 f9 03 00 00 00 00 00 02 03 18 00	# TSC, CBR" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[256];

		f.tsc = 1000;
		begin(&f, &timed);
		f.enc.last_ip.known = true;
		f.tsc = 1004;
		pt_encode_time(&f.enc);
		tnt(&f, "T");
		f.tsc = 1017;
		pt_encode_time(&f.enc);
		switch (table[i].kind) {
		case PT_TIP:		pt_encode_tip(&f.enc, 0x1000); break;
		case PT_TIP_PGE:	pt_encode_tip_pge(&f.enc, 0x1000); break;
		case PT_TIP_PGD:	pt_encode_tip_pgd_ip(&f.enc, 0x1000); break;
		case PT_FUP:		pt_encode_fup(&f.enc, 0x1000); break;
		case PT_MODE_EXEC:	pt_encode_mode_exec(&f.enc, 1); break;
		case PT_PIP:		pt_encode_pip(&f.enc, 0x1000); break;
		case PT_TRACESTOP:	pt_encode_tracestop(&f.enc); break;
		case PT_PTW:		pt_encode_ptw(&f.enc, 1, 4, false); break;
		case PT_EXSTOP:		pt_encode_exstop(&f.enc, false); break;
		case PT_MWAIT:		pt_encode_mwait(&f.enc, 0x10, 0); break;
		case PT_PWRE:		pt_encode_pwre(&f.enc, 1, 0); break;
		case PT_PWRX:		pt_encode_pwrx(&f.enc, 1, 1, 1); break;
		case PT_CFE:		pt_encode_cfe(&f.enc, PT_CFE_INTR, 2, false); break;
		case PT_EVD:		pt_encode_evd(&f.enc, PT_EVD_CR2, 1); break;
		case PT_CBR:		pt_encode_resume(&f.enc); break;
		}
		snprintf(text, sizeof(text), "23 06	# CYC 4, TNT T\n%s%s\n",
			 table[i].eligible ? "6b	# CYC 13\n" : "", table[i].bytes);
		EXPECT(&f, text);
	}
}

/* With CYC each TIP has its own time, so none waits. */
static void test_no_deferred_tips_with_cyc(void **state)
{
	static struct fixture f;
	const struct pt_config both = { .defer_tips = true, .cyc_en = true, .psb_period = 2048 };

	(void)state;
	f.tsc = 1000;
	begin(&f, &both);
	f.enc.last_ip.known = true;
	tnt(&f, "N");
	f.tsc = 1004;
	pt_encode_time(&f.enc);
	pt_encode_tip(&f.enc, 0x1000);
	tnt(&f, "T");
	EXPECT(&f, "04		# TNT N, at the time of the start\n"
		   "23 2d 00 10	# CYC 4, TIP\n"
		   "06		# TNT T\n");
}

/* 36.3.8 */
static void test_overflow(void **state)
{
	static struct fixture f;
	const struct pt_config timed = {
		.cyc_en = true, .mtc_en = true, .mtc_freq = 0, .psb_period = 2048,
	};

	(void)state;
	f.tsc = 1020;
	begin(&f, &timed);
	f.enc.last_ip.known = true;
	pt_encode_tip(&f.enc, 0x401000);
	EXPECT(&f, "4d 00 10 40 00		# TIP\n");
	f.enc.byte_count = 5;
	tnt(&f, "T");
	pt_encoder_overflow(&f.enc);
	tnt(&f, "T");
	pt_encode_tip(&f.enc, 0x7f0000000000);
	pt_encode_fup(&f.enc, 0x7f0000000000);
	f.tsc = 1020 + 3 * 102 + 5;
	pt_encode_time(&f.enc);
	pt_encode_mode_exec(&f.enc, 1);
	assert_int_equal(f.enc.byte_count, 5);	/* 36.3.8.1 */
	pt_encode_ovf(&f.enc);
	pt_encode_fup(&f.enc, 0x402000);
	EXPECT(&f, "bf 12		# CYC 311: 10111 1 11, 0001001 0: how long it lasted\n"
		   "02 f3		# OVF\n"
		   "7d 00 20 40 00 00 00	# FUP, complete\n");
	f.tsc = 1020 + 4 * 102;
	pt_encode_time(&f.enc);
	EXPECT(&f, "0f 06 59 0e	# CYC 97, MTC 14: those between are lost (36.3.8.2)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_tsc_alone),
		cmocka_unit_test(test_tma_fast_counter),
		cmocka_unit_test(test_mtc),
		cmocka_unit_test(test_mtc_gap),
		cmocka_unit_test(test_cyc),
		cmocka_unit_test(test_cyc_of_tnt_is_the_first_branch),
		cmocka_unit_test(test_cyc_threshold),
		cmocka_unit_test(test_cyc_of_mtc),
		cmocka_unit_test(test_cyc_eligible),
		cmocka_unit_test(test_no_deferred_tips_with_cyc),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests_name("pt_clock", tests, NULL, NULL);
}
