// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of physical addresses
 *
 * Owns the tables by which the CPU finds the pieces of a region, and the way
 * back from the registers to a position in it: SDM vol. 3, "Table of Physical
 * Addresses (ToPA)". Does not own the memory that the tables point to.
 *
 * The tables of a region form a ring: each ends in an END entry that points to
 * the next, the last one's to the first, and so the trace wraps in the region,
 * unless the last entry has it stop there. A table is written before the CPU is
 * first pointed at it and never after, because the CPU caches entries.
 *
 * A table is a page, for the CPU wants it aligned to one, and for a small region
 * that would be too much. Most regions are one piece, and so one entry: for
 * those there is a table a CPU, into which a thread's entry is written when it
 * comes to the CPU. That is while nothing is traced there, as the SDM wants it:
 * "software should clear TraceEn before modifying the current table".
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
#define TOPA_INT	BIT_ULL(2)
#define TOPA_STOP	BIT_ULL(4)
#define TOPA_SIZE	GENMASK_ULL(9, 6)	/* 4 KiB << this */

/* One entry of the page is kept for END. */
#define TOPA_MAX_ENTRIES	(PAGE_SIZE / sizeof(u64) - 1)

static u64 topa_entry(phys_addr_t addr, unsigned int order)
{
	return addr | FIELD_PREP(TOPA_SIZE, order);
}

static u64 topa_size(u64 entry)
{
	return PAGE_SIZE << FIELD_GET(TOPA_SIZE, entry);
}

static u64 topa_end(u64 *next)
{
	return virt_to_phys(next) | TOPA_END;
}

/**
 * mt_topa_alloc_table - make a CPU's table for the entry of any region
 * @node: the CPU's node
 *
 * Return: the table, whose first entry is to be written; NULL where there is no
 * memory.
 */
u64 *mt_topa_alloc_table(int node)
{
	struct page *page = alloc_pages_node(node, GFP_KERNEL | __GFP_ZERO, 0);
	u64 *table;

	if (!page)
		return NULL;
	table = page_address(page);
	table[1] = topa_end(table);
	return table;
}

/**
 * mt_topa_free_table - free it
 * @table: what mt_topa_alloc_table() gave, or NULL
 */
void mt_topa_free_table(u64 *table)
{
	free_page((unsigned long)table);
}

/**
 * mt_topa_set - describe a region that is one piece
 * @topa: filled in
 * @addr: its physical address, aligned to its size
 * @order: its size in pages, as a power of two
 * @mode: what the CPU does in it
 *
 * The interrupt comes with the end of an entry, and so at the region's end: a
 * CPU that takes one entry a table raises it shortly before, others when the
 * entry is full (SDM vol. 3, "ToPA PMI"). Who wants it at the half and has
 * a CPU that can do it describes two pieces.
 */
void mt_topa_set(struct mt_topa *topa, phys_addr_t addr, unsigned int order,
		 enum mt_topa_mode mode)
{
	*topa = (struct mt_topa){ .entry = topa_entry(addr, order) };
	if (mode != MT_TOPA_RING)
		topa->entry |= TOPA_STOP;
	if (mode == MT_TOPA_ONCE_PMI)
		topa->entry |= TOPA_INT;
}

/**
 * mt_topa_init - begin the tables of a region of several pieces
 * @topa: the tables
 * @nr_pages: pages of the region, which bounds how many tables it can need
 *
 * Return: 0 or -ENOMEM.
 */
int mt_topa_init(struct mt_topa *topa, unsigned long nr_pages)
{
	*topa = (struct mt_topa){
		.max_entries = TOPA_MAX_ENTRIES,
		.max_tables = DIV_ROUND_UP(nr_pages, TOPA_MAX_ENTRIES),
		.nr_entries = TOPA_MAX_ENTRIES,
	};
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
		topa->tables[topa->nr_tables++].entries = table;
		topa->nr_entries = 0;
	}

	table = topa->tables[topa->nr_tables - 1].entries;
	table[topa->nr_entries++] = topa_entry(addr, order);
	return 0;
}

/* Entries in a table, besides END. */
static unsigned int topa_nr_entries(const struct mt_topa *topa,
				    unsigned int table)
{
	return table + 1 < topa->nr_tables ? topa->max_entries :
					     topa->nr_entries;
}

/* How much each table is the sum of, and where half of all is. */
static void topa_add_up(struct mt_topa *topa)
{
	struct mt_topa_table *table;
	unsigned int i, j;
	u64 size = 0;

	for (i = 0; i < topa->nr_tables; i++) {
		table = &topa->tables[i];
		table->before = size;
		for (j = 0; j < topa_nr_entries(topa, i); j++)
			size += topa_size(table->entries[j]);
	}

	/* The last table with less than that before it, and an entry of it. */
	for (i = topa->nr_tables - 1; topa->tables[i].before >= size / 2; i--)
		;
	topa->half_table = i;
	size = size / 2 - topa->tables[i].before;
	for (j = 0; size > topa_size(topa->tables[i].entries[j]); j++)
		size -= topa_size(topa->tables[i].entries[j]);
	topa->half_entry = j;
}

/**
 * mt_topa_close - close the ring; nothing can be added any more
 * @topa: the tables
 * @mode: what the CPU does in it
 */
void mt_topa_close(struct mt_topa *topa, enum mt_topa_mode mode)
{
	struct mt_topa_table *tables = topa->tables;
	unsigned int i, next;

	for (i = 0; i < topa->nr_tables; i++) {
		next = (i + 1) % topa->nr_tables;
		tables[i].entries[topa_nr_entries(topa, i)] =
			topa_end(tables[next].entries);
	}

	topa_add_up(topa);
	if (mode != MT_TOPA_RING)
		tables[topa->nr_tables - 1].entries[topa->nr_entries - 1] |=
			TOPA_STOP;
	if (mode == MT_TOPA_ONCE_PMI)
		tables[topa->half_table].entries[topa->half_entry] |= TOPA_INT;
}

/**
 * mt_topa_destroy - free the tables
 * @topa: the tables; may be zeroed memory or half made
 */
void mt_topa_destroy(struct mt_topa *topa)
{
	unsigned int i;

	for (i = 0; i < topa->nr_tables; i++)
		free_page((unsigned long)topa->tables[i].entries);
	kvfree(topa->tables);
}

/**
 * mt_topa_start - point an output at the region's first byte
 * @topa: the region's tables
 * @out: the output
 */
void mt_topa_start(const struct mt_topa *topa, struct mt_output *out)
{
	u64 table = topa->nr_tables ? virt_to_phys(topa->tables[0].entries) : 0;

	mt_hw_output_init(out, table, topa->entry, 0);
}

/**
 * mt_topa_has_pieces - whether an output goes from entry to entry
 * @topa: the tables
 *
 * Of one piece only the offset moves.
 */
bool mt_topa_has_pieces(const struct mt_topa *topa)
{
	return topa->nr_tables > 1 || topa->nr_entries > 1;
}

static bool topa_is_in(const struct mt_topa *topa, unsigned int table,
		       const struct mt_output *out)
{
	return out->base == virt_to_phys(topa->tables[table].entries);
}

/* The table that an output is in; @nr_tables where in none of the region's. */
static unsigned int topa_table(const struct mt_topa *topa,
			       const struct mt_output *out)
{
	unsigned int i;

	for (i = 0; i < topa->nr_tables; i++)
		if (topa_is_in(topa, i, out))
			break;
	return i;
}

/**
 * mt_topa_is_half_full - whether an output has got to the second half
 * @topa: the region's tables
 * @out: the output, as mt_hw_stop() left it
 *
 * Of several pieces it is told by entries, so that it takes no walk through all
 * before: the half may be some bytes more.
 */
bool mt_topa_is_half_full(const struct mt_topa *topa,
			  const struct mt_output *out)
{
	unsigned int i;

	if (!topa->nr_tables)
		return mt_hw_output_offset(out) >= topa_size(topa->entry) / 2;
	for (i = 0; i < topa->half_table; i++)
		if (topa_is_in(topa, i, out))
			return false;
	return !topa_is_in(topa, i, out) ||
	       mt_hw_output_entry(out) > topa->half_entry;
}

/**
 * mt_topa_has_ended - whether an output is at the end of an entry
 * @topa: the region's tables
 * @out: the output, as mt_hw_stop() left it
 *
 * There the CPU leaves it that has been told to stop at that end, and tracing
 * cannot go on from it (SDM vol. 3, "ToPA STOP").
 */
bool mt_topa_has_ended(const struct mt_topa *topa, const struct mt_output *out)
{
	const u32 entry = mt_hw_output_entry(out);
	unsigned int table;
	u64 size;

	if (!topa->nr_tables) {
		size = topa_size(topa->entry);
	} else {
		table = topa_table(topa, out);
		if (table == topa->nr_tables || entry >= topa->max_entries)
			return false;
		size = topa_size(topa->tables[table].entries[entry]);
	}
	return mt_hw_output_offset(out) == size;
}

/**
 * mt_topa_skip - point an output that has ended at the next entry
 * @topa: the region's tables
 * @out: the output, of which mt_topa_has_ended() is true
 */
void mt_topa_skip(const struct mt_topa *topa, struct mt_output *out)
{
	const u32 next = mt_hw_output_entry(out) + 1;
	const u64 *entries;

	if (!topa->nr_tables) {
		mt_hw_output_init(out, 0, topa->entry, 0);
		return;
	}
	entries = topa->tables[topa_table(topa, out)].entries;
	if (entries[next] & TOPA_END)
		mt_hw_output_init(out, entries[next] & ~TOPA_END, 0, 0);
	else
		mt_hw_output_init(out, out->base, 0, next);
}

/**
 * mt_topa_position - find where in the region an output has got to
 * @topa: the region's tables
 * @out: the output, as mt_hw_stop() left it
 * @pos: receives the offset of the byte that would be written next
 *
 * Walks the entries before the position in its own table, and no others: it is
 * called where a thread has been stopped.
 *
 * Return: 0, or -ERANGE where the output is not in the region.
 */
int mt_topa_position(const struct mt_topa *topa, const struct mt_output *out,
		     u64 *pos)
{
	u32 entry = mt_hw_output_entry(out);
	u32 offset = mt_hw_output_offset(out);
	const struct mt_topa_table *table;
	unsigned int i;
	u64 before;

	if (!topa->nr_tables) {
		*pos = offset;
		return entry || offset > topa_size(topa->entry) ? -ERANGE : 0;
	}

	i = topa_table(topa, out);
	if (i == topa->nr_tables || entry >= topa_nr_entries(topa, i))
		return -ERANGE;
	table = &topa->tables[i];
	if (offset > topa_size(table->entries[entry]))
		return -ERANGE;
	before = table->before;
	for (i = 0; i < entry; i++)
		before += topa_size(table->entries[i]);
	*pos = before + offset;
	return 0;
}
