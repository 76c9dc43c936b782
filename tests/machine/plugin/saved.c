// SPDX-License-Identifier: GPL-2.0
/*
 * The plugin's part of a saved machine.
 */
#include "saved.h"
#include "clock.h"
#include "pt_model.h"
#include "vcpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER	"ptemu 1\n"

/* A processor's values, in the file's order, taken as 64-bit numbers. */
struct values {
	uint64_t tsc_adjust;
	uint64_t tsc_aux;
	uint64_t idt_base;
	uint64_t idt_limit;
	struct pt_msrs msrs;
	struct pmu pmu;
};

#define VALUES	(sizeof(struct values) / sizeof(uint64_t))
_Static_assert(sizeof(struct values) % sizeof(uint64_t) == 0, "whole numbers");

static const char *save_path;
static struct values saved[VCPU_MAX];
static bool have[VCPU_MAX];

void saved_setup(const char *path)
{
	save_path = path;
}

static bool write_cpu(FILE *f, const struct vcpu *v)
{
	struct values values;
	uint64_t numbers[VALUES];
	size_t i;

	memset(&values, 0, sizeof(values));
	values.tsc_adjust = v->tsc_adjust;
	values.tsc_aux = v->tsc_aux;
	values.idt_base = v->idt.base;
	values.idt_limit = v->idt.limit;
	values.msrs = v->msrs;
	values.pmu = v->pmu;

	if (v->msrs.ctl & CTL_TRACE_EN)
		return false;
	memcpy(numbers, &values, sizeof(values));
	fprintf(f, "cpu %u", v->index);
	for (i = 0; i < VALUES; i++)
		fprintf(f, " %" PRIu64, numbers[i]);
	fputc('\n', f);
	return true;
}

bool saved_write(void)
{
	bool good = true;
	unsigned int i;
	FILE *f;

	f = save_path ? fopen(save_path, "w") : NULL;
	if (!f)
		return false;

	fputs(HEADER, f);
	fprintf(f, "clock %" PRIu64 " %" PRId64 "\n", clock_tsc(), clock_lead());
	fprintf(f, "bits %u %u\n", pt_caps.phys_bits, pt_caps.linear_bits);
	for (i = 0; i < VCPU_MAX && good; i++) {
		const struct vcpu *v = vcpu_if_used(i);

		good = !v || write_cpu(f, v);
	}
	good &= !ferror(f);
	good &= !fclose(f);
	if (!good)
		remove(save_path);
	return good;
}

/* Numbers up to the end of the line; false unless there are as many as wanted. */
static bool parse_numbers(const char *text, uint64_t *numbers, size_t wanted)
{
	size_t n;
	char *end;

	for (n = 0; n < wanted; n++, text = end) {
		numbers[n] = strtoull(text, &end, 10);
		if (end == text)
			return false;
	}
	return !strcmp(text, "\n");
}

static bool parse_line(const char *line)
{
	uint64_t numbers[VALUES], tsc;
	unsigned int cpu, phys, linear;
	int64_t lead;
	int len = 0;

	if (sscanf(line, "clock %" SCNu64 " %" SCNd64, &tsc, &lead) == 2) {
		clock_restore(tsc, lead);
		return true;
	}
	if (sscanf(line, "bits %u %u", &phys, &linear) == 2) {
		pt_caps.phys_bits = phys;
		pt_caps.linear_bits = linear;
		return true;
	}
	if (sscanf(line, "cpu %u%n", &cpu, &len) != 1 || cpu >= VCPU_MAX ||
	    !parse_numbers(line + len, numbers, VALUES))
		return false;
	memcpy(&saved[cpu], numbers, sizeof(saved[cpu]));
	have[cpu] = true;
	return true;
}

bool saved_read(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[4096] = "";
	bool good;

	if (!f) {
		fprintf(stderr, "ptemu: restore=%s: cannot be read\n", path);
		return false;
	}
	good = fgets(line, sizeof(line), f) && !strcmp(line, HEADER);
	while (good && fgets(line, sizeof(line), f))
		good = parse_line(line);
	fclose(f);
	if (!good || !have[0]) {
		fprintf(stderr, "ptemu: restore=%s: not a machine saved by this plugin\n",
			path);
		return false;
	}
	return true;
}

void saved_restore(struct vcpu *v)
{
	const struct values *s = &saved[v->index];

	if (!have[v->index])
		return;
	v->tsc_adjust = s->tsc_adjust;
	v->tsc_aux = s->tsc_aux;
	idt_load(&v->idt, s->idt_base, s->idt_limit);
	v->msrs = s->msrs;
	v->pmu = s->pmu;
}
