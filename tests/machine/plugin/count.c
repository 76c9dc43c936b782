// SPDX-License-Identifier: GPL-2.0
/*
 * Counts between markers.
 */
#include "count.h"
#include "pt_msr.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

static const uint32_t msrs[COUNT_MSRS] = {
	MSR_RTIT_OUTPUT_BASE, MSR_RTIT_OUTPUT_MASK, MSR_RTIT_CTL, MSR_RTIT_STATUS,
	MSR_RTIT_CR3_MATCH,
	MSR_RTIT_ADDR0_A, MSR_RTIT_ADDR0_A + 1, MSR_RTIT_ADDR0_A + 2,
	MSR_RTIT_ADDR0_A + 3, MSR_RTIT_ADDR0_A + 4, MSR_RTIT_ADDR0_A + 5,
	MSR_RTIT_ADDR0_A + 6, MSR_RTIT_ADDR3_B,
};

bool count_setup(const char *path)
{
	file = fopen(path, "w");
	return file != NULL;
}

bool count_is_on(void)
{
	return file != NULL;
}

void count_init(struct count *count, unsigned int cpu)
{
	memset(count, 0, sizeof(*count));
	count->cpu = cpu;
}

static void update(struct count *count, const uint64_t insns[2])
{
	count->total.kernel = insns[0];
	count->total.user = insns[1];
	/* An interval has only that part of the time without trace that is its own. */
	if (count->is_off && insns[0] > count->off_since) {
		count->total.off += insns[0] - count->off_since;
		count->off_since = insns[0];
	}
}

static void write_interval(const struct count *count, unsigned int i, bool open)
{
	const struct count_values *begin = &count->interval[i].begin, *end = &count->total;
	unsigned int m;

	pthread_mutex_lock(&lock);
	fprintf(file, "label %" PRIu32 " cpu %u user %" PRIu64 " kernel %" PRIu64
		" off %" PRIu64, count->interval[i].label, count->cpu,
		end->user - begin->user, end->kernel - begin->kernel, end->off - begin->off);
	for (m = 0; m < COUNT_MSRS; m++) {
		if (end->rdmsr[m] != begin->rdmsr[m])
			fprintf(file, " rdmsr_%x %" PRIu64, msrs[m],
				end->rdmsr[m] - begin->rdmsr[m]);
		if (end->wrmsr[m] != begin->wrmsr[m])
			fprintf(file, " wrmsr_%x %" PRIu64, msrs[m],
				end->wrmsr[m] - begin->wrmsr[m]);
	}
	fputs(open ? " open 1\n" : "\n", file);
	fflush(file);
	pthread_mutex_unlock(&lock);
}

static int find(const struct count *count, uint32_t label)
{
	unsigned int i;

	for (i = 0; i < COUNT_OPEN; i++) {
		if (count->interval[i].open && count->interval[i].label == label)
			return i;
	}
	return -1;
}

bool count_begin(struct count *count, uint32_t label, const uint64_t insns[2])
{
	int i = find(count, label);

	for (; i < 0 || count->interval[i].label != label; i++) {
		if (i + 1 == COUNT_OPEN)
			return false;
		if (!count->interval[i + 1].open) {
			i++;
			break;
		}
	}
	update(count, insns);
	count->interval[i].open = true;
	count->interval[i].label = label;
	count->interval[i].begin = count->total;
	return true;
}

bool count_end(struct count *count, uint32_t label, const uint64_t insns[2])
{
	const int i = find(count, label);

	if (i < 0)
		return false;
	update(count, insns);
	write_interval(count, i, false);
	count->interval[i].open = false;
	return true;
}

void count_msr(struct count *count, uint32_t msr, bool write)
{
	unsigned int m;

	for (m = 0; m < COUNT_MSRS; m++) {
		if (msrs[m] != msr)
			continue;
		if (write)
			count->total.wrmsr[m]++;
		else
			count->total.rdmsr[m]++;
	}
}

void count_trace(struct count *count, bool on, const uint64_t insns[2])
{
	update(count, insns);
	/* The WRMSR itself is counted when it has completed, and ran with TraceEn set. */
	count->off_since = insns[0] + 1;
	count->is_off = !on;
}

void count_finish(struct count *count, const uint64_t insns[2])
{
	unsigned int i;

	update(count, insns);
	for (i = 0; i < COUNT_OPEN; i++) {
		if (count->interval[i].open)
			write_interval(count, i, true);
	}
}
