// SPDX-License-Identifier: GPL-2.0
/*
 * Packets, byte by byte. Expected bytes are written down from the SDM's packet
 * definitions (volume 3C, 36.4.2), not from what the encoder gives.
 */
#include "annotated.h"
#include "pt_packet.h"
#include "pt_packet_log.h"

#include <unistd.h>

static const struct {
	struct pt_pkt p;
	const char *bytes;
} fixed[] = {
	{ { .type = PT_PSB },
	  "02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82	# table 36-36" },
	{ { .type = PT_PSBEND },		"02 23	# 36-37" },
	{ { .type = PT_OVF },			"02 f3	# 36-35" },
	{ { .type = PT_TRACESTOP },		"02 83	# 36-28" },

	/* 36-16: bit 0 is 0; the youngest bit is bit 1; a stop bit on top */
	{ { .type = PT_TNT, .tnt = { 1, 1 } },	"06	# 0000 0110: stop, T, 0" },
	{ { .type = PT_TNT, .tnt = { 0, 1 } },	"04	# 0000 0100: stop, N, 0" },
	{ { .type = PT_TNT, .tnt = { 4, 3 } },	"18	# 0001 1000: stop, T N N, 0" },
	{ { .type = PT_TNT, .tnt = { 0x35, 6 } },
	  "ea	# 1110 1010: stop, T T N T N T, 0" },
	/* long: 02 A3, then 48 bits, the youngest lowest */
	{ { .type = PT_TNT, .tnt = { 0x7f, 7 } },	"02 a3 ff 00 00 00 00 00" },
	{ { .type = PT_TNT, .tnt = { 0, 40 } },		"02 a3 00 00 00 00 00 01" },
	{ { .type = PT_TNT, .tnt = { 1ULL << 46, 47 } },
	  "02 a3 00 00 00 00 00 c0	# the oldest taken, 46 not" },

	/* 36-26: leaf 000b; CS.D in bit 1, CS.L & LMA in bit 0; IF in bit 2 */
	{ { .type = PT_MODE_EXEC, .mode = 1 },	"99 01	# 64 bit" },
	{ { .type = PT_MODE_EXEC, .mode = 2 },	"99 02	# 32 bit" },
	{ { .type = PT_MODE_EXEC, .mode = 0 },	"99 00	# 16 bit" },
	{ { .type = PT_MODE_EXEC, .mode = 1 | PT_MODE_IF },	"99 05	# 64 bit, IF" },

	/* 36-24: byte 2 has CR3[11:5] in bits 7:1 and NR in bit 0 */
	{ { .type = PT_PIP, .pip = { 0x1234567000, false } },
	  "02 43 00 67 45 23 01 00	# (CR3 >> 5) << 1 = 0x123456700" },
	{ { .type = PT_PIP, .pip = { 0x1234567801, false } },
	  "02 43 00 67 45 23 01 00	# PCID is not part of the address" },
	{ { .type = PT_PIP, .pip = { 0x1000, true } },	"02 43 01 01 00 00 00 00	# NR" },

	{ { .type = PT_TSC, .tsc = 0xff23456789abcdef },
	  "19 ef cd ab 89 67 45 23	# 36-30: 7 bytes" },
	{ { .type = PT_TMA, .tma = { 0x0e91, 0x129 } },
	  "02 73 91 0e 00 29 01		# 36-32: CTC, reserved, FC[7:0], FC[8]" },
	{ { .type = PT_MTC, .ctc = 0xfe },	"59 fe	# 36-31" },
	{ { .type = PT_CBR, .cbr = 24 },	"02 03 18 00	# 36-29" },

	/* 36-33: 11b in bits 1:0, Exp in bit 2, 5 bits in 7:3; then Exp in bit 0 */
	{ { .type = PT_CYC, .cycles = 1 },	"0b	# 00001 0 11" },
	{ { .type = PT_CYC, .cycles = 31 },	"fb	# 11111 0 11" },
	{ { .type = PT_CYC, .cycles = 32 },	"07 02	# 00000 1 11, 0000001 0" },
	{ { .type = PT_CYC, .cycles = 4095 },	"ff fe	# 11111 1 11, 1111111 0" },
	{ { .type = PT_CYC, .cycles = 4096 },	"07 01 02" },
	{ { .type = PT_CYC, .cycles = 0x7ffff },	"ff ff fe	# 5 + 7 + 7 bits" },

	/* PTW: 10010b, PayloadBytes in bits 6:5 (0: 4, 1: 8), IP in bit 7 */
	{ { .type = PT_PTW, .ptw = { 0x1122334455667788, 8, false } },
	  "02 32 88 77 66 55 44 33 22 11" },
	{ { .type = PT_PTW, .ptw = { 0x55667788, 4, true } },	"02 92 88 77 66 55" },
	{ { .type = PT_PTW, .ptw = { 1, 8, true } },	"02 b2 01 00 00 00 00 00 00 00" },

	{ { .type = PT_EXSTOP, .exstop_ip = true },	"02 e2	# 36-41" },
	{ { .type = PT_EXSTOP },			"02 62	# IP bit clear" },
	/* 36-42: hints in byte 2, EXT in byte 6, the rest reserved */
	{ { .type = PT_MWAIT, .mwait = { 0x20, 1 } },	"02 c2 20 00 00 00 01 00 00 00" },
	/* 36-43: HW in bit 7 of byte 2; C-state, sub-C-state in byte 3 */
	{ { .type = PT_PWRE, .pwre = { 2, 1, false } },	"02 22 00 21" },
	{ { .type = PT_PWRE, .pwre = { 5, 0, true } },	"02 22 80 50" },
	/* 36-44: last, deepest core C-state; wake reason; three bytes reserved */
	{ { .type = PT_PWRX, .pwrx = { 2, 3, 1 } },	"02 a2 23 01 00 00 00" },

	/* CFE: IP in bit 7, type in 4:0; vector. EVD: type in 5:0; payload */
	{ { .type = PT_CFE, .cfe = { PT_CFE_INTR, 14, false } },	"02 13 01 0e" },
	{ { .type = PT_CFE, .cfe = { PT_CFE_IRET, 0, true } },		"02 13 82 00" },
	{ { .type = PT_CFE, .cfe = { PT_CFE_SIPI, 0x9a, false } },	"02 13 05 9a" },
	{ { .type = PT_EVD, .evd = { PT_EVD_CR2, 0x7fffdeadbee0 } },
	  "02 53 00 e0 be ad de ff 7f 00 00" },
};

static void test_fixed(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct pt_last_ip last = { .ip = 0x1234, .known = true };
		uint8_t got[PT_PACKET_MAX];
		const size_t len = pt_packet_encode(&fixed[i].p, &last, got);

		assert_bytes(got, len, fixed[i].bytes, __FILE__, __LINE__);
		assert_int_equal(last.ip, fixed[i].p.type == PT_PSB ? 0 : 0x1234);
	}
}

/* IPBytes in bits 7:5 and what it means, table 36-18 */
static void test_ip(void **state)
{
	static const struct {
		enum pt_pkt_type type;
		uint64_t last, ip;
		const char *bytes;
	} table[] = {
		{ PT_TIP, 0, 0x1234,
		  "2d 34 12		# 001b: 2 bytes, the rest of last IP" },
		{ PT_TIP, 0x1234, 0x55555678,	"4d 78 56 55 55		# 010b: 4 bytes" },
		{ PT_TIP, 0x55555678, 0x7f0055555678,
		  "6d 78 56 55 55 00 7f	# 011b: 6 bytes, sign-extended" },
		{ PT_TIP, 0x7f0055555678, 0x7f0055551111,	"2d 11 11" },
		{ PT_TIP, 0, 0xffffffff81000000,
		  "6d 00 00 00 81 ff ff	# 011b: sign-extended from bit 47" },
		{ PT_TIP, 0, 0x1234567812345678,
		  "cd 78 56 34 12 78 56 34 12	# 110b: not canonical, 8 bytes" },
		{ PT_TIP, 0x1234567812345678, 0x1234000000000000,
		  "8d 00 00 00 00 00 00	# 100b: 6 bytes, 63:48 of last IP" },
		/* the opcodes in bits 4:0 */
		{ PT_TIP_PGE, 0x1000, 0x1000,	"31 00 10	# xxx10001, table 36-20" },
		{ PT_FUP, 0x1000, 0x1010,	"3d 10 10	# xxx11101, table 36-22" },
		{ PT_TIP_PGD, 0x1000, 0x1020,	"21 20 10	# xxx00001, table 36-21" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct pt_pkt p = { .type = table[i].type, .ip = { .ip = table[i].ip } };
		struct pt_last_ip last = { .ip = table[i].last, .known = true };
		uint8_t got[PT_PACKET_MAX];

		assert_bytes(got, pt_packet_encode(&p, &last, got), table[i].bytes,
			     __FILE__, __LINE__);
		assert_int_equal(last.ip, table[i].ip);
	}
}

static void test_ip_suppressed(void **state)
{
	const struct pt_pkt p = { .type = PT_TIP_PGD, .ip = { .suppressed = true } };
	struct pt_last_ip last = { .ip = 0x1000, .known = true };
	uint8_t got[PT_PACKET_MAX];

	(void)state;
	assert_bytes(got, pt_packet_encode(&p, &last, got), "01	# IPBytes 000b",
		     __FILE__, __LINE__);
	assert_int_equal(last.ip, 0x1000);
}

/* Nothing may be left out of an IP if the decoder has none. */
static void test_ip_unknown_last(void **state)
{
	const struct pt_pkt p = { .type = PT_TIP, .ip = { .ip = 0x401000 } };
	struct pt_last_ip last = { .ip = 0x401000 };
	uint8_t got[PT_PACKET_MAX];

	(void)state;
	assert_bytes(got, pt_packet_encode(&p, &last, got), "6d 00 10 40 00 00 00",
		     __FILE__, __LINE__);
	assert_true(last.known);
}

/* What a packet says is what its bytes can say. */
static void test_values(void **state)
{
	const struct pt_pkt tsc = { .type = PT_TSC, .tsc = 0xff23456789abcdef };
	const struct pt_pkt pip = { .type = PT_PIP, .pip = { 0x1234567801, true } };
	const struct pt_pkt pgd = { .type = PT_TIP_PGD, .ip = { 0x1234, true } };
	uint64_t v[3];

	(void)state;
	assert_int_equal(pt_packet_values(&tsc, v), 1);
	assert_int_equal(v[0], 0x23456789abcdef);
	assert_int_equal(pt_packet_values(&pip, v), 2);
	assert_int_equal(v[0], 0x1234567000);
	assert_int_equal(v[1], 1);
	assert_int_equal(pt_packet_values(&pgd, v), 2);
	assert_int_equal(v[0], 0);
	assert_int_equal(v[1], 1);
}

/* Records as pt_packet_log.h has them: kind, size, n, values, each LEB128. */
static void test_log(void **state)
{
	const struct pt_pkt tip = { .type = PT_TIP, .size = 3, .ip = { .ip = 0x81 } };
	const struct pt_pkt ovf = { .type = PT_OVF, .size = 2 };
	struct pt_packet_log *log = pt_packet_log_open("test_packets", 3);
	uint8_t got[64];
	FILE *f;
	size_t n;

	(void)state;
	pt_packet_log_trace(log, true, 0x80, 2, 300);
	pt_packet_log_packet(log, &tip);
	pt_packet_log_packet(log, &ovf);
	pt_packet_log_trace(log, false, 0, 1, 2);
	pt_packet_log_close(log);

	f = fopen("test_packets.3", "rb");
	assert_non_null(f);
	n = fread(got, 1, sizeof(got), f);
	fclose(f);
	unlink("test_packets.3");
	assert_bytes(got, n,
		     "40 00 03 ac 02 80 01 02	# TraceEn set: TSC 300, base 128, mask 2\n"
		     "04 03 02 81 01 00		# TIP, 3 bytes, 0x81, not suppressed\n"
		     "0b 02 00			# OVF\n"
		     "41 00 03 02 00 01		# TraceEn cleared\n", __FILE__, __LINE__);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_ip),
		cmocka_unit_test(test_ip_suppressed),
		cmocka_unit_test(test_ip_unknown_last),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests_name("pt_packet", tests, NULL, NULL);
}
