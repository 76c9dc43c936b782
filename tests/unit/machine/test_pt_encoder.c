// SPDX-License-Identifier: GPL-2.0
/*
 * The stream of packets: what is sent when, and in which order. Expected bytes
 * are written down from the SDM (volume 3C, 36.3, 36.4), not from what the
 * encoder gives.
 */
#include "annotated.h"
#include "pt_encoder.h"

#define PSB	"02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82	# PSB, table 36-36\n"
#define PSBEND	"02 23							# PSBEND, table 36-37\n"
#define CBR	"02 03 18 00						# CBR 24, table 36-29\n"

/* An encoder whose clock and whose output the test holds. */
struct fixture {
	struct pt_encoder enc;
	uint64_t tsc;
	uint8_t out[4096];
	size_t len;
	size_t room;
};

static uint64_t read_tsc(void *arg)
{
	return ((struct fixture *)arg)->tsc;
}

static bool sink(void *arg, const void *buf, size_t len)
{
	struct fixture *f = arg;

	if (len > f->room)
		return false;
	memcpy(f->out + f->len, buf, len);
	f->len += len;
	f->room -= len;
	return true;
}

/* CPUID 15H: EAX 2, EBX 204, so 102 TSC ticks a crystal tick */
static void begin(struct fixture *f, const struct pt_config *config)
{
	const struct pt_clock clock = {
		.tsc = read_tsc, .arg = f, .art_num = 2, .art_den = 204, .cbr = 24,
	};
	const struct pt_sink to = { .write = sink, .arg = f };
	const uint64_t tsc = f->tsc;

	memset(f, 0, sizeof(*f));
	f->tsc = tsc;
	f->room = sizeof(f->out);
	pt_encoder_init(&f->enc, &clock, &to);
	pt_encoder_start(&f->enc, config, 0);
}

static void expect(struct fixture *f, const char *text, int line)
{
	pt_encode_tnt_flush(&f->enc);
	pt_encoder_flush(&f->enc);
	assert_bytes(f->out, f->len, text, __FILE__, line);
	f->len = 0;
}
#define EXPECT(f, text)	expect(f, text, __LINE__)

static const struct pt_config plain = { .psb_period = 2048 };

static void tnt(struct fixture *f, const char *bits)
{
	for (; *bits; bits++)
		pt_encode_tnt(&f->enc, *bits == 'T');
}

static void test_tnt(void **state)
{
	static struct fixture f;

	(void)state;
	begin(&f, &plain);
	/* table 36-16: bit 0 is 0; the youngest bit is bit 1; a stop bit on top */
	tnt(&f, "T");
	EXPECT(&f, "06	# 0000 0110: stop, T, 0\n");
	tnt(&f, "N");
	EXPECT(&f, "04	# 0000 0100: stop, N, 0\n");
	tnt(&f, "TNN");
	EXPECT(&f, "18	# 0001 1000: stop, T N N, 0\n");
	tnt(&f, "TTNTNT");
	EXPECT(&f, "ea	# 1110 1010: stop, T T N T N T, 0\n");
	tnt(&f, "NNNNNNT");
	EXPECT(&f, "80	# six not taken fill a short TNT\n"
		   "06	# the seventh begins the next\n");
}

/* A trace that goes on without PSB follows bytes that the encoder never saw. */
static void test_first_ip_is_complete(void **state)
{
	static struct fixture f;

	(void)state;
	begin(&f, &plain);
	pt_encode_tip_pge(&f.enc, 0x401000);
	EXPECT(&f, "71 00 10 40 00 00 00	# TIP.PGE 011b, not relative to last IP\n");
	pt_encode_tip(&f.enc, 0x401234);
	EXPECT(&f, "2d 34 12			# now it is known\n");
}

static void test_order(void **state)
{
	static struct fixture f;

	(void)state;
	begin(&f, &plain);
	f.enc.last_ip.known = true;
	tnt(&f, "TN");
	pt_encode_fup(&f.enc, 0x1000);
	pt_encode_tip(&f.enc, 0x2000);
	tnt(&f, "T");
	EXPECT(&f, "0c		# TNT T N comes out before the FUP\n"
		   "3d 00 10	# FUP\n"
		   "2d 00 20	# TIP\n"
		   "06		# TNT T\n");
}

static void test_psb(void **state)
{
	static struct fixture f;
	const struct pt_psb_state all = {
		.has_cr3 = true, .cr3 = 0x2000,
		.has_ip = true, .ip = 0xffffffff81234567, .mode = 1,
	};
	const struct pt_config timed = { .tsc_en = true, .mtc_en = true, .psb_period = 2048 };

	(void)state;
	f.tsc = 0x0023456789abcdef;
	begin(&f, &timed);
	tnt(&f, "T");
	pt_encode_psb(&f.enc, &all);
	/*
	 * 0x23456789abcdef = 9927935178558959 = 102 * 97332697829009 + 41,
	 * 97332697829009 = 0x588608e10e91
	 */
	EXPECT(&f, "06				# the TNT before\n"
		   PSB
		   "19 ef cd ab 89 67 45 23	# TSC, table 36-30: 7 bytes\n"
		   "02 73 91 0e 00 29 00		# TMA, 36-32: CTC 0x0e91, FC 41\n"
		   CBR
		   "02 43 00 02 00 00 00 00	# PIP\n"
		   "99 01				# MODE.Exec\n"
		   "7d 67 45 23 81 ff ff		# FUP, against last IP 0\n"
		   PSBEND);
	assert_int_equal(f.enc.byte_count, 16 + 8 + 7 + 4 + 8 + 2 + 7 + 2);

	/* 36.4.2.17: after PSBFreq bytes */
	assert_false(pt_encode_psb_due(&f.enc));
	f.enc.byte_count = 2047;
	assert_false(pt_encode_psb_due(&f.enc));
	f.enc.byte_count = 2048;
	assert_true(pt_encode_psb_due(&f.enc));
}

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
	/* The processor stood still: 36.4.2.11. 359 * 8 = 2872 = 0x0b38 */
	f.tsc = 359 * period + 7;
	pt_encode_time(&f.enc);
	EXPECT(&f, "19 57 78 04 00 00 00 00	# TSC 292951\n"
		   "02 73 38 0b 00 07 00		# TMA\n"
		   CBR);
	f.tsc = 360 * period;
	pt_encode_time(&f.enc);
	EXPECT(&f, "59 68	# and on\n");
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

static const struct pt_config compress = { .compress_ret = true, .psb_period = 2048 };

static void test_ret_compression(void **state)
{
	static struct fixture f;

	(void)state;
	begin(&f, &compress);
	f.enc.last_ip.known = true;
	pt_encode_call(&f.enc, 0x1005);
	pt_encode_call(&f.enc, 0x2005);
	pt_encode_ret(&f.enc, 0x2005);
	pt_encode_ret(&f.enc, 0x1005);
	pt_encode_ret(&f.enc, 0x0005);
	EXPECT(&f, "0e	# TNT T T: both returns compressed, 36.4.2.2\n"
		   "2d 05 00	# the third has no call\n");

	/* "pop the top entry" for each return, compressed or not */
	pt_encode_call(&f.enc, 0x1005);
	pt_encode_call(&f.enc, 0x2005);
	pt_encode_ret(&f.enc, 0x3000);
	pt_encode_ret(&f.enc, 0x1005);
	EXPECT(&f, "2d 00 30	# TIP: not where the call came from\n"
		   "06		# TNT T\n");
}

static void test_ret_compression_depth(void **state)
{
	static struct fixture f;
	int i;

	(void)state;
	begin(&f, &compress);
	f.enc.last_ip.known = true;
	for (i = 0; i < 65; i++)
		pt_encode_call(&f.enc, 0x1000 + i);
	for (i = 64; i >= 0; i--)
		pt_encode_ret(&f.enc, 0x1000 + i);
	EXPECT(&f, "fe fe fe fe fe fe fe fe fe fe	# 60 returns\n"
		   "3e				# 4 more: 64 calls are remembered\n"
		   "2d 00 10			# the oldest is not\n");
}

/* 36.4.2.2: never across a PSB, an overflow, or PacketEn = 0; never if DisRETC */
static void test_ret_compression_limits(void **state)
{
	static struct fixture f;
	static const struct pt_psb_state nothing;

	(void)state;
	begin(&f, &compress);
	pt_encode_call(&f.enc, 0x1005);
	pt_encode_psb(&f.enc, &nothing);
	pt_encode_ret(&f.enc, 0x1005);
	EXPECT(&f, PSB CBR PSBEND "2d 05 10	# TIP\n");

	pt_encode_call(&f.enc, 0x1005);
	pt_encode_tip_pgd(&f.enc);
	pt_encode_tip_pge(&f.enc, 0x2000);
	pt_encode_ret(&f.enc, 0x1005);
	EXPECT(&f, "01 31 00 20	# TIP.PGD, TIP.PGE\n"
		   "2d 05 10		# TIP\n");

	pt_encode_call(&f.enc, 0x1005);
	pt_encoder_overflow(&f.enc);
	pt_encode_ovf(&f.enc);
	pt_encode_ret(&f.enc, 0x1005);
	EXPECT(&f, "02 f3 6d 05 10 00 00 00 00	# OVF, TIP\n");

	begin(&f, &plain);
	f.enc.last_ip.known = true;
	pt_encode_call(&f.enc, 0x1005);
	pt_encode_ret(&f.enc, 0x1005);
	EXPECT(&f, "2d 05 10		# DisRETC: TIP\n");
}

/* 36.4.2.3, table 36-19: TIPs wait for the TNT, which goes first. */
static void test_deferred_tips(void **state)
{
	static struct fixture f;
	const struct pt_config defer = { .defer_tips = true, .psb_period = 2048 };
	int i;

	(void)state;
	begin(&f, &defer);
	f.enc.last_ip.known = true;
	pt_encode_tip(&f.enc, 0x1000);
	tnt(&f, "N");
	pt_encode_tip(&f.enc, 0x1308);
	tnt(&f, "T");
	pt_encode_tip(&f.enc, 0x1400);
	tnt(&f, "N");
	pt_encode_fup(&f.enc, 0x1500);
	EXPECT(&f, "2d 00 10	# no bit is pending: TIP at once\n"
		   "14		# TNT N T N, forced out by the FUP\n"
		   "2d 08 13	# TIP of the jump behind the first bit\n"
		   "2d 00 14	# TIP of the jump behind the second\n"
		   "3d 00 15	# FUP\n");

	tnt(&f, "TTTTT");
	pt_encode_tip(&f.enc, 0x2000);
	tnt(&f, "T");
	EXPECT(&f, "fe		# full: TNT and what waits for it\n"
		   "2d 00 20\n");

	/* 36.4.2.2: nothing is pending where an uncompressed return is */
	tnt(&f, "N");
	pt_encode_tip(&f.enc, 0x3000);
	pt_encode_ret(&f.enc, 0x4000);
	tnt(&f, "T");
	EXPECT(&f, "04 2d 00 30	# TNT N, TIP\n"
		   "2d 00 40	# TIP of the return\n"
		   "06		# TNT T\n");

	tnt(&f, "N");
	for (i = 0; i < PT_DEFERRED_TIPS + 1; i++)
		pt_encode_tip(&f.enc, 0x5000 + i);
	tnt(&f, "T");
	EXPECT(&f, "04 2d 00 50 2d 01 50 2d 02 50 2d 03 50 2d 04 50 2d 05 50 2d 06 50\n"
		   "2d 07 50 2d 08 50 2d 09 50 2d 0a 50 2d 0b 50 2d 0c 50 2d 0d 50\n"
		   "2d 0e 50 2d 0f 50	# no more wait than there is room for\n"
		   "2d 10 50 06\n");
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

/* Table 36-16, the long TNT */
static void test_long_tnt(void **state)
{
	static struct fixture f;
	const struct pt_config wide = { .tnt_long = true, .psb_period = 2048 };
	int i;

	(void)state;
	begin(&f, &wide);
	tnt(&f, "TTNTNT");
	EXPECT(&f, "ea				# six bits fit a short one\n");
	tnt(&f, "TTNTNTN");
	EXPECT(&f, "02 a3 ea 00 00 00 00 00	# stop T T N T N T N: 1110 1010\n");
	for (i = 0; i < 46; i++)
		tnt(&f, "N");
	pt_encoder_flush(&f.enc);
	assert_int_equal(f.len, 0);
	tnt(&f, "TN");
	EXPECT(&f, "02 a3 01 00 00 00 00 80	# 47 bits below the stop bit: 46 N, T\n"
		   "04				# the 48th begins the next\n");
}

/* DisTNT: neither conditional branches nor compressed returns are told. */
static void test_tnt_disabled(void **state)
{
	static struct fixture f;
	const struct pt_config off = {
		.tnt_off = true, .compress_ret = true, .psb_period = 2048,
	};

	(void)state;
	begin(&f, &off);
	f.enc.last_ip.known = true;
	tnt(&f, "TNTNTNT");
	pt_encode_call(&f.enc, 0x1005);
	pt_encode_ret(&f.enc, 0x1005);
	pt_encode_ret(&f.enc, 0x1009);
	EXPECT(&f, "2d 09 10	# TIP of a return that has no call\n");
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
	EXPECT(&f, "bf 12		# CYC 311: 10111 1 11, 0001001 0: the cycles of the overflow\n"
		   "02 f3		# OVF\n"
		   "7d 00 20 40 00 00 00	# FUP, complete\n");
	f.tsc = 1020 + 4 * 102;
	pt_encode_time(&f.enc);
	EXPECT(&f, "0f 06 59 0e	# CYC 97, MTC 14: those between are lost (36.3.8.2)\n");
}

static const struct pt_pkt *seen[8];
static struct pt_pkt seen_copy[8];
static unsigned int seen_count;

static void see(void *arg, const struct pt_pkt *p)
{
	(void)arg;
	seen_copy[seen_count] = *p;
	seen[seen_count] = &seen_copy[seen_count];
	seen_count++;
}

/* The observer is told what goes out, in the order of the bytes. */
static void test_observer(void **state)
{
	static struct fixture f;
	const struct pt_config defer = { .defer_tips = true, .psb_period = 2048 };

	(void)state;
	begin(&f, &defer);
	f.enc.observer = (struct pt_packet_observer) { .packet = see };
	tnt(&f, "TN");
	pt_encode_tip(&f.enc, 0xffffffff81000010);
	assert_int_equal(seen_count, 0);
	pt_encode_tip_pgd(&f.enc);
	pt_encoder_overflow(&f.enc);
	pt_encode_pip(&f.enc, 0x1000);
	assert_int_equal(seen_count, 3);
	assert_int_equal(seen[0]->type, PT_TNT);
	assert_int_equal(seen[0]->size, 1);
	assert_int_equal(seen[0]->tnt.bits, 2);
	assert_int_equal(seen[0]->tnt.n, 2);
	assert_int_equal(seen[1]->type, PT_TIP);
	assert_int_equal(seen[1]->size, 7);
	assert_int_equal(seen[1]->ip.ip, 0xffffffff81000010);
	assert_int_equal(seen[2]->type, PT_TIP_PGD);
	assert_true(seen[2]->ip.suppressed);
}

/* Not more is kept back than the configuration allows: PIPs of 8 bytes. */
static void test_hold(void **state)
{
	const struct pt_config little = { .psb_period = 2048, .hold = 64 };
	static struct fixture f;
	unsigned int i;

	(void)state;
	begin(&f, &little);
	for (i = 1; i <= 20; i++) {
		pt_encode_pip(&f.enc, 0x1000);
		assert_true(8 * i - f.len <= 64);
	}
	begin(&f, &plain);
	for (i = 1; i <= 20; i++)
		pt_encode_pip(&f.enc, 0x1000);
	assert_int_equal(f.len, 0);
}

static void test_sink_ends(void **state)
{
	static struct fixture f;
	int i;

	(void)state;
	begin(&f, &plain);
	f.room = PT_ENCODER_BUFFER;
	for (i = 0; i < PT_ENCODER_BUFFER + 1; i++)
		pt_encode_tip_pgd(&f.enc);
	assert_int_equal(f.len, PT_ENCODER_BUFFER);
	assert_false(f.enc.closed);
	pt_encoder_flush(&f.enc);
	assert_true(f.enc.closed);
	pt_encode_tip_pgd(&f.enc);
	pt_encoder_flush(&f.enc);
	assert_int_equal(f.len, PT_ENCODER_BUFFER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tnt),
		cmocka_unit_test(test_first_ip_is_complete),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_psb),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_tma_fast_counter),
		cmocka_unit_test(test_mtc),
		cmocka_unit_test(test_mtc_gap),
		cmocka_unit_test(test_cyc),
		cmocka_unit_test(test_cyc_of_tnt_is_the_first_branch),
		cmocka_unit_test(test_cyc_threshold),
		cmocka_unit_test(test_cyc_of_mtc),
		cmocka_unit_test(test_cyc_eligible),
		cmocka_unit_test(test_ret_compression),
		cmocka_unit_test(test_ret_compression_depth),
		cmocka_unit_test(test_ret_compression_limits),
		cmocka_unit_test(test_deferred_tips),
		cmocka_unit_test(test_no_deferred_tips_with_cyc),
		cmocka_unit_test(test_long_tnt),
		cmocka_unit_test(test_tnt_disabled),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_observer),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_sink_ends),
	};

	return cmocka_run_group_tests_name("pt_encoder", tests, NULL, NULL);
}
