/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accesses of Intel PT's MSRs and what must come of them, as annotated text. A
 * line each, and from "#" to its end what rule of the SDM it is (volume 3C,
 * chapter 36, unless another is named):
 *
 *	model NAME		another processor, after power-up
 *	wr MSR VALUE ok|gp|not-mine	WRMSR; numbers are hexadecimal
 *	rd MSR VALUE|gp|not-mine	RDMSR
 *	warm, vmxon, vmxoff	a warm RESET; the instructions
 *
 * MSR is the number, or CTL, STATUS, BASE, PTRS, CR3.
 */
#ifndef MSR_SCRIPT_H
#define MSR_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pt_model.h"

static struct pt_msrs script_msrs;

static inline uint32_t script_msr(const char *name)
{
	static const struct {
		const char *name;
		uint32_t index;
	} names[] = {
		{ "CTL", MSR_RTIT_CTL }, { "STATUS", MSR_RTIT_STATUS },
		{ "BASE", MSR_RTIT_OUTPUT_BASE }, { "PTRS", MSR_RTIT_OUTPUT_MASK },
		{ "CR3", MSR_RTIT_CR3_MATCH },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i].name, name))
			return names[i].index;
	}
	return strtoul(name, NULL, 16);
}

/* The answer as the line would have it. */
static inline void script_line(unsigned int n, const char *line)
{
	char op[8] = "", a[24] = "", b[24] = "", want[12] = "", got[24];
	enum pt_msr_result result;
	uint64_t val = 0;

	sscanf(line, "%7s %23s %23s %11s", op, a, b, want);
	if (!strcmp(op, "model")) {
		if (!pt_model_select(a))
			fail_msg("line %u: no model \"%s\"", n, a);
		pt_msr_reset(&script_msrs);
	} else if (!strcmp(op, "warm")) {
		pt_msr_warm_reset(&script_msrs, &pt_caps);
	} else if (!strcmp(op, "vmxon")) {
		pt_msr_vmxon(&script_msrs, &pt_caps);
	} else if (!strcmp(op, "vmxoff")) {
		pt_msr_vmxoff(&script_msrs);
	} else if (!strcmp(op, "wr")) {
		result = pt_msr_write(&script_msrs, &pt_caps, script_msr(a),
				      strtoull(b, NULL, 16));
		snprintf(got, sizeof(got), "%s", result == PT_MSR_OK ? "ok" :
			 result == PT_MSR_FAULT ? "gp" : "not-mine");
		if (strcmp(got, want))
			fail_msg("line %u: \"%s\": got %s", n, line, got);
	} else if (!strcmp(op, "rd")) {
		result = pt_msr_read(&script_msrs, &pt_caps, script_msr(a), &val);
		if (result == PT_MSR_OK ? !strcmp(b, "gp") || val != strtoull(b, NULL, 16) :
		    strcmp(b, result == PT_MSR_FAULT ? "gp" : "not-mine"))
			fail_msg("line %u: \"%s\": got %d, %lx", n, line, result, val);
	} else if (op[0]) {
		fail_msg("line %u: \"%s\" is not understood", n, line);
	}
}

static inline void run_script(const char *text)
{
	char line[200];
	unsigned int n;

	for (n = 1; *text; n++) {
		const size_t len = strcspn(text, "\n");
		char *comment;

		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		comment = strchr(line, '#');
		if (comment)
			*comment = '\0';
		script_line(n, line);
		text += len + (text[len] == '\n');
	}
}

#endif
