// SPDX-License-Identifier: GPL-2.0
/* Looking up functions by name in a mapped object; see the header. */
#include "user/record/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/nearest.h"

/* One object that is being searched. */
struct object {
	struct mt_symbol_search *search;
	const struct mt_elf *elf;	/* the mapped file: debug files have other offsets */
	const mt_mappings *maps;
	const struct mt_mapping *mapping;	/* one of its mappings */
};

/* Where the byte at @offset of the object's file is mapped executable; 0: nowhere. */
static uint64_t run_time_address(const struct object *object, uint64_t offset)
{
	for (size_t i = 0; i < object->maps->count; i++) {
		const struct mt_mapping *map = &object->maps->data[i];

		if (map->dev != object->mapping->dev || map->inode != object->mapping->inode)
			continue;
		if (offset >= map->offset && offset - map->offset < map->end - map->start)
			return map->start + (offset - map->offset);
	}
	return 0;
}

static int add_place(struct object *object, const struct mt_elf_symbol *symbol)
{
	struct mt_symbol_search *search = object->search;
	struct mt_symbol_place place = { .ifunc = symbol->type == MT_ELF_IFUNC };
	uint64_t offset;

	if (mt_elf_vaddr_to_offset(object->elf, symbol->value, &offset))
		return 0;
	place.address = run_time_address(object, offset);
	if (!place.address)
		return 0;
	for (size_t i = 0; i < search->places.count; i++) {
		if (search->places.data[i].address == place.address)
			return 0;
	}
	return mt_array_push(&search->places, place);
}

/* Keep @name if it is one of the nearest so far. */
static int consider_near(struct mt_symbol_search *search, const char *name)
{
	unsigned int distance = mt_name_distance(search->name, name, mt_name_near(search->name));
	size_t at = MT_SYMBOL_NEAR;
	char *copy;

	/* What the compiler split off it ("fib.part.0") is as near as can be. */
	if (!strncmp(name, search->name, strlen(search->name)) && name[strlen(search->name)] == '.')
		distance = 1;
	if (distance > mt_name_near(search->name))
		return 0;
	for (size_t i = 0; i < MT_SYMBOL_NEAR; i++) {
		if (search->near[i] && !strcmp(search->near[i], name))
			return 0;
	}
	while (at && (!search->near[at - 1] || search->near_distance[at - 1] > distance))
		at--;
	if (at == MT_SYMBOL_NEAR)
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(search->near[MT_SYMBOL_NEAR - 1]);
	for (size_t i = MT_SYMBOL_NEAR - 1; i > at; i--) {
		search->near[i] = search->near[i - 1];
		search->near_distance[i] = search->near_distance[i - 1];
	}
	search->near[at] = copy;
	search->near_distance[at] = distance;
	return 0;
}

static int visit(void *ctx, const struct mt_elf_symbol *symbol)
{
	struct object *object = ctx;
	bool code = symbol->type == MT_ELF_FUNC || symbol->type == MT_ELF_IFUNC ||
		    (symbol->type == MT_ELF_NOTYPE && symbol->code);

	if (strcmp(symbol->name, object->search->name))
		return code ? consider_near(object->search, symbol->name) : 0;
	if (!code) {
		object->search->data = true;
		return 0;
	}
	return add_place(object, symbol);
}

int mt_symbol_search_object(struct mt_symbol_search *search, pid_t tid, const mt_mappings *maps,
			    size_t index)
{
	struct object object = { search, NULL, maps, &maps->data[index] };
	char path[MT_MAPPING_PATH_LEN];
	struct mt_elf *elf, *debug;
	int err;

	if (mt_mapping_file(tid, object.mapping, path) || mt_elf_open(path, &elf))
		return -ENOENT;
	object.elf = elf;
	err = mt_elf_symbols(elf, visit, &object);
	if ((!err || err == -ENOEXEC) && !mt_elf_open_debug(elf, &debug)) {
		err = mt_elf_symbols(debug, visit, &object);
		mt_elf_close(debug);
	}
	mt_elf_close(elf);
	/* Damaged tables are as good as none. */
	return err == -ENOEXEC ? 0 : err;
}

void mt_symbol_search_reset(struct mt_symbol_search *search)
{
	search->places.count = 0;
}

void mt_symbol_search_free(struct mt_symbol_search *search)
{
	mt_array_free(&search->places);
	for (size_t i = 0; i < MT_SYMBOL_NEAR; i++)
		free(search->near[i]);
	memset(search, 0, sizeof(*search));
}
