// SPDX-License-Identifier: GPL-2.0
/*
 * IA32_RTIT_CTL: every bit and every encoding on every processor model, and the
 * rules for setting TraceEn (SDM 3C, tables 36-6, 36-11, 36-12; 36.2.7.3).
 */
#include "msr_script.h"

/*
 * What may be written, by hand from table 36-6 and leaf 14H of each model. Bits
 * that stand alone, without TraceEn (0); of each field the encodings allowed,
 * one bit for each.
 */
#define ALWAYS	(1ULL << 2 | 1ULL << 3 | 1ULL << 10 | 1ULL << 11 | 1ULL << 13)
			/* OS, User, TSCEn, DisRETC, BranchEn */

static const struct ctl_rules {
	const char *model;
	uint64_t bits;
	uint32_t mtc_freq, cyc_thresh, psb_freq;
	unsigned int ranges;
	bool single_range;	/* ToPA may be 0 with TraceEn */
	bool branch_off;	/* BranchEn may be 0 with TraceEn */
} rules[] = {
	{
		.model = "broadwell",
		/* EBX 1: CR3Filter; ECX 1: ToPA */
		.bits = ALWAYS | 1ULL << 7 | 1ULL << 8,
		.mtc_freq = 0x0001, .cyc_thresh = 0x0001, .psb_freq = 0x0001,
	}, {
		.model = "skylake",
		/* EBX fH: CR3Filter, CYCEn, MTCEn; ECX 7: ToPA */
		.bits = ALWAYS | 1ULL << 7 | 1ULL << 8 | 1ULL << 1 | 1ULL << 9,
		.mtc_freq = 0x0249, .cyc_thresh = 0x3fff, .psb_freq = 0x003f,
		.ranges = 2, .single_range = true, .branch_off = true,
	}, {
		.model = "icelake",
		.bits = ALWAYS | 1ULL << 7 | 1ULL << 8 | 1ULL << 1 | 1ULL << 9,
		.mtc_freq = 0x0249, .cyc_thresh = 0x1fff, .psb_freq = 0x003f,
		.ranges = 2, .single_range = true, .branch_off = true,
	}, {
		.model = "sapphire-rapids",
		/* EBX 5fH: and FUPonPTW, PTWEn; InjectPsbPmiOnEnable */
		.bits = ALWAYS | 1ULL << 7 | 1ULL << 8 | 1ULL << 1 | 1ULL << 9 |
			1ULL << 5 | 1ULL << 12 | 1ULL << 56,
		.mtc_freq = 0x0249, .cyc_thresh = 0x003f, .psb_freq = 0x003f,
		.ranges = 2, .single_range = true, .branch_off = true,
	}, {
		.model = "alderlake",
		.bits = ALWAYS | 1ULL << 7 | 1ULL << 8 | 1ULL << 1 | 1ULL << 9 |
			1ULL << 5 | 1ULL << 12 | 1ULL << 56,
		.mtc_freq = 0x0249, .cyc_thresh = 0x003f, .psb_freq = 0x003f,
		.ranges = 2, .single_range = true, .branch_off = true,
	}, {
		.model = "max",
		/* and PwrEvtEn, EventEn, DisTNT */
		.bits = ALWAYS | 1ULL << 7 | 1ULL << 8 | 1ULL << 1 | 1ULL << 9 |
			1ULL << 5 | 1ULL << 12 | 1ULL << 56 |
			1ULL << 4 | 1ULL << 31 | 1ULL << 55,
		.mtc_freq = 0x0249, .cyc_thresh = 0xffff, .psb_freq = 0x003f,
		.ranges = 4, .single_range = true, .branch_off = true,
	},
};

#define RULES	(sizeof(rules) / sizeof(rules[0]))
#define TRACE_EN	1ULL
#define TOPA		(1ULL << 8)
#define BRANCH		(1ULL << 13)

static const struct ctl_rules *start(size_t i)
{
	assert_true(pt_model_select(rules[i].model));
	pt_msr_reset(&script_msrs);
	return &rules[i];
}

/* Writes @val over a CTL of zero; checks that a write that faults changes nothing. */
static void expect(const struct ctl_rules *r, uint64_t val, bool ok)
{
	uint64_t now;

	script_msrs.ctl = 0;
	if ((pt_msr_write(&script_msrs, &pt_caps, 0x570, val) == PT_MSR_OK) != ok)
		fail_msg("%s: WRMSR of %lx to IA32_RTIT_CTL must %s", r->model, val,
			 ok ? "succeed" : "fault");
	assert_int_equal(pt_msr_read(&script_msrs, &pt_caps, 0x570, &now), PT_MSR_OK);
	assert_int_equal(now, ok ? val : 0);
}

static bool in_field(unsigned int bit)
{
	return (bit >= 14 && bit <= 17) || (bit >= 19 && bit <= 22) ||
	       (bit >= 24 && bit <= 27) || (bit >= 32 && bit <= 47);
}

/* Each bit that is no part of a field, with TraceEn clear and set. */
static void test_bits(void **state)
{
	unsigned int bit;
	size_t i;

	(void)state;
	for (i = 0; i < RULES; i++) {
		const struct ctl_rules *r = start(i);

		for (bit = 1; bit < 64; bit++) {
			const uint64_t val = 1ULL << bit;

			if (in_field(bit))
				continue;
			expect(r, val, r->bits & val);
			expect(r, val | TRACE_EN | TOPA | BRANCH, r->bits & val);
		}
	}
}

/* Each encoding of each field, with TraceEn clear and set. */
static void test_encodings(void **state)
{
	unsigned int v, n;
	size_t i;

	(void)state;
	for (i = 0; i < RULES; i++) {
		const struct ctl_rules *r = start(i);

		for (v = 0; v < 16; v++) {
			const struct {
				unsigned int shift;
				uint32_t allowed;
			} fields[] = {
				{ 14, r->mtc_freq }, { 19, r->cyc_thresh }, { 24, r->psb_freq },
			};

			for (n = 0; n < 3; n++) {
				const uint64_t val = (uint64_t)v << fields[n].shift;

				expect(r, val, fields[n].allowed >> v & 1);
				expect(r, val | TRACE_EN | TOPA | BRANCH,
				       fields[n].allowed >> v & 1);
			}
			/* ADDRn_CFG: 0 unused, 1 FilterEn, 2 TraceStop, 3..15 reserved */
			for (n = 0; n < 4; n++) {
				const bool ok = v == 0 || (n < r->ranges && v <= 2);

				expect(r, (uint64_t)v << (32 + 4 * n), ok);
				expect(r, (uint64_t)v << (32 + 4 * n) | TRACE_EN | TOPA | BRANCH,
				       ok);
			}
		}
	}
}

/* Table 36-6: ToPA; and "suppression of COFI-based packets" (SDM 2A, CPUID) */
static void test_trace_en(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < RULES; i++) {
		const struct ctl_rules *r = start(i);

		expect(r, TRACE_EN | TOPA | BRANCH, true);
		expect(r, TRACE_EN | BRANCH, r->single_range);
		expect(r, TRACE_EN | TOPA, r->branch_off);
		expect(r, TRACE_EN, r->single_range && r->branch_off);
		expect(r, 0, true);
	}
}

/* Table 36-11: what each capability makes of a processor that has it alone */
static void test_each_capability(void **state)
{
	static const struct {
		uint32_t ebx, ecx;
		uint64_t bits;
	} alone[] = {
		{ 0, 0, 0 },
		{ 1 << 0, 0, 1ULL << 7 },			/* CR3Filter */
		{ 1 << 1, 0, 1ULL << 1 },			/* CYCEn */
		{ 1 << 2, 0, 0 },				/* ADDRn_CFG come with ranges */
		{ 1 << 3, 0, 1ULL << 9 },			/* MTCEn */
		{ 1 << 4, 0, 1ULL << 5 | 1ULL << 12 },		/* FUPonPTW, PTWEn */
		{ 1 << 5, 0, 1ULL << 4 },			/* PwrEvtEn */
		{ 1 << 6, 0, 1ULL << 56 },			/* InjectPsbPmiOnEnable */
		{ 1 << 7, 0, 1ULL << 31 },			/* EventEn */
		{ 1 << 8, 0, 1ULL << 55 },			/* DisTNT */
		{ 0, 1 << 0, 1ULL << 8 },			/* ToPA */
		{ 0, 1 << 1, 0 },
		{ 0, 1 << 2, 0 },
		{ 0, 1 << 3, 1ULL << 6 },			/* FabricEn */
	};
	static const struct ctl_rules named = { .model = "one capability" };
	unsigned int bit;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		run_script("model max\n");
		pt_caps.ebx = alone[i].ebx;
		pt_caps.ecx = alone[i].ecx;
		for (bit = 1; bit < 64; bit++) {
			if (!in_field(bit))
				expect(&named, 1ULL << bit, (ALWAYS | alone[i].bits) >> bit & 1);
		}
		/* PSBFreq and CycThresh come with CYCEn, MTCFreq with MTCEn. */
		expect(&named, 1ULL << 24, alone[i].ebx == 1 << 1);
		expect(&named, 1ULL << 19, alone[i].ebx == 1 << 1);
		expect(&named, 3ULL << 14, alone[i].ebx == 1 << 3);
	}
}

static void test_every_model_has_rules(void **state)
{
	size_t i, j;

	(void)state;
	assert_int_equal(RULES, pt_model_count);
	for (i = 0; i < pt_model_count; i++) {
		for (j = 0; j < RULES && strcmp(rules[j].model, pt_models[i].name); j++)
			;
		assert_true(j < RULES);
	}
}

static void test_while_tracing(void **state)
{
	(void)state;
	run_script(
		"model skylake\n"
		"wr CTL 2109 ok		# TraceEn, User, ToPA, BranchEn\n"
		"wr CTL 2109 ok		# 36.2.7.1, note: the same value\n"
		"wr CTL 210d gp		# 36.2.7.3: OS is modified\n"
		"wr CTL 2009 gp		# so is ToPA\n"
		"rd CTL 2109\n"
		"wr CTL 210c ok		# 36.2.7.3: unless the write also clears TraceEn\n"
		"rd CTL 210c\n"
		"wr CTL 210d ok		# TraceEn is set again, with OS\n"
		"wr CTL 40000 gp	# bit 18 is reserved even so\n"
		"rd CTL 210d\n"
		"wr CTL 0 ok\n");
}

/* SDM 3D, A.6, bit 14; vmx_misc of the models: test_pt_model.c */
static void test_vmx(void **state)
{
	(void)state;
	run_script(
		"model broadwell	# VMX_MISC[14] = 0\n"
		"wr CTL 2109 ok\n"
		"vmxon\n"
		"rd CTL 2108		# VMXON clears TraceEn, and nothing else\n"
		"wr CTL 2109 gp		# any WRMSR of it faults in VMX operation\n"
		"wr CTL 0 gp\n"
		"rd CTL 2108\n"
		"wr STATUS 0 ok		# the other registers are as ever\n"
		"vmxoff\n"
		"wr CTL 2109 ok\n"
		"rd CTL 2109\n"
		"model skylake		# VMX_MISC[14] = 1\n"
		"wr CTL 2109 ok\n"
		"vmxon\n"
		"rd CTL 2109\n"
		"wr CTL 0 ok\n"
		"wr CTL 2109 ok\n");
	assert_false(pt_msr_vmxon_ends_trace(&script_msrs, &pt_caps));

	run_script("model broadwell\n");
	assert_false(pt_msr_vmxon_ends_trace(&script_msrs, &pt_caps));
	run_script("wr CTL 2109 ok\n");
	assert_true(pt_msr_vmxon_ends_trace(&script_msrs, &pt_caps));
}

/*
 * 36.2.6.3 and 36.3.1, ECX[3]: with FabricEn the ToPA bit is ignored. No model
 * offers it, so one is made that does, and has no single range.
 */
static void test_fabric(void **state)
{
	(void)state;
	run_script("model skylake\n"
		   "wr CTL 40 gp\n");
	pt_caps.ecx = CAP_ECX_TOPA | CAP_ECX_FABRIC;
	run_script("wr CTL 40 ok\n"
		   "wr CTL 2001 gp	# TraceEn, neither ToPA nor FabricEn\n"
		   "wr CTL 2041 ok\n"
		   "wr CTL 0 ok\n"
		   "wr CTL 2101 ok\n");
}

/* A warm RESET ends VMX operation, too. */
static void test_vmx_warm_reset(void **state)
{
	(void)state;
	run_script("model skylake\n");
	pt_caps.pt_in_vmx = false;
	run_script("vmxon\n"
		   "wr CTL 8 gp\n"
		   "warm\n"
		   "wr CTL 8 ok\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_model_has_rules),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_trace_en),
		cmocka_unit_test(test_each_capability),
		cmocka_unit_test(test_while_tracing),
		cmocka_unit_test(test_vmx),
		cmocka_unit_test(test_vmx_warm_reset),
		cmocka_unit_test(test_fabric),
	};

	return cmocka_run_group_tests_name("pt_ctl", tests, NULL, NULL);
}
