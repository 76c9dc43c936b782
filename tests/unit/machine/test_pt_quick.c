// SPDX-License-Identifier: GPL-2.0
/*
 * pt_flow_quick() is pt_flow_step() made short: the bytes must be the same, and
 * flow->quick must be false where they would not be.
 */
#include "annotated.h"
#include "pt_fault.h"
#include "pt_flow.h"
#include "pt_model.h"

struct machine {
	struct pt_msrs msrs;
	struct pt_output output;
	struct pt_flow flow;
	uint64_t now;
	uint8_t memory[1 << 20];
	unsigned int quick;
};

static struct machine with, without;

static uint64_t tsc(void *arg)
{
	return ((struct machine *)arg)->now;
}

static int mem_read(void *arg, uint64_t pa, void *buf, size_t len)
{
	memcpy(buf, ((struct machine *)arg)->memory + pa, len);
	return 0;
}

static int mem_write(void *arg, uint64_t pa, const void *buf, size_t len)
{
	memcpy(((struct machine *)arg)->memory + pa, buf, len);
	return 0;
}

static void nothing(void *arg, bool on)
{
	(void)arg, (void)on;
}

/* A TSC packet tells its moment, however long ago the clock was last looked at. */
static void see_packet(void *arg, const struct pt_pkt *p)
{
	if (p->type == PT_TSC)
		assert_int_equal(p->tsc, ((struct machine *)arg)->now);
}

static void pmi(void *arg)
{
	(void)arg;
}

static void start(struct machine *m, uint64_t ctl)
{
	const struct pt_memory mem = {
		.read = mem_read, .write = mem_write, .pmi = pmi, .arg = m,
	};
	const struct pt_clock clock = {
		.tsc = tsc, .arg = m, .art_num = 2, .art_den = 204, .cbr = 26,
	};
	const struct pt_observer observer = {
		.trace = nothing, .packets = nothing, .packet = see_packet, .arg = m,
	};
	const struct pt_where at = { .ip = 0x401000, .cpl = 3, .mode = X86_MODE_64 };

	memset(m, 0, sizeof(*m));
	pt_msr_reset(&m->msrs);
	pt_output_init(&m->output, &m->msrs, &pt_caps, &mem);
	pt_flow_init(&m->flow, &m->msrs, &m->output, &clock, &observer);
	m->msrs.output_mask = 0xfffff;
	m->msrs.ctl = CTL_TRACE_EN | CTL_USER | CTL_BRANCH_EN | CTL_TSC_EN | ctl;
	pt_flow_start(&m->flow, &at, 0x1000);
}

static void branch(struct machine *m, enum x86_class class, bool taken, bool quick)
{
	const struct pt_branch b = {
		.ip = 0x401010, .next = 0x401012, .target = 0x401000, .class = class,
	};
	const bool direct = class == X86_CALL || class == X86_JMP;
	const struct pt_where at = {
		.ip = taken || direct ? 0x401000 : 0x401012, .cpl = 3, .mode = X86_MODE_64,
	};

	if (quick && m->flow.quick) {
		m->quick++;
		if (pt_flow_quick(&m->flow, class, taken, b.next, at.ip))
			pt_flow_settle(&m->flow, &at);
	} else {
		pt_flow_step(&m->flow, &b, &at);
	}
}

/* The same 200,000 branches in both, of the classes that programs have most. */
static void run(uint64_t ctl)
{
	static const enum x86_class classes[] = {
		X86_COND, X86_COND, X86_COND, X86_CALL, X86_RET, X86_JMP_IND, X86_CALL_IND,
		X86_JMP,
	};
	uint64_t random = 1;
	unsigned int i;

	start(&with, ctl);
	start(&without, ctl);
	for (i = 0; i < 200000; i++) {
		enum x86_class class;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		class = classes[random >> 61];
		with.now += random >> 56 & 63;
		without.now = with.now;
		branch(&with, class, random >> 40 & 1, true);
		branch(&without, class, random >> 40 & 1, false);
	}
	pt_flow_stop(&with.flow, 0x401000);
	pt_flow_stop(&without.flow, 0x401000);
	assert_memory_equal(with.memory, without.memory, sizeof(with.memory));
	assert_true(with.msrs.output_mask == without.msrs.output_mask);
	assert_true(with.msrs.output_mask >> 32 > 10000);
}

static void test_same(void **state)
{
	(void)state;
	run(0);
	/* All but the first. */
	assert_int_equal(with.quick, 200000 - 1);
}

static void test_same_mtc(void **state)
{
	(void)state;
	run(CTL_MTC_EN | 3ULL << 14);
	assert_int_equal(with.quick, 200000 - 1);
}

/* Each branch has its time, or its own packet, or none. */
static void test_never(void **state)
{
	(void)state;
	run(CTL_CYC_EN);
	assert_int_equal(with.quick, 0);
	run(CTL_DIS_TNT);
	assert_int_equal(with.quick, 0);
	run(CTL_EVENT_EN);
	assert_int_equal(with.quick, 0);
	pt_faults.n[PT_FAULT_OVERFLOW] = 1000;
	run(0);
	assert_int_equal(with.quick, 0);
	pt_faults.n[PT_FAULT_OVERFLOW] = 0;
}

/* The handler is in another context; and in this one again a full step comes first. */
static void test_event(void **state)
{
	const struct pt_event ev = { .kind = PT_EVENT_INTR, .from = 0x401000 };
	const struct pt_where kernel = { .ip = 0xffffffff81000000, .mode = X86_MODE_64 };

	(void)state;
	start(&with, 0);
	branch(&with, X86_COND, true, true);
	branch(&with, X86_COND, true, true);
	assert_int_equal(with.quick, 1);
	pt_flow_event(&with.flow, &ev, &kernel);
	assert_false(with.flow.quick);
}

/*
 * A program that has read the TSC knows that its next branch is behind that moment,
 * so an MTC that was due then stands before it, and behind the branches before.
 */
static void test_clock_seen(void **state)
{
	const uint64_t mtc = 8 * 102;	/* MTCFreq 3, TSC ticks of a crystal's tick */
	unsigned int i, quick;

	(void)state;
	for (quick = 0; quick < 2; quick++) {
		start(&with, CTL_MTC_EN | 3ULL << 14);
		for (i = 0; i < PT_FLOW_CLOCK_STEPS - 3; i++)
			branch(&with, X86_COND, true, quick);
		with.now = mtc;
		pt_flow_clock_seen(&with.flow);
		branch(&with, X86_COND, true, quick);

		assert_int_equal(with.flow.enc.count.of_type[PT_MTC], 1);
		assert_int_equal(with.flow.enc.tnt_bits, 1);
		assert_int_equal(with.quick > 0, quick);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_same_mtc),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_clock_seen),
	};

	return cmocka_run_group_tests_name("pt_quick", tests, NULL, NULL);
}
