/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of the decoder: PT packets by hand (SDM vol. 3, chapter "Intel
 * Processor Trace", section "Packet Definitions"), code to decode them over, and
 * what came out of it as text. It shares nothing with the decoder or libipt.
 */
#ifndef MTRACE_TESTS_DECODE_PT_H
#define MTRACE_TESTS_DECODE_PT_H

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/decode/decoder.h"

/* ---- packets ---- */

struct pt {
	uint8_t bytes[1 << 16];
	size_t len;
};

static inline void pt_byte(struct pt *pt, unsigned int byte)
{
	assert_true(pt->len < sizeof(pt->bytes));
	pt->bytes[pt->len++] = (uint8_t)byte;
}

/* The low @count bytes of @value, least significant first. */
static inline void pt_value(struct pt *pt, uint64_t value, unsigned int count)
{
	while (count--) {
		pt_byte(pt, value & 0xff);
		value >>= 8;
	}
}

/* Table "TIP Packet Definition": opcode in bits 4:0, IPBytes in bits 7:5. */
static inline void pt_ip(struct pt *pt, unsigned int opcode, unsigned int ip_bytes, uint64_t ip)
{
	static const unsigned int sizes[8] = { 0, 2, 4, 6, 6, 0, 8, 0 };

	pt_byte(pt, opcode | (ip_bytes << 5));
	pt_value(pt, ip, sizes[ip_bytes]);
}

static inline void pt_tip(struct pt *pt, uint64_t ip)      { pt_ip(pt, 0x0d, 3, ip); }
static inline void pt_tip_pge(struct pt *pt, uint64_t ip)  { pt_ip(pt, 0x11, 3, ip); }
static inline void pt_tip_pgd(struct pt *pt)               { pt_ip(pt, 0x01, 0, 0); }
static inline void pt_tip_pgd_ip(struct pt *pt, uint64_t ip) { pt_ip(pt, 0x01, 3, ip); }
static inline void pt_fup(struct pt *pt, uint64_t ip)      { pt_ip(pt, 0x1d, 3, ip); }
static inline void pt_ovf(struct pt *pt)                   { pt_value(pt, 0xf302, 2); }
static inline void pt_pad(struct pt *pt)                   { pt_byte(pt, 0x00); }

/* Short TNT: up to six of 'T' and 'N', the oldest first; a stop bit above them. */
static inline void pt_tnt(struct pt *pt, const char *taken)
{
	unsigned int bits = 1;

	for (; *taken; taken++)
		bits = bits << 1 | (*taken == 'T');
	pt_byte(pt, bits << 1);
}

static inline void pt_tsc(struct pt *pt, uint64_t tsc)
{
	pt_byte(pt, 0x19);
	pt_value(pt, tsc, 7);
}

/* MODE.Exec: CS.L in bit 0, CS.D in bit 1. */
static inline void pt_mode(struct pt *pt, unsigned int bits)
{
	pt_byte(pt, 0x99);
	pt_byte(pt, bits == 64 ? 1 : bits == 32 ? 2 : 0);
}

/* MODE.TSX: leaf 1; InTX in bit 0, TXAbort in bit 1. */
static inline void pt_tsx(struct pt *pt, bool in_tx, bool abort)
{
	pt_byte(pt, 0x99);
	pt_byte(pt, 0x20 | (abort << 1) | in_tx);
}

static inline void pt_psb(struct pt *pt)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		pt_value(pt, 0x8202, 2);
}

static inline void pt_psbend(struct pt *pt) { pt_value(pt, 0x2302, 2); }

/* PSB+ while tracing is on at @ip in 64-bit mode. */
static inline void pt_psb_on(struct pt *pt, uint64_t tsc, uint64_t ip)
{
	pt_psb(pt);
	pt_tsc(pt, tsc);
	pt_fup(pt, ip);
	pt_mode(pt, 64);
	pt_psbend(pt);
}

/* PSB+ while tracing is off. */
static inline void pt_psb_off(struct pt *pt, uint64_t tsc)
{
	pt_psb(pt);
	pt_tsc(pt, tsc);
	pt_psbend(pt);
}

/* Tracing on at @ip, as it comes: MODE.Exec, then TIP.PGE. */
static inline void pt_enable(struct pt *pt, uint64_t tsc, uint64_t ip)
{
	pt_tsc(pt, tsc);
	pt_mode(pt, 64);
	pt_tip_pge(pt, ip);
}

/* ---- code ---- */

struct code {
	uint8_t bytes[8192];
	uint64_t base;
	size_t len;
	struct pt_image *image;
	char file[32];			/* empty: libipt reads by callback */
};

static size_t code_read(void *ctx, uint64_t addr, uint8_t *buf, size_t len)
{
	const struct code *code = ctx;

	if (addr < code->base || addr >= code->base + code->len)
		return 0;
	if (len > code->base + code->len - addr)
		len = code->base + code->len - addr;
	memcpy(buf, code->bytes + (addr - code->base), len);
	return len;
}

static int code_callback(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip,
			 void *ctx)
{
	size_t len = code_read(ctx, ip, buf, size);

	(void)asid;
	return len ? (int)len : -pte_nomap;
}

static inline void code_init(struct code *code, uint64_t base)
{
	memset(code, 0, sizeof(*code));
	memset(code->bytes, 0x90, sizeof(code->bytes));
	code->base = base;
	code->len = sizeof(code->bytes);
}

static inline void code_put(struct code *code, uint64_t addr, const void *bytes, size_t len)
{
	assert_true(addr >= code->base && addr + len <= code->base + sizeof(code->bytes));
	memcpy(code->bytes + (addr - code->base), bytes, len);
}

/* Machine code at @addr, e.g. CODE(&code, 0x1000, 0xc3). */
#define CODE(code, addr, ...)								\
	code_put(code, addr, (const uint8_t[]){ __VA_ARGS__ },				\
		 sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Hand the code to libipt: as a section of a file, the usual way, or by callback. */
static inline void code_ready(struct code *code, bool as_file)
{
	code->image = pt_image_alloc("test");
	assert_non_null(code->image);
	if (as_file) {
		int fd;

		strcpy(code->file, "/tmp/mtrace-test-XXXXXX");
		fd = mkstemp(code->file);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, code->bytes, code->len), code->len);
		close(fd);
		assert_int_equal(pt_image_add_file(code->image, code->file, 0, code->len, NULL,
						   code->base), 0);
	} else {
		pt_image_set_callback(code->image, code_callback, code);
	}
}

static inline void code_done(struct code *code)
{
	pt_image_free(code->image);
	code->image = NULL;
	if (code->file[0])
		unlink(code->file);
}

/* ---- what came out ---- */

struct events {
	struct mt_flow *data;
	size_t count;
	size_t room;
};

static int events_take(void *ctx, const struct mt_flow *events, unsigned int count)
{
	struct events *out = ctx;

	assert_true(count > 0);
	if (out->count + count > out->room) {
		out->room = (out->count + count) * 2;
		out->data = realloc(out->data, out->room * sizeof(*out->data));
		assert_non_null(out->data);
	}
	memcpy(out->data + out->count, events, count * sizeof(*events));
	out->count += count;
	return 0;
}

/* One line an event: "CALL 1003>1100 next 1008 +2", +N being the instructions. */
static inline void event_text(const struct mt_flow *event, char *buf, size_t size)
{
	static const char *const kinds[] = {
		"START", "CALL", "RETURN", "JUMP", "FAR_CALL", "FAR_RETURN", "ASYNC",
		"DISABLE", "ENABLE", "GAP", "END",
	};
	static const char *const flags[] = {
		" syscall", " async", " resumed", " overflow", " error", " call", " return",
	};
	size_t len, i;

	len = snprintf(buf, size, "%s", kinds[event->kind]);
	if (event->from || event->to)
		len += snprintf(buf + len, size - len, " ");
	if (event->from)
		len += snprintf(buf + len, size - len, "%lx", event->from);
	if (event->to)
		len += snprintf(buf + len, size - len, ">%lx", event->to);
	if (event->next)
		len += snprintf(buf + len, size - len, " next %lx", event->next);
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (event->flags & (1U << i))
			len += snprintf(buf + len, size - len, "%s", flags[i]);
	if (event->insns)
		snprintf(buf + len, size - len, " +%u", event->insns);
}

static inline void events_text(const struct events *events, char *buf, size_t size)
{
	size_t len = 0, i;

	buf[0] = '\0';
	for (i = 0; i < events->count && len + 100 < size; i++) {
		event_text(&events->data[i], buf + len, size - len);
		len += strlen(buf + len);
		buf[len++] = '\n';
		buf[len] = '\0';
	}
}

/* Properties that every stream of events has. */
static inline void events_check(const struct events *events)
{
	bool open = false;
	uint64_t tsc = 0;
	size_t i;

	for (i = 0; i < events->count; i++) {
		const struct mt_flow *event = &events->data[i];

		assert_true(event->tsc >= tsc);
		tsc = event->tsc;
		if (event->kind == MT_FLOW_START)
			assert_false(open);
		else
			assert_true(open);
		open = event->kind != MT_FLOW_GAP && event->kind != MT_FLOW_END;
		if (event->kind == MT_FLOW_END)
			assert_int_equal(i, events->count - 1);
		if (event->kind == MT_FLOW_GAP && (event->flags & MT_FLOW_F_ERROR))
			assert_true(event->error > 0);
	}
	assert_false(open);
}

/* Decode @len @bytes from a block of exactly that size, for ASan to see overruns. */
static inline int decode(const struct code *code, const void *bytes, size_t len,
			 struct events *events, struct mt_decode_stats *stats)
{
	const struct mt_decode_config config = { .cpu_family = 6, .cpu_model = 0x8e };
	struct mt_code view = { .image = code->image, .read = code_read, .ctx = (void *)code };
	uint8_t *copy = malloc(len ? len : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	memset(events, 0, sizeof(*events));
	err = mt_decode(&config, &view, copy, len, events_take, events, stats);
	free(copy);
	events_check(events);
	return err;
}

/* Decode @pt both ways over @code and compare with @expected. */
static inline void expect(struct code *code, const struct pt *pt, const char *expected)
{
	static char text[1 << 16];
	struct mt_decode_stats stats;
	struct events events;
	int as_file;

	for (as_file = 0; as_file < 2; as_file++) {
		code_ready(code, as_file);
		assert_int_equal(decode(code, pt->bytes, pt->len, &events, &stats), 0);
		events_text(&events, text, sizeof(text));
		assert_string_equal(text, expected);
		free(events.data);
		code_done(code);
	}
}

#endif /* MTRACE_TESTS_DECODE_PT_H */
