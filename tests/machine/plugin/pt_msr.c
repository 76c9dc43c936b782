// SPDX-License-Identifier: GPL-2.0
/*
 * The Intel PT register file: values, and the accesses that fault (#GP).
 */
#include "pt_msr.h"

#include <stddef.h>
#include <string.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* IA32_RTIT_CTL bits, each with the capability without which it is reserved. */
static const struct {
	uint64_t bits;
	uint32_t ebx;
	uint32_t ecx;
} ctl_bits[] = {
	{ CTL_TRACE_EN | CTL_OS | CTL_USER | CTL_TSC_EN | CTL_DIS_RETC |
	  CTL_BRANCH_EN,				0, 0 },
	{ CTL_CYC_EN,					CAP_EBX_PSB_CYC, 0 },
	{ CTL_PWR_EVT_EN,				CAP_EBX_PWR_EVT, 0 },
	{ CTL_FUP_ON_PTW | CTL_PTW_EN,			CAP_EBX_PTWRITE, 0 },
	{ CTL_FABRIC_EN,				0, CAP_ECX_FABRIC },
	{ CTL_CR3_FILTER,				CAP_EBX_CR3_FILTER, 0 },
	{ CTL_TOPA,					0, CAP_ECX_TOPA },
	{ CTL_MTC_EN | PT_MASK(17, 14),			CAP_EBX_MTC, 0 },
	{ PT_MASK(22, 19) | PT_MASK(27, 24),		CAP_EBX_PSB_CYC, 0 },
	{ CTL_EVENT_EN,					CAP_EBX_EVENT_TRACE, 0 },
	{ CTL_DIS_TNT,					CAP_EBX_DIS_TNT, 0 },
	{ CTL_INJECT_PSB_PMI,				CAP_EBX_PSB_PMI_KEEP, 0 },
};

void pt_msr_reset(struct pt_msrs *m)
{
	memset(m, 0, sizeof(*m));
	m->output_mask = OUTPUT_MASK_LOW;
}

void pt_msr_warm_reset(struct pt_msrs *m, const struct pt_caps *caps)
{
	if (!(caps->ebx & CAP_EBX_IP_FILTER)) {
		pt_msr_reset(m);
		return;
	}
	m->ctl &= ~CTL_TRACE_EN;
	m->in_vmx = false;
}

void pt_msr_vmxon(struct pt_msrs *m, const struct pt_caps *caps)
{
	if (!caps->pt_in_vmx)
		m->ctl &= ~CTL_TRACE_EN;
	m->in_vmx = true;
}

void pt_msr_vmxoff(struct pt_msrs *m)
{
	m->in_vmx = false;
}

void pt_msr_cpuid(const struct pt_caps *caps, uint32_t subleaf, uint32_t regs[4])
{
	memset(regs, 0, 4 * sizeof(regs[0]));

	/* A sub-leaf beyond the last reads as zeros (SDM 2A, CPUID). */
	if (subleaf > caps->max_subleaf)
		return;

	switch (subleaf) {
	case 0:
		regs[0] = caps->max_subleaf;
		regs[1] = caps->ebx;
		regs[2] = caps->ecx;
		break;
	case 1:
		regs[0] = caps->ranges | caps->mtc_map << 16;
		regs[1] = caps->cyc_map | caps->psb_map << 16;
		break;
	}
}

static uint64_t ctl_reserved(const struct pt_caps *caps)
{
	uint64_t allowed = 0;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(ctl_bits); i++) {
		if ((caps->ebx & ctl_bits[i].ebx) == ctl_bits[i].ebx &&
		    (caps->ecx & ctl_bits[i].ecx) == ctl_bits[i].ecx)
			allowed |= ctl_bits[i].bits;
	}
	for (i = 0; i < caps->ranges; i++)
		allowed |= 0xfULL << (32 + 4 * i);

	return ~allowed;
}

/* Tables 36-6 and 36-12: an encoding that CPUID does not list is reserved. */
static bool ctl_encodings_valid(const struct pt_caps *caps, uint64_t val)
{
	uint32_t i;

	if ((caps->ebx & CAP_EBX_MTC) && !(caps->mtc_map & 1U << CTL_MTC_FREQ(val)))
		return false;
	if ((caps->ebx & CAP_EBX_PSB_CYC) &&
	    (!(caps->cyc_map & 1U << CTL_CYC_THRESH(val)) ||
	     !(caps->psb_map & 1U << CTL_PSB_FREQ(val))))
		return false;
	for (i = 0; i < caps->ranges; i++) {
		if (CTL_ADDR_CFG(val, i) > ADDR_CFG_TRACE_STOP)
			return false;
	}

	return true;
}

static bool ctl_valid(const struct pt_msrs *m, const struct pt_caps *caps, uint64_t val)
{
	if (m->in_vmx && !caps->pt_in_vmx)
		return false;
	if ((val & ctl_reserved(caps)) || !ctl_encodings_valid(caps, val))
		return false;
	if (!(val & CTL_TRACE_EN))
		return true;

	/* 36.2.7.3: only the same value, or one that ends the trace. */
	if ((m->ctl & CTL_TRACE_EN) && val != m->ctl)
		return false;

	/* Table 36-6, ToPA */
	if (!(val & (CTL_TOPA | CTL_FABRIC_EN)) && !(caps->ecx & CAP_ECX_SINGLE_RANGE))
		return false;

	/*
	 * "Suppression of COFI-based packets" comes with MTC (SDM 2A, CPUID); so
	 * on Broadwell (table 35-32) "writing 0 will #GP if also setting TraceEn".
	 */
	if (!(val & CTL_BRANCH_EN) && !(caps->ebx & CAP_EBX_MTC))
		return false;

	return true;
}

/* Table 36-7 */
static bool status_valid(const struct pt_caps *caps, uint64_t val)
{
	uint64_t allowed = STATUS_FILTER_EN | STATUS_CONTEXT_EN |
			   STATUS_TRIGGER_EN | STATUS_ERROR | STATUS_STOPPED;

	/* 36.3.1: PacketByteCnt comes with configurable PSB. */
	if (caps->ebx & CAP_EBX_PSB_CYC)
		allowed |= STATUS_BYTE_CNT;
	if (caps->ebx & CAP_EBX_PSB_PMI_KEEP)
		allowed |= STATUS_PEND_PSB | STATUS_PEND_TOPA_PMI;

	return !(val & ~allowed);
}

static bool canonical(const struct pt_caps *caps, uint64_t addr)
{
	const unsigned int shift = 64 - caps->linear_bits;

	return (uint64_t)((int64_t)(addr << shift) >> shift) == addr;
}

/* The storage behind an MSR, or NULL if this processor does not have it. */
static uint64_t *msr_slot(struct pt_msrs *m, const struct pt_caps *caps, uint32_t index)
{
	switch (index) {
	case MSR_RTIT_CTL:
		return &m->ctl;
	case MSR_RTIT_STATUS:
		return &m->status;
	case MSR_RTIT_OUTPUT_BASE:
	case MSR_RTIT_OUTPUT_MASK:
		if (!(caps->ecx & (CAP_ECX_TOPA | CAP_ECX_SINGLE_RANGE)))
			return NULL;
		return index == MSR_RTIT_OUTPUT_BASE ? &m->output_base : &m->output_mask;
	case MSR_RTIT_CR3_MATCH:
		return caps->ebx & CAP_EBX_CR3_FILTER ? &m->cr3_match : NULL;
	default:
		index -= MSR_RTIT_ADDR0_A;
		return index < 2 * caps->ranges ? &m->addr[index] : NULL;
	}
}

static bool is_pt_msr(uint32_t index)
{
	return index == MSR_RTIT_OUTPUT_BASE || index == MSR_RTIT_OUTPUT_MASK ||
	       (index >= MSR_RTIT_CTL && index <= MSR_RTIT_CR3_MATCH) ||
	       (index >= MSR_RTIT_ADDR0_A && index <= MSR_RTIT_ADDR3_B);
}

enum pt_msr_result pt_msr_write(struct pt_msrs *m, const struct pt_caps *caps,
				uint32_t index, uint64_t val)
{
	uint64_t *slot;

	if (!is_pt_msr(index))
		return PT_MSR_NOT_MINE;

	slot = msr_slot(m, caps, index);
	if (!slot)
		return PT_MSR_FAULT;

	/* 36.2.7.1: while TraceEn is set only IA32_RTIT_CTL may be written. */
	if (index != MSR_RTIT_CTL && (m->ctl & CTL_TRACE_EN))
		return PT_MSR_FAULT;

	switch (index) {
	case MSR_RTIT_CTL:
		if (!ctl_valid(m, caps, val))
			return PT_MSR_FAULT;
		break;
	case MSR_RTIT_STATUS:
		if (!status_valid(caps, val))
			return PT_MSR_FAULT;
		/* Writes of FilterEn, ContextEn and TriggerEn are ignored. */
		val &= ~(STATUS_FILTER_EN | STATUS_CONTEXT_EN | STATUS_TRIGGER_EN);
		break;
	case MSR_RTIT_OUTPUT_BASE:
		if (val & (PT_MASK(6, 0) | PT_MASK(63, caps->phys_bits)))
			return PT_MSR_FAULT;
		break;
	case MSR_RTIT_OUTPUT_MASK:
		val |= OUTPUT_MASK_LOW;
		break;
	case MSR_RTIT_CR3_MATCH:
		if (val & PT_MASK(4, 0))
			return PT_MSR_FAULT;
		break;
	default:
		if (!canonical(caps, val))
			return PT_MSR_FAULT;
	}

	*slot = val;
	return PT_MSR_OK;
}

enum pt_msr_result pt_msr_read(const struct pt_msrs *m, const struct pt_caps *caps,
			       uint32_t index, uint64_t *val)
{
	uint64_t *slot;

	if (!is_pt_msr(index))
		return PT_MSR_NOT_MINE;

	slot = msr_slot((struct pt_msrs *)m, caps, index);
	if (!slot)
		return PT_MSR_FAULT;

	*val = *slot;
	return PT_MSR_OK;
}

bool pt_msr_psb_at_start(const struct pt_msrs *m, const struct pt_caps *caps)
{
	if (!(caps->ebx & CAP_EBX_PSB_CYC) || !(m->status & STATUS_BYTE_CNT))
		return true;

	return (m->ctl & CTL_INJECT_PSB_PMI) && (m->status & STATUS_PEND_PSB);
}

void pt_msr_store_progress(struct pt_msrs *m, const struct pt_caps *caps, uint64_t count,
			   bool psb_due)
{
	m->status &= ~STATUS_BYTE_CNT;
	if (caps->ebx & CAP_EBX_PSB_CYC) {
		/* 17 bits; to wrap to zero would ask for a PSB+ that is not due. */
		if (count > STATUS_BYTE_CNT_MAX)
			count = STATUS_BYTE_CNT_MAX;
		m->status |= count << 32;
	}

	if (m->ctl & CTL_INJECT_PSB_PMI) {
		m->status &= ~STATUS_PEND_PSB;
		if (psb_due)
			m->status |= STATUS_PEND_PSB;
	}
}
