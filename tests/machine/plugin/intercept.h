/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions that the plugin executes in QEMU's place, or watches: CPUID,
 * RDMSR, WRMSR, RDTSC, RDTSCP, RDPMC.
 *
 * Owns: which CPUID leaves and MSRs are the plugin's; the time base.
 * Must not know: packets, translated blocks.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "vcpu.h"

/* An intercepted instruction, at its address at translation. */
struct hook {
	uint64_t ip;
	uint64_t next;
	uint8_t cpl;
	uint8_t class;		/* enum x86_class */
};

/* Callback before the instruction, or NULL if this one is left alone. */
qemu_plugin_vcpu_udata_cb_t intercept_cb(enum x86_class class, uint8_t cpl);

/* Amend the results of a CPUID that QEMU has just executed. */
void intercept_cpuid_done(struct vcpu *v);

/* A fault is being delivered: undo the provocation of #GP. */
void intercept_delivered(struct vcpu *v);

/* The machine's clock, which starts at power-on and is the same on all vCPUs. */
void intercept_clock_init(struct pt_clock *clock);

#endif
