/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking up the functions of one name in one mapped object. Knows nothing of
 * what is done at them.
 */
#ifndef MTRACE_RECORD_SYMBOL_H
#define MTRACE_RECORD_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/array.h"
#include "user/base/elf_symbols.h"
#include "user/record/maps.h"

/* One place of a name. */
struct mt_symbol_place {
	uint64_t address;	/* run-time */
	bool ifunc;		/* the address is that of the function that chooses */
};

/* What a search of one or more objects has found so far. Zeroed at first. */
struct mt_symbol_search {
	const char *name;
	MT_ARRAY(struct mt_symbol_place) places;	/* each address once */
	bool data;		/* the name is that of a variable */
#define MT_SYMBOL_NEAR	3
	char *near[MT_SYMBOL_NEAR];	/* names like it, the nearest first */
	unsigned int near_distance[MT_SYMBOL_NEAR];
};

/*
 * Add to @search what the object mapped by @maps->data[@index] has of its name;
 * @maps are all executable mappings of the process of @tid. Returns 0 (found or
 * not: see .places), -ENOMEM, or -ENOENT if the object cannot be read.
 */
int mt_symbol_search_object(struct mt_symbol_search *search, pid_t tid, const mt_mappings *maps,
			    size_t index);

/* Forget the places, not the near names. */
void mt_symbol_search_reset(struct mt_symbol_search *search);
void mt_symbol_search_free(struct mt_symbol_search *search);

#endif /* MTRACE_RECORD_SYMBOL_H */
