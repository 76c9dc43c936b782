// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of SDM 3C, table 36-50 "Packet Generation under Different Enable
 * Conditions": which packets each operation gives, in which order; without
 * address ranges, which test_pt_filter.c has.
 */
#include "flow_fixture.h"

/* User code alone is traced, as by perf record -e intel_pt//u */
static void test_user_only(void **state)
{
	const struct pt_where other = { .ip = 0x402000, .cpl = 3, .mode = X86_MODE_64 };

	(void)state;
	start(CTL_USER | CTL_BRANCH_EN, &kernel);
	EXPECT(PSB CBR PSBEND "			# case 2b: no PIP, no FUP, no mode\n");
	pt_flow_step(&flow, NULL, &kernel);
	branch(X86_COND, kernel.ip, &kernel);
	branch(X86_CALL_IND, 0, &kernel);
	event(kernel.ip, &kernel);
	EXPECT("");
	assert_false(packets);

	branch(X86_FAR, 0, &user);
	EXPECT("99 01 51 00 10 40 00		# case 10b, IRET: MODE.Exec, TIP.PGE\n");
	assert_true(packets);
	branch(X86_COND, other.ip, &other);
	branch(X86_COND, 0x1234, &user);
	branch(X86_JMP, user.ip, &user);
	branch(X86_CALL, user.ip, &user);
	branch(X86_JMP_IND, 0, &other);
	EXPECT("0c 2d 00 20			# TNT T N; case 9d: TIP\n");
	branch(X86_FAR, 0, &kernel);
	EXPECT("01				# case 10c, SYSCALL: TIP.PGD\n");
	assert_false(packets);
	branch(X86_FAR, 0, &user);
	EXPECT("31 00 10			# TIP.PGE; the mode is known\n");
	event(0x401234, &kernel);
	EXPECT("3d 34 12 01			# cases 11c, 12c, 13c: FUP, TIP.PGD\n");
	branch(X86_FAR, 0, &user32);
	EXPECT("99 02 51 00 80 04 08		# MODE.Exec 32 bit, TIP.PGE\n");
	event(0x08048001, &kernel);
	EXPECT("3d 01 80 01			# FUP, TIP.PGD\n");
	stop(kernel.ip);
	EXPECT("				# case 3a: none\n");
}

static void test_kernel_too(void **state)
{
	const struct pt_where entry = { .ip = 0xffffffff81800000, .cpl = 0, .mode = X86_MODE_64 };

	(void)state;
	start(CTL_USER | CTL_OS | CTL_BRANCH_EN, &kernel);
	EXPECT(PSB CBR "02 43 00 05 00 00 00 00	# PIP: OS and ContextEn\n" PSBEND
	       "99 01 71 00 00 00 81 ff ff	# case 2e: MODE.Exec, TIP.PGE(NLIP)\n");
	branch(X86_FAR, 0, &user);
	EXPECT("6d 00 10 40 00 00 00		# case 10e: TIP\n");
	event(0x401010, &entry);
	EXPECT("3d 10 10 6d 00 00 80 81 ff ff	# cases 11e, 12e, 13e: FUP, TIP\n");
	pt_flow_cr3(&flow, 0x7003, &entry);
	EXPECT("02 43 00 07 00 00 00 00	# case 5d: PIP\n");
	branch(X86_FAR, 0, &user32);
	EXPECT("99 02 6d 00 80 04 08 00 00	# MODE.Exec: the size changed\n");
	event(0x08048010, &entry);
	EXPECT("3d 10 80 99 01 6d 00 00 80 81 ff ff	# FUP, MODE.Exec, TIP\n");
	stop(0xffffffff81800010);
	EXPECT("3d 10 00 01			# case 3b: FUP(CLIP), TIP.PGD()\n");
}

static void test_cr3_filter(void **state)
{
	(void)state;
	msrs.cr3_match = 0x6000;
	start(CTL_USER | CTL_OS | CTL_BRANCH_EN | CTL_CR3_FILTER, &kernel);
	EXPECT(PSB CBR PSBEND "			# ContextEn 0: no PIP either\n");
	pt_flow_cr3(&flow, 0x6005, &kernel);
	EXPECT("02 43 00 06 00 00 00 00	# case 5b: PIP,\n"
	       "99 01 71 00 00 00 81 ff ff	# MODE.Exec, TIP.PGE(NLIP)\n");
	pt_flow_cr3(&flow, 0x7000, &kernel);
	EXPECT("01				# case 5c: TIP.PGD\n");
	pt_flow_cr3(&flow, 0x8000, &kernel);
	EXPECT("				# case 5a: none\n");
}

/* What was held back reaches memory when PacketEn is cleared. */
static void test_flush(void **state)
{
	(void)state;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	branch(X86_JMP_IND, 0, &user);
	assert_int_equal(msrs.output_mask >> 32, taken);
	branch(X86_FAR, 0, &kernel);
	assert_int_equal(msrs.output_mask >> 32, taken + 3 + 1);
}

/* 36.2.7.3 and the note at PacketByteCnt */
static void test_packet_byte_count(void **state)
{
	uint64_t count;

	(void)state;
	start(CTL_USER | CTL_OS | CTL_BRANCH_EN | CTL_TSC_EN, &kernel);
	EXPECT(PSB "19 00 10 00 00 00 00 00	# TSC\n" CBR
	       "02 43 00 05 00 00 00 00	# PIP\n" PSBEND
	       "99 01 71 00 00 00 81 ff ff\n");
	stop(kernel.ip);
	EXPECT("3d 00 00 01			# FUP, TIP.PGD\n");
	count = PT_FIELD(msrs.status, 48, 32);
	assert_int_equal(count, 16 + 8 + 4 + 8 + 2 + 9 + 4);

	start(CTL_USER | CTL_OS | CTL_BRANCH_EN | CTL_TSC_EN, &kernel);
	EXPECT("19 00 10 00 00 00 00 00	# case 2d: TSC,\n" CBR
	       "99 01 71 00 00 00 81 ff ff	# MODE.Exec, TIP.PGE, no PSB\n");
	stop(kernel.ip);
	EXPECT("3d 00 00 01\n");
	assert_int_equal(PT_FIELD(msrs.status, 48, 32), count + 8 + 4 + 9 + 4);

	/* the PSB comes when the count crosses 2 KiB, at a point of its own */
	msrs.status = 2040ULL << 32;
	start(CTL_OS | CTL_BRANCH_EN, &kernel);
	pt_flow_step(&flow, NULL, &kernel);
	EXPECT(CBR "99 01 71 00 00 00 81 ff ff	# 13 bytes\n"
	       PSB CBR "02 43 00 05 00 00 00 00\n"
	       "99 01 7d 00 00 00 81 ff ff	# MODE.Exec, FUP\n" PSBEND);
	branch(X86_JMP_IND, 0, &kernel);
	EXPECT("2d 00 00			# the decoder has the mode from PSB+\n");
	stop(kernel.ip);

	/* ... which may be another than the last MODE.Exec told */
	msrs.status = 2040ULL << 32;
	start(CTL_OS | CTL_USER | CTL_BRANCH_EN, &kernel);
	flow.mode = X86_MODE_32;
	pt_flow_step(&flow, NULL, &kernel);
	pt_encoder_flush(&flow.enc);
	taken = msrs.output_mask >> 32;
	branch(X86_JMP_IND, 0, &kernel);
	EXPECT("2d 00 00\n");
}

/* A PSB+ without IP leaves the decoder without a mode. */
static void test_mode_after_psb(void **state)
{
	(void)state;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	branch(X86_FAR, 0, &kernel);
	EXPECT("01				# TIP.PGD\n");
	flow.enc.byte_count = 2048;
	pt_flow_step(&flow, NULL, &kernel);
	EXPECT(PSB CBR PSBEND);
	branch(X86_FAR, 0, &user);
	EXPECT("99 01 51 00 10 40 00		# MODE.Exec, TIP.PGE\n");
	branch(X86_FAR, 0, &kernel);
	branch(X86_FAR, 0, &user);
	EXPECT("01 31 00 10			# now it has one\n");
}

/* 36.2.6: without BranchEn no packet about branches, but PIP, PSB, time */
/* With MTC the clock is not read at each branch, but TSC tells the time of PSB+. */
static void test_time_of_psb(void **state)
{
	const uint8_t *psb;
	unsigned int i;
	uint64_t at = 0;

	(void)state;
	start(CTL_USER | CTL_BRANCH_EN | CTL_TSC_EN | CTL_MTC_EN | 9ULL << 14, &user);
	for (i = 0; i < 11; i++) {
		pt_encode_tnt_flush(&flow.enc);
		pt_encoder_flush(&flow.enc);
		psb = memory + REGION + (msrs.output_mask >> 32);
		flow.enc.byte_count = flow.enc.config.psb_period;
		now += 7;
		branch(X86_JMP_IND, 0, &user);
		pt_encode_tnt_flush(&flow.enc);
		pt_encoder_flush(&flow.enc);
		while (memcmp(psb, "\x02\x82\x02\x82", 4))
			psb++;
		assert_int_equal(psb[16], 0x19);
		memcpy(&at, psb + 17, 7);
		assert_int_equal(at, now);
	}
}

static void test_branch_disabled(void **state)
{
	(void)state;
	start(CTL_USER | CTL_OS, &kernel);
	EXPECT(PSB CBR "02 43 00 05 00 00 00 00\n" PSBEND);
	branch(X86_FAR, 0, &user);
	event(0x401010, &kernel);
	EXPECT("");
	pt_flow_cr3(&flow, 0x7000, &kernel);
	EXPECT("02 43 00 07 00 00 00 00	# PIP\n");
	stop(kernel.ip);
	EXPECT("");
}

static void test_stop_and_error(void **state)
{
	const uint64_t entries[] = { REGION | TOPA_STOP };
	int i;

	(void)state;
	memcpy(memory + TABLE, entries, sizeof(entries));
	start(CTL_USER | CTL_BRANCH_EN, &kernel);
	branch(X86_FAR, 0, &user);
	assert_true(packets);
	for (i = 0; i < 4096 && pt_flow_active(&flow); i++)
		branch(X86_JMP_IND, 0, &user);
	assert_false(pt_flow_active(&flow));
	assert_false(flow.packet_en);
	assert_false(packets);
	assert_int_equal(msrs.status & STATUS_STOPPED, STATUS_STOPPED);
	assert_int_equal(msrs.output_mask >> 32, 4096);
	stop(kernel.ip);

	/* Stopped and Error keep TriggerEn clear (36.2.5.2) */
	start(CTL_USER | CTL_BRANCH_EN, &kernel);
	assert_false(pt_flow_active(&flow));
	branch(X86_FAR, 0, &user);
	assert_false(packets);
	stop(kernel.ip);
	assert_int_equal(msrs.output_mask >> 32, 4096);
}

static void test_status(void **state)
{
	(void)state;
	start(CTL_OS | CTL_BRANCH_EN, &kernel);
	assert_int_equal(pt_flow_status(&flow) & 0xffffffff,
			 STATUS_TRIGGER_EN | STATUS_CONTEXT_EN | STATUS_FILTER_EN);
	stop(kernel.ip);
	assert_int_equal(pt_flow_status(&flow) & 0xffffffff, 0);
	start(CTL_USER | CTL_BRANCH_EN, &kernel);
	assert_int_equal(pt_flow_status(&flow) & 0xffffffff,
			 STATUS_TRIGGER_EN | STATUS_FILTER_EN);
	stop(kernel.ip);

	/* SDM 3C, table 35-2: FilterEn exists with IP filtering alone. */
	pt_model_select("broadwell");
	start(CTL_OS | CTL_BRANCH_EN, &kernel);
	assert_int_equal(pt_flow_status(&flow), STATUS_TRIGGER_EN | STATUS_CONTEXT_EN);
}

/* 7d, 8d: a branch that fills the TNT */
static void test_full_tnt(void **state)
{
	int i;

	(void)state;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	for (i = 0; i < 5; i++)
		branch(X86_COND, user.ip, &user);
	pt_encoder_flush(&flow.enc);
	assert_int_equal(msrs.output_mask >> 32, taken);
	branch(X86_COND, 0x1234, &user);
	pt_encoder_flush(&flow.enc);
	assert_int_equal(msrs.output_mask >> 32, taken + 1);
	EXPECT("fc		# 1111 1100: stop, T T T T T N, 0\n");

	/* the long TNT holds 47 */
	flow.options.tnt_long = true;
	stop(user.ip);
	started(CTL_USER | CTL_BRANCH_EN, &user);
	for (i = 0; i < 46; i++)
		branch(X86_COND, user.ip, &user);
	pt_encoder_flush(&flow.enc);
	assert_int_equal(msrs.output_mask >> 32, taken);
	branch(X86_COND, 0x1234, &user);
	EXPECT("02 a3 fe ff ff ff ff ff	# 47 bits, the youngest lowest\n");
}

/* Deferral is the default, and can be switched off. */
static void test_deferral(void **state)
{
	(void)state;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	branch(X86_COND, user.ip, &user);
	branch(X86_JMP_IND, 0, &user);
	branch(X86_COND, user.ip, &user);
	EXPECT("0e 2d 00 10			# TNT T T, TIP\n");
	stop(user.ip);

	setup(state);
	flow.options.no_deferred_tips = true;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	branch(X86_COND, user.ip, &user);
	branch(X86_JMP_IND, 0, &user);
	branch(X86_COND, user.ip, &user);
	EXPECT("06 2d 00 10 06		# TNT T, TIP, TNT T\n");
}

/* 36.2.7.2: the fields of IA32_RTIT_CTL that are numbers */
static void test_frequencies(void **state)
{
	static const struct {
		uint64_t ctl;
		uint32_t cycles, bytes;
		unsigned int mtc;
	} table[] = {
		{ 0, 0, 2048, 0 },
		{ 1ULL << 19, 1, 2048, 0 },		/* CycThresh: 2^(n-1) */
		{ 5ULL << 19, 16, 2048, 0 },
		{ 12ULL << 19, 2048, 2048, 0 },
		{ 9ULL << 14, 0, 2048, 9 },		/* MTCFreq: ART >> n */
		{ 5ULL << 24, 0, 65536, 0 },		/* PSBFreq: 2K << n */
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		setup(state);
		start(CTL_OS | CTL_MTC_EN | CTL_CYC_EN | table[i].ctl, &kernel);
		assert_int_equal(flow.enc.config.cyc_threshold, table[i].cycles);
		assert_int_equal(flow.enc.config.psb_period, table[i].bytes);
		assert_int_equal(flow.enc.timer.mtc_freq, table[i].mtc);
	}
}

/* The count goes on while the trace does (36.2.7.4). */
static void test_status_while_tracing(void **state)
{
	(void)state;
	start(CTL_OS | CTL_BRANCH_EN, &kernel);
	assert_int_equal(PT_FIELD(pt_flow_status(&flow), 48, 32), 16 + 4 + 8 + 2 + 9);
	branch(X86_JMP_IND, 0, &kernel);
	assert_int_equal(PT_FIELD(pt_flow_status(&flow), 48, 32), 16 + 4 + 8 + 2 + 9 + 3);
}

/* A processor with one ToPA entry holds back little (see pt_output.h). */
static void test_held_back(void **state)
{
	int i;

	(void)state;
	pt_caps.ecx &= ~CAP_ECX_MULTI_ENTRY;
	start(CTL_OS | CTL_BRANCH_EN, &kernel);
	for (i = 0; i < 30; i++)
		branch(X86_JMP_IND, 0, &kernel);
	assert_true(msrs.output_mask >> 32 >= 39 + 90 - 64);
}

/* The order of branch_packets() in table 36-50 for a direct call and its return */
static void test_calls(void **state)
{
	const struct pt_where next = { .ip = 0x401105, .cpl = 3, .mode = X86_MODE_64 };

	(void)state;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	branch(X86_CALL, user.ip, &user);
	branch(X86_RET, 0, &next);
	EXPECT("06				# compressed\n");
	branch(X86_CALL, next.ip, &next);
	branch(X86_RET, 0, &next);
	EXPECT("2d 05 11			# a call to the next instruction is none\n");
	branch(X86_CALL_IND, 0, &user);
	branch(X86_RET, 0, &next);
	EXPECT("2d 00 10 06			# TIP, TNT T\n");
	stop(next.ip);

	setup(state);
	started(CTL_USER | CTL_BRANCH_EN | CTL_DIS_RETC, &user);
	branch(X86_CALL, user.ip, &user);
	branch(X86_RET, 0, &next);
	EXPECT("2d 05 11			# DisRETC\n");
	stop(next.ip);

	setup(state);
	started(CTL_USER | CTL_BRANCH_EN | CTL_DIS_TNT, &user);
	branch(X86_COND, user.ip, &user);
	branch(X86_CALL, user.ip, &user);
	branch(X86_RET, 0, &next);
	EXPECT("				# DisTNT\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_user_only, setup),
		cmocka_unit_test_setup(test_kernel_too, setup),
		cmocka_unit_test_setup(test_cr3_filter, setup),
		cmocka_unit_test_setup(test_flush, setup),
		cmocka_unit_test_setup(test_packet_byte_count, setup),
		cmocka_unit_test_setup(test_mode_after_psb, setup),
		cmocka_unit_test_setup(test_time_of_psb, setup),
		cmocka_unit_test_setup(test_branch_disabled, setup),
		cmocka_unit_test_setup(test_stop_and_error, setup),
		cmocka_unit_test_setup(test_status, setup),
		cmocka_unit_test_setup(test_full_tnt, setup),
		cmocka_unit_test_setup(test_deferral, setup),
		cmocka_unit_test(test_frequencies),
		cmocka_unit_test_setup(test_status_while_tracing, setup),
		cmocka_unit_test_setup(test_held_back, setup),
		cmocka_unit_test_setup(test_calls, setup),
	};

	return cmocka_run_group_tests_name("pt_flow", tests, NULL, NULL);
}
