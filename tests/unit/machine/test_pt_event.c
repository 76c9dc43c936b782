// SPDX-License-Identifier: GPL-2.0
/*
 * Event trace, PTWRITE, power events, INIT, RESET, VMXON, and the internal buffer's
 * overflow: which packets, in which order (SDM 3C, tables 36-50 and 36-51, 36.3.8;
 * event trace in later editions).
 */
#include "flow_fixture.h"

#define ALL	(CTL_USER | CTL_OS | CTL_BRANCH_EN)

static const struct pt_where handler = {
	.ip = 0xffffffff81800000, .cpl = 0, .mode = X86_MODE_64,
};

static void event_of(enum pt_event_kind kind, uint64_t from, int vector,
		     const struct pt_where *to)
{
	const struct pt_event ev = {
		.kind = kind, .from = from, .vector = vector, .vector_known = vector >= 0,
		.has_cr2 = vector == 14, .cr2 = 0x7f0011223344,
	};

	pt_flow_event(&flow, &ev, to);
}

/* ---- event trace ---- */

/* With packets of branches a CFE shares their FUP; IRET has none, so has its own. */
static void test_cfe(void **state)
{
	(void)state;
	started(ALL | CTL_EVENT_EN, &user);
	event_of(PT_EVENT_INTR, 0x401010, 0x20, &handler);
	EXPECT("02 13 01 20			# CFE INTR, vector 20H\n"
	       "3d 10 10			# FUP(NLIP)\n"
	       "6d 00 00 80 81 ff ff		# TIP\n");
	branch(X86_IRET, 0, &user);
	EXPECT("02 13 82 00			# CFE IRET, IP\n"
	       "7d 00 11 40 00 00 00		# FUP(CLIP)\n"
	       "2d 00 10			# TIP\n");
	event_of(PT_EVENT_FAULT, 0x401018, 14, &handler);
	EXPECT("02 53 00 44 33 22 11 00 7f 00 00	# EVD, CR2\n"
	       "02 13 01 0e			# CFE INTR, #PF\n"
	       "3d 18 10 6d 00 00 80 81 ff ff\n");
	event_of(PT_EVENT_NMI, handler.ip, 2, &handler);
	EXPECT("02 13 01 02 3d 00 00 2d 00 00	# CFE INTR, NMI\n");
	event_of(PT_EVENT_SOFT_INT, handler.ip, -1, &handler);
	EXPECT("02 13 01 00 3d 00 00 2d 00 00	# the vector is not known\n");
	branch(X86_RSM, 0, &user);
	EXPECT("02 13 84 00			# CFE RSM, IP\n"
	       "7d 00 11 40 00 00 00 2d 00 10\n");
	event_of(PT_EVENT_SHUTDOWN, 0x401020, -1, NULL);
	EXPECT("02 13 8a 00 3d 20 10		# CFE SHUTDOWN, IP; FUP\n");
}

/* Without them, a FUP of its own; nothing of what is out of context. */
static void test_cfe_without_branches(void **state)
{
	started(CTL_USER | CTL_OS | CTL_EVENT_EN, &user);
	event_of(PT_EVENT_INTR, 0x401010, 0x20, &handler);
	EXPECT("02 13 81 20 5d 10 10 40 00	# CFE, IP; FUP\n");
	branch(X86_IRET, 0, &user);
	EXPECT("02 13 82 00 3d 00 11\n");

	setup(state);
	started(CTL_USER | CTL_BRANCH_EN | CTL_EVENT_EN, &user);
	event_of(PT_EVENT_INTR, 0x401010, 0x20, &handler);
	EXPECT("02 13 01 20 3d 10 10 01	# CFE, FUP, TIP.PGD()\n");
	event_of(PT_EVENT_INTR, handler.ip, 0x20, &handler);
	branch(X86_IRET, 0, &kernel);
	EXPECT("				# all in the kernel: none\n");
	branch(X86_IRET, 0, &user);
	EXPECT("02 13 02 00 31 00 10		# CFE IRET without IP, TIP.PGE\n");

	setup(state);
	started(CTL_OS | CTL_BRANCH_EN | CTL_EVENT_EN, &user);
	event_of(PT_EVENT_FAULT, 0x401010, 14, &handler);
	EXPECT("02 13 01 0e			# CFE: neither IP nor CR2 of the user's\n"
	       "99 01 71 00 00 80 81 ff ff	# MODE.Exec, TIP.PGE\n");
}

/* MODE.Exec has RFLAGS.IF in bit 2; CLI, STI and POPF give one, with FUP(NLIP). */
static void test_interrupt_flag(void **state)
{
	struct pt_where at = user;

	(void)state;
	at.intr = true;
	started(ALL | CTL_EVENT_EN, &at);
	assert_int_equal(pt_flow_needs(&flow), PT_FLOW_NEEDS_IF);
	at.ip = 0x401005;
	at.intr = false;
	pt_flow_step(&flow, NULL, &at);
	EXPECT("99 01 3d 05 10		# CLI: MODE.Exec, FUP(NLIP)\n");
	at.ip = 0x401006;
	pt_flow_step(&flow, NULL, &at);
	EXPECT("");
	at.ip = 0x401007;
	at.intr = true;
	pt_flow_step(&flow, NULL, &at);
	EXPECT("99 05 3d 07 10		# STI\n");
	event_of(PT_EVENT_INTR, 0x401007, 0x20, &handler);
	EXPECT("02 13 01 20 3d 07 10		# CFE, FUP\n"
	       "99 01				# MODE.Exec: the handler has IF clear\n"
	       "6d 00 00 80 81 ff ff		# TIP\n");
	pt_flow_step(&flow, NULL, &handler);
	EXPECT("");
	branch(X86_IRET, 0, &at);
	EXPECT("02 13 82 00 7d 00 11 40 00 00 00	# CFE, FUP\n"
	       "99 05 2d 07 10		# MODE.Exec, TIP\n");
	stop(0x401007);

	/* Without event trace it is not told. */
	setup(state);
	started(ALL, &at);
	assert_int_equal(pt_flow_needs(&flow), 0);
	at.intr = false;
	pt_flow_step(&flow, NULL, &at);
	EXPECT("");
}

/* Without branches the flag is told all the same, in context. */
static void test_interrupt_flag_without_branches(void **state)
{
	struct pt_where in = user, out = kernel;

	(void)state;
	started(CTL_USER | CTL_EVENT_EN, &in);
	in.intr = true;
	pt_flow_step(&flow, NULL, &in);
	EXPECT("99 05 5d 00 10 40 00		# MODE.Exec, FUP\n");
	branch(X86_FAR, 0, &out);
	out.intr = true;
	pt_flow_step(&flow, NULL, &out);
	EXPECT("				# out of context\n");
}

/* A change that an overflow loses is told by the next MODE.Exec. */
static void test_interrupt_flag_in_overflow(void **state)
{
	struct pt_where at = user;
	int i;

	(void)state;
	started(ALL | CTL_EVENT_EN, &at);
	pt_encoder_overflow(&flow.enc);
	flow.overflow_steps = 3;
	at.intr = true;
	for (i = 0; i < 4; i++)
		pt_flow_step(&flow, NULL, &at);
	EXPECT("02 f3 99 05 71 00 10 40 00 00 00	# OVF, MODE.Exec, TIP.PGE\n");
}

/* ---- PTWRITE, table 36-51 ---- */

static void test_ptwrite(void **state)
{
	const struct pt_where out = { .ip = 0x500000, .cpl = 3, .mode = X86_MODE_64 };

	started(ALL | CTL_PTW_EN, &user);
	assert_int_equal(pt_flow_needs(&flow), PT_FLOW_NEEDS_PTW);
	branch(X86_COND, user.ip, &user);
	pt_flow_ptwrite(&flow, 0x401008, 0x1122334455667788, 8, &user);
	EXPECT("06				# TNT\n"
	       "02 32 88 77 66 55 44 33 22 11	# PTW\n");
	pt_flow_ptwrite(&flow, 0x401008, 0x1122334455667788, 4, &user);
	EXPECT("02 12 88 77 66 55		# 4 bytes of a 32-bit operand\n");

	setup(state);
	started(ALL | CTL_PTW_EN | CTL_FUP_ON_PTW, &user);
	pt_flow_ptwrite(&flow, 0x401008, 1, 4, &user);
	EXPECT("02 92 01 00 00 00 3d 08 10	# PTW, IP; FUP(CLIP)\n");

	/* PTWEn */
	setup(state);
	started(ALL | CTL_FUP_ON_PTW, &user);
	pt_flow_ptwrite(&flow, 0x401008, 1, 4, &user);
	EXPECT("");

	/* TriggerEn, ContextEn, FilterEn, but not BranchEn */
	setup(state);
	started(CTL_USER | CTL_PTW_EN, &user);
	pt_flow_ptwrite(&flow, 0x401008, 1, 4, &user);
	EXPECT("02 12 01 00 00 00\n");
	branch(X86_FAR, 0, &kernel);
	pt_flow_ptwrite(&flow, 0x401008, 1, 4, &kernel);
	EXPECT("				# out of context\n");

	setup(state);
	msrs.addr[0] = 0x401000;
	msrs.addr[1] = 0x401fff;
	started(ALL | CTL_PTW_EN | 1ULL << 32, &user);
	pt_flow_ptwrite(&flow, 0x401008, 1, 4, &user);
	branch(X86_JMP, out.ip, &out);
	pt_flow_ptwrite(&flow, 0x500008, 1, 4, &out);
	EXPECT("02 12 01 00 00 00 41 00 00 50 00	# PTW, TIP.PGD; then none\n");
}

/* ---- power events, table 36-51 ---- */

static void test_halt(void **state)
{
	started(ALL | CTL_PWR_EVT_EN | CTL_TSC_EN, &kernel);
	pt_flow_halt(&flow, 0xffffffff81000010, &kernel);
	EXPECT("02 22 00 00			# PWRE C1: MWAIT calls it 0\n"
	       "02 e2				# EXSTOP, IP\n"
	       "3d 10 00			# FUP(CLIP)\n");
	now = 0x2000;
	pt_flow_wake(&flow, PT_WAKE_INTR);
	EXPECT("19 00 20 00 00 00 00 00	# 33b: TSC,\n" CBR
	       "02 a2 00 01 00 00 00		# PWRX: C1, C1, interrupt\n");

	/* Without power events the clocks are told all the same. */
	setup(state);
	started(ALL | CTL_TSC_EN, &kernel);
	pt_flow_halt(&flow, 0xffffffff81000010, &kernel);
	EXPECT("");
	now = 0x2000;
	pt_flow_wake(&flow, PT_WAKE_INTR);
	EXPECT("19 00 20 00 00 00 00 00\n" CBR);
	pt_flow_wake(&flow, PT_WAKE_INTR);
	EXPECT("				# it did not sleep\n");
	stop(kernel.ip);

	/* What is pending comes first. */
	setup(state);
	started(ALL, &kernel);
	branch(X86_COND, kernel.ip, &kernel);
	pt_flow_halt(&flow, 0xffffffff81000010, &kernel);
	pt_flow_wake(&flow, PT_WAKE_INTR);
	EXPECT("06 " CBR);
}

static void test_mwait(void **state)
{
	started(ALL | CTL_PWR_EVT_EN, &kernel);
	pt_flow_mwait(&flow, 0xffffffff81000010, 0x21, 1, &kernel);
	EXPECT("02 c2 21 00 00 00 01 00 00 00	# MWAIT: hints 21H, EXT 1\n"
	       "02 22 00 21			# PWRE: C-state, sub-C-state\n"
	       "02 e2 3d 10 00		# EXSTOP, IP; FUP(CLIP), which MWAIT shares\n");
	pt_flow_wake(&flow, PT_WAKE_STORE);
	EXPECT(CBR "02 a2 22 04 00 00 00	# PWRX: a store woke it\n");
	pt_flow_mwait(&flow, 0xffffffff81000010, 0xf0, 0, &kernel);
	pt_flow_wake(&flow, PT_WAKE_STORE);
	EXPECT("				# C0: none\n");

	/* MWAIT needs ContextEn, PWRE and EXSTOP do not. */
	setup(state);
	started(CTL_USER | CTL_BRANCH_EN | CTL_PWR_EVT_EN, &kernel);
	pt_flow_mwait(&flow, 0xffffffff81000010, 0, 0, &kernel);
	EXPECT("02 22 00 00 02 62		# PWRE, EXSTOP without IP\n");
}

/* A sleep does not outlive its trace. */
static void test_sleep_across_traces(void **state)
{
	(void)state;
	started(ALL, &kernel);
	pt_flow_halt(&flow, 0xffffffff81000010, &kernel);
	stop(kernel.ip);
	started(ALL, &kernel);
	pt_flow_wake(&flow, PT_WAKE_INTR);
	EXPECT("");
}

/* ---- time ---- */

/* Whatever is told, the MTCs that fell due before it come first. */
static void test_time_comes_first(void **state)
{
	static const char *const text[] = {
		"59 29 06			# MTC, TNT\n",
		"59 29 3d 10 10 2d 00 10	# MTC, FUP, TIP\n",
		"59 29 02 43 00 07 00 00 00 00	# MTC, PIP\n",
		"59 29 02 12 01 00 00 00	# MTC, PTW\n",
		"59 29 02 22 00 00 02 e2 3d 10 10	# MTC, PWRE, EXSTOP, FUP\n",
		"59 29 02 c2 00 00 00 00 00 00 00 00 02 22 00 00 02 e2 3d 10 10\n",
		"59 29 3d 10 10 01		# MTC, FUP, TIP.PGD\n",
	};
	unsigned int i;

	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		setup(state);
		/* TSC 0x1000 is 40 * 102 + 16, so the crystal is at 40 = 28H. */
		started(ALL | CTL_MTC_EN | CTL_PTW_EN | CTL_PWR_EVT_EN, &user);
		now = 41 * 102;
		switch (i) {
		case 0: branch(X86_COND, user.ip, &user); break;
		case 1: event_of(PT_EVENT_INTR, 0x401010, -1, &user); break;
		case 2: pt_flow_cr3(&flow, 0x7000, &user); break;
		case 3: pt_flow_ptwrite(&flow, 0x401010, 1, 4, &user); break;
		case 4: pt_flow_halt(&flow, 0x401010, &user); break;
		case 5: pt_flow_mwait(&flow, 0x401010, 0, 0, &user); break;
		case 6: stop(0x401010); break;
		}
		EXPECT(text[i]);
	}
}

/* ---- SMI, INIT, SIPI, RESET, VMXON ---- */

static void test_smi(void **state)
{
	(void)state;
	started(ALL | CTL_EVENT_EN, &kernel);
	event_of(PT_EVENT_SMI, 0xffffffff81000010, -1, &kernel);
	EXPECT("02 13 03 00			# CFE SMI\n"
	       "3d 10 00 01			# 14b: FUP, TIP.PGD()\n");
	assert_int_equal(msrs.ctl & CTL_TRACE_EN, 0);
	assert_false(trace);
}

static void test_init(void **state)
{
	const struct pt_where reset = { .ip = 0xfff0, .cs_base = 0xffff0000, .mode = X86_MODE_16 };
	const struct pt_where sipi = { .ip = 0, .cs_base = 0x9a000, .mode = X86_MODE_16 };

	started(ALL, &kernel);
	event_of(PT_EVENT_INIT, 0xffffffff81000010, -1, &reset);
	EXPECT("3d 10 00			# 30f, BSP: FUP(NLIP),\n"
	       "02 43 00 00 00 00 00 00	# PIP(0),\n"
	       "99 00 6d f0 ff 00 00 00 00	# MODE.Exec, TIP(ResetLIP)\n");
	assert_int_equal(msrs.ctl & CTL_TRACE_EN, CTL_TRACE_EN);

	setup(state);
	started(ALL | CTL_EVENT_EN, &kernel);
	event_of(PT_EVENT_INIT, 0xffffffff81000010, -1, NULL);
	EXPECT("02 13 06 00			# CFE INIT\n"
	       "3d 10 00			# 31b, AP: FUP(NLIP),\n"
	       "02 43 00 00 00 00 00 00	# PIP(0)\n");
	event_of(PT_EVENT_SIPI, 0, 0x9a, &sipi);
	EXPECT("02 13 05 9a			# CFE SIPI\n"
	       "99 00 6d 00 00 00 00 00 00	# 32f: MODE.Exec, TIP(SIPILIP)\n");

	setup(state);
	started(CTL_USER | CTL_BRANCH_EN, &user);
	event_of(PT_EVENT_INIT, 0x401010, -1, NULL);
	event_of(PT_EVENT_SIPI, 0, 0x9a, &sipi);
	EXPECT("3d 10 10			# 31b: no PIP without OS\n"
	       "01				# 32d: TIP.PGD()\n");

	/* PacketEn clear before */
	setup(state);
	started(CTL_USER | CTL_BRANCH_EN, &kernel);
	event_of(PT_EVENT_INIT, 0xffffffff81000010, -1, NULL);
	event_of(PT_EVENT_SIPI, 0, 0x9a, &sipi);
	EXPECT("				# 31a, 32a: none\n");

	/* A SIPI into a range that is traced, and out of one into TraceStop */
	setup(state);
	msrs.addr[0] = 0x9a000;
	msrs.addr[1] = 0x9afff;
	started(ALL | 1ULL << 32, &kernel);
	event_of(PT_EVENT_SIPI, 0, 0x9a, &sipi);
	EXPECT("99 00 31 00 00		# 32c: MODE.Exec, TIP.PGE(SIPILIP)\n");

	setup(state);
	msrs.addr[0] = 0x9a000;
	msrs.addr[1] = 0x9afff;
	started(ALL | 2ULL << 32, &kernel);
	event_of(PT_EVENT_SIPI, 0, 0x9a, &sipi);
	EXPECT("61 00 00 00 00 00 00 02 83	# 32e: TIP.PGD(SIPILIP), TraceStop\n");

	/* CR3 is zero after INIT, which a CR3 filter sees. */
	setup(state);
	msrs.cr3_match = 0x5000;
	started(ALL | CTL_CR3_FILTER, &kernel);
	event_of(PT_EVENT_INIT, 0xffffffff81000010, -1, &reset);
	EXPECT("3d 10 00 01			# FUP, TIP.PGD()\n");
}

static void test_reset(void **state)
{
	started(ALL, &kernel);
	msrs.cr3_match = 0x5000;
	pt_flow_reset(&flow, true);
	EXPECT("");
	assert_false(trace);
	assert_false(packets);
	assert_false(flow.packet_en);
	assert_int_equal(msrs.ctl & CTL_TRACE_EN, 0);
	assert_int_equal(msrs.ctl & ALL, ALL);		/* 36.3.1, IPFILT_WRSTPRSV */
	assert_int_equal(msrs.cr3_match, 0x5000);

	setup(state);
	started(ALL, &kernel);
	stop(kernel.ip);
	assert_int_equal(trace_changes, 2);
	pt_flow_reset(&flow, false);
	assert_int_equal(trace_changes, 2);
	assert_int_equal(msrs.ctl, 0);
}

/* SDM 3D, A.6: without IA32_VMX_MISC[14] VMXON clears TraceEn. */
static void test_vmxon(void **state)
{
	(void)state;
	pt_caps.pt_in_vmx = false;
	started(ALL, &kernel);
	pt_flow_vmxon(&flow, 0xffffffff81000010);
	EXPECT("3d 10 00 01			# FUP(CLIP), TIP.PGD()\n");
	assert_int_equal(msrs.ctl & CTL_TRACE_EN, 0);
	assert_false(trace);
	pt_flow_vmxoff(&flow);
	assert_false(msrs.in_vmx);

	setup(state);
	pt_caps.pt_in_vmx = true;
	started(ALL, &kernel);
	pt_flow_vmxon(&flow, 0xffffffff81000010);
	EXPECT("");
	assert_true(trace);
}

/* ---- overflow, 36.3.8 ---- */

/* The next event finds the internal buffer full. */
static void overflow(void)
{
	pt_faults.n[PT_FAULT_OVERFLOW] = 1;
	flow.overflow_count = 1;
}

static void resolve(const struct pt_where *at)
{
	int i;

	pt_faults.n[PT_FAULT_OVERFLOW] = 0;
	for (i = 0; i < 1000 && flow.enc.lost; i++)
		pt_flow_step(&flow, NULL, at);
	assert_false(flow.enc.lost);
}

/* fault=overflow:N counts packets, of this trace and those before it. */
static void test_overflow_each_n_packets(void **state)
{
	int i;

	(void)state;
	start(CTL_USER | CTL_BRANCH_EN, &user);	/* PSB, CBR, PSBEND, MODE.Exec, TIP.PGE: 5 */
	pt_faults.n[PT_FAULT_OVERFLOW] = 8;
	for (i = 0; i < 3; i++) {
		branch(X86_JMP_IND, 0, &user);
		assert_false(flow.enc.lost);
	}
	branch(X86_JMP_IND, 0, &user);		/* eight were sent before it */
	assert_true(flow.enc.lost);
	for (i = 0; flow.enc.lost && i < 1000; i++)
		pt_flow_step(&flow, NULL, &user);	/* OVF, FUP */
	for (i = 0; i < 6; i++) {
		branch(X86_JMP_IND, 0, &user);
		assert_false(flow.enc.lost);
	}
	branch(X86_JMP_IND, 0, &user);
	assert_true(flow.enc.lost);
}

static void test_overflow_in_context(void **state)
{
	const struct pt_where later = { .ip = 0x402000, .cpl = 3, .mode = X86_MODE_64 };

	(void)state;
	started(ALL | CTL_TSC_EN, &user);
	branch(X86_COND, user.ip, &user);
	overflow();
	branch(X86_COND, user.ip, &user);
	branch(X86_CALL, later.ip, &later);
	branch(X86_JMP_IND, 0, &user);
	EXPECT("				# all is lost, pending bits too\n");
	resolve(&later);
	EXPECT("02 f3				# OVF\n"
	       "7d 00 20 40 00 00 00		# FUP: PacketEn is set\n");
	branch(X86_RET, 0, &user);
	EXPECT("2d 00 10			# the call was lost: no compression\n");
}

/* PacketEn is clear when it ends. */
static void test_overflow_out_of_context(void **state)
{
	(void)state;
	started(CTL_USER | CTL_BRANCH_EN, &user);
	overflow();
	branch(X86_FAR, 0, &kernel);
	resolve(&kernel);
	EXPECT("02 f3				# OVF; the TIP.PGD is lost\n");
	branch(X86_FAR, 0, &user);
	EXPECT("71 00 10 40 00 00 00		# TIP.PGE\n");
}

/* Another mode came in between: a FUP could not tell it. */
static void test_overflow_with_another_mode(void **state)
{
	(void)state;
	started(ALL, &user);
	overflow();
	branch(X86_FAR, 0, &kernel);
	branch(X86_FAR, 0, &user32);
	resolve(&user32);
	EXPECT("02 f3				# OVF\n"
	       "99 02 71 00 80 04 08 00 00	# MODE.Exec, TIP.PGE\n");
}

static void test_overflow_without_branches(void **state)
{
	(void)state;
	started(CTL_USER | CTL_OS, &user);
	overflow();
	pt_flow_cr3(&flow, 0x7000, &kernel);
	resolve(&kernel);
	EXPECT("02 f3				# OVF alone: BranchEn is clear\n");
}

static void test_overflow_and_the_end(void **state)
{
	started(ALL, &user);
	overflow();
	branch(X86_JMP_IND, 0, &user);
	pt_faults.n[PT_FAULT_OVERFLOW] = 0;
	stop(0x401010);
	EXPECT("02 f3				# OVF\n"
	       "7d 10 10 40 00 00 00		# FUP\n"
	       "3d 10 10 01			# FUP(CLIP), TIP.PGD()\n");

	/* 36.3.8.1: TraceStop is not lost. */
	setup(state);
	msrs.addr[0] = msrs.addr[1] = kernel.ip;
	started(ALL | 2ULL << 32, &user);
	overflow();
	branch(X86_FAR, 0, &kernel);
	EXPECT("02 f3 02 83			# OVF, TraceStop\n");
	assert_int_equal(msrs.status & STATUS_STOPPED, STATUS_STOPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cfe, setup),
		cmocka_unit_test_setup(test_cfe_without_branches, setup),
		cmocka_unit_test_setup(test_interrupt_flag, setup),
		cmocka_unit_test_setup(test_interrupt_flag_without_branches, setup),
		cmocka_unit_test_setup(test_interrupt_flag_in_overflow, setup),
		cmocka_unit_test_setup(test_ptwrite, setup),
		cmocka_unit_test_setup(test_halt, setup),
		cmocka_unit_test_setup(test_mwait, setup),
		cmocka_unit_test_setup(test_sleep_across_traces, setup),
		cmocka_unit_test(test_time_comes_first),
		cmocka_unit_test_setup(test_smi, setup),
		cmocka_unit_test_setup(test_init, setup),
		cmocka_unit_test_setup(test_reset, setup),
		cmocka_unit_test_setup(test_vmxon, setup),
		cmocka_unit_test_setup(test_overflow_each_n_packets, setup),
		cmocka_unit_test_setup(test_overflow_in_context, setup),
		cmocka_unit_test_setup(test_overflow_out_of_context, setup),
		cmocka_unit_test_setup(test_overflow_with_another_mode, setup),
		cmocka_unit_test_setup(test_overflow_without_branches, setup),
		cmocka_unit_test_setup(test_overflow_and_the_end, setup),
	};

	return cmocka_run_group_tests_name("pt_event", tests, NULL, NULL);
}
