/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What of QEMU's translated blocks calls the plugin.
 *
 * Owns: struct block's and struct hook's life. Must not know: what the callbacks do.
 */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include "vcpu.h"

/* @pclog: each instruction is to be logged. */
void translate_setup(bool pclog);

void translate_block(struct qemu_plugin_tb *tb, void *udata);
void translate_flush(void *udata);

#endif
