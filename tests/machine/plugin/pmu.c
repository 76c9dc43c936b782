// SPDX-License-Identifier: GPL-2.0
/*
 * A core PMU that counts nothing (architectural performance monitoring,
 * version 2), and the PMI that a filled ToPA region raises.
 */
#include "pmu.h"
#include "vcpu.h"

#include <stddef.h>
#include <string.h>

enum {
	MSR_PMC0		= 0x0c1,
	MSR_PERFEVTSEL0		= 0x186,
	MSR_FIXED_CTR0		= 0x309,
	MSR_FIXED_CTR_CTRL	= 0x38d,
	MSR_GLOBAL_STATUS	= 0x38e,
	MSR_GLOBAL_CTRL		= 0x38f,
	MSR_GLOBAL_OVF_CTRL	= 0x390,

	COUNTERS		= 8,
	FIXED_COUNTERS		= 3,
	COUNTER_WIDTH		= 48,
};

#define GLOBAL_STATUS_TRACE_TOPA_PMI	PT_BIT(55)

/* Local APIC registers and fields, SDM volume 3, chapter "APIC" */
#define APIC_ICR_LOW		0xfee00300ULL
#define APIC_LVTPC		0xfee00340ULL
#define APIC_LVT_MASKED		PT_BIT(16)
#define APIC_VECTOR_AND_MODE	PT_MASK(10, 0)
#define APIC_DEST_SELF		PT_BIT(18)

void pmu_reset(struct pmu *pmu)
{
	memset(pmu, 0, sizeof(*pmu));
}

void pmu_cpuid(uint32_t regs[4])
{
	regs[0] = 2 | COUNTERS << 8 | COUNTER_WIDTH << 16 | 7 << 24;
	regs[1] = 0;
	regs[2] = 0;
	regs[3] = FIXED_COUNTERS | COUNTER_WIDTH << 5;
}

static uint64_t *slot(struct pmu *pmu, uint32_t index)
{
	switch (index) {
	case MSR_PMC0 ... MSR_PMC0 + COUNTERS - 1:
		return &pmu->counter[index - MSR_PMC0];
	case MSR_PERFEVTSEL0 ... MSR_PERFEVTSEL0 + COUNTERS - 1:
		return &pmu->evtsel[index - MSR_PERFEVTSEL0];
	case MSR_FIXED_CTR0 ... MSR_FIXED_CTR0 + FIXED_COUNTERS - 1:
		return &pmu->fixed[index - MSR_FIXED_CTR0];
	case MSR_FIXED_CTR_CTRL:
		return &pmu->fixed_ctrl;
	case MSR_GLOBAL_STATUS:
		return &pmu->global_status;
	case MSR_GLOBAL_CTRL:
		return &pmu->global_ctrl;
	default:
		return NULL;
	}
}

bool pmu_msr_read(const struct pmu *pmu, uint32_t index, uint64_t *val)
{
	const uint64_t *p = slot((struct pmu *)pmu, index);

	if (index == MSR_GLOBAL_OVF_CTRL) {
		*val = 0;
		return true;
	}
	if (!p)
		return false;
	*val = *p;
	return true;
}

bool pmu_msr_write(struct pmu *pmu, uint32_t index, uint64_t val)
{
	uint64_t *p = slot(pmu, index);

	switch (index) {
	case MSR_GLOBAL_OVF_CTRL:
		pmu->global_status &= ~val;
		return true;
	case MSR_GLOBAL_STATUS:		/* read-only in version 2 */
		return true;
	case MSR_PMC0 ... MSR_PMC0 + COUNTERS - 1:
		/* A legacy write sign-extends 32 bits to the counter's width. */
		val = (uint64_t)(int64_t)(int32_t)val;
		break;
	}
	if (!p)
		return false;
	if ((index >= MSR_PMC0 && index < MSR_PMC0 + COUNTERS) ||
	    (index >= MSR_FIXED_CTR0 && index < MSR_FIXED_CTR0 + FIXED_COUNTERS))
		val &= PT_MASK(COUNTER_WIDTH - 1, 0);
	*p = val;
	return true;
}

bool pmu_rdpmc(const struct pmu *pmu, uint32_t counter, uint64_t *val)
{
	const uint32_t i = counter & 0x3fffffff;

	if (counter & PT_BIT(30)) {
		if (i >= FIXED_COUNTERS)
			return false;
		*val = pmu->fixed[i];
	} else {
		if (i >= COUNTERS)
			return false;
		*val = pmu->counter[i];
	}
	return true;
}

void pmu_raise_topa(struct pmu *pmu)
{
	uint32_t lvt, icr;

	pmu->global_status |= GLOBAL_STATUS_TRACE_TOPA_PMI;

	if (phys_read(NULL, APIC_LVTPC, &lvt, sizeof(lvt)) || (lvt & APIC_LVT_MASKED))
		return;

	/* Delivery masks the entry; the handler unmasks it. */
	icr = (lvt & APIC_VECTOR_AND_MODE) | APIC_DEST_SELF;
	lvt |= APIC_LVT_MASKED;
	phys_write(NULL, APIC_LVTPC, &lvt, sizeof(lvt));
	phys_write(NULL, APIC_ICR_LOW, &icr, sizeof(icr));
}
