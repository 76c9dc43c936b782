// SPDX-License-Identifier: GPL-2.0
/*
 * From the symbol tables of a file to disjoint spans of code with one name each.
 */
#include "user/image/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MASK	0xfffULL

/*
 * Which of several names of one address is the best: what a programmer would
 * call it. A type that says "function" beats a label, any name one that is for
 * glibc's own use ("____strtol_l_internal" over "__GI_____strtol_l_internal"), an
 * exported name a local one, a known size an unknown one, a plain name one with a
 * suffix ("foo.localalias"), fewer leading underscores more, a strong name a weak
 * one; then the shorter, then the alphabet decides, so that the choice does not
 * depend on the order of the table.
 */
#define RANK_NAMELESS		(1U << 22)
#define RANK_LABEL		(1U << 21)
#define RANK_INTERNAL		(1U << 20)
#define RANK_LOCAL		(1U << 19)
#define RANK_NO_SIZE		(1U << 18)
#define RANK_SUFFIX		(1U << 17)
#define RANK_UNDERSCORE		(1U << 4)	/* each, up to RANK_UNDERSCORES */
#define RANK_UNDERSCORES	1023U
#define RANK_WEAK		(1U << 0)

static uint32_t rank_of(const struct mt_elf_symbol *symbol)
{
	size_t underscores = strspn(symbol->name, "_");
	uint32_t rank = 0;

	if (symbol->type == MT_ELF_NOTYPE)
		rank |= RANK_LABEL;
	if (!strncmp(symbol->name, "__GI_", 5))
		rank |= RANK_INTERNAL;
	if (symbol->binding == MT_ELF_LOCAL)
		rank |= RANK_LOCAL;
	if (!symbol->size)
		rank |= RANK_NO_SIZE;
	if (strchr(symbol->name, '.'))
		rank |= RANK_SUFFIX;
	if (symbol->binding == MT_ELF_WEAK)
		rank |= RANK_WEAK;
	if (underscores > RANK_UNDERSCORES)
		underscores = RANK_UNDERSCORES;
	return rank + underscores * RANK_UNDERSCORE;
}

static bool better(const struct mt_symbol *a, const struct mt_symbol *b)
{
	size_t len_a, len_b;

	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (!a->name || !b->name)
		return a->end > b->end;
	len_a = strlen(a->name);
	len_b = strlen(b->name);
	if (len_a != len_b)
		return len_a < len_b;
	return strcmp(a->name, b->name) < 0;
}

/* By start, the best first among equal ones. */
static int compare(const void *x, const void *y)
{
	const struct mt_symbol *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (better(a, b))
		return -1;
	return better(b, a);
}

static int add(struct mt_symbols *out, const struct mt_elf_symbol *symbol, char *name)
{
	struct mt_symbol new = {
		.start = symbol->value,
		.end = symbol->value + symbol->size,
		.name = name,
		.rank = rank_of(symbol),
	};
	int err = name ? mt_array_push(&out->symbols, new) : -ENOMEM;

	if (err)
		free(name);
	return err;
}

static int add_symbol(void *ctx, const struct mt_elf_symbol *symbol)
{
	struct mt_symbols *out = ctx;

	if (!symbol->code || symbol->type == MT_ELF_OBJECT)
		return 0;
	if (symbol->value < out->start || symbol->value >= out->end)
		return 0;
	if (!strncmp(symbol->name, ".L", 2))
		return 0;
	return add(out, symbol, strdup(symbol->name));
}

static int add_stub(void *ctx, const struct mt_elf_symbol *symbol)
{
	char *name;

	if (asprintf(&name, "%s@plt", symbol->name) < 0)
		return -ENOMEM;
	return add(ctx, symbol, name);
}

static int add_frame(void *ctx, uint64_t start, uint64_t size)
{
	struct mt_symbols *out = ctx;
	struct mt_symbol new = {
		.start = start,
		.end = start + size,
		.rank = RANK_NAMELESS,
	};

	if (start < out->start || start >= out->end)
		return 0;
	return mt_array_push(&out->symbols, new);
}

static void find_code(struct mt_symbols *out, const struct mt_elf *elf)
{
	size_t i;

	out->start = UINT64_MAX;
	for (i = 0; i < mt_elf_nr_loads(elf); i++) {
		const struct mt_elf_load *load = mt_elf_load(elf, i);
		uint64_t end = (load->vaddr + load->file_size + PAGE_MASK) & ~PAGE_MASK;
		uint64_t start = load->vaddr & ~PAGE_MASK;

		if (!load->exec || end <= start)
			continue;
		if (start < out->start)
			out->start = start;
		if (end > out->end)
			out->end = end;
	}
	if (out->start > out->end)
		out->start = out->end;
}

/*
 * Drop the second and later names of one address (the best one has the largest
 * size of them), and what has no size or name of its own inside of what has: a
 * label in a function is no function.
 */
static void drop_aliases(struct mt_symbols *out)
{
	struct mt_symbol *symbols = out->symbols.data;
	uint64_t covered = 0;
	size_t i, kept = 0;

	for (i = 0; i < out->symbols.count; i++) {
		struct mt_symbol *last = kept ? &symbols[kept - 1] : NULL;
		bool vague = symbols[i].rank & (RANK_NAMELESS | RANK_LABEL | RANK_NO_SIZE);

		if (last && last->start == symbols[i].start) {
			if (symbols[i].end > last->end && !(symbols[i].rank & RANK_LABEL))
				last->end = symbols[i].end;
			free(symbols[i].name);
		} else if (vague && symbols[i].start < covered) {
			free(symbols[i].name);
			continue;
		} else {
			symbols[kept++] = symbols[i];
			last = &symbols[kept - 1];
		}
		if (last->end > covered && last->name)
			covered = last->end;
	}
	out->symbols.count = kept;
}

/* A size that is not known reaches to the next symbol; none leaves the code. */
static void settle_ends(struct mt_symbols *out)
{
	struct mt_symbol *symbols = out->symbols.data;
	size_t i;

	for (i = 0; i < out->symbols.count; i++) {
		struct mt_symbol *symbol = &symbols[i];

		if (symbol->end == symbol->start)
			symbol->end = i + 1 < out->symbols.count ? symbols[i + 1].start : out->end;
		if (symbol->end > out->end || symbol->end < symbol->start)
			symbol->end = out->end;
	}
}

static int add_span(struct mt_symbols *out, uint64_t start, uint64_t end, uint32_t symbol)
{
	struct mt_span span = { start, end, symbol };

	return start < end ? mt_array_push(&out->spans, span) : 0;
}

/*
 * Cut what overlaps: a symbol inside another one has its own code to itself, and
 * what is left of the outer one stays with the outer one. The open symbols are
 * a stack, of which the innermost owns the code up to the next start or end.
 */
static int cut(struct mt_symbols *out)
{
	const struct mt_symbol *symbols = out->symbols.data;
	MT_ARRAY(uint32_t) open = { 0 };
	size_t next = 0, count = out->symbols.count;
	uint64_t at = 0;
	int err = 0;

	while (!err && (next < count || open.count)) {
		uint64_t start = next < count ? symbols[next].start : UINT64_MAX;

		if (open.count && symbols[open.data[open.count - 1]].end <= start) {
			uint32_t top = open.data[--open.count];

			err = add_span(out, at, symbols[top].end, top);
			if (symbols[top].end > at)
				at = symbols[top].end;
			continue;
		}
		if (open.count)
			err = add_span(out, at, start, open.data[open.count - 1]);
		if (!err)
			err = mt_array_push(&open, (uint32_t)next);
		if (start > at)
			at = start;
		next++;
	}
	mt_array_free(&open);
	return err;
}

int mt_symbols_read(struct mt_symbols *out, const struct mt_elf *elf)
{
	struct mt_elf *debug = NULL;
	int err;

	find_code(out, elf);
	err = mt_elf_symbols(elf, add_symbol, out);
	if (err != -ENOMEM)
		err = mt_elf_plt_stubs(elf, add_stub, out);
	if (err != -ENOMEM)
		err = mt_elf_frames(elf, add_frame, out);
	if (err != -ENOMEM && !mt_elf_open_debug(elf, &debug)) {
		err = mt_elf_symbols(debug, add_symbol, out);
		mt_elf_close(debug);
	}
	if (err != -ENOMEM) {
		if (out->symbols.count)
			qsort(out->symbols.data, out->symbols.count,
			      sizeof(*out->symbols.data), compare);
		drop_aliases(out);
		settle_ends(out);
		err = cut(out);
	}
	if (err)
		mt_symbols_free(out);
	return err;
}

void mt_symbols_free(struct mt_symbols *symbols)
{
	size_t i;

	for (i = 0; i < symbols->symbols.count; i++)
		free(symbols->symbols.data[i].name);
	mt_array_free(&symbols->symbols);
	mt_array_free(&symbols->spans);
}

size_t mt_symbols_search(const struct mt_symbols *symbols, uint64_t addr)
{
	size_t low = 0, high = symbols->spans.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->spans.data[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
