// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt descriptor table (SDM 3A, 7.11 and 7.14.1).
 */
#include "idt.h"
#include "vcpu.h"

#include <string.h>

#define VECTORS	256

void idt_load(struct idt *idt, uint64_t base, uint16_t limit)
{
	memset(idt, 0, sizeof(*idt));
	idt->base = base;
	idt->limit = limit;
}

static unsigned int hash(uint64_t handler)
{
	return (handler ^ handler >> 6 ^ handler >> 12) & 63;
}

/* Reads one gate; false if the table has no such, or it is not present. */
static bool read_gate(const struct idt *idt, unsigned int vector, bool long_mode,
		      uint64_t *handler)
{
	const unsigned int size = long_mode ? 16 : 8;
	uint32_t gate[4] = { 0 };

	if ((vector + 1) * size - 1 > idt->limit ||
	    !virt_read(idt->base + vector * size, gate, size))
		return false;
	*handler = (gate[0] & 0xffff) | (gate[1] & 0xffff0000) | (uint64_t)gate[2] << 32;
	return gate[1] & PT_BIT(15);
}

int idt_vector(struct idt *idt, uint64_t handler, bool long_mode)
{
	const unsigned int h = hash(handler);
	unsigned int vector;
	uint64_t found;

	if (!idt->limit)
		return -1;
	if (idt->handler[h] == handler &&
	    read_gate(idt, idt->vector[h], long_mode, &found) && found == handler)
		return idt->vector[h];

	for (vector = 0; vector < VECTORS; vector++) {
		if (!read_gate(idt, vector, long_mode, &found) || found != handler)
			continue;
		idt->handler[h] = handler;
		idt->vector[h] = vector;
		return vector;
	}
	return -1;
}
