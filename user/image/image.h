/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The address space of one process at one snapshot: code bytes for the decoder,
 * names for everyone else. What several of them share is in a cache.
 *
 * Not for several threads at once: each would need its own cache.
 */
#ifndef MTRACE_IMAGE_IMAGE_H
#define MTRACE_IMAGE_IMAGE_H

#include "user/image/code.h"
#include "user/image/function.h"
#include "user/recording/recording.h"

struct mt_image_cache;
struct mt_image;

/* The path of an image of the recording, to be freed by the caller; or NULL. */
typedef char *(*mt_image_path_fn)(void *ctx, const char *name);

/*
 * The files and functions that the images of one recording share. @path may be
 * NULL where no map has an image. Returns 0 or -ENOMEM.
 */
int mt_image_cache_new(mt_image_path_fn path, void *ctx, struct mt_image_cache **out);

/* After all its images, and after all use of the functions that they found. */
void mt_image_cache_free(struct mt_image_cache *cache);

/*
 * The address space of @maps. A file that is missing, unreadable or not the one
 * that ran is named in one warning in the cache's life, and the rest goes on.
 * Returns 0 or -ENOMEM.
 */
int mt_image_new(struct mt_image_cache *cache, const struct mt_map *maps, size_t nr_maps,
		 struct mt_image **out);
void mt_image_free(struct mt_image *image);

/* Valid as long as @image. */
struct mt_code mt_image_code(struct mt_image *image);

/*
 * Valid as long as @image; the functions, as long as the cache. The same mapping
 * of the same object in two images gives the same functions.
 */
struct mt_resolver mt_image_resolver(struct mt_image *image);

#endif /* MTRACE_IMAGE_IMAGE_H */
