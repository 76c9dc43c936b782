/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_BUFFER_H
#define _MT_BUFFER_H

#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "hw.h"
#include "topa.h"

struct page;

/* What the page allocator has at most: 4 MiB. */
#define MT_CHUNK_ORDER_MAX	10

#define MT_CANARY_SIZE	16

/**
 * struct mt_region - one of the equal parts of a buffer
 * @link: in the list of what the region is: free, exited, dirty, or a
 *	snapshot's; in none while a thread writes to it
 * @topa: how the CPU is told where it is
 * @page: its first page, of one piece the others follow
 * @pages: its pages where it is several pieces, else NULL
 * @size: its size in bytes
 * @home: the node that it is meant to be near, as in mt_buffer.nodes
 * @canary: what was put at its end when it was cleaned, and is no more if the
 *	trace has wrapped
 * @end: the output when the region was frozen
 * @is_final: whether @end is, and no thread writes to the region any more
 * @info: what is told of it to user space
 *
 * There may be one for each few pages: what is here counts.
 */
struct mt_region {
	struct list_head link;
	struct mt_topa topa;
	struct page *page;
	struct page **pages;
	u64 size;
	u32 home;
	u8 canary[MT_CANARY_SIZE];
	struct mt_output end;
	bool is_final;
	struct mtrace_region info;
};

/**
 * struct mt_buffer_node - what of a buffer is near some CPUs
 * @id: the node
 * @order: the largest piece that is still to be had there
 * @is_full: whether not even the smallest is, so that others must do
 * @free: regions that are clean and nobody's
 */
struct mt_buffer_node {
	int id;
	unsigned int order;
	bool is_full;
	struct list_head free;
};

/**
 * struct mt_buffer - the memory of a session
 * @nr_pages: all pages, in the order in which they are mapped
 * @regions: the regions
 * @nr_regions: how many
 * @nodes: the nodes that they are spread over
 * @nr_nodes: how many
 * @lock: guards all below, and the nodes' lists. Taken with interrupts off,
 *	under any other lock
 * @nr_free: how many regions are free
 */
struct mt_buffer {
	unsigned long nr_pages;
	struct mt_region *regions;
	u32 nr_regions;
	struct mt_buffer_node *nodes;
	u32 nr_nodes;
	raw_spinlock_t lock;
	u32 nr_free;
};

unsigned int mt_buffer_chunk_order(void);
u64 mt_buffer_footprint(u64 size, u64 region_size, enum mt_topa_mode mode);
int mt_buffer_alloc(struct mt_buffer *buffer, u64 size, u64 region_size,
		    u32 max_threads, enum mt_topa_mode mode, u64 *available);
void mt_buffer_free(struct mt_buffer *buffer);
struct page *mt_buffer_page(const struct mt_buffer *buffer,
			    unsigned long index);
struct mt_region *mt_buffer_get(struct mt_buffer *buffer, int cpu, u32 keep);
void mt_buffer_put(struct mt_buffer *buffer, struct mt_region *region);
u32 mt_buffer_nr_free(const struct mt_buffer *buffer);

void mt_region_close(struct mt_region *region);
void mt_region_clean(struct mt_region *region);

#endif /* _MT_BUFFER_H */
