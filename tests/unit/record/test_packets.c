// SPDX-License-Identifier: GPL-2.0
/*
 * Whether code ran, by packets alone. The bytes are from the SDM's tables (vol.
 * 3, "Packet Definitions"), each packet with its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/record/packets.h"

#define PSB	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, \
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82
#define PSBEND	0x02, 0x23
#define TSC	0x19, 1, 2, 3, 4, 5, 6, 7
#define MTC	0x59, 0x11
#define CYC	0x0b				/* 1 cycle */
#define CBR	0x02, 0x03, 0x10, 0x00
#define MODE	0x99, 0x01			/* MODE.Exec, 64 bits */
#define PGE	0x71, 0x55, 0x51, 0x55, 0x55, 0x55, 0x00	/* TIP.PGE, 6 bytes of IP */
#define PGD	0x01				/* TIP.PGD, no IP */
#define TIP	0x2d, 0x34, 0x12		/* 2 bytes of IP */
#define FUP	0x3d, 0x34, 0x12
#define TNT8	0x06				/* stop bit, taken */
#define TNT64	0x02, 0xa3, 0x03, 0, 0, 0, 0, 0
#define OVF	0x02, 0xf3
#define PAD	0x00

static bool shows(const uint8_t *first, size_t first_len, const uint8_t *second,
		  size_t second_len)
{
	const struct mt_piece pieces[2] = { { first, first_len }, { second, second_len } };

	return mt_packets_show_code(pieces);
}

#define SHOWS(...) \
	shows((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), NULL, 0)

static void test_code(void **state)
{
	(void)state;
	assert_true(SHOWS(PSB, TSC, CBR, PSBEND, MODE, PGE, PGD));
	assert_true(SHOWS(PSB, PSBEND, TNT8));
	assert_true(SHOWS(PSB, PSBEND, TNT64));
	assert_true(SHOWS(PSB, PSBEND, PAD, MTC, CYC, TIP));
	/* After a second PSB, and what precedes the first is not looked at. */
	assert_true(SHOWS(PSB, PSBEND, MTC, PSB, TSC, PSBEND, PGE));
	assert_true(SHOWS(0x51, 0x55, PSB, PSBEND, TNT8));
	/* What cannot be read is passed over. */
	assert_true(SHOWS(PSB, PSBEND, 0x02, 0x01, PSB, PSBEND, TNT8));
}

static void test_no_code(void **state)
{
	(void)state;
	assert_false(SHOWS(PSB, TSC, CBR, PSBEND));
	assert_false(SHOWS(PSB, TSC, PSBEND, MTC, CYC, MTC, PAD, OVF));
	assert_false(SHOWS(PSB, PSBEND, FUP, PGD));
	/* Bytes of these packets hold what would be opcodes. */
	assert_false(SHOWS(PSB, 0x19, 0x2d, 0x71, 0x06, 0x2d, 0x71, 0x06, 0x2d, PSBEND));
	assert_false(SHOWS(PSB, PSBEND, MTC, 0x59, 0x06));
	/* Cut off in the packet. */
	assert_false(SHOWS(PSB, PSBEND, 0x71, 0x55, 0x51));
}

/* No PSB: it may be code or not, and so counts as it; nothing at all does not. */
static void test_unknown(void **state)
{
	(void)state;
	assert_true(SHOWS(MTC, CYC));
	assert_true(SHOWS(0x02, 0x82, 0x02));
	assert_false(shows(NULL, 0, NULL, 0));
}

static void test_two_pieces(void **state)
{
	static const uint8_t none[] = { PSB, PSBEND, MTC }, code[] = { PGE, TNT8 };
	static const uint8_t cut[] = { PSB, PSBEND, 0x2d, 0x34 }, rest[] = { 0x12, CYC };
	static const uint8_t half[] = { PSB, PSBEND, 0x59 }, time[] = { 0x06, CYC };

	(void)state;
	assert_true(shows(none, sizeof(none), code, sizeof(code)));
	assert_true(shows(code, sizeof(code), none, sizeof(none)) == false);
	assert_true(shows(NULL, 0, none, sizeof(none)) == false);
	/* A packet across the border, and one whose second half looks like another. */
	assert_true(shows(cut, sizeof(cut), rest, sizeof(rest)));
	assert_false(shows(half, sizeof(half), time, sizeof(time)));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_two_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
