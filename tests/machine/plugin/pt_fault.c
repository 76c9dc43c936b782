// SPDX-License-Identifier: GPL-2.0
/*
 * The faults that are wanted, read from their text form.
 */
#include "pt_fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_MAX	0xffffffffUL

struct pt_faults pt_faults;
const char pt_fault_names[] = "overflow, pmi-lost, pmi-late, stop, readonly, jump";

static const struct {
	const char *name;
	const char *unit;
	uint64_t scale;
} kinds[] = {
	[PT_FAULT_OVERFLOW]	= { "overflow", "packets", 1 },
	[PT_FAULT_PMI_LOST]	= { "pmi-lost", "PMIs", 1 },
	[PT_FAULT_PMI_LATE]	= { "pmi-late", "KiB", 1024 },
	[PT_FAULT_STOP]		= { "stop", "KiB", 1024 },
	[PT_FAULT_READONLY]	= { "readonly", "KiB", 1024 },
	[PT_FAULT_JUMP]		= { "jump", "ms", 1 },
};

static const char *__attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	static char message[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return message;
}

const char *pt_fault_parse(const char *text)
{
	const char *colon = strchr(text, ':');
	const size_t len = colon ? (size_t)(colon - text) : strlen(text);
	unsigned long n;
	unsigned int i;
	char *end;

	for (i = 0; i < PT_FAULT_KINDS; i++) {
		if (strlen(kinds[i].name) == len && !strncmp(kinds[i].name, text, len))
			break;
	}
	if (i == PT_FAULT_KINDS)
		return complain("unknown fault \"%s\": give one of %s, a colon and a number",
				text, pt_fault_names);
	if (!colon)
		return complain("fault \"%s\" needs a number of %s after a colon", kinds[i].name,
				kinds[i].unit);

	/* strtoul() alone would take a sign or spaces before the digits. */
	errno = 0;
	n = strtoul(colon + 1, &end, 10);
	if (colon[1] < '0' || colon[1] > '9' || *end || errno || n == 0 || n > N_MAX)
		return complain("fault \"%s\": the number of %s must be from 1 to 4294967295", text,
				kinds[i].unit);
	if (pt_faults.n[i])
		return complain("fault \"%s\" is given twice: leave one", kinds[i].name);

	pt_faults.n[i] = n * kinds[i].scale;
	return NULL;
}
