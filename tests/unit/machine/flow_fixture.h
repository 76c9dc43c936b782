/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A processor for the tests of pt_flow.c and pt_event.c: its registers, 128 KiB
 * of memory with a ToPA table, a clock that stands still unless told, and what
 * it puts out since it was last looked at.
 */
#ifndef FLOW_FIXTURE_H
#define FLOW_FIXTURE_H

#include "annotated.h"
#include "pt_fault.h"
#include "pt_flow.h"
#include "pt_model.h"

#define TABLE	0x1000ULL
#define REGION	0x10000ULL

#define PSB	"02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82	# PSB\n"
#define PSBEND	"02 23	# PSBEND\n"
#define CBR	"02 03 18 00	# CBR\n"

static uint8_t memory[1 << 17];
static struct pt_msrs msrs;
static struct pt_output output;
static struct pt_flow flow;
static uint64_t taken;
static bool packets, trace;
static unsigned int trace_changes;

static int mem_read(void *arg, uint64_t pa, void *buf, size_t len)
{
	(void)arg;
	memcpy(buf, memory + pa, len);
	return 0;
}

static int mem_write(void *arg, uint64_t pa, const void *buf, size_t len)
{
	(void)arg;
	memcpy(memory + pa, buf, len);
	return 0;
}

static void pmi(void *arg)
{
	(void)arg;
}

static uint64_t now;

static uint64_t tsc(void *arg)
{
	(void)arg;
	return now;
}

static void on_trace(void *arg, bool on)
{
	(void)arg;
	trace = on;
	trace_changes++;
}

static void on_packets(void *arg, bool on)
{
	(void)arg;
	packets = on;
}

static int setup(void **state)
{
	const struct pt_memory mem = { .read = mem_read, .write = mem_write, .pmi = pmi };
	const struct pt_clock clock = { .tsc = tsc, .art_num = 2, .art_den = 204, .cbr = 24 };
	const struct pt_observer observer = { .trace = on_trace, .packets = on_packets };
	const uint64_t entries[] = { REGION | 4 << 6, TABLE | TOPA_END };

	(void)state;
	memset(memory, 0, sizeof(memory));
	memcpy(memory + TABLE, entries, sizeof(entries));
	pt_msr_reset(&msrs);
	msrs.output_base = TABLE;
	pt_output_init(&output, &msrs, &pt_caps, &mem);
	pt_flow_init(&flow, &msrs, &output, &clock, &observer);
	memset(&pt_faults, 0, sizeof(pt_faults));
	pt_model_select("max");
	now = 0x1000;
	taken = 0;
	packets = false;
	trace = false;
	trace_changes = 0;
	return 0;
}

static const struct pt_where kernel = { .ip = 0xffffffff81000000, .cpl = 0, .mode = X86_MODE_64 };
static const struct pt_where user = { .ip = 0x401000, .cpl = 3, .mode = X86_MODE_64 };
static const struct pt_where user32 = { .ip = 0x08048000, .cpl = 3, .mode = X86_MODE_32 };

static void start(uint64_t ctl, const struct pt_where *at)
{
	msrs.ctl = ctl | CTL_TRACE_EN | CTL_TOPA;
	pt_flow_start(&flow, at, 0x5000);
	assert_true(trace);
}

static void stop(uint64_t ip)
{
	pt_flow_stop(&flow, ip);
	msrs.ctl &= ~CTL_TRACE_EN;
	assert_false(trace);
	assert_false(packets);
	assert_false(flow.packet_en);
}

/* The packets since the last time. */
static void expect(const char *text, int line)
{
	uint64_t offset;

	pt_encode_tnt_flush(&flow.enc);
	pt_encoder_flush(&flow.enc);
	offset = msrs.output_mask >> 32;
	assert_bytes(memory + REGION + taken, offset - taken, text, __FILE__, line);
	taken = offset;
}
#define EXPECT(text)	expect(text, __LINE__)

static inline void branch(enum x86_class class, uint64_t target, const struct pt_where *at)
{
	const struct pt_branch b = {
		.ip = 0x401100, .next = 0x401105, .target = target, .class = class,
	};

	pt_flow_step(&flow, &b, at);
}

static inline void event(uint64_t from, const struct pt_where *to)
{
	const struct pt_event ev = { .kind = PT_EVENT_INTR, .from = from };

	pt_flow_event(&flow, &ev, to);
}

/* What starting gives was looked at elsewhere. */
static inline void started(uint64_t ctl, const struct pt_where *at)
{
	start(ctl, at);
	pt_encode_tnt_flush(&flow.enc);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
}

#endif
