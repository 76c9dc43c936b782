// SPDX-License-Identifier: GPL-2.0
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "msr.h"

static int open_msr(int cpu, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		FAIL("%s: %s", path, strerror(errno));
	return fd;
}

uint64_t read_msr(int cpu, uint32_t msr)
{
	int fd = open_msr(cpu, O_RDONLY);
	uint64_t value;

	if (pread(fd, &value, sizeof(value), msr) != sizeof(value))
		FAIL("MSR %#x of CPU %d: %s", msr, cpu, strerror(errno));
	close(fd);
	return value;
}

void write_msr(int cpu, uint32_t msr, uint64_t value)
{
	int fd = open_msr(cpu, O_WRONLY);

	if (pwrite(fd, &value, sizeof(value), msr) != sizeof(value))
		FAIL("MSR %#x of CPU %d cannot be %#lx: %s", msr, cpu, value,
		     strerror(errno));
	close(fd);
}

uint32_t cpuid14(uint32_t subleaf, int word)
{
	uint32_t regs[4] = { 0 };

	__cpuid_count(0x14, subleaf, regs[0], regs[1], regs[2], regs[3]);
	return regs[word];
}

static bool msr_exists(uint32_t msr)
{
	if (msr == MSR_RTIT_CR3_MATCH)
		return cpuid14(0, 1) & 1;
	if (msr >= MSR_RTIT_ADDR0_A)
		return cpuid14(0, 1) & 4 &&
		       msr - MSR_RTIT_ADDR0_A < 2 * (cpuid14(1, 0) & 7);
	return true;
}

static const uint32_t all[MSRS_EACH] = {
	MSR_RTIT_OUTPUT_BASE, MSR_RTIT_OUTPUT_MASK, MSR_RTIT_CTL,
	MSR_RTIT_CR3_MATCH,
	0x580, 0x581, 0x582, 0x583, 0x584, 0x585, 0x586, 0x587,
};

void read_msrs(struct msrs *msrs)
{
	int cpu, i;

	memset(msrs, 0, sizeof(*msrs));
	for (cpu = 0; cpu < nr_cpus() && cpu < MSRS_CPUS; cpu++)
		for (i = 0; i < MSRS_EACH; i++)
			if (msr_exists(all[i]))
				msrs->value[cpu][i] = read_msr(cpu, all[i]);
}

void check_msrs_as(const struct msrs *before)
{
	struct msrs now;
	int cpu, i;

	read_msrs(&now);
	for (cpu = 0; cpu < nr_cpus() && cpu < MSRS_CPUS; cpu++) {
		CHECK_EQ(now.value[cpu][2] & 1, 0);
		for (i = 0; i < MSRS_EACH; i++)
			CHECK(now.value[cpu][i] == before->value[cpu][i],
			      "MSR %#x of CPU %d was %#lx and is %#lx", all[i],
			      cpu, before->value[cpu][i], now.value[cpu][i]);
	}
}
