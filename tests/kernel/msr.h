/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MT_TEST_MSR_H
#define MT_TEST_MSR_H

#include <stdint.h>

#define MSR_RTIT_OUTPUT_BASE	0x560
#define MSR_RTIT_OUTPUT_MASK	0x561
#define MSR_RTIT_CTL		0x570
#define MSR_RTIT_CR3_MATCH	0x572
#define MSR_RTIT_ADDR0_A	0x580

#define MSRS_CPUS	8
#define MSRS_EACH	12

/* What the registers of Processor Trace are on each CPU. */
struct msrs {
	uint64_t value[MSRS_CPUS][MSRS_EACH];
};

uint64_t read_msr(int cpu, uint32_t msr);
void write_msr(int cpu, uint32_t msr, uint64_t value);

/* CPUID leaf 14H as this program sees it: a word of subleaf 0, or of 1. */
uint32_t cpuid14(uint32_t subleaf, int word);

/* The registers that say where the trace goes and what is filtered. */
void read_msrs(struct msrs *msrs);
void check_msrs_as(const struct msrs *before);

#endif
