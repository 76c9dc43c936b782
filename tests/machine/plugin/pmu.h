/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core PMU, as far as Linux's intel_pt driver needs one: counters that
 * only store, the status bit "trace ToPA PMI", and the interrupt itself.
 *
 * Must not know: Intel PT.
 */
#ifndef PMU_H
#define PMU_H

#include <stdbool.h>
#include <stdint.h>

struct pmu {
	uint64_t counter[8];		/* IA32_PMCx */
	uint64_t evtsel[8];		/* IA32_PERFEVTSELx */
	uint64_t fixed[3];
	uint64_t fixed_ctrl;
	uint64_t global_status;
	uint64_t global_ctrl;
};

void pmu_reset(struct pmu *pmu);
void pmu_cpuid(uint32_t regs[4]);	/* leaf 0AH */

/* Each returns false if the MSR or counter is none of the PMU's. */
bool pmu_msr_read(const struct pmu *pmu, uint32_t index, uint64_t *val);
bool pmu_msr_write(struct pmu *pmu, uint32_t index, uint64_t val);
bool pmu_rdpmc(const struct pmu *pmu, uint32_t counter, uint64_t *val);

/* A ToPA region with INT was filled: set the status bit, interrupt. */
void pmu_raise_topa(struct pmu *pmu);

#endif
