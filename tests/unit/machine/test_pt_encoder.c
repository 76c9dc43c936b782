// SPDX-License-Identifier: GPL-2.0
/*
 * The stream of packets: what is sent when, and in which order. Expected bytes
 * are written down from the SDM (volume 3C, 36.3, 36.4), not from what the
 * encoder gives.
 */
#include "encoder_fixture.h"

static const struct pt_config plain = { .psb_period = 2048 };

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

/* A recursion: every call has the same return address. */
static void test_ret_compression_recursion(void **state)
{
	static struct fixture f;
	int i;

	(void)state;
	begin(&f, &compress);
	f.enc.last_ip.known = true;
	for (i = 0; i < 66; i++)
		pt_encode_call(&f.enc, 0x1005);
	for (i = 0; i < 66; i++)
		pt_encode_ret(&f.enc, 0x1005);
	EXPECT(&f, "fe fe fe fe fe fe fe fe fe fe 3e	# 64 calls are remembered\n"
		   "2d 05 10 2d 05 10			# the two oldest are not\n");
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

/* What waits when the internal buffer overflows is lost. */
static void test_overflow_loses_what_waits(void **state)
{
	static struct fixture f;
	const struct pt_config defer = { .defer_tips = true, .psb_period = 2048 };

	(void)state;
	begin(&f, &defer);
	tnt(&f, "TN");
	pt_encode_tip(&f.enc, 0x1000);
	pt_encoder_overflow(&f.enc);
	pt_encode_ovf(&f.enc);
	tnt(&f, "T");
	EXPECT(&f, "02 f3 06		# OVF, TNT T\n");

	/* A new trace is not lost. */
	pt_encoder_overflow(&f.enc);
	pt_encoder_start(&f.enc, &defer, 0);
	tnt(&f, "T");
	EXPECT(&f, "06\n");
	assert_int_equal(f.enc.count.bytes, 4);
	assert_int_equal(f.enc.count.packets, 3);
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
		cmocka_unit_test(test_ret_compression),
		cmocka_unit_test(test_ret_compression_depth),
		cmocka_unit_test(test_ret_compression_recursion),
		cmocka_unit_test(test_ret_compression_limits),
		cmocka_unit_test(test_deferred_tips),
		cmocka_unit_test(test_long_tnt),
		cmocka_unit_test(test_tnt_disabled),
		cmocka_unit_test(test_overflow_loses_what_waits),
		cmocka_unit_test(test_observer),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_sink_ends),
	};

	return cmocka_run_group_tests_name("pt_encoder", tests, NULL, NULL);
}
