// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of physical addresses
 *
 * Owns the tables by which the CPU finds the pieces of a region, and the way
 * back from the registers to a position in it: SDM vol. 3, "Table of Physical
 * Addresses (ToPA)". Does not own the memory that the tables point to.
 *
 * The tables of a region form a ring: each ends in an END entry that points to
 * the next, the last one's to the first, and so the trace wraps in the region.
 * No entry asks for an interrupt or a stop. A table is written before the CPU
 * is first pointed at it and never after, because the CPU caches entries.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "hw.h"
#include "topa.h"

#define TOPA_END	BIT_ULL(0)
#define TOPA_SIZE	GENMASK_ULL(9, 6)	/* 4 KiB << this */

/* One entry of the page is kept for END. */
#define TOPA_MAX_ENTRIES	(PAGE_SIZE / sizeof(u64) - 1)

/**
 * mt_topa_init - begin the tables of a region
 * @topa: the tables
 * @nr_pages: pages of the region, which bounds how many tables it can need
 * @multi: whether the CPU takes more than one entry a table besides END
 *
 * Return: 0 or -ENOMEM.
 */
int mt_topa_init(struct mt_topa *topa, unsigned long nr_pages, bool multi)
{
	topa->max_entries = multi ? TOPA_MAX_ENTRIES : 1;
	topa->max_tables = multi ? DIV_ROUND_UP(nr_pages, TOPA_MAX_ENTRIES) : 1;
	topa->nr_tables = 0;
	topa->nr_entries = topa->max_entries;
	topa->tables = kvcalloc(topa->max_tables, sizeof(*topa->tables),
				GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	return topa->tables ? 0 : -ENOMEM;
}

/**
 * mt_topa_add - append a piece of memory
 * @topa: the tables
 * @addr: its physical address, aligned to its size
 * @order: its size in pages, as a power of two
 *
 * Return: 0; -ENOMEM; -E2BIG where the CPU cannot take one more.
 */
int mt_topa_add(struct mt_topa *topa, phys_addr_t addr, unsigned int order)
{
	u64 *table;

	if (topa->nr_entries == topa->max_entries) {
		if (topa->nr_tables == topa->max_tables)
			return -E2BIG;
		table = (u64 *)__get_free_page(GFP_KERNEL | __GFP_ZERO |
					       __GFP_NORETRY | __GFP_NOWARN);
		if (!table)
			return -ENOMEM;
		topa->tables[topa->nr_tables++] = table;
		topa->nr_entries = 0;
	}

	table = topa->tables[topa->nr_tables - 1];
	table[topa->nr_entries++] = addr | FIELD_PREP(TOPA_SIZE, order);
	return 0;
}

/**
 * mt_topa_close - close the ring; nothing can be added any more
 * @topa: the tables
 */
void mt_topa_close(struct mt_topa *topa)
{
	unsigned int i, end, next;

	for (i = 0; i < topa->nr_tables; i++) {
		next = (i + 1) % topa->nr_tables;
		end = next ? topa->max_entries : topa->nr_entries;
		topa->tables[i][end] = virt_to_phys(topa->tables[next]) |
				       TOPA_END;
	}
}

/**
 * mt_topa_destroy - free the tables
 * @topa: the tables; may be zeroed memory or half made
 */
void mt_topa_destroy(struct mt_topa *topa)
{
	unsigned int i;

	for (i = 0; i < topa->nr_tables; i++)
		free_page((unsigned long)topa->tables[i]);
	kvfree(topa->tables);
}

/**
 * mt_topa_start - point an output at the region's first byte
 * @topa: the region's tables
 * @out: the output
 */
void mt_topa_start(const struct mt_topa *topa, struct mt_output *out)
{
	mt_hw_output_init(out, virt_to_phys(topa->tables[0]));
}

/**
 * mt_topa_is_chained - whether an output's base moves while it is written
 * @topa: the tables
 */
bool mt_topa_is_chained(const struct mt_topa *topa)
{
	return topa->nr_tables > 1;
}

/**
 * mt_topa_position - find where in the region an output has got to
 * @topa: the region's tables
 * @out: the output, as mt_hw_stop() left it
 * @pos: receives the offset of the byte that would be written next
 *
 * Walks all entries before the position: not for contexts in a hurry.
 *
 * Return: 0, or -ERANGE where the output is not in the region.
 */
int mt_topa_position(const struct mt_topa *topa, const struct mt_output *out,
		     u64 *pos)
{
	u32 entry = mt_hw_output_entry(out);
	u32 offset = mt_hw_output_offset(out);
	u64 before = 0, size;
	unsigned int i, j;

	for (i = 0; i < topa->nr_tables; i++) {
		for (j = 0; !(topa->tables[i][j] & TOPA_END); j++) {
			size = PAGE_SIZE << FIELD_GET(TOPA_SIZE,
						      topa->tables[i][j]);
			if (out->base == virt_to_phys(topa->tables[i]) &&
			    entry == j) {
				if (offset > size)
					return -ERANGE;
				*pos = before + offset;
				return 0;
			}
			before += size;
		}
	}
	return -ERANGE;
}
