/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processors that the machine can be: what real ones say in CPUID and in
 * IA32_VMX_MISC, so far as it concerns Intel PT.
 *
 * Owns: the table, with a source for each value, and which model is selected.
 * Must not know: what a capability means.
 */
#ifndef PT_MODEL_H
#define PT_MODEL_H

#include "pt_msr.h"

struct pt_model {
	const char *name;
	uint32_t signature;	/* CPUID.01H:EAX; 0: as QEMU has it */
	struct pt_caps caps;
};

extern const struct pt_model pt_models[];
extern const unsigned int pt_model_count;

/* All the names, with commas between, for messages. */
extern const char pt_model_names[];

/* What the machine is; "max" until another is selected. */
extern const struct pt_model *pt_model;

/* The capabilities of the model selected. The widths of addresses follow QEMU's CPUID. */
extern struct pt_caps pt_caps;

/* False for an unknown name; then nothing has changed. */
bool pt_model_select(const char *name);

#endif
