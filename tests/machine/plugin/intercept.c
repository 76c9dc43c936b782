// SPDX-License-Identifier: GPL-2.0
/*
 * CPUID, MSRs, time stamps, PTWRITE.
 */
#include "intercept.h"
#include "clock.h"
#include "follow.h"
#include "pt_model.h"
#include "saved.h"
#include "watch.h"

#define CTL_ADDR_CFGS	PT_MASK(47, 32)
#define CR4_TSD		PT_BIT(2)

enum {
	MSR_TSC			= 0x010,
	MSR_TSC_ADJUST		= 0x03b,
	MSR_PLATFORM_INFO	= 0x0ce,
	MSR_TSC_AUX		= 0xc0000103,

	/*
	 * A reserved x2APIC register: in xAPIC mode QEMU raises #GP for it,
	 * which is how the plugin raises #GP.
	 */
	MSR_THAT_FAULTS		= 0x8ff,

	CPUID_MAX		= 0x00,
	CPUID_SIGNATURE		= 0x01,
	CPUID_FEATURES		= 0x07,
	CPUID_PMU		= 0x0a,
	CPUID_PT		= 0x14,
	CPUID_TSC		= 0x15,
	CPUID_ADDRESS_SIZE	= 0x80000008,

	/* No processor's: a guest talks to the machine. EAX tells what it did. */
	CPUID_MACHINE		= 0x4d540000,
	CPUID_MACHINE_LAST	= 0x4d5400ff,
	CPUID_MACHINE_ASK	= 0x4d540000,
	CPUID_MACHINE_BEGIN	= 0x4d540001,
	CPUID_MACHINE_END	= 0x4d540002,
	CPUID_MACHINE_SAVE	= 0x4d540010,
	CPUID_MACHINE_DONE	= 0x4d54c0de,

	CPUID_7_EBX_PT		= 1 << 25,
};

/* ---- helpers ---- */

static void count_skipped(const struct vcpu *v, const struct hook *hook)
{
	if (count_is_on())
		v->shared->insns[hook->block->cpl != 0]++;
}

static void __attribute__((noreturn)) skip(struct vcpu *v, const struct hook *hook)
{
	count_skipped(v, hook);
	vcpu_leave(v, hook->next + v->hook_delta);
}

static void set_edx_eax(uint64_t val)
{
	reg_write(REG_RAX, (uint32_t)val);
	reg_write(REG_RDX, val >> 32);
}

static void inject_gp(struct vcpu *v)
{
	v->gp_pending = true;
	v->gp_rcx = reg_read(REG_RCX);
	reg_write(REG_RCX, MSR_THAT_FAULTS);
}

void intercept_delivered(struct vcpu *v, uint64_t from)
{
	if (v->shared->active & VCPU_AMEND) {
		if (from == v->amend_ip)
			v->shared->active &= ~VCPU_AMEND;
		else
			intercept_amend(v);
	}
	vcpu_delivered(v, from);
	if (!v->gp_pending)
		return;
	v->gp_pending = false;
	reg_write(REG_RCX, v->gp_rcx);
}

/* ---- results that QEMU gives and the machine amends ---- */

static void amend_cpuid(struct vcpu *v)
{
	const uint64_t rax = reg_read(REG_RAX);

	switch (v->cpuid_leaf) {
	case CPUID_SIGNATURE:
		reg_write(REG_RAX, pt_model->signature);
		break;
	case CPUID_FEATURES:
		reg_write(REG_RBX, reg_read(REG_RBX) | CPUID_7_EBX_PT);
		break;
	case CPUID_MAX:
		if (rax < CPUID_TSC)
			reg_write(REG_RAX, CPUID_TSC);
		break;
	case CPUID_ADDRESS_SIZE:
		__atomic_store_n(&pt_caps.phys_bits, rax & 0xff, __ATOMIC_RELAXED);
		__atomic_store_n(&pt_caps.linear_bits, rax >> 8 & 0xff, __ATOMIC_RELAXED);
		break;
	}
}

static void amend_tsc(struct vcpu *v)
{
	clock_compare((uint32_t)reg_read(REG_RAX) | reg_read(REG_RDX) << 32);
	set_edx_eax(vcpu_tsc(v));
	pt_flow_clock_seen(&v->flow);
	watch_rest();
}

void intercept_amend(struct vcpu *v)
{
	v->shared->active &= ~VCPU_AMEND;
	switch (v->amend_class) {
	case X86_CPUID:
		amend_cpuid(v);
		break;
	case X86_RDMSR:
		set_edx_eax(v->rdmsr_val);
		break;
	default:
		amend_tsc(v);
	}
}

/*
 * The next instruction of the block is the place to amend results. If there is
 * none, a block that begins here may have one; else it is the begin of the next
 * block, which calls back in watched code.
 */
static void amend_later(struct vcpu *v, const struct hook *hook)
{
	const uint64_t ip = hook->ip + v->hook_delta;

	if (hook->is_last && !watch_on && hook->ip != hook->block->start)
		vcpu_leave(v, ip);
	if (hook->is_last)
		watch_need(v, ip);
	v->amend_class = hook->class;
	v->amend_ip = ip;
	v->shared->active |= VCPU_AMEND;
}

static void after_amended(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);

	(void)udata;
	if (v->shared->active & VCPU_AMEND)
		intercept_amend(v);
}

static void after_rdtsc(unsigned int index, void *udata)
{
	(void)udata;
	amend_tsc(vcpu_get(index));
}

/* The last of its block, as RDTSCP always is. */
static void rdtsc(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;

	/* QEMU's own result is wanted once. */
	if (clock_is_behind()) {
		amend_later(v, hook);
		return;
	}
	/* #GP */
	if (hook->block->cpl && (reg_read(REG_CR4) & CR4_TSD))
		return;
	set_edx_eax(vcpu_tsc(v));
	pt_flow_clock_seen(&v->flow);
	if (hook->class == X86_RDTSCP)
		reg_write(REG_RCX, (uint32_t)v->tsc_aux);
	watch_rest();
	skip(v, hook);
}

/* ---- CPUID ---- */

static bool machine_call(struct vcpu *v, uint32_t leaf, uint32_t label)
{
	if (leaf == CPUID_MACHINE_SAVE)
		return saved_write();
	if (!count_is_on())
		return false;

	switch (leaf) {
	case CPUID_MACHINE_ASK:
		return true;
	case CPUID_MACHINE_BEGIN:
		return count_begin(&v->count, label, v->shared->insns);
	case CPUID_MACHINE_END:
		return count_end(&v->count, label, v->shared->insns);
	default:
		return false;
	}
}

static void cpuid(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const uint32_t leaf = reg_read(REG_RAX);
	const uint32_t subleaf = reg_read(REG_RCX);
	uint32_t regs[4] = { 0 };

	switch (leaf) {
	case CPUID_SIGNATURE:
		if (!pt_model->signature)
			return;
		v->cpuid_leaf = leaf;
		amend_later(v, udata);
		return;
	case CPUID_FEATURES:
		if (subleaf)
			return;
		/* fallthrough */
	case CPUID_MAX:
	case CPUID_ADDRESS_SIZE:
		v->cpuid_leaf = leaf;
		amend_later(v, udata);
		return;
	case CPUID_PMU:
		pmu_cpuid(regs);
		break;
	case CPUID_PT:
		pt_msr_cpuid(&pt_caps, subleaf, regs);
		break;
	case CPUID_TSC:
		regs[0] = ART_NUMERATOR;
		regs[1] = ART_DENOMINATOR;
		break;
	case CPUID_MACHINE ... CPUID_MACHINE_LAST:
		if (!machine_call(v, leaf, subleaf))
			return;
		/* It is not counted itself. */
		reg_write(REG_RAX, CPUID_MACHINE_DONE);
		reg_write(REG_RBX, 0);
		reg_write(REG_RCX, 0);
		reg_write(REG_RDX, 0);
		vcpu_leave(v, ((const struct hook *)udata)->next + v->hook_delta);
	default:
		return;
	}

	reg_write(REG_RAX, regs[0]);
	reg_write(REG_RBX, regs[1]);
	reg_write(REG_RCX, regs[2]);
	reg_write(REG_RDX, regs[3]);
	skip(v, udata);
}

/* ---- MSRs ---- */

/* QEMU reads an MSR unknown to it as 0. */
static void rdmsr(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const uint32_t msr = reg_read(REG_RCX);
	uint64_t val;

	if (count_is_on())
		count_msr(&v->count, msr, false);
	switch (pt_msr_read(&v->msrs, &pt_caps, msr, &val)) {
	case PT_MSR_FAULT:
		vcpu_log(v, 1, "rdmsr %x: #GP", msr);
		inject_gp(v);
		return;
	case PT_MSR_OK:
		if (msr == MSR_RTIT_STATUS)
			val = pt_flow_status(&v->flow);
		vcpu_log(v, 1, "rdmsr %x: %lx", msr, val);
		break;
	case PT_MSR_NOT_MINE:
		if (msr == MSR_TSC)
			val = vcpu_tsc(v);
		else if (msr == MSR_TSC_ADJUST)
			val = v->tsc_adjust;
		else if (msr == MSR_PLATFORM_INFO)
			val = clock_ratio() << 8;
		else if (!pmu_msr_read(&v->pmu, msr, &val))
			return;
	}

	v->rdmsr_val = val;
	amend_later(v, udata);
}

static void trace_start(struct vcpu *v, const struct hook *hook)
{
	follow_start(v, hook->block, hook->next + v->hook_delta, v->hook_delta);
	pt_flow_start(&v->flow, &v->at, reg_read(REG_CR3));
	v->needs = pt_flow_needs(&v->flow);
	v->filtered = v->msrs.ctl & CTL_ADDR_CFGS;
	watch_traced(true);
	if (pt_flow_active(&v->flow))
		v->shared->active |= VCPU_TRACING;
}

static void trace_stop(struct vcpu *v, const struct hook *hook)
{
	const uint64_t ip = hook->ip + v->hook_delta;

	if (v->pclog)
		pclog_event(v->pclog, ip, true);
	pt_flow_stop(&v->flow, ip);
	watch_traced(false);
	v->shared->active &= ~VCPU_TRACING;
}

static void pt_wrmsr(struct vcpu *v, const struct hook *hook, const struct pt_msrs *msrs)
{
	const bool was = v->msrs.ctl & CTL_TRACE_EN;
	const bool is = msrs->ctl & CTL_TRACE_EN;

	if (was != is && count_is_on())
		count_trace(&v->count, is, v->shared->insns);

	/* The flush at the end moves the output pointers: stop, then store. */
	if (was && !is) {
		trace_stop(v, hook);
		v->msrs.ctl = msrs->ctl;
		return;
	}
	v->msrs = *msrs;
	if (!was && is)
		trace_start(v, hook);
}

static void other_wrmsr(struct vcpu *v, uint32_t msr, uint64_t val)
{
	switch (msr) {
	case MSR_TSC:
		v->tsc_adjust = val - clock_tsc();
		break;
	case MSR_TSC_ADJUST:
		v->tsc_adjust = val;
		break;
	case MSR_TSC_AUX:
		v->tsc_aux = val;
		break;
	default:
		pmu_msr_write(&v->pmu, msr, val);
	}
}

/* QEMU takes the write of an MSR unknown to it for a no-op: nothing to skip. */
static void wrmsr(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	const uint32_t msr = reg_read(REG_RCX);
	const uint64_t val = (uint32_t)reg_read(REG_RAX) | reg_read(REG_RDX) << 32;
	struct pt_msrs msrs = v->msrs;

	if (msr == MSR_RTIT_CTL && (val & CTL_TRACE_EN))
		watch_need(v, hook->ip + v->hook_delta);
	if (count_is_on())
		count_msr(&v->count, msr, true);
	switch (pt_msr_write(&msrs, &pt_caps, msr, val)) {
	case PT_MSR_NOT_MINE:
		other_wrmsr(v, msr, val);
		break;
	case PT_MSR_FAULT:
		vcpu_log(v, 1, "wrmsr %x, %lx: #GP", msr, val);
		inject_gp(v);
		break;
	case PT_MSR_OK:
		vcpu_log(v, 1, "wrmsr %x, %lx", msr, val);
		pt_wrmsr(v, hook, &msrs);
		break;
	}
}

void intercept_reset(struct vcpu *v)
{
	if (v->msrs.ctl & CTL_TRACE_EN)
		watch_traced(false);
	pt_flow_reset(&v->flow, true);
	pmu_reset(&v->pmu);
	v->shared->active = 0;
	v->shared->pending = 0;
}

/* ---- PTWRITE, LIDT ---- */

/* The operand of the instruction at @ip; @next is the address after it. */
static bool operand(const struct hook *hook, uint64_t ip, struct x86_operand *op, uint64_t *addr)
{
	uint64_t gpr[16], base = 0;
	uint8_t bytes[15];
	size_t len = sizeof(bytes), i;

	/* The next page may be absent; QEMU gives all or nothing. */
	while (len && !virt_read(ip, bytes, len))
		len--;
	if (!x86_operand(bytes, len, hook->block->mode, op))
		return false;
	if (op->is_reg)
		return true;

	for (i = 0; i < 16; i++)
		gpr[i] = reg_read(REG_RAX + i);
	if (op->segment != X86_SEG_FLAT)
		base = reg_read(op->segment == X86_SEG_FS ? REG_FS_BASE : REG_GS_BASE);
	*addr = x86_address(op, gpr, ip + op->length, base);
	return true;
}

/* A no-op but for its packets. TCG does not know it, and would raise #UD. */
static void ptwrite(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	const uint64_t ip = hook->ip + v->hook_delta;
	struct pt_where at = v->at;
	struct x86_operand op;
	uint64_t addr, payload = 0;

	if (!(pt_caps.ebx & CAP_EBX_PTWRITE) || !operand(hook, ip, &op, &addr))
		return;
	if (op.is_reg)
		payload = reg_read(REG_RAX + op.reg);
	else if (!virt_read(addr, &payload, op.size))
		return;
	if (op.size == 4)
		payload = (uint32_t)payload;

	at.ip = ip + op.length;
	if ((v->shared->active & VCPU_TRACING) && (v->needs & PT_FLOW_NEEDS_PTW))
		pt_flow_ptwrite(&v->flow, ip, payload, op.size, &at);
	count_skipped(v, hook);
	vcpu_leave(v, at.ip);
}

static void lidt(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	struct x86_operand op;
	uint64_t addr, base = 0;
	uint16_t limit;

	if (!operand(hook, hook->ip + v->hook_delta, &op, &addr) ||
	    !virt_read(addr, &limit, 2) ||
	    !virt_read(addr + 2, &base, hook->block->mode == X86_MODE_64 ? 8 : 4))
		return;
	idt_load(&v->idt, base, limit);
}

/*
 * While one processor changes code and another runs it, QEMU may translate the
 * old bytes and keep that: it drops translations before it stores, not after. The
 * kernel's text_poke() puts INT3 there for a moment; one that stays in the
 * translation is an oops.
 */
static void soft_int(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	const uint64_t ip = hook->ip + v->hook_delta;
	uint8_t byte;

	if (hook->next - hook->ip != 1 || !virt_read(ip, &byte, 1) || byte == 0xcc ||
	    byte == 0xf1 || byte == 0xce)
		return;
	vcpu_log(v, 1, "stale INT3 at %lx", ip);
	v->stale++;
	watch_retranslate(v, ip);
}

/* ---- counters ---- */

/* TCG has no RDPMC at all and would raise #UD. */
static void rdpmc(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	uint64_t val;

	if (!pmu_rdpmc(&v->pmu, reg_read(REG_RCX), &val))
		return;
	set_edx_eax(val);
	skip(v, udata);
}

struct intercept intercept_way(enum x86_class class, uint8_t cpl)
{
	switch (class) {
	case X86_CPUID:
		return (struct intercept) { .before = cpuid, .after = after_amended };
	case X86_RDTSC:
	case X86_RDTSCP:
		return (struct intercept) {
			.before = rdtsc,
			.after = after_rdtsc,
			.only_if_last = true,
		};
	case X86_PTWRITE:
		return (struct intercept) { .before = ptwrite };
	case X86_SOFT_INT:
		return (struct intercept) { .before = soft_int };
	default:
		break;
	}
	if (cpl)
		return (struct intercept) { 0 };

	switch (class) {
	case X86_RDMSR:
		return (struct intercept) { .before = rdmsr, .after = after_amended };
	case X86_WRMSR:
		return (struct intercept) { .before = wrmsr };
	case X86_RDPMC:
		return (struct intercept) { .before = rdpmc };
	case X86_LIDT:
		return (struct intercept) { .before = lidt };
	default:
		return (struct intercept) { 0 };
	}
}
