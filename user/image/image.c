// SPDX-License-Identifier: GPL-2.0
/*
 * From a list of maps to libipt's image and to a resolver.
 */
#include "user/image/image.h"

#include <errno.h>
#include <inttypes.h>
#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/array.h"
#include "user/base/log.h"
#include "user/image/object.h"

/*
 * Sections that no decoder uses at the moment stay mapped, with what libipt
 * learnt of their blocks, up to this many bytes.
 */
#define KEEP_BYTES	(1ULL << 30)

struct known_object {
	struct mt_object *object;
	char *image;			/* of the recording, NULL: its file */
};

struct known_place {
	struct mt_placed *placed;
};

struct mt_image_cache {
	mt_image_path_fn path;
	void *path_ctx;
	struct pt_image_section_cache *sections;
	MT_ARRAY(struct known_object) objects;
	MT_ARRAY(struct known_place) places;
};

/* One map. */
struct area {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	/* of start in the object's bytes */
	struct mt_placed *placed;
};

struct mt_image {
	struct mt_image_cache *cache;
	struct pt_image *image;
	MT_ARRAY(struct area) areas;	/* by start */
	size_t last_area;
	const struct mt_function *last;	/* what was found last ... */
	uint64_t last_start;		/* ... and where it holds for certain */
	uint64_t last_end;
};

static const struct mt_function unknown = {
	.start = 0,
	.end = UINT64_MAX,
	.name = "[unknown]",
	.object = "[unknown]",
};

int mt_image_cache_new(mt_image_path_fn path, void *ctx, struct mt_image_cache **out)
{
	struct mt_image_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->path = path;
	cache->path_ctx = ctx;
	cache->sections = pt_iscache_alloc(NULL);
	if (!cache->sections) {
		free(cache);
		return -ENOMEM;
	}
	pt_iscache_set_limit(cache->sections, KEEP_BYTES);
	*out = cache;
	return 0;
}

void mt_image_cache_free(struct mt_image_cache *cache)
{
	size_t i;

	if (!cache)
		return;
	pt_iscache_free(cache->sections);
	for (i = 0; i < cache->places.count; i++)
		mt_placed_free(cache->places.data[i].placed);
	for (i = 0; i < cache->objects.count; i++) {
		mt_object_close(cache->objects.data[i].object);
		free(cache->objects.data[i].image);
	}
	mt_array_free(&cache->places);
	mt_array_free(&cache->objects);
	free(cache);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Of a file that was cut short the rest is not to be taken for code that went away. */
static void check_length(const struct mt_object *object, const struct mt_map *map)
{
	if (map->image && object->file && object->len < map->end - map->start)
		mt_warn("%s, the code of %s, is cut short: it has %zu of %" PRIu64 " bytes",
			object->file, object->name, object->len, map->end - map->start);
}

/* Find or open the object of @map. */
static int get_object(struct mt_image_cache *cache, const struct mt_map *map,
		      const struct mt_object **out)
{
	const char *name = map->path && map->path[0] ? map->path : "[anonymous]";
	struct known_object known = { 0 };
	char *path = NULL;
	size_t i;
	int err;

	for (i = 0; i < cache->objects.count; i++) {
		const struct known_object *k = &cache->objects.data[i];

		if (!strcmp(k->object->name, name) &&
		    same_text(k->object->build_id, map->build_id) &&
		    same_text(k->image, map->image)) {
			*out = k->object;
			return 0;
		}
	}
	if (map->image) {
		known.image = strdup(map->image);
		path = cache->path ? cache->path(cache->path_ctx, map->image) : NULL;
		if (!known.image || !path) {
			err = -ENOMEM;
			goto err_free;
		}
	}
	err = mt_object_open(name, map->build_id, path, &known.object);
	if (err)
		goto err_free;
	err = mt_array_push(&cache->objects, known);
	if (err)
		goto err_close;
	check_length(known.object, map);
	free(path);
	*out = known.object;
	return 0;

err_close:
	mt_object_close(known.object);
err_free:
	free(known.image);
	free(path);
	return err;
}

/*
 * Find or make @object at @bias. Without program headers nothing tells that two
 * maps belong together, so each is a place of its own.
 */
static int get_placed(struct mt_image_cache *cache, const struct mt_object *object,
		      uint64_t bias, const struct mt_map *map, struct mt_placed **out)
{
	struct known_place place;
	size_t i;
	int err;

	for (i = 0; i < cache->places.count; i++) {
		struct mt_placed *placed = cache->places.data[i].placed;

		if (placed->object == object && placed->bias == bias &&
		    (object->is_elf || (placed->hole_start == map->start &&
					placed->hole_end == map->end))) {
			*out = placed;
			return 0;
		}
	}
	err = mt_placed_new(object, bias, map->start, map->end, &place.placed);
	if (err)
		return err;
	err = mt_array_push(&cache->places, place);
	if (err) {
		mt_placed_free(place.placed);
		return err;
	}
	*out = place.placed;
	return 0;
}

/* Hand the bytes of @area to libipt. */
static int add_section(struct mt_image *image, const struct area *area)
{
	const struct mt_object *object = area->placed->object;
	uint64_t len = area->end - area->start;
	int isid, err;

	if (!object->file || area->offset >= object->len)
		return 0;
	if (len > object->len - area->offset)
		len = object->len - area->offset;
	isid = pt_iscache_add_file(image->cache->sections, object->file, area->offset, len,
				   area->start);
	err = isid < 0 ? isid : pt_image_add_cached(image->image, image->cache->sections, isid,
						    NULL);
	if (err == -pte_nomem)
		return -ENOMEM;
	if (err < 0)
		mt_warn("cannot use the code of %s: %s", object->file,
			pt_errstr(pt_errcode(err)));
	return 0;
}

static int add_map(struct mt_image *image, const struct mt_map *map)
{
	const struct mt_object *object;
	struct area area = { .start = map->start, .end = map->end };
	uint64_t vaddr;
	int err;

	if (map->end <= map->start)
		return 0;
	err = get_object(image->cache, map, &object);
	if (err)
		return err;
	area.offset = object->is_image ? 0 : map->offset;
	vaddr = mt_object_vaddr(object, object->is_elf ? area.offset : map->offset);
	err = get_placed(image->cache, object, map->start - vaddr, map, &area.placed);
	if (err)
		return err;
	err = add_section(image, &area);
	if (err)
		return err;
	return mt_array_push(&image->areas, area);
}

static int compare_areas(const void *x, const void *y)
{
	const struct area *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

int mt_image_new(struct mt_image_cache *cache, const struct mt_map *maps, size_t nr_maps,
		 struct mt_image **out)
{
	struct mt_image *image = calloc(1, sizeof(*image));
	size_t i;
	int err = -ENOMEM;

	if (!image)
		return -ENOMEM;
	image->cache = cache;
	image->image = pt_image_alloc(NULL);
	if (!image->image)
		goto err_free;
	for (i = 0; i < nr_maps; i++) {
		err = add_map(image, &maps[i]);
		if (err)
			goto err_free;
	}
	if (image->areas.count)
		qsort(image->areas.data, image->areas.count, sizeof(struct area), compare_areas);
	*out = image;
	return 0;

err_free:
	mt_image_free(image);
	return err;
}

void mt_image_free(struct mt_image *image)
{
	if (!image)
		return;
	pt_image_free(image->image);
	mt_array_free(&image->areas);
	free(image);
}

/* The map that holds @addr, or NULL. */
static const struct area *find_area(struct mt_image *image, uint64_t addr)
{
	size_t low = 0, high = image->areas.count;
	const struct area *area;

	if (image->last_area < high) {
		area = &image->areas.data[image->last_area];
		if (addr >= area->start && addr < area->end)
			return area;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		area = &image->areas.data[middle];
		if (addr < area->start) {
			high = middle;
		} else if (addr >= area->end) {
			low = middle + 1;
		} else {
			image->last_area = middle;
			return area;
		}
	}
	return NULL;
}

static size_t read_code(void *ctx, uint64_t addr, uint8_t *buf, size_t len)
{
	struct mt_image *image = ctx;
	size_t done = 0;

	while (done < len) {
		const struct area *area = find_area(image, addr + done);
		const struct mt_object *object = area ? area->placed->object : NULL;
		uint64_t offset, count = len - done;

		if (!object || !object->bytes)
			break;
		offset = addr + done - area->start + area->offset;
		if (offset >= object->len)
			break;
		if (count > area->end - (addr + done))
			count = area->end - (addr + done);
		if (count > object->len - offset)
			count = object->len - offset;
		memcpy(buf + done, object->bytes + offset, count);
		done += count;
	}
	return done;
}

struct mt_code mt_image_code(struct mt_image *image)
{
	return (struct mt_code) {
		.image = image->image,
		.read = read_code,
		.ctx = image,
	};
}

static const struct mt_function *find_function(void *ctx, uint64_t addr)
{
	struct mt_image *image = ctx;
	const struct mt_function *function = NULL;
	const struct area *area;

	if (addr >= image->last_start && addr < image->last_end)
		return image->last;
	area = find_area(image, addr);
	if (area)
		function = mt_placed_find(area->placed, addr, &image->last_start,
					  &image->last_end);
	if (!function) {
		image->last_start = image->last_end = 0;
		return &unknown;
	}
	image->last = function;
	return function;
}

struct mt_resolver mt_image_resolver(struct mt_image *image)
{
	return (struct mt_resolver) { .find = find_function, .ctx = image };
}
