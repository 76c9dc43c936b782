/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An encoder whose clock and whose output a test holds: for the tests of
 * pt_encoder.c and pt_clock.c.
 */
#ifndef ENCODER_FIXTURE_H
#define ENCODER_FIXTURE_H

#include "annotated.h"
#include "pt_encoder.h"

#define PSB	"02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82	# PSB, table 36-36\n"
#define PSBEND	"02 23							# PSBEND, table 36-37\n"
#define CBR	"02 03 18 00						# CBR 24, table 36-29\n"

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

static inline void tnt(struct fixture *f, const char *bits)
{
	for (; *bits; bits++)
		pt_encode_tnt(&f->enc, *bits == 'T');
}

#endif
