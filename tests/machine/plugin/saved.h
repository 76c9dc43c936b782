/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The plugin's part of a saved machine: what QEMU's own migration does not know.
 *
 * A text file: a line "ptemu 1", then lines of a name and numbers,
 *	clock TSC LEAD		see clock.h
 *	bits PHYSICAL LINEAR	CPUID.80000008H:EAX
 *	cpu N VALUE…		a processor, its values in the order of saved.c
 *
 * Owns: that format. Must not know: how a machine is saved.
 */
#ifndef SAVED_H
#define SAVED_H

#include <stdbool.h>

struct vcpu;

/* Where saved_write() writes. */
void saved_setup(const char *path);

/*
 * The guest asks for it (CPUID, see intercept.c). False if no file is set, if a
 * processor traces, or if the file cannot be written.
 */
bool saved_write(void);

/* Read a file, for saved_restore(). False, with a message, if that fails. */
bool saved_read(const char *path);

/* A processor has been made: give it its values, if any were read. */
void saved_restore(struct vcpu *v);

#endif
