/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_TOPA_H
#define _MT_TOPA_H

#include <linux/types.h>

struct mt_output;

/**
 * enum mt_topa_mode - what the CPU does in a region
 * @MT_TOPA_RING: it writes round and round
 * @MT_TOPA_ONCE: it stops at the end
 * @MT_TOPA_ONCE_PMI: it stops at the end, and asks for an interrupt at the half
 */
enum mt_topa_mode {
	MT_TOPA_RING,
	MT_TOPA_ONCE,
	MT_TOPA_ONCE_PMI,
};

/**
 * struct mt_topa_table - one table of a region
 * @entries: the table, one page
 * @before: bytes of the region that lie before what it describes; known once
 *	the ring is closed
 */
struct mt_topa_table {
	u64 *entries;
	u64 before;
};

/**
 * struct mt_topa - how one region is described to the CPU
 * @entry: the one entry of a region that is one piece. Each CPU has a table with
 *	room for it: mt_topa_alloc_table()
 * @tables: of another region the tables, in the order that they are chained
 * @nr_tables: how many there are; 0 with @entry
 * @max_tables: how many @tables has room for
 * @nr_entries: entries used in the last table
 * @max_entries: entries that one table takes besides its END
 * @half_table: the table with the entry in which the first half of the region
 *	ends
 * @half_entry: that entry
 */
struct mt_topa {
	u64 entry;
	struct mt_topa_table *tables;
	unsigned int nr_tables;
	unsigned int max_tables;
	unsigned int nr_entries;
	unsigned int max_entries;
	unsigned int half_table;
	unsigned int half_entry;
};

u64 *mt_topa_alloc_table(int node);
void mt_topa_free_table(u64 *table);

void mt_topa_set(struct mt_topa *topa, phys_addr_t addr, unsigned int order,
		 enum mt_topa_mode mode);
int mt_topa_init(struct mt_topa *topa, unsigned long nr_pages);
int mt_topa_add(struct mt_topa *topa, phys_addr_t addr, unsigned int order);
void mt_topa_close(struct mt_topa *topa, enum mt_topa_mode mode);
void mt_topa_destroy(struct mt_topa *topa);

void mt_topa_start(const struct mt_topa *topa, struct mt_output *out);
bool mt_topa_has_pieces(const struct mt_topa *topa);
bool mt_topa_is_half_full(const struct mt_topa *topa,
			  const struct mt_output *out);
bool mt_topa_has_ended(const struct mt_topa *topa,
		       const struct mt_output *out);
void mt_topa_skip(const struct mt_topa *topa, struct mt_output *out);
int mt_topa_position(const struct mt_topa *topa, const struct mt_output *out,
		     u64 *pos);

#endif /* _MT_TOPA_H */
