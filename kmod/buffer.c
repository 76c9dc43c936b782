// SPDX-License-Identifier: GPL-2.0
/*
 * The buffer and its regions
 *
 * Owns the memory of a session: allocates it once, divides it into regions,
 * and makes a region clean before it is given out. Knows neither threads nor
 * snapshots, and takes no lock: the session's keeps the list of free regions.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "buffer.h"
#include "caps.h"

/*
 * A buffer that the machine cannot give must be refused, not fought for: no
 * OOM killer, no warning. Debuggers of kernels ask for large buffers.
 */
#define MT_GFP	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

static unsigned int chunk_order = MT_CHUNK_ORDER_MAX;
module_param(chunk_order, uint, 0444);
MODULE_PARM_DESC(chunk_order,
		 "Largest piece of memory to ask for, in pages as a power of two (0 to 10, default 10)");

/**
 * mt_buffer_chunk_order - the largest piece that is asked of the page allocator
 *
 * Return: its size in pages, as a power of two.
 */
unsigned int mt_buffer_chunk_order(void)
{
	return min_t(unsigned int, chunk_order, MT_CHUNK_ORDER_MAX);
}

/* How often the memory that is left is looked at again while it is taken. */
#define MT_RECHECK_PAGES	(SZ_16M >> PAGE_SHIFT)

/* Pages that may be taken; the rest, 1/32 of the memory, is the machine's. */
static u64 buffer_pages_available(void)
{
	long avail = si_mem_available() - (long)(totalram_pages() / 32);

	return max(avail, 0L);
}

/* The last bytes of a region lie in its last page: a page holds a canary. */
static void *region_canary(const struct mt_region *region)
{
	unsigned long last = (region->size >> PAGE_SHIFT) - 1;

	return page_address(region->pages[last]) + PAGE_SIZE - MT_CANARY_SIZE;
}

static void region_set_canary(struct mt_region *region)
{
	get_random_bytes(region->canary, MT_CANARY_SIZE);
	memcpy(region_canary(region), region->canary, MT_CANARY_SIZE);
}

/*
 * There is no bit that tells of a wrap (SDM vol. 3, ToPA output). The canary
 * is whole if the trace never got to it; where the trace ends inside the
 * canary, what is behind the trace must still be whole.
 */
static bool region_has_wrapped(const struct mt_region *region)
{
	u64 start = region->size - MT_CANARY_SIZE;
	u64 skip = region->info.head > start ? region->info.head - start : 0;

	return memcmp(region_canary(region) + skip, region->canary + skip,
		      MT_CANARY_SIZE - skip);
}

/**
 * mt_region_close - work out which bytes of a region are the trace
 * @region: a region that nobody writes to any more
 *
 * Sets head and valid, and the flag of a wrap. A position that is not in the
 * region at all, which hardware does not give, leaves nothing that could be
 * trusted: it is marked as an error and as empty.
 */
void mt_region_close(struct mt_region *region)
{
	struct mtrace_region *info = &region->info;

	if (mt_topa_position(&region->topa, &region->end, &info->head)) {
		info->flags |= MTRACE_REGION_ERROR;
		info->head = 0;
		info->valid = 0;
		return;
	}

	/* Filled to the last byte; the next goes to the first. */
	if (info->head == region->size) {
		info->flags |= MTRACE_REGION_WRAPPED;
		info->head = 0;
	}
	if (region_has_wrapped(region))
		info->flags |= MTRACE_REGION_WRAPPED;
	if (info->flags & MTRACE_REGION_WRAPPED)
		info->valid = region->size;
	else
		info->valid = info->head;
}

/**
 * mt_region_clean - make a region fit for its next owner
 * @region: the region, closed
 *
 * What is in it is somebody else's trace: it would be taken for the next
 * thread's, and the next thread's reader may not be meant to have it. May
 * sleep, and takes as long as the memory is large.
 */
void mt_region_clean(struct mt_region *region)
{
	bool all = region->info.flags & (MTRACE_REGION_WRAPPED |
					 MTRACE_REGION_ERROR);
	u64 used = all ? region->size : region->info.valid;
	unsigned long i;

	for (i = 0; i < DIV_ROUND_UP_ULL(used, PAGE_SIZE); i++) {
		clear_highpage(region->pages[i]);
		if (i % 256 == 255)
			cond_resched();
	}
	region_set_canary(region);
}

/* Take chunks as large as there are; what was not to be had is not retried. */
static int region_alloc(struct mt_region *region, unsigned int *order)
{
	bool multi = mt_caps_get(MT_CAP_TOPA_MULTI);
	unsigned long nr = region->size >> PAGE_SHIFT;
	unsigned long done = 0, i;
	struct page *page;
	int ret;

	ret = mt_topa_init(&region->topa, nr, multi);
	if (ret)
		return ret;

	while (done < nr) {
		page = alloc_pages_node(numa_node_id(), MT_GFP | __GFP_ZERO,
					*order);
		if (!page && *order && multi) {
			(*order)--;
			continue;
		}
		if (!page)
			return -ENOMEM;

		split_page(page, *order);
		for (i = 0; i < 1UL << *order; i++)
			region->pages[done++] = page + i;
		ret = mt_topa_add(&region->topa, page_to_phys(page), *order);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}

	mt_topa_close(&region->topa);
	region_set_canary(region);
	return 0;
}

/**
 * mt_buffer_alloc - allocate a buffer and divide it
 * @buffer: the buffer, zeroed
 * @size: its size in bytes, a power of two
 * @region_size: of one region, a power of two, from a page to @size
 * @available: receives the bytes that could have been had where it fails with
 *	-ENOMEM
 *
 * Return: 0, -ENOMEM, or -EINTR where the caller is being killed. On failure
 * nothing is left allocated.
 */
int mt_buffer_alloc(struct mt_buffer *buffer, u64 size, u64 region_size,
		    u64 *available)
{
	unsigned long per_region = region_size >> PAGE_SHIFT;
	unsigned int order = min_t(unsigned int, ilog2(per_region),
				   mt_buffer_chunk_order());
	u64 nr_pages = size >> PAGE_SHIFT;
	u64 nr_regions = nr_pages / per_region;
	u64 avail = buffer_pages_available();
	struct mt_region *region;
	u64 checked = 0, extra;
	u32 i;
	int ret;

	*available = avail << PAGE_SHIFT;
	INIT_LIST_HEAD(&buffer->free);

	if (nr_pages > avail || nr_regions > U32_MAX)
		return -ENOMEM;
	/* Beside its pages a region costs a table and its description. */
	extra = nr_regions * (PAGE_SIZE + sizeof(*region)) +
		nr_pages * sizeof(struct page *);
	if (nr_pages + (extra >> PAGE_SHIFT) > avail)
		return -ENOMEM;

	ret = -ENOMEM;
	buffer->nr_pages = nr_pages;
	buffer->pages = kvcalloc(nr_pages, sizeof(*buffer->pages), MT_GFP);
	if (!buffer->pages)
		goto err_free;
	buffer->regions = kvcalloc(nr_regions, sizeof(*region), MT_GFP);
	if (!buffer->regions)
		goto err_free;
	buffer->nr_regions = nr_regions;

	for (i = 0; i < nr_regions; i++) {
		/* Others take memory too while this does. */
		if (i * per_region - checked >= MT_RECHECK_PAGES) {
			checked = i * per_region;
			if (nr_pages - checked > buffer_pages_available()) {
				ret = -ENOMEM;
				goto err_free;
			}
		}
		region = &buffer->regions[i];
		region->size = region_size;
		region->pages = buffer->pages + i * per_region;
		region->info.offset = i * region_size;
		ret = region_alloc(region, &order);
		if (ret)
			goto err_free;
		mt_buffer_put(buffer, region);
	}
	return 0;

err_free:
	mt_buffer_free(buffer);
	return ret;
}

/**
 * mt_buffer_free - free a buffer
 * @buffer: a buffer that nobody writes to or maps; may be zeroed memory
 */
void mt_buffer_free(struct mt_buffer *buffer)
{
	unsigned long i;

	for (i = 0; i < buffer->nr_regions; i++) {
		mt_topa_destroy(&buffer->regions[i].topa);
		cond_resched();
	}
	for (i = 0; buffer->pages && i < buffer->nr_pages; i++) {
		if (!buffer->pages[i])
			continue;
		__free_page(buffer->pages[i]);
		if (i % 256 == 255)
			cond_resched();
	}
	kvfree(buffer->regions);
	kvfree(buffer->pages);
	memset(buffer, 0, sizeof(*buffer));
}

/**
 * mt_buffer_page - find a page of the mapping
 * @buffer: the buffer
 * @index: which page, from 0
 *
 * Return: the page, or NULL beyond the end.
 */
struct page *mt_buffer_page(const struct mt_buffer *buffer,
			    unsigned long index)
{
	return index < buffer->nr_pages ? buffer->pages[index] : NULL;
}

/**
 * mt_buffer_get - take a free region
 * @buffer: the buffer; its list is the caller's to lock
 *
 * Return: the region, described anew; NULL where none is free.
 */
struct mt_region *mt_buffer_get(struct mt_buffer *buffer)
{
	struct mt_region *region;

	region = list_first_entry_or_null(&buffer->free, struct mt_region,
					  link);
	if (!region)
		return NULL;

	list_del_init(&region->link);
	buffer->nr_free--;
	region->info = (struct mtrace_region){ .offset = region->info.offset };
	return region;
}

/**
 * mt_buffer_put - make a region free
 * @buffer: the buffer; its list is the caller's to lock
 * @region: the region, clean
 */
void mt_buffer_put(struct mt_buffer *buffer, struct mt_region *region)
{
	list_add_tail(&region->link, &buffer->free);
	buffer->nr_free++;
}
