/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QEMU's translated blocks and discontinuities, as the steps and events of
 * pt_flow.
 *
 * Owns: struct block's life, and what is known of QEMU's callbacks.
 * Must not know: packets, MSRs.
 */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include "vcpu.h"

void translate_setup(bool pclog);

void translate_block(struct qemu_plugin_tb *tb, void *udata);
void translate_flush(void *udata);
void translate_discontinuity(unsigned int index, enum qemu_plugin_discon_type type,
			     uint64_t from, uint64_t to, void *udata);

#endif
