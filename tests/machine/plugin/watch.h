/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ways to translate code. Plain code calls the plugin for the instructions
 * that it intercepts, and costs nothing else; watched code tells where execution
 * goes, as a trace needs. All code is of one kind, and is translated anew when
 * that changes: watched before any processor traces, plain again when none has
 * traced for some seconds.
 *
 * Owns: which kind is in force, and the change.
 * Must not know: what the two kinds are made of.
 */
#ifndef WATCH_H
#define WATCH_H

#include "vcpu.h"

/* @subscribe registers the plugin's callbacks; it is called again at each change. */
void watch_setup(qemu_plugin_id_t id, void (*subscribe)(qemu_plugin_id_t id));

extern bool watch_on;

/*
 * An instruction at @ip needs watched code. Returns if that is in force. Else the
 * change is on its way and the processor goes back to @ip, until it is made.
 */
void watch_need(struct vcpu *v, uint64_t ip);

/*
 * Drop all translations, since one is stale; goes back to @ip and does not return.
 */
__attribute__((noreturn)) void watch_retranslate(struct vcpu *v, uint64_t ip);

/* TraceEn of a processor was set or cleared. */
void watch_traced(bool on);

/* To be called now and then: watched code that nobody needs becomes plain. */
void watch_rest(void);

#endif
