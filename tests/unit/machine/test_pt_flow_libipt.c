// SPDX-License-Identifier: GPL-2.0
/*
 * A property: whatever a processor does, and however Intel PT is configured,
 * libipt's instruction decoder finds the program counters that were executed
 * while packets were enabled, one by one; and libipt's packet decoder finds in
 * each packet what the encoder meant.
 *
 * A random program of three parts (64-bit user, 32-bit user, kernel) is executed
 * by a small model, with interrupts, faults, system calls, CR3 switches, sleep;
 * which instructions PacketEn covers is worked out here anew, by SDM 3C 36.2.5.
 * One seed is one program, one execution and one configuration.
 *
 *	test_pt_flow_libipt [SEED]
 */
#include "annotated.h"
#include "libipt_decode.h"
#include "pt_fault.h"
#include "pt_flow.h"
#include "pt_model.h"
#include "random_program.h"

#include <inttypes.h>

#define SEEDS		300
#define STEPS		6000
#define OUTPUT_SIZE	(4u << 20)
#define TABLE		0x1000ULL
#define REGION		0x400000ULL
#define MAX_EXECUTED	(STEPS * 2)
#define MAX_PACKETS	(STEPS * 40)

/* ---- the processor ---- */

static uint8_t *memory;
static struct pt_msrs msrs;
static struct pt_output output;
static struct pt_flow flow;
static uint64_t now;

static struct pt_pkt packets[MAX_PACKETS];
static size_t packet_count;

static uint64_t executed[MAX_EXECUTED];
static size_t executed_count;
static size_t told_count;	/* up to the last branch that the flow was told */
static size_t known_count;	/* how many the packets sent so far cover */

/* Where each overflow was told, and how much of the loss was certain before. */
static struct { size_t known, end; } losses[MAX_EXECUTED];
static size_t loss_count;

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

static uint64_t read_tsc(void *arg)
{
	(void)arg;
	now += rnd(40);
	if (!rnd(2000))
		now += 1000000;
	return now;
}

static void ignore(void *arg, bool on)
{
	(void)arg;
	(void)on;
}

static void on_packet(void *arg, const struct pt_pkt *p)
{
	(void)arg;
	assert_true(packet_count < MAX_PACKETS);
	packets[packet_count++] = *p;
	if (p->type == PT_OVF) {
		losses[loss_count].known = known_count;
		losses[loss_count].end = executed_count;
		loss_count++;
	}
	if (p->type == PT_TNT || p->type == PT_TIP)
		known_count = told_count;
}

/* ---- the model of what is traced ---- */

static uint64_t cr3;
static bool filter_on, stopped;

static bool in_range(uint64_t ip, unsigned int cfg, bool *any)
{
	unsigned int i;
	bool in = false;

	*any = false;
	for (i = 0; i < 4; i++) {
		if ((msrs.ctl >> (32 + 4 * i) & 0xf) != cfg)
			continue;
		*any = true;
		in |= ip >= msrs.addr[2 * i] && ip <= msrs.addr[2 * i + 1];
	}
	return in;
}

static bool context(uint8_t cpl)
{
	return (msrs.ctl & (cpl ? CTL_USER : CTL_OS)) &&
	       (!(msrs.ctl & CTL_CR3_FILTER) || cr3 == msrs.cr3_match);
}

/* A taken branch, an event or MOV CR3 leads to @ip. */
static void landed(uint64_t ip, uint8_t cpl)
{
	bool any, in;

	if (!context(cpl))
		return;
	in = in_range(ip, 1, &any);
	filter_on = !any || in;
	if (in_range(ip, 2, &any))
		stopped = true;
}

static void start(const struct pt_where *at)
{
	bool any;

	in_range(0, 1, &any);
	filter_on = !any;
	landed(at->ip, at->cpl);
	pt_flow_start(&flow, at, cr3);
}

/* ---- execution ---- */

struct frame {
	unsigned int part, insn;
};

static struct {
	unsigned int part, insn;
	struct frame calls[1024];	/* returns of calls; interrupted code between */
	unsigned int depth;
} cpu;

static struct insn *current(void)
{
	return &parts[cpu.part].insns[cpu.insn];
}

static struct pt_where where(void)
{
	return (struct pt_where) {
		.ip = current()->ip,
		.cpl = parts[cpu.part].cpl,
		.mode = parts[cpu.part].mode,
	};
}

static void push(unsigned int part, unsigned int insn)
{
	assert_true(cpu.depth < 1024);
	cpu.calls[cpu.depth++] = (struct frame) { part, insn };
}

static void pop(void)
{
	assert_true(cpu.depth > 0);
	cpu.depth--;
	cpu.part = cpu.calls[cpu.depth].part;
	cpu.insn = cpu.calls[cpu.depth].insn;
}

static void enter_kernel(unsigned int back)
{
	push(cpu.part, back);
	cpu.part = KERNEL;
	cpu.insn = parts[KERNEL].start[rnd(RANDOM_ENTRIES)];
}

static struct pt_branch pending;
static bool has_pending;
static size_t pending_count;	/* executed_count at the last that takes a packet */

static void arrive(const struct pt_where *at, bool step)
{
	const struct pt_branch *branch = has_pending ? &pending : NULL;

	if (step)
		pt_flow_step(&flow, branch, at);
	else
		pt_flow_arrive(&flow, branch, at);
	if (has_pending)
		told_count = pending_count;
	has_pending = false;
}

static void event(enum pt_event_kind kind)
{
	struct pt_where at = where();
	const struct pt_event ev = { .kind = kind, .from = at.ip };

	arrive(&at, false);
	enter_kernel(cpu.insn);
	at = where();
	landed(at.ip, at.cpl);
	pt_flow_event(&flow, &ev, &at);
}

/* Execute the instruction; what it does to control flow is told later. */
static void execute(void)
{
	struct part *p = &parts[cpu.part];
	struct insn *i = current();
	const struct insn *target = &p->insns[i->target];
	const unsigned int f = function_of(p, cpu.insn);
	bool taken = true;
	struct pt_where at;

	if ((msrs.ctl & CTL_BRANCH_EN) && context(p->cpl) && filter_on && !stopped) {
		assert_true(executed_count < MAX_EXECUTED);
		executed[executed_count++] = i->ip;
	}
	pending = (struct pt_branch) {
		.ip = i->ip, .next = i->ip + i->len, .class = i->class,
		.target = target->ip,
	};
	has_pending = true;

	switch (i->class) {
	case X86_COND:
		taken = chance(50);
		cpu.insn = taken ? i->target : cpu.insn + 1;
		/* A branch to the next instruction is always taken. */
		taken |= current()->ip == target->ip;
		break;
	case X86_JMP:
		cpu.insn = i->target;
		break;
	case X86_CALL:
		push(cpu.part, cpu.insn + 1);
		cpu.insn = i->target;
		break;
	case X86_CALL_IND:
		push(cpu.part, cpu.insn + 1);
		cpu.insn = p->start[random_callee(p, f, 1 + rnd(20))];
		break;
	case X86_JMP_IND:
		if (cpu.insn + 1 == p->start[f + 1])
			cpu.insn = p->start[f];
		else
			cpu.insn += 1 + rnd(p->start[f + 1] - cpu.insn - 1);
		break;
	case X86_FAR:
		enter_kernel(cpu.insn + 1);
		break;
	case X86_RET:
		pop();
		break;
	case X86_IRET:
		pop();
		break;
	default:
		has_pending = false;
		taken = false;
		cpu.insn++;
	}
	/* Direct branches behind the last packet are not certain. */
	if (has_pending && i->class != X86_JMP && i->class != X86_CALL)
		pending_count = executed_count;

	at = where();
	if (taken)
		landed(at.ip, at.cpl);
	if (i->class == X86_MOV_CR3) {
		cr3 = 0x1000 * (1 + rnd(2));
		landed(at.ip, at.cpl);
		pt_flow_cr3(&flow, cr3, &at);
	}
	if (i->ptwrite)
		pt_flow_ptwrite(&flow, i->ip, random_bits(), chance(50) ? 8 : 4, &at);
	if (i->class == X86_HALT) {
		if (i->mwait)
			pt_flow_mwait(&flow, i->ip, chance(80) ? rnd(4) << 4 | rnd(2) : 0xf0,
				      rnd(2), &at);
		else
			pt_flow_halt(&flow, i->ip, &at);
		now += rnd(100000);
		pt_flow_wake(&flow, PT_WAKE_INTR);
		if (chance(50))
			event(PT_EVENT_INTR);
	}
}

/* WRMSR clears TraceEn, and another sets it. */
static void off_and_on(void)
{
	struct pt_where at = where();

	arrive(&at, false);
	if (stopped)
		return;
	pt_flow_stop(&flow, at.ip);
	if (chance(50))
		msrs.status &= ~STATUS_BYTE_CNT;
	start(&at);
}

/* ---- configurations ---- */

static void set_range(unsigned int n, unsigned int cfg)
{
	const struct part *p = &parts[rnd(PARTS)];
	const unsigned int f = rnd(RANDOM_FUNCTIONS / 2);
	const unsigned int last = f + 1 + rnd(RANDOM_FUNCTIONS / 2 - 1);

	msrs.ctl |= (uint64_t)cfg << (32 + 4 * n);
	msrs.addr[2 * n] = p->insns[p->start[f]].ip;
	msrs.addr[2 * n + 1] = p->insns[p->start[last]].ip - 1;
}

static void configure(void)
{
	static const uint8_t mtc[] = { 0, 3, 6 };

	pt_msr_reset(&msrs);
	msrs.output_base = TABLE;
	msrs.ctl = CTL_TRACE_EN | CTL_TOPA;
	if (!chance(5))
		msrs.ctl |= CTL_BRANCH_EN;
	if (chance(5))
		msrs.ctl |= CTL_DIS_TNT;
	msrs.ctl |= (uint64_t[]) { CTL_USER, CTL_OS, CTL_USER | CTL_OS,
				   CTL_USER | CTL_OS }[rnd(4)];
	if (chance(50))
		msrs.ctl |= CTL_DIS_RETC;
	if (chance(50))
		msrs.ctl |= CTL_TSC_EN;
	if (chance(40))
		msrs.ctl |= CTL_MTC_EN | (uint64_t)mtc[rnd(3)] << 14;
	if (chance(40))
		msrs.ctl |= CTL_CYC_EN | (uint64_t)rnd(6) << 19;
	if (chance(40))
		msrs.ctl |= CTL_PTW_EN | (chance(50) ? CTL_FUP_ON_PTW : 0);
	if (chance(40))
		msrs.ctl |= CTL_PWR_EVT_EN;
	if (chance(20)) {
		msrs.ctl |= CTL_CR3_FILTER;
		msrs.cr3_match = 0x1000;
	}
	if (chance(40)) {
		set_range(0, 1);
		if (chance(50))
			set_range(1, 1);
	}
	if (chance(10))
		set_range(2, 2);
	memset(&pt_faults, 0, sizeof(pt_faults));
	if (chance(30))
		pt_faults.n[PT_FAULT_OVERFLOW] = 5 + rnd(300);
	flow.options.tnt_long = chance(30);
	flow.options.no_deferred_tips = chance(30);
}

static void run(void)
{
	const struct pt_memory mem = { .read = mem_read, .write = mem_write, .pmi = pmi };
	const struct pt_clock clock = {
		.tsc = read_tsc, .art_num = 2, .art_den = 204, .cbr = 24,
	};
	const struct pt_observer observer = {
		.trace = ignore, .packets = ignore, .packet = on_packet,
	};
	const uint64_t entries[] = { REGION | 10 << 6, TABLE | TOPA_END };
	struct pt_where at;
	unsigned int i;

	random_program();
	memset(memory + REGION, 0, OUTPUT_SIZE);
	memcpy(memory + TABLE, entries, sizeof(entries));
	packet_count = executed_count = told_count = known_count = loss_count = 0;
	now = rnd(1000000);
	cr3 = 0x1000;
	stopped = has_pending = false;
	pending_count = 0;
	memset(&cpu, 0, sizeof(cpu));

	pt_output_init(&output, &msrs, &pt_caps, &mem);
	pt_flow_init(&flow, &msrs, &output, &clock, &observer);
	configure();

	/* The kernel starts the trace. */
	push(rnd(2), 0);
	cpu.part = KERNEL;
	at = where();
	start(&at);

	for (i = 0; i < STEPS && !stopped; i++) {
		/* An IRET of the outermost frame goes to either user part. */
		if (cpu.depth == 1 && cpu.part == KERNEL) {
			cpu.calls[0].part = rnd(2);
			cpu.calls[0].insn = 0;
		}
		if (cpu.depth < 900 && chance(1)) {
			event(PT_EVENT_INTR);
			continue;
		}
		if (cpu.depth < 900 && chance(1) && !has_pending) {
			event(PT_EVENT_FAULT);
			continue;
		}
		if (cpu.part == KERNEL && !rnd(300)) {
			off_and_on();
			continue;
		}
		at = where();
		if (has_pending || chance(20))
			arrive(&at, true);
		if (stopped)
			break;
		execute();
	}
	at = where();
	if (has_pending)
		arrive(&at, true);
	pt_flow_stop(&flow, at.ip);
	msrs.ctl &= ~CTL_TRACE_EN;
}

/* ---- judgement ---- */

static struct decode_config trace_config(void)
{
	struct decode_config c = {
		.trace = memory + REGION, .size = msrs.output_mask >> 32,
		.read = random_program_read,
		.mtc_freq = CTL_MTC_FREQ(msrs.ctl), .art_num = 2, .art_den = 204,
		.addr_cfg = msrs.ctl >> 32 & 0xffff,
	};

	memcpy(c.addr, msrs.addr, sizeof(c.addr));
	return c;
}

static void check_packets(const struct decode_config *c)
{
	uint64_t last_ip = 0;
	size_t offset = 0, i;

	for (i = 0; i < packet_count; i++) {
		uint64_t want[3] = { 0 }, got[3];
		unsigned int kind;
		const int size = decode_packet(c, offset, &kind, got);

		assert_int_equal(size, packets[i].size);
		assert_int_equal(kind, packets[i].type);
		pt_packet_values(&packets[i], want);
		if (kind == PT_PSB)
			last_ip = 0;
		if (kind == PT_TIP || kind == PT_TIP_PGE || kind == PT_TIP_PGD ||
		    kind == PT_FUP) {
			got[1] = !decode_ip(&last_ip, got[0], got[1]);
			got[0] = got[1] ? 0 : last_ip;
		}
		assert_memory_equal(got, want, sizeof(got));
		offset += size;
	}
	assert_int_equal(offset, c->size);
}

static void show(const char *name, const uint64_t *ips, size_t n, size_t i)
{
	size_t k;

	print_error("%s:", name);
	for (k = i > 4 ? i - 4 : 0; k < n && k < i + 4; k++) {
		uint8_t code[8] = { 0 };

		random_program_read(ips[k], code, sizeof(code));
		print_error(" %s%" PRIx64 " [%02x%02x%02x]", k == i ? "*" : "", ips[k],
			    code[0], code[1], code[2]);
	}
	print_error(" (%zu of %zu)\n", i, n);
}

static void __attribute__((noreturn)) differ(const uint64_t *got, size_t n, size_t i, size_t e,
					     const char *error)
{
	print_error("libipt: %s\n", error);
	show("executed", executed, executed_count, e);
	show("decoded", got, n, i);
	fail();
	abort();
}

static void check_insns(const struct decode_config *c)
{
	static uint64_t got[MAX_EXECUTED * 2];
	char error[256];
	const size_t n = decode_insns(c, got, MAX_EXECUTED * 2, error);
	size_t e = 0, loss = 0, i;

	for (i = 0; i < n; i++) {
		if (got[i] == DECODE_STOP)
			continue;
		if (got[i] == DECODE_OVERFLOW) {
			/* What is lost is between what was sent and the OVF. */
			if (loss == loss_count || e + 1 < losses[loss].known ||
			    e > losses[loss].end)
				differ(got, n, i, e, "overflow out of place");
			e = losses[loss++].end;
		} else if (e < executed_count && executed[e] == got[i]) {
			e++;
		} else {
			differ(got, n, i, e, error);
		}
	}
	/* Without an instruction after it libipt may not tell of an overflow. */
	if (loss < loss_count && e + 1 >= losses[loss].known &&
	    losses[loss].end == executed_count)
		e = executed_count;
	if (e != executed_count || *error)
		differ(got, n, n, e, error);
}

static uint64_t seed, only_seed;

static void one_seed(uint64_t n)
{
	struct decode_config c;

	seed = n;
	random_seed(n);
	run();
	c = trace_config();
	check_packets(&c);
	/* Without TNT no decoder can follow the code. */
	if (!(msrs.ctl & CTL_DIS_TNT))
		check_insns(&c);
}

static void test_random(void **state)
{
	uint64_t n;

	(void)state;
	if (only_seed) {
		one_seed(only_seed);
		return;
	}
	for (n = 1; n <= SEEDS; n++)
		one_seed(n);
}

static int teardown(void **state)
{
	(void)state;
	if (seed != SEEDS || only_seed)
		print_error("seed %" PRIu64 ", IA32_RTIT_CTL %" PRIx64 ", long TNT %d, "
			    "deferred TIPs %d, overflow each %" PRIu64 ": %zu instructions, "
			    "%zu packets\n", seed, msrs.ctl, flow.options.tnt_long,
			    !flow.options.no_deferred_tips, pt_faults.n[PT_FAULT_OVERFLOW],
			    executed_count, packet_count);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random, teardown),
	};

	if (argc > 1)
		only_seed = strtoull(argv[1], NULL, 0);
	memory = malloc(REGION + OUTPUT_SIZE);
	if (!memory)
		return 1;
	return cmocka_run_group_tests_name("pt_flow_libipt", tests, NULL, NULL);
}
