/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of one ELF file: of all its names for a place the best one, and
 * to each address at most one function. In a stripped file the unwinding tables
 * still tell where functions are, if not their names. Addresses are the file's own; mappings
 * are not known here.
 */
#ifndef MTRACE_IMAGE_SYMBOLS_H
#define MTRACE_IMAGE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/array.h"
#include "user/base/elf_symbols.h"

struct mt_symbol {
	uint64_t start;
	uint64_t end;
	char *name;		/* NULL: a function whose name is not known */
	uint32_t rank;		/* smaller is better, see symbols.c */
};

/* A stretch of code that belongs to one symbol; a symbol may have several. */
struct mt_span {
	uint64_t start;
	uint64_t end;
	uint32_t symbol;	/* index */
};

struct mt_symbols {
	MT_ARRAY(struct mt_symbol) symbols;	/* by start */
	MT_ARRAY(struct mt_span) spans;		/* by start, disjoint */
	uint64_t start;				/* the executable segments lie in ... */
	uint64_t end;				/* ... [start, end) */
};

/*
 * Read the functions of @elf, and of its separate debug file if there is one,
 * into *@out, which the caller has zeroed. Returns 0 or -ENOMEM; damaged tables
 * give what could be read before the damage.
 */
int mt_symbols_read(struct mt_symbols *out, const struct mt_elf *elf);

void mt_symbols_free(struct mt_symbols *symbols);	/* contents only */

/*
 * The index of the first span that ends after @addr (spans.count if there is
 * none): @addr is in it, or in the hole before it.
 */
size_t mt_symbols_search(const struct mt_symbols *symbols, uint64_t addr);

#endif /* MTRACE_IMAGE_SYMBOLS_H */
