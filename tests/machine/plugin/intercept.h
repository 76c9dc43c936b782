/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions that the plugin executes in QEMU's place, or watches: CPUID,
 * RDMSR, WRMSR, RDTSC, RDTSCP, RDPMC, PTWRITE, LIDT, INT3.
 *
 * Owns: which CPUID leaves and MSRs are the plugin's.
 * Must not know: packets, translated blocks.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "vcpu.h"

/* An instruction that calls back, at its address at translation. */
struct hook {
	uint64_t ip;
	uint64_t next;
	const struct block *block;
	uint8_t class;		/* enum x86_class */
	bool is_last;		/* of its block */
};

/* How an instruction is intercepted; both NULL: it is left alone. */
struct intercept {
	qemu_plugin_vcpu_udata_cb_t before;	/* with a struct hook */
	bool only_if_last;			/* call before() if there is no after() */
	qemu_plugin_vcpu_udata_cb_t after;	/* at the next of its block, without */
};

struct intercept intercept_way(enum x86_class class, uint8_t cpl);

/* Amend the results of an instruction that QEMU has just executed (VCPU_AMEND). */
void intercept_amend(struct vcpu *v);

/* An interrupt or exception at @from is being delivered. */
void intercept_delivered(struct vcpu *v, uint64_t from);

/* The processor was reset. */
void intercept_reset(struct vcpu *v);

#endif
