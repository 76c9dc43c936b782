// SPDX-License-Identifier: GPL-2.0
/*
 * The buffer and its regions
 *
 * Owns the memory of a session: allocates it once, divides it into regions,
 * and makes a region clean before it is given out. Knows neither threads nor
 * snapshots. The lists of free regions have a lock of their own, the innermost,
 * so that a region can be had in a hook of the scheduler.
 *
 * Beside its pages a region that is one piece costs struct mt_region alone, and
 * a table if PT is to interrupt at its half. One of several pieces has a pointer
 * for each page and its own tables, too, which is more than a hundredth of a
 * region below 512 KiB: that is what there is when memory is fragmented.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/nodemask.h>
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

static struct page *region_page(const struct mt_region *region,
				unsigned long index)
{
	return region->pages ? region->pages[index] : region->page + index;
}

/* The last bytes of a region lie in its last page: a page holds a canary. */
static void *region_canary(const struct mt_region *region)
{
	unsigned long last = (region->size >> PAGE_SHIFT) - 1;

	return page_address(region_page(region, last)) + PAGE_SIZE -
	       MT_CANARY_SIZE;
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
		clear_highpage(region_page(region, i));
		if (i % 256 == 255)
			cond_resched();
	}
	region_set_canary(region);
}

/*
 * Take a piece as large as there are, near its CPUs if it can be: that is worth
 * more than its size. What was not to be had is not asked for again.
 */
static struct page *piece_alloc(struct mt_buffer_node *node,
				unsigned int least, unsigned int most)
{
	struct page *page;
	gfp_t gfp;

	for (;;) {
		gfp = MT_GFP | __GFP_ZERO;
		if (!node->is_full)
			gfp |= __GFP_THISNODE;
		page = alloc_pages_node(node->id, gfp, node->order);
		if (page) {
			/* Each page of it can be mapped, and held by others. */
			split_page(page, node->order);
			return page;
		}
		if (node->order > least) {
			node->order--;
		} else if (!node->is_full) {
			node->is_full = true;
			node->order = most;
		} else {
			return NULL;
		}
	}
}

static void piece_free(struct page *page, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		__free_page(page + i);
}

/*
 * Make a region of one piece look like two, for the interrupt at its half comes
 * with the end of an entry.
 */
static int region_add_halves(struct mt_region *region, unsigned int whole)
{
	const unsigned long half = 1UL << (whole - 1);
	int ret;

	ret = mt_topa_init(&region->topa, 2 * half);
	if (!ret)
		ret = mt_topa_add(&region->topa, page_to_phys(region->page),
				  whole - 1);
	if (!ret)
		ret = mt_topa_add(&region->topa,
				  page_to_phys(region->page + half), whole - 1);
	if (!ret)
		mt_topa_close(&region->topa, MT_TOPA_ONCE_PMI);
	return ret;
}

/* Make a region of several pieces, the first of which is there. */
static int region_add_pieces(struct mt_region *region,
			     struct mt_buffer_node *node, unsigned int most,
			     enum mt_topa_mode mode)
{
	unsigned long nr = region->size >> PAGE_SHIFT;
	unsigned long done = 0, i;
	struct page *page = region->page;
	int ret;

	region->pages = kvcalloc(nr, sizeof(*region->pages), MT_GFP);
	if (!region->pages) {
		/* It is less than what region_free() takes it for. */
		piece_free(page, 1UL << node->order);
		region->page = NULL;
		return -ENOMEM;
	}
	ret = mt_topa_init(&region->topa, nr);
	for (;;) {
		for (i = 0; i < 1UL << node->order; i++)
			region->pages[done++] = page + i;
		if (!ret)
			ret = mt_topa_add(&region->topa, page_to_phys(page),
					  node->order);
		if (ret)
			return ret;
		if (done == nr)
			break;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		page = piece_alloc(node, 0, min_t(unsigned int, most,
						  __ffs(nr - done)));
		if (!page)
			return -ENOMEM;
	}
	mt_topa_close(&region->topa, mode);
	return 0;
}

/* On failure what is allocated is left to mt_buffer_free(). */
static int region_alloc(struct mt_region *region, struct mt_buffer_node *node,
			unsigned int most, enum mt_topa_mode mode)
{
	unsigned int whole = ilog2(region->size >> PAGE_SHIFT);
	bool multi = mt_caps_get(MT_CAP_TOPA_MULTI);
	struct page *page;
	int ret = 0;

	page = piece_alloc(node, multi ? 0 : whole, most);
	if (!page)
		return -ENOMEM;
	region->page = page;
	if (node->order < whole)
		ret = region_add_pieces(region, node, most, mode);
	else if (mode == MT_TOPA_ONCE_PMI && multi && whole)
		ret = region_add_halves(region, whole);
	else
		mt_topa_set(&region->topa, page_to_phys(page), whole, mode);
	if (!ret)
		region_set_canary(region);
	return ret;
}

static void region_free(struct mt_region *region)
{
	unsigned long nr = region->size >> PAGE_SHIFT, i;

	mt_topa_destroy(&region->topa);
	if (!region->pages) {
		if (region->page)
			piece_free(region->page, nr);
		return;
	}
	for (i = 0; i < nr && region->pages[i]; i++)
		__free_page(region->pages[i]);
	kvfree(region->pages);
}

/*
 * Find the nodes that a buffer is spread over. The threads are not known yet,
 * but where they may run is: the caller starts them, or has itself bound to
 * where they are. A region goes to a thread of its node while there is one:
 * mt_buffer_get(). Threads fewer than nodes are taken to stay where the caller
 * is rather than to go everywhere: what one thread has for all its snapshots
 * would else be far from it for the most part.
 */
static int buffer_find_nodes(struct mt_buffer *buffer, u32 max_threads)
{
	nodemask_t nodes = NODE_MASK_NONE;
	struct mt_buffer_node *node;
	int id = numa_mem_id();
	unsigned int cpu;
	u32 i;

	node_set(id, nodes);
	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask)
		node_set(cpu_to_mem(cpu), nodes);
	buffer->nr_nodes = min_t(u32, nodes_weight(nodes), max_threads);
	buffer->nodes = kcalloc(buffer->nr_nodes, sizeof(*buffer->nodes),
				MT_GFP);
	if (!buffer->nodes)
		return -ENOMEM;
	for (i = 0; i < buffer->nr_nodes; i++) {
		node = &buffer->nodes[i];
		node->id = id;
		INIT_LIST_HEAD(&node->free);
		id = next_node_in(id, nodes);
	}
	return 0;
}

static int buffer_fill(struct mt_buffer *buffer, u64 region_size,
		       enum mt_topa_mode mode)
{
	const unsigned long per_region = region_size >> PAGE_SHIFT;
	const unsigned int most = min_t(unsigned int, ilog2(per_region),
					mt_buffer_chunk_order());
	struct mt_region *region;
	u64 checked = 0;
	u32 i;
	int ret;

	for (i = 0; i < buffer->nr_nodes; i++)
		buffer->nodes[i].order = most;

	for (i = 0; i < buffer->nr_regions; i++) {
		/* Others take memory too while this does. */
		if (i * per_region - checked >= MT_RECHECK_PAGES) {
			checked = i * per_region;
			if (buffer->nr_pages - checked >
			    buffer_pages_available())
				return -ENOMEM;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		region = &buffer->regions[i];
		region->size = region_size;
		region->home = i % buffer->nr_nodes;
		region->info.offset = i * region_size;
		ret = region_alloc(region, &buffer->nodes[region->home], most,
				   mode);
		if (ret)
			return ret;
		mt_buffer_put(buffer, region);
	}
	return 0;
}

/**
 * mt_buffer_footprint - the memory that a buffer takes
 * @size: its size in bytes
 * @region_size: of one region
 * @mode: what the CPU does in a region
 *
 * With pieces as large as are asked for: what more it takes where memory is
 * fragmented cannot be foreseen.
 *
 * Return: bytes, the buffer's own included.
 */
u64 mt_buffer_footprint(u64 size, u64 region_size, enum mt_topa_mode mode)
{
	u64 nr_regions = div64_u64(size, region_size);
	u64 bytes = size + nr_regions * sizeof(struct mt_region);

	if (region_size >> PAGE_SHIFT > 1UL << mt_buffer_chunk_order())
		bytes += nr_regions * PAGE_SIZE +
			 (size >> PAGE_SHIFT) * sizeof(struct page *);
	else if (mode == MT_TOPA_ONCE_PMI)
		bytes += nr_regions * PAGE_SIZE;
	return bytes;
}

/**
 * mt_buffer_alloc - allocate a buffer and divide it
 * @buffer: the buffer, zeroed
 * @size: its size in bytes, a power of two
 * @region_size: of one region, a power of two, from a page to @size
 * @max_threads: how many threads will write to it at once
 * @mode: what the CPU does in a region
 * @available: receives the bytes that could have been had where it fails with
 *	-ENOMEM
 *
 * Return: 0, -ENOMEM, or -EINTR where the caller is being killed. On failure
 * nothing is left allocated.
 */
int mt_buffer_alloc(struct mt_buffer *buffer, u64 size, u64 region_size,
		    u32 max_threads, enum mt_topa_mode mode, u64 *available)
{
	u64 nr_pages = size >> PAGE_SHIFT;
	u64 nr_regions = div64_u64(size, region_size);
	u64 avail = buffer_pages_available();
	int ret;

	*available = avail << PAGE_SHIFT;
	raw_spin_lock_init(&buffer->lock);

	if (nr_pages > avail || nr_regions > U32_MAX)
		return -ENOMEM;
	if (mt_buffer_footprint(size, region_size, mode) >> PAGE_SHIFT > avail)
		return -ENOMEM;

	buffer->nr_pages = nr_pages;
	ret = buffer_find_nodes(buffer, max_threads);
	if (ret)
		goto err_free;
	ret = -ENOMEM;
	buffer->regions = kvcalloc(nr_regions, sizeof(*buffer->regions),
				   MT_GFP);
	if (!buffer->regions)
		goto err_free;
	buffer->nr_regions = nr_regions;
	ret = buffer_fill(buffer, region_size, mode);
	if (!ret)
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
	u32 i;

	for (i = 0; i < buffer->nr_regions; i++) {
		region_free(&buffer->regions[i]);
		cond_resched();
	}
	kvfree(buffer->regions);
	kfree(buffer->nodes);
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
	const struct mt_region *region = buffer->regions;
	unsigned long per_region;

	if (index >= buffer->nr_pages)
		return NULL;
	per_region = region->size >> PAGE_SHIFT;
	region += index / per_region;
	return region_page(region, index % per_region);
}

/*
 * The first node that has a free region, a CPU's own before all others. The
 * lock is held, and one of them has.
 */
static struct mt_buffer_node *buffer_nearest(struct mt_buffer *buffer, int cpu)
{
	struct mt_buffer_node *node, *nearest = NULL;
	const int id = cpu_to_mem(cpu);
	u32 i;

	for (i = 0; i < buffer->nr_nodes; i++) {
		node = &buffer->nodes[i];
		if (list_empty(&node->free))
			continue;
		if (node->id == id)
			return node;
		if (!nearest)
			nearest = node;
	}
	return nearest;
}

/**
 * mt_buffer_get - take a free region
 * @buffer: the buffer
 * @cpu: a CPU that it should be near, since that will write to it
 * @keep: how many free ones must be left for others
 *
 * May be called in any context but an NMI, under any lock.
 *
 * Return: the region, described anew; NULL where none is to be had.
 */
struct mt_region *mt_buffer_get(struct mt_buffer *buffer, int cpu, u32 keep)
{
	struct mt_region *region = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&buffer->lock, flags);
	if (buffer->nr_free > keep) {
		region = list_first_entry(&buffer_nearest(buffer, cpu)->free,
					  struct mt_region, link);
		list_del_init(&region->link);
		WRITE_ONCE(buffer->nr_free, buffer->nr_free - 1);
	}
	raw_spin_unlock_irqrestore(&buffer->lock, flags);

	if (region)
		region->info = (struct mtrace_region){
			.offset = region->info.offset,
		};
	return region;
}

/**
 * mt_buffer_put - make a region free
 * @buffer: the buffer
 * @region: the region, clean
 */
void mt_buffer_put(struct mt_buffer *buffer, struct mt_region *region)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&buffer->lock, flags);
	list_add_tail(&region->link, &buffer->nodes[region->home].free);
	WRITE_ONCE(buffer->nr_free, buffer->nr_free + 1);
	raw_spin_unlock_irqrestore(&buffer->lock, flags);
}

/**
 * mt_buffer_nr_free - how many regions are free
 * @buffer: the buffer
 */
u32 mt_buffer_nr_free(const struct mt_buffer *buffer)
{
	return READ_ONCE(buffer->nr_free);
}
