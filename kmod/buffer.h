/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MT_BUFFER_H
#define _MT_BUFFER_H

#include <linux/list.h>
#include <linux/mtrace.h>
#include <linux/sizes.h>
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
 * @topa: the tables by which the CPU writes to it
 * @pages: its pages, part of mt_buffer.pages
 * @size: its size in bytes
 * @canary: what was put at its end when it was cleaned, and is no more if the
 *	trace has wrapped
 * @end: the output when the region was frozen
 * @info: what is told of it to user space
 */
struct mt_region {
	struct list_head link;
	struct mt_topa topa;
	struct page **pages;
	u64 size;
	u8 canary[MT_CANARY_SIZE];
	struct mt_output end;
	struct mtrace_region info;
};

/**
 * struct mt_buffer - the memory of a session
 * @pages: all pages, in the order in which they are mapped
 * @nr_pages: how many
 * @regions: the regions
 * @nr_regions: how many
 * @free: regions that are clean and nobody's
 * @nr_free: how many
 */
struct mt_buffer {
	struct page **pages;
	unsigned long nr_pages;
	struct mt_region *regions;
	u32 nr_regions;
	struct list_head free;
	u32 nr_free;
};

unsigned int mt_buffer_chunk_order(void);
int mt_buffer_alloc(struct mt_buffer *buffer, u64 size, u64 region_size,
		    u64 *available);
void mt_buffer_free(struct mt_buffer *buffer);
struct page *mt_buffer_page(const struct mt_buffer *buffer,
			    unsigned long index);
struct mt_region *mt_buffer_get(struct mt_buffer *buffer);
void mt_buffer_put(struct mt_buffer *buffer, struct mt_region *region);

void mt_region_close(struct mt_region *region);
void mt_region_clean(struct mt_region *region);

#endif /* _MT_BUFFER_H */
