/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_TOPA_H
#define _MT_TOPA_H

#include <linux/types.h>

struct mt_output;

/**
 * struct mt_topa - the tables that describe one region to the CPU
 * @tables: the tables, each one page, in the order that they are chained
 * @nr_tables: how many there are
 * @max_tables: how many @tables has room for
 * @nr_entries: entries used in the last table
 * @max_entries: entries that one table takes besides its END
 */
struct mt_topa {
	u64 **tables;
	unsigned int nr_tables;
	unsigned int max_tables;
	unsigned int nr_entries;
	unsigned int max_entries;
};

int mt_topa_init(struct mt_topa *topa, unsigned long nr_pages, bool multi);
int mt_topa_add(struct mt_topa *topa, phys_addr_t addr, unsigned int order);
void mt_topa_close(struct mt_topa *topa);
void mt_topa_destroy(struct mt_topa *topa);

void mt_topa_start(const struct mt_topa *topa, struct mt_output *out);
bool mt_topa_is_chained(const struct mt_topa *topa);
int mt_topa_position(const struct mt_topa *topa, const struct mt_output *out,
		     u64 *pos);

#endif /* _MT_TOPA_H */
