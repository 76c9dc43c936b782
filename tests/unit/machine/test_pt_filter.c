// SPDX-License-Identifier: GPL-2.0
/*
 * Address ranges: FilterEn, TraceStop and their packets, SDM 3C, 36.2.4.3, 36.2.5.5
 * and the cases of table 36-50 in which ContextEn stays set.
 */
#include "flow_fixture.h"
#include "pt_filter.h"

#define RANGE(n, cfg)	((uint64_t)(cfg) << (32 + 4 * (n)))
#define CTL		(CTL_USER | CTL_OS | CTL_BRANCH_EN)

static const struct pt_where in = { .ip = 0x401000, .cpl = 3, .mode = X86_MODE_64 };
static const struct pt_where in2 = { .ip = 0x401200, .cpl = 3, .mode = X86_MODE_64 };
static const struct pt_where out = { .ip = 0x402000, .cpl = 3, .mode = X86_MODE_64 };
static const struct pt_where trap = { .ip = 0x403000, .cpl = 3, .mode = X86_MODE_64 };

/* 401000 to 401fff is traced; 403000 to 403fff stops. */
static void ranges(uint64_t ctl, const struct pt_where *at)
{
	msrs.addr[0] = 0x401000;
	msrs.addr[1] = 0x401fff;
	msrs.addr[2] = 0x403000;
	msrs.addr[3] = 0x403fff;
	start(ctl | RANGE(0, 1) | RANGE(1, 2), at);
}

static void test_functions(void **state)
{
	const struct pt_msrs none = { .ctl = 0 };
	const struct pt_msrs two = {
		.ctl = RANGE(0, 1) | RANGE(2, 1) | RANGE(3, 2),
		.addr = { 0x1000, 0x1fff, 0, ~0ULL, 0x5000, 0x5000, 0x8000, 0x8fff },
	};

	(void)state;
	assert_true(pt_filter_all_ips(&none));
	assert_true(pt_filter_ip(&none, 0x1234));
	assert_false(pt_filter_trace_stop(&none, 0));

	assert_false(pt_filter_all_ips(&two));
	assert_false(pt_filter_ip(&two, 0xfff));
	assert_true(pt_filter_ip(&two, 0x1000));
	assert_true(pt_filter_ip(&two, 0x1fff));
	assert_false(pt_filter_ip(&two, 0x2000));	/* ADDR1 is unused */
	assert_true(pt_filter_ip(&two, 0x5000));
	assert_false(pt_filter_ip(&two, 0x8000));
	assert_true(pt_filter_trace_stop(&two, 0x8000));
	assert_true(pt_filter_trace_stop(&two, 0x8fff));
	assert_false(pt_filter_trace_stop(&two, 0x1000));
}

/* Each way into the range and out of it. */
static void test_in_and_out(void **state)
{
	(void)state;
	ranges(CTL, &out);
	EXPECT(PSB CBR "02 43 00 05 00 00 00 00	# PIP does not depend on FilterEn\n" PSBEND);
	branch(X86_JMP_IND, 0, &out);
	branch(X86_COND, out.ip, &out);
	event(out.ip, &kernel);
	EXPECT("				# 9a, 7a, 11a: none\n");
	assert_true(packets);			/* the log of what ran has it */

	branch(X86_JMP, in.ip, &in);
	EXPECT("99 01 51 00 10 40 00		# 6c: MODE.Exec, TIP.PGE(BLIP)\n");
	branch(X86_JMP, out.ip, &out);
	EXPECT("21 00 20			# 6b: TIP.PGD(BLIP)\n");
	branch(X86_COND, in.ip, &in);
	EXPECT("31 00 10			# 7b: TIP.PGE(BLIP)\n");
	branch(X86_COND, out.ip, &out);
	EXPECT("01				# 7e: TIP.PGD() alone, no TNT bit\n");
	branch(X86_CALL_IND, 0, &in);
	EXPECT("31 00 10			# 9b: TIP.PGE(BLIP)\n");
	branch(X86_COND, 0x1234, &in2);
	branch(X86_COND, out.ip, &out);
	EXPECT("04 01				# 7f: TNT N, TIP.PGD()\n");
	branch(X86_RET, 0, &in);
	branch(X86_JMP_IND, 0, &out);
	EXPECT("31 00 10			# 9b\n"
	       "21 00 20			# 9c: TIP.PGD(BLIP)\n");
	event(0x402010, &in);
	EXPECT("31 00 10			# 11b: TIP.PGE(BLIP)\n");
	event(0x401010, &kernel);
	EXPECT("3d 10 10 61 00 00 00 81 ff ff	# 11d: FUP(NLIP), TIP.PGD(BLIP)\n");
	branch(X86_IRET, 0, &in);
	EXPECT("71 00 10 40 00 00 00		# 10b: TIP.PGE(BLIP)\n");
	branch(X86_FAR, 0, &kernel);
	EXPECT("61 00 00 00 81 ff ff		# 10d: TIP.PGD(BLIP)\n");
}

/* A return that leaves the range: compressed, 7e, or not, 9c. */
static void test_returns_out(void **state)
{
	(void)state;
	ranges(CTL, &in);
	started(CTL | RANGE(0, 1), &in);
	pt_encode_call(&flow.enc, out.ip);
	branch(X86_RET, 0, &out);
	EXPECT("01				# compressible: TIP.PGD()\n");
	branch(X86_JMP, in.ip, &in);
	branch(X86_RET, 0, &out);
	EXPECT("31 00 10			# TIP.PGE\n"
	       "21 00 20			# TIP.PGD(BLIP)\n");
}

/* 36.2.4.3: running on into the range or out of it changes nothing. */
static void test_fall_through(void **state)
{
	(void)state;
	ranges(CTL, &in);
	started(CTL | RANGE(0, 1), &in);
	pt_flow_step(&flow, NULL, &out);
	branch(X86_COND, 0x1234, &out);		/* not taken */
	EXPECT("04				# TNT N: FilterEn is still set\n");
	branch(X86_JMP, out.ip, &out);
	EXPECT("21 00 20			# the first taken branch: TIP.PGD(BLIP)\n");
	pt_flow_step(&flow, NULL, &in);
	branch(X86_COND, 0x1234, &in);
	EXPECT("");
	branch(X86_COND, in.ip, &in);
	EXPECT("31 00 10			# TIP.PGE(BLIP)\n");
}

/* FilterEn does not toggle while ContextEn is clear. */
static void test_out_of_context(void **state)
{
	(void)state;
	ranges(CTL_USER | CTL_BRANCH_EN, &kernel);
	EXPECT(PSB CBR PSBEND);
	assert_int_equal(pt_flow_status(&flow) & 0xf, STATUS_TRIGGER_EN);
	branch(X86_FAR, 0, &in);
	EXPECT("99 01 51 00 10 40 00\n");
	branch(X86_FAR, 0, &kernel);
	EXPECT("01				# 10c: TIP.PGD(), no IP out of context\n");
	assert_int_equal(pt_flow_status(&flow) & 0xf, STATUS_TRIGGER_EN | STATUS_FILTER_EN);
	branch(X86_FAR, 0, &out);
	EXPECT("");
	assert_int_equal(pt_flow_status(&flow) & 0xf, STATUS_TRIGGER_EN);
}

static void test_trace_stop(void **state)
{
	static const struct {
		enum x86_class class;
		const char *text;
	} table[] = {
		{ X86_JMP,	"21 00 30 02 83		# 6b: TIP.PGD(BLIP), TraceStop\n" },
		{ X86_COND,	"01 02 83		# 7e: TIP.PGD(), TraceStop\n" },
		{ X86_JMP_IND,	"21 00 30 02 83		# 9c\n" },
		{ X86_FAR,	"21 00 30 02 83		# 10d\n" },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		setup(state);
		ranges(CTL, &in);
		pt_encoder_flush(&flow.enc);
		taken = msrs.output_mask >> 32;
		branch(table[i].class, trap.ip, &trap);
		assert_int_equal(msrs.status & STATUS_STOPPED, STATUS_STOPPED);
		assert_false(pt_flow_active(&flow));
		assert_false(flow.packet_en);
		assert_false(packets);
		assert_int_equal(pt_flow_status(&flow) & 7, 0);
		/* 36.2.4.3: nothing is flushed before TraceEn is cleared. */
		assert_int_equal(msrs.output_mask >> 32, taken);
		branch(X86_JMP_IND, 0, &in);
		stop(in.ip);
		EXPECT(table[i].text);

		/* The next trace knows nothing of it. */
		msrs.status = 0;
		start(CTL, &in);
		EXPECT(PSB CBR "02 43 00 05 00 00 00 00\n" PSBEND "99 01 51 00 10 40 00\n");
		assert_true(pt_flow_active(&flow));
	}
}

static void test_trace_stop_by_other_means(void **state)
{
	ranges(CTL, &in);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	event(0x401010, &trap);
	EXPECT("3d 10 10 21 00 30 02 83	# 11d: FUP, TIP.PGD(BLIP), TraceStop\n");

	/* PacketEn clear */
	setup(state);
	ranges(CTL, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	branch(X86_JMP, trap.ip, &trap);
	EXPECT("02 83				# 6a: TraceStop\n");

	/* Running on into the range does nothing, MOV CR3 in it does. */
	setup(state);
	ranges(CTL, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	pt_flow_step(&flow, NULL, &trap);
	EXPECT("");
	pt_flow_cr3(&flow, 0x7000, &trap);
	EXPECT("02 43 00 07 00 00 00 00 02 83	# 5f: PIP, TraceStop\n");

	setup(state);
	ranges(CTL, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	branch(X86_FAR, 0, &trap);
	EXPECT("02 83				# 10f: TraceStop\n");

	setup(state);
	ranges(CTL, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	event(0x402010, &trap);
	EXPECT("02 83				# 11f, 12f, 13f: TraceStop\n");

	/* ContextEn clear at the target: nothing */
	setup(state);
	ranges(CTL_OS | CTL_BRANCH_EN, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	branch(X86_JMP, trap.ip, &trap);
	EXPECT("");
	assert_true(pt_flow_active(&flow));

	/* WRMSR in the range, table 36-28 */
	setup(state);
	ranges(CTL, &trap);
	EXPECT(PSB CBR "02 43 00 05 00 00 00 00\n" PSBEND "02 83\n");
	assert_false(pt_flow_active(&flow));
}

/* 5e: MOV CR3 where PacketEn is set and the code has run out of the range */
static void test_cr3_out_of_range(void **state)
{
	const struct pt_where kin = { .ip = 0x401000, .cpl = 0, .mode = X86_MODE_64 };
	const struct pt_where kout = { .ip = 0x402000, .cpl = 0, .mode = X86_MODE_64 };

	(void)state;
	ranges(CTL, &kin);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	pt_flow_cr3(&flow, 0x7000, &kout);
	EXPECT("02 43 00 07 00 00 00 00	# PIP\n"
	       "21 00 20			# TIP.PGD(NLIP)\n");
}

/*
 * Ranges are linear addresses. IPs are offsets into the code segment, or linear
 * addresses if CPUID.14H:ECX[31] says so.
 */
static void test_code_segment_base(void **state)
{
	const struct pt_where based = {
		.ip = 0x1000, .cs_base = 0x400000, .cpl = 3, .mode = X86_MODE_32,
	};
	const struct pt_where wraps = {
		.ip = 0x1000, .cs_base = 0xffffffff, .cpl = 3, .mode = X86_MODE_32,
	};

	(void)state;
	pt_caps.ecx &= ~CAP_ECX_LIP;
	ranges(CTL, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	branch(X86_FAR, 0, &based);
	EXPECT("99 02 31 00 10		# TIP.PGE(EIP): linear 401000 is in the range\n");
	branch(X86_JMP, wraps.ip, &wraps);
	EXPECT("21 00 10		# linear fff is not\n");
	stop(0);

	setup(state);
	pt_caps.ecx |= CAP_ECX_LIP;
	ranges(CTL, &out);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	branch(X86_FAR, 0, &based);
	event(0x1010, &in2);
	EXPECT("99 02 51 00 10 40 00	# TIP.PGE(LIP)\n"
	       "3d 10 10		# FUP(LIP)\n"
	       "99 01 2d 00 12\n");
	pt_caps.ecx &= ~CAP_ECX_LIP;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test_setup(test_in_and_out, setup),
		cmocka_unit_test_setup(test_returns_out, setup),
		cmocka_unit_test_setup(test_fall_through, setup),
		cmocka_unit_test_setup(test_out_of_context, setup),
		cmocka_unit_test(test_trace_stop),
		cmocka_unit_test_setup(test_trace_stop_by_other_means, setup),
		cmocka_unit_test_setup(test_cr3_out_of_range, setup),
		cmocka_unit_test_setup(test_code_segment_base, setup),
	};

	return cmocka_run_group_tests_name("pt_filter", tests, NULL, NULL);
}
