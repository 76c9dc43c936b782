/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on demand: what goes wrong in a trace, at will and counted, so that
 * the same run fails at the same place.
 *
 * Owns: the kinds, their text form KIND:N, and when one is due.
 * Must not know: QEMU, what a fault does. Whoever is struck asks.
 *
 *	overflow:N	the internal buffer overflows each N packets (36.3.8); the
 *			encoder
 *	pmi-lost:N	each Nth ToPA PMI is never raised; the output
 *	pmi-late:N	each ToPA PMI is raised N KiB of output later than it
 *			should, or when TraceEn is cleared; the output
 *	stop:N		each time that N KiB more were written, the region in use is
 *			taken for one with STOP (36.2.6.2), of a single range its
 *			end; the output
 *	readonly:N	after the first N KiB of a logical processor, output moves
 *			the pointers and leaves memory as it is; the output
 *	jump:N		each second the TSC jumps ahead by N ms, as after a suspend;
 *			QEMU's side
 *
 * A logical processor counts for itself.
 */
#ifndef PT_FAULT_H
#define PT_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pt_fault_kind {
	PT_FAULT_OVERFLOW,
	PT_FAULT_PMI_LOST,
	PT_FAULT_PMI_LATE,
	PT_FAULT_STOP,
	PT_FAULT_READONLY,
	PT_FAULT_JUMP,
	PT_FAULT_KINDS,
};

/*
 * What is wanted: N of each kind (bytes for what is given in KiB), 0 for none.
 * Constant once the guest runs.
 */
struct pt_faults {
	uint64_t n[PT_FAULT_KINDS];
};

extern struct pt_faults pt_faults;

/* All the kinds' names, with commas between, for messages. */
extern const char pt_fault_names[];

/*
 * Reads "KIND:N" into pt_faults. Returns NULL, or what is wrong with the text:
 * a message that names it, in a static buffer.
 */
const char *pt_fault_parse(const char *text);

/*
 * @amount more of what the kind counts has happened: packets, PMIs, bytes.
 * True each time that N is reached; the count then begins anew. @count is the
 * caller's, of one logical processor, zero at first.
 */
static inline bool pt_fault_due(enum pt_fault_kind kind, uint64_t *count, uint64_t amount)
{
	if (!pt_faults.n[kind])
		return false;
	*count += amount;
	if (*count < pt_faults.n[kind])
		return false;
	*count = 0;
	return true;
}

#endif
