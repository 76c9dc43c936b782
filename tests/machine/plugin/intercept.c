// SPDX-License-Identifier: GPL-2.0
/*
 * CPUID, MSRs and time stamps.
 */
#include "intercept.h"
#include "pt_model.h"

#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum {
	MSR_TSC			= 0x010,
	MSR_PLATFORM_INFO	= 0x0ce,
	MSR_TSC_AUX		= 0xc0000103,

	/*
	 * A reserved x2APIC register: in xAPIC mode QEMU raises #GP for it,
	 * which is how the plugin raises #GP.
	 */
	MSR_THAT_FAULTS		= 0x8ff,

	CPUID_MAX		= 0x00,
	CPUID_FEATURES		= 0x07,
	CPUID_PMU		= 0x0a,
	CPUID_PT		= 0x14,
	CPUID_TSC		= 0x15,
	CPUID_ADDRESS_SIZE	= 0x80000008,

	CPUID_7_EBX_PT		= 1 << 25,

	/*
	 * TSC = crystal * 204 / 2. The crystal's frequency is not told (ECX is
	 * 0), since it is the host's TSC that decides it.
	 */
	ART_NUMERATOR		= 2,
	ART_DENOMINATOR		= 204,
};

static const struct pt_clock *machine_clock;
static uint64_t host_base;

/* ---- time ---- */

static uint64_t machine_tsc(void *arg)
{
	(void)arg;
	return __rdtsc() - host_base;
}

static double host_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

void intercept_clock_init(struct pt_clock *clock)
{
	const double begin = host_seconds();
	double seconds;

	/* The ratio of core to bus clock (100 MHz) says how fast the TSC is. */
	host_base = __rdtsc();
	do {
		seconds = host_seconds() - begin;
	} while (seconds < 0.02);

	*clock = (struct pt_clock) {
		.tsc = machine_tsc,
		.art_num = ART_NUMERATOR,
		.art_den = ART_DENOMINATOR,
		.cbr = (uint8_t)(machine_tsc(NULL) / seconds / 100e6 + 0.5),
	};
	machine_clock = clock;
}

/* ---- helpers ---- */

static void __attribute__((noreturn)) skip(const struct vcpu *v, const struct hook *hook)
{
	qemu_plugin_set_pc(hook->next + v->hook_delta);
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

void intercept_delivered(struct vcpu *v)
{
	if (!v->gp_pending)
		return;
	v->gp_pending = false;
	reg_write(REG_RCX, v->gp_rcx);
}

/* ---- CPUID ---- */

static void cpuid(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const uint32_t leaf = reg_read(REG_RAX);
	const uint32_t subleaf = reg_read(REG_RCX);
	uint32_t regs[4] = { 0 };

	switch (leaf) {
	case CPUID_FEATURES:
		if (subleaf)
			return;
		/* fallthrough */
	case CPUID_MAX:
	case CPUID_ADDRESS_SIZE:
		v->cpuid_leaf = leaf;
		v->shared->active |= VCPU_CPUID;
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
	default:
		return;
	}

	reg_write(REG_RAX, regs[0]);
	reg_write(REG_RBX, regs[1]);
	reg_write(REG_RCX, regs[2]);
	reg_write(REG_RDX, regs[3]);
	skip(v, udata);
}

void intercept_cpuid_done(struct vcpu *v)
{
	const uint64_t rax = reg_read(REG_RAX);

	v->shared->active &= ~VCPU_CPUID;

	switch (v->cpuid_leaf) {
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

/* ---- MSRs ---- */

static void rdmsr(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const uint32_t msr = reg_read(REG_RCX);
	uint64_t val;

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
			val = machine_tsc(NULL);
		else if (msr == MSR_PLATFORM_INFO)
			val = machine_clock->cbr << 8;
		else if (!pmu_msr_read(&v->pmu, msr, &val))
			return;
	}

	set_edx_eax(val);
	skip(v, udata);
}

static void trace_start(struct vcpu *v, const struct hook *hook)
{
	v->at = (struct pt_where) {
		.ip = hook->next + v->hook_delta,
		.cpl = hook->cpl,
		.mode = code_mode(reg_read(REG_CS)),
	};
	v->trace_delta = v->hook_delta;
	v->fault_hint = false;
	v->shared->pending = 0;
	v->shared->cr3_written = 0;

	pt_flow_start(&v->flow, &v->at, reg_read(REG_CR3));
	if (pt_flow_active(&v->flow))
		v->shared->active |= VCPU_TRACING;
}

static void trace_stop(struct vcpu *v, const struct hook *hook)
{
	const uint64_t ip = hook->ip + v->hook_delta;

	if (v->pclog)
		pclog_event(v->pclog, ip, true);
	pt_flow_stop(&v->flow, ip);
	v->shared->active &= ~VCPU_TRACING;
}

/* QEMU takes the write of an MSR unknown to it for a no-op: nothing to skip. */
static void wrmsr(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;
	const uint32_t msr = reg_read(REG_RCX);
	const uint64_t val = (uint32_t)reg_read(REG_RAX) | reg_read(REG_RDX) << 32;
	struct pt_msrs msrs = v->msrs;
	bool was, is;

	switch (pt_msr_write(&msrs, &pt_caps, msr, val)) {
	case PT_MSR_NOT_MINE:
		if (msr == MSR_TSC_AUX)
			v->tsc_aux = val;
		else
			pmu_msr_write(&v->pmu, msr, val);
		return;
	case PT_MSR_FAULT:
		vcpu_log(v, 1, "wrmsr %x, %lx: #GP", msr, val);
		inject_gp(v);
		return;
	case PT_MSR_OK:
		vcpu_log(v, 1, "wrmsr %x, %lx", msr, val);
		break;
	}

	was = v->msrs.ctl & CTL_TRACE_EN;
	is = msrs.ctl & CTL_TRACE_EN;

	/* The flush at the end moves the output pointers: stop, then store. */
	if (was && !is) {
		trace_stop(v, hook);
		v->msrs.ctl = msrs.ctl;
	} else {
		v->msrs = msrs;
		if (!was && is)
			trace_start(v, hook);
	}
}

/* ---- counters ---- */

static void rdtsc(unsigned int index, void *udata)
{
	struct vcpu *v = vcpu_get(index);
	const struct hook *hook = udata;

	set_edx_eax(machine_tsc(NULL));
	if (hook->class == X86_RDTSCP)
		reg_write(REG_RCX, v->tsc_aux);
	skip(v, hook);
}

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

qemu_plugin_vcpu_udata_cb_t intercept_cb(enum x86_class class, uint8_t cpl)
{
	switch (class) {
	case X86_CPUID:
		return cpuid;
	case X86_RDTSC:
	case X86_RDTSCP:
		return rdtsc;
	case X86_RDMSR:
		return cpl == 0 ? rdmsr : NULL;
	case X86_WRMSR:
		return cpl == 0 ? wrmsr : NULL;
	case X86_RDPMC:
		return cpl == 0 ? rdpmc : NULL;
	default:
		return NULL;
	}
}
