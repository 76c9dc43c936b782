/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which vector an interrupt or exception had: QEMU tells only the handler. Each
 * vector of Linux has a handler of its own.
 *
 * Owns: where the interrupt descriptor table is. Must not know: why one asks.
 */
#ifndef IDT_H
#define IDT_H

#include <stdbool.h>
#include <stdint.h>

struct idt {
	uint64_t base;
	uint32_t limit;		/* 0: LIDT has not been seen */
	uint64_t handler[64];	/* the latest ones, by a hash ... */
	uint8_t vector[64];	/* ... and their vectors */
};

void idt_load(struct idt *idt, uint64_t base, uint16_t limit);

/* The vector whose handler is at @handler, of the table in @long_mode's format; -1 if none is. */
int idt_vector(struct idt *idt, uint64_t handler, bool long_mode);

#endif
