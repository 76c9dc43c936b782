// SPDX-License-Identifier: GPL-2.0
/*
 * The decoder on streams that are cut off, damaged or nothing but noise: it comes
 * to an end, reads nothing but its bytes (which ASan watches), and what it tells
 * keeps the rules of a stream of events. What is undamaged is not lost.
 */
#include "tests/unit/decode/pt.h"

static struct code code;
static struct pt pt;

/*
 * A program with every kind of branch:
 *	1000	call 1100
 *	1005	call *%rax		-> 1200
 *	1007	jne 1000
 *	1009	syscall
 *	100b	jmp 1000
 *	1100	je 1103
 *	1102	nop
 *	1103	ret
 *	1200	call 1300
 *	1205	jmp *%rax		-> 1103
 *	1300	nop; nop; ret
 */
static void make_code(void)
{
	code_init(&code, 0x1000);
	CODE(&code, 0x1000, 0xe8, 0xfb, 0x00, 0x00, 0x00, 0xff, 0xd0, 0x75, 0xf7, 0x0f, 0x05,
	     0xeb, 0xf3);
	CODE(&code, 0x1100, 0x74, 0x01, 0x90, 0xc3);
	CODE(&code, 0x1200, 0xe8, 0xfb, 0x00, 0x00, 0x00, 0xff, 0xe0);
	CODE(&code, 0x1300, 0x90, 0x90, 0xc3);
}

/* Where each PSB is. */
static size_t psbs[64];
static size_t nr_psbs;

/* One turn of the program from 1000, which ends at the syscall. */
static void turn(unsigned int number)
{
	pt_tnt(&pt, number % 2 ? "T" : "N");	/* je 1103 */
	pt_tip(&pt, 0x1005);			/* ret */
	pt_tip(&pt, 0x1200);			/* call *%rax */
	if (number % 3 == 0) {
		pt_fup(&pt, 0x1301);		/* a fault there */
		pt_tip_pgd(&pt);
		pt_enable(&pt, 1000 + number * 100, 0x1301);
	}
	if (number % 2)
		pt_tnt(&pt, "T");		/* ret, compressed */
	else
		pt_tip(&pt, 0x1205);
	pt_tip(&pt, 0x1103);			/* jmp *%rax */
	pt_tip(&pt, 0x1007);			/* ret */
	pt_tnt(&pt, "N");			/* jne 1000 */
	pt_tip_pgd(&pt);			/* syscall */
}

static void make_stream(void)
{
	unsigned int i;

	pt.len = 0;
	nr_psbs = 0;
	for (i = 0; i < 40; i++) {
		if (i % 4 == 0) {
			psbs[nr_psbs++] = pt.len;
			pt_psb_off(&pt, 1000 + i * 100);
		}
		pt_enable(&pt, 1000 + i * 100 + 1, 0x1000);
		turn(i);
	}
}

static int setup(void **state)
{
	(void)state;
	make_code();
	make_stream();
	code_ready(&code, true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	code_done(&code);
	return 0;
}

static bool same(const struct mt_flow *a, const struct mt_flow *b)
{
	return a->kind == b->kind && a->from == b->from && a->to == b->to &&
	       a->next == b->next && a->flags == b->flags && a->tsc == b->tsc &&
	       a->insns == b->insns;
}

/* The undamaged stream, and what is in it. */
static void test_whole(void **state)
{
	struct mt_decode_stats stats;
	struct events events;

	(void)state;
	assert_int_equal(decode(&code, pt.bytes, pt.len, &events, &stats), 0);
	assert_int_equal(stats.errors, 0);
	assert_int_equal(stats.segments, 1);
	assert_int_equal(stats.calls, 40 * 3);
	free(events.data);
}

/*
 * Cut off anywhere, the events are those of the whole up to some point. Only
 * behind the last packet more may be told: direct calls that would have come.
 */
static void test_cut_off(void **state)
{
	struct mt_decode_stats stats;
	struct events whole, part;
	size_t len, i;

	(void)state;
	assert_int_equal(decode(&code, pt.bytes, pt.len, &whole, &stats), 0);
	for (len = 0; len < pt.len; len++) {
		assert_int_equal(decode(&code, pt.bytes, len, &part, &stats), 0);
		assert_int_equal(stats.errors, 0);
		for (i = 0; i < part.count && same(&part.data[i], &whole.data[i]); i++)
			;
		for (; i < part.count; i++)
			if (part.data[i].kind != MT_FLOW_END &&
			    part.data[i].kind != MT_FLOW_CALL)
				fail_msg("cut off at %zu: event %zu is not in the whole", len, i);
		free(part.data);
	}
	free(whole.data);
}

/* Begun anywhere, the rest is what the whole has from the next PSB on. */
static void test_begun_late(void **state)
{
	struct mt_decode_stats stats;
	struct events whole, part;
	size_t start, i, skip, psb;

	(void)state;
	assert_int_equal(decode(&code, pt.bytes, pt.len, &whole, &stats), 0);
	for (start = 0; start <= psbs[nr_psbs - 1]; start++) {
		for (psb = 0; psbs[psb] < start; psb++)
			;
		assert_int_equal(decode(&code, pt.bytes + start, pt.len - start, &part, &stats),
				 0);
		assert_int_equal(stats.errors, 0);
		assert_int_equal(stats.skipped, psbs[psb] - start);
		assert_int_equal(stats.calls, (40 - 4 * psb) * 3);
		assert_int_equal(part.data[0].kind, MT_FLOW_START);
		skip = whole.count - part.count;
		for (i = 1; i < part.count; i++)
			assert_true(same(&part.data[i], &whole.data[skip + i]));
		free(part.data);
	}
	free(whole.data);
}

/*
 * Some bytes between two PSBs are overwritten: all other stretches between PSBs
 * come out as before, whatever the damage does to its own.
 */
static void test_damaged(void **state)
{
	unsigned int seed = 7, round;
	uint64_t lost = 0;

	(void)state;
	for (round = 0; round < 3000; round++) {
		struct mt_decode_stats stats;
		struct events events;
		uint8_t bytes[sizeof(pt.bytes)];
		unsigned int hits = 1 + rand_r(&seed) % 12;
		size_t psb = rand_r(&seed) % (nr_psbs - 1);
		size_t start = psbs[psb] + 24, size = psbs[psb + 1] - start;

		memcpy(bytes, pt.bytes, pt.len);
		while (hits--)
			bytes[start + rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
		assert_int_equal(decode(&code, bytes, pt.len, &events, &stats), 0);
		/* a turn has three calls; four turns are damaged and the rest is not */
		if (stats.calls < 36 * 3)
			lost++;
		assert_true(stats.errors < 16);
		free(events.data);
	}
	/* damage may read as a packet that takes in the PSB behind it */
	print_message("damage reached beyond its PSB in %lu of %u\n", lost, round);
	assert_true(lost < round / 20);
}

/* Nothing but noise, with PSBs sown into it. */
static void test_noise(void **state)
{
	unsigned int seed = 3, round, i;

	(void)state;
	for (round = 0; round < 500; round++) {
		struct mt_decode_stats stats;
		struct events events;
		struct pt noise = { .len = 0 };
		unsigned int size = rand_r(&seed) % 2000;

		for (i = 0; i < size; i++) {
			if (rand_r(&seed) % 50 == 0)
				pt_psb_on(&noise, rand_r(&seed), 0x1000 + rand_r(&seed) % 0x400);
			else if (rand_r(&seed) % 4 == 0)
				pt_tip(&noise, 0x1000 + rand_r(&seed) % 0x400);
			else if (rand_r(&seed) % 3 == 0)
				pt_tnt(&noise, &"TNTTNT"[rand_r(&seed) % 6]);
			else
				pt_byte(&noise, rand_r(&seed) & 0xff);
		}
		assert_int_equal(decode(&code, noise.bytes, noise.len, &events, &stats), 0);
		free(events.data);
	}
}

/* Noise as code: instructions that are cut off, unknown, endless loops. */
static void test_noise_as_code(void **state)
{
	unsigned int seed = 5, round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		struct mt_decode_stats stats;
		struct events events;
		struct code noise;
		struct pt stream = { .len = 0 };

		code_init(&noise, 0x1000);
		for (i = 0; i < noise.len; i++)
			noise.bytes[i] = (uint8_t)rand_r(&seed);
		code_ready(&noise, round % 2);
		for (i = 0; i < 20; i++) {
			pt_psb_on(&stream, i, 0x1000 + rand_r(&seed) % 0x2000);
			pt_tnt(&stream, "TNTTNT");
			pt_tip(&stream, 0x1000 + rand_r(&seed) % 0x2000);
			pt_tnt(&stream, "TTTTTT");
		}
		assert_int_equal(decode(&noise, stream.bytes, stream.len, &events, &stats), 0);
		free(events.data);
		code_done(&noise);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begun_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
		cmocka_unit_test_setup_teardown(test_noise_as_code, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
