/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where execution goes, while it goes there: blocks that begin and
 * discontinuities, as the steps and events of pt_flow.
 *
 * Owns: what is known of QEMU's order of callbacks.
 * Must not know: packets, MSRs, how code is translated.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "vcpu.h"

/* The trace of @v begins or goes on at @ip, in @block, whose addresses are off by @delta. */
void follow_start(struct vcpu *v, const struct block *block, uint64_t ip, uint64_t delta);

/* Each block begins with this while the processor is active. */
void follow_block(unsigned int vcpu, void *block);

/* Before HLT and MWAIT while the processor is active. @udata: struct hook */
void follow_halt(unsigned int vcpu, void *hook);
void follow_mwait(unsigned int vcpu, void *hook);

/* Before the instruction that follows one which may have changed RFLAGS.IF. */
void follow_if(unsigned int vcpu, void *hook);

/* The first block after RESET and after a SIPI. */
void follow_reset(unsigned int vcpu, void *block);
void follow_sipi(unsigned int vcpu, void *block);

void follow_discontinuity(unsigned int vcpu, enum qemu_plugin_discon_type type,
			  uint64_t from, uint64_t to, void *udata);

#endif
