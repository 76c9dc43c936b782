// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of an object at one place in memory. What has no symbol gets its
 * name when it is first asked for: most holes are padding.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/image/object.h"

int mt_placed_new(const struct mt_object *object, uint64_t bias, uint64_t start, uint64_t end,
		  struct mt_placed **out)
{
	const struct mt_symbols *symbols = &object->symbols;
	struct mt_placed *placed = calloc(1, sizeof(*placed));
	size_t i;

	if (!placed)
		return -ENOMEM;
	placed->object = object;
	placed->bias = bias;
	placed->hole_start = start;
	placed->hole_end = end;
	if (object->is_elf && symbols->start < symbols->end) {
		placed->hole_start = symbols->start + bias;
		placed->hole_end = symbols->end + bias;
	}
	placed->functions = calloc(symbols->symbols.count + 1, sizeof(*placed->functions));
	placed->holes = calloc(symbols->spans.count + 1, sizeof(struct mt_function *));
	if (!placed->functions || !placed->holes) {
		mt_placed_free(placed);
		return -ENOMEM;
	}
	for (i = 0; i < symbols->symbols.count; i++) {
		placed->functions[i] = (struct mt_function) {
			.start = symbols->symbols.data[i].start + bias,
			.end = symbols->symbols.data[i].end + bias,
			.name = symbols->symbols.data[i].name,
			.object = object->name,
		};
	}
	*out = placed;
	return 0;
}

void mt_placed_free(struct mt_placed *placed)
{
	size_t i;

	if (!placed)
		return;
	for (i = 0; placed->holes && i <= placed->object->symbols.spans.count; i++) {
		if (placed->holes[i])
			free((char *)placed->holes[i]->name);
		free(placed->holes[i]);
	}
	for (i = 0; placed->functions && i < placed->object->symbols.symbols.count; i++)
		if (!placed->object->symbols.symbols.data[i].name)
			free((char *)placed->functions[i].name);
	free(placed->holes);
	free(placed->functions);
	free(placed);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "object+0x1234", the name of a function without one; NULL: no memory. */
static char *nameless(const struct mt_placed *placed, uint64_t start)
{
	char *name;

	if (asprintf(&name, "%s+0x%" PRIx64, last_part(placed->object->name),
		     start - placed->bias) < 0)
		return NULL;
	return name;
}

/* The function of the hole before span @index. */
static struct mt_function *make_hole(const struct mt_placed *placed, size_t index)
{
	const struct mt_symbols *symbols = &placed->object->symbols;
	struct mt_function *hole = malloc(sizeof(*hole));

	if (!hole)
		return NULL;
	hole->start = placed->hole_start;
	hole->end = placed->hole_end;
	if (index > 0)
		hole->start = symbols->spans.data[index - 1].end + placed->bias;
	if (index < symbols->spans.count)
		hole->end = symbols->spans.data[index].start + placed->bias;
	hole->object = placed->object->name;
	hole->name = nameless(placed, hole->start);
	if (!hole->name) {
		free(hole);
		return NULL;
	}
	return hole;
}

/* The function of symbol @index, with a name. */
static const struct mt_function *named(struct mt_placed *placed, uint32_t index)
{
	struct mt_function *function = &placed->functions[index];

	if (!function->name)
		function->name = nameless(placed, function->start);
	return function->name ? function : NULL;
}

const struct mt_function *mt_placed_find(struct mt_placed *placed, uint64_t addr,
					 uint64_t *start, uint64_t *end)
{
	const struct mt_symbols *symbols = &placed->object->symbols;
	uint64_t vaddr = addr - placed->bias;
	size_t index = mt_symbols_search(symbols, vaddr);

	if (index < symbols->spans.count && symbols->spans.data[index].start <= vaddr) {
		*start = symbols->spans.data[index].start + placed->bias;
		*end = symbols->spans.data[index].end + placed->bias;
		return named(placed, symbols->spans.data[index].symbol);
	}
	if (!placed->holes[index]) {
		placed->holes[index] = make_hole(placed, index);
		if (!placed->holes[index])
			return NULL;
	}
	*start = placed->holes[index]->start;
	*end = placed->holes[index]->end;
	return placed->holes[index];
}
