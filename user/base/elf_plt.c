// SPDX-License-Identifier: GPL-2.0
/*
 * The names of PLT stubs. A stub jumps through a slot of the GOT, or pushes the
 * number of its relocation; the relocation names the function. So each stub's
 * bytes are looked at, which holds for every layout that linkers make (.plt,
 * .plt.sec, .plt.got, with and without endbr and bnd).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/elf_private.h"

#define STUB_ALIGN	8	/* .plt.got without IBT, and .plt of static programs */
#define STUB_SIZE	16

struct slot {
	uint64_t address;	/* of the GOT entry */
	const char *name;	/* the symbol's, or one of @choosers */
};

/* An indirect function: a slot for it has no symbol, only this address. */
struct chooser {
	uint64_t address;
	char *name;
	unsigned int rank;	/* smaller is better */
};

struct plt {
	const struct mt_elf *elf;
	MT_ARRAY(struct slot) slots;		/* by address */
	MT_ARRAY(const char *) pushed;		/* .rela.plt, by number; may be NULL */
	MT_ARRAY(struct chooser) choosers;	/* by address, the best first */
	uint64_t got;				/* what %ebx is in 32-bit PIC stubs */
	mt_elf_symbol_fn fn;
	void *ctx;
};

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static const char *slot_name(const struct plt *plt, uint64_t address)
{
	struct slot key = { .address = address }, *slot;

	if (!plt->slots.count)
		return NULL;
	slot = bsearch(&key, plt->slots.data, plt->slots.count, sizeof(key), by_address);
	return slot ? slot->name : NULL;
}

static int add_chooser(void *ctx, const struct mt_elf_symbol *symbol)
{
	struct plt *plt = ctx;
	struct chooser chooser = { .address = symbol->value };
	int err;

	if (symbol->type != MT_ELF_IFUNC)
		return 0;
	chooser.rank = 4 * (unsigned int)strspn(symbol->name, "_") + (unsigned int)symbol->binding;
	chooser.name = strdup(symbol->name);
	if (!chooser.name)
		return -ENOMEM;
	err = mt_array_push(&plt->choosers, chooser);
	if (err)
		free(chooser.name);
	return err;
}

static int by_chooser(const void *a, const void *b)
{
	const struct chooser *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

static const char *chooser_name(const struct plt *plt, uint64_t address)
{
	size_t low = 0, high = plt->choosers.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (plt->choosers.data[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == plt->choosers.count || plt->choosers.data[low].address != address)
		return NULL;
	return plt->choosers.data[low].name;
}

/* Name of symbol @index of the table in section @table; NULL where it has none. */
static const char *symbol_name(const struct mt_elf *elf, size_t table, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf->elf, table);
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;
	const char *name;

	if (!index || !scn || !gelf_getshdr(scn, &sh))
		return NULL;
	if (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM)
		return NULL;
	data = elf_getdata(scn, NULL);
	if (!data || !gelf_getsym(data, (int)index, &sym))
		return NULL;
	name = elf_strptr(elf->elf, sh.sh_link, sym.st_name);
	return name && name[0] ? name : NULL;
}

/* JUMP_SLOT and GLOB_DAT have the same numbers in both architectures. */
static bool names_slot(unsigned long type)
{
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

/* i386 has the address in the slot itself, which is not worth reading. */
static bool is_irelative(const struct plt *plt, unsigned long type)
{
	return type == R_X86_64_IRELATIVE && !mt_elf_is_32bit(plt->elf);
}

static int read_relocs(struct plt *plt, Elf_Scn *scn, const GElf_Shdr *sh, bool is_plt)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t i, count;
	int err;

	if (!data || !sh->sh_entsize)
		return 0;
	count = data->d_size / sh->sh_entsize;
	for (i = 0; i < count; i++) {
		struct slot slot;
		GElf_Rela rela;
		GElf_Rel rel;

		if (sh->sh_type == SHT_RELA) {
			if (!gelf_getrela(data, (int)i, &rela))
				return -ENOEXEC;
		} else {
			if (!gelf_getrel(data, (int)i, &rel))
				return -ENOEXEC;
			rela.r_offset = rel.r_offset;
			rela.r_info = rel.r_info;
			rela.r_addend = 0;
		}
		slot.address = rela.r_offset;
		slot.name = NULL;
		if (names_slot(GELF_R_TYPE(rela.r_info)))
			slot.name = symbol_name(plt->elf, sh->sh_link, GELF_R_SYM(rela.r_info));
		else if (is_irelative(plt, GELF_R_TYPE(rela.r_info)))
			slot.name = chooser_name(plt, (uint64_t)rela.r_addend);
		err = is_plt ? mt_array_push(&plt->pushed, slot.name) : 0;
		if (!err && slot.name)
			err = mt_array_push(&plt->slots, slot);
		if (err)
			return err;
	}
	return 0;
}

static int32_t s32(const unsigned char *p)
{
	int32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* The name of the stub in the @len bytes at @p, which run at @vaddr. */
static const char *stub_name(const struct plt *plt, const unsigned char *p, size_t len,
			     uint64_t vaddr)
{
	bool is32 = mt_elf_is_32bit(plt->elf);
	size_t i = 0, number, entry = is32 ? sizeof(Elf32_Rel) : 1;

	if (len >= 4 && p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e &&
	    (p[3] == 0xfa || p[3] == 0xfb))
		i = 4;					/* endbr64, endbr32 */
	if (i < len && p[i] == 0xf2)
		i++;					/* bnd */
	if (i + 6 <= len && p[i] == 0xff && p[i + 1] == 0x25)
		return slot_name(plt, is32 ? (uint32_t)s32(p + i + 2) :
				 vaddr + i + 6 + (int64_t)s32(p + i + 2));
	if (i + 6 <= len && p[i] == 0xff && p[i + 1] == 0xa3 && is32)
		return slot_name(plt, (uint32_t)(plt->got + s32(p + i + 2)));
	if (i + 5 <= len && p[i] == 0x68) {		/* push number; jmp PLT0 */
		number = (uint32_t)s32(p + i + 1) / entry;
		if (number < plt->pushed.count)
			return plt->pushed.data[number];
	}
	return NULL;
}

/*
 * How far it is from one stub to the next. Where the section does not say, short
 * ones are told by the second, which jumps where a long one is not at its end.
 */
static size_t stub_step(const GElf_Shdr *sh, const Elf_Data *data)
{
	const unsigned char *p = data->d_buf;

	if (sh->sh_entsize == STUB_ALIGN)
		return STUB_ALIGN;
	if (!sh->sh_entsize && data->d_size >= STUB_ALIGN + 2 && p[0] == 0xff && p[1] == 0x25 &&
	    p[STUB_ALIGN] == 0xff && p[STUB_ALIGN + 1] == 0x25)
		return STUB_ALIGN;
	return STUB_SIZE;
}

static int read_stubs(const struct plt *plt, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t step, pos;

	if (!data || !data->d_buf)
		return 0;
	step = stub_step(sh, data);
	for (pos = 0; pos < data->d_size; pos += step) {
		size_t len = data->d_size - pos < step ? data->d_size - pos : step;
		struct mt_elf_symbol symbol = {
			.value = sh->sh_addr + pos,
			.size = len,
			.type = MT_ELF_FUNC,
			.binding = MT_ELF_LOCAL,
			.code = true,
		};
		int err;

		symbol.name = stub_name(plt, (unsigned char *)data->d_buf + pos, len,
					sh->sh_addr + pos);
		if (!symbol.name)
			continue;
		err = plt->fn(plt->ctx, &symbol);
		if (err)
			return err;
	}
	return 0;
}

/* Call @visit for each section, with its name; stops at an error. */
static int each_section(struct plt *plt,
			int (*visit)(struct plt *plt, Elf_Scn *scn, const GElf_Shdr *sh,
				     const char *name))
{
	Elf *elf = plt->elf->elf;
	Elf_Scn *scn = NULL;
	size_t names;
	int err = 0;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name)
			err = visit(plt, scn, &sh, name);
	}
	return err;
}

static int visit_relocs(struct plt *plt, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	if (!strcmp(name, ".got.plt") || (!plt->got && !strcmp(name, ".got")))
		plt->got = sh->sh_addr;
	if (sh->sh_type != SHT_RELA && sh->sh_type != SHT_REL)
		return 0;
	if (!(sh->sh_flags & SHF_ALLOC))
		return 0;
	return read_relocs(plt, scn, sh, !strcmp(name, ".rela.plt") || !strcmp(name, ".rel.plt"));
}

static int visit_stubs(struct plt *plt, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	if (strncmp(name, ".plt", 4) != 0 || !(sh->sh_flags & SHF_EXECINSTR) ||
	    sh->sh_type != SHT_PROGBITS)
		return 0;
	return read_stubs(plt, scn, sh);
}

int mt_elf_plt_stubs(const struct mt_elf *elf, mt_elf_symbol_fn fn, void *ctx)
{
	struct plt plt = { .elf = elf, .fn = fn, .ctx = ctx };
	size_t i;
	int err;

	err = mt_elf_symbols(elf, add_chooser, &plt);
	if (plt.choosers.count)
		qsort(plt.choosers.data, plt.choosers.count, sizeof(struct chooser), by_chooser);
	if (err != -ENOMEM)
		err = each_section(&plt, visit_relocs);
	if (!err) {
		if (plt.slots.count)
			qsort(plt.slots.data, plt.slots.count, sizeof(struct slot), by_address);
		err = each_section(&plt, visit_stubs);
	}
	for (i = 0; i < plt.choosers.count; i++)
		free(plt.choosers.data[i].name);
	mt_array_free(&plt.choosers);
	mt_array_free(&plt.slots);
	mt_array_free(&plt.pushed);
	return err;
}
