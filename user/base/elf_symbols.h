/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only place that reads ELF: symbols, PLT stubs, loadable segments and the
 * build-id of one file, all in the file's own (link-time) addresses. Where a file
 * is mapped, and which of its names is the best, is for the caller to know.
 *
 * No function here gives a message: what a bad file means depends on the caller.
 */
#ifndef MTRACE_BASE_ELF_SYMBOLS_H
#define MTRACE_BASE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_elf;

/*
 * Open @path. Returns 0; -errno of open(); -EINVAL if it is no regular file;
 * -ENOEXEC if it is no ELF file of x86 or too damaged to be one; -ENOMEM.
 */
int mt_elf_open(const char *path, struct mt_elf **out);

/*
 * Open the separate debug file of @elf, found by its build-id below
 * /usr/lib/debug/.build-id. Its symbols have the same addresses as @elf's.
 * Returns 0; -ENOENT if there is none (or @elf has no build-id); as mt_elf_open().
 */
int mt_elf_open_debug(const struct mt_elf *elf, struct mt_elf **out);

void mt_elf_close(struct mt_elf *elf);			/* NULL is allowed */

/* Lower-case hex, NULL where the file has none. Lives as long as @elf. */
const char *mt_elf_build_id(const struct mt_elf *elf);

/* Address at which the program starts; 0 in a library. */
uint64_t mt_elf_entry(const struct mt_elf *elf);

/* True for ET_DYN (PIE, shared library, vdso): addresses need a load bias. */
bool mt_elf_is_relocatable(const struct mt_elf *elf);

/* True for 32-bit code. */
bool mt_elf_is_32bit(const struct mt_elf *elf);

/* One PT_LOAD header. */
struct mt_elf_load {
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_size;
	uint64_t mem_size;
	bool exec;
};

/*
 * True if the page of the file that holds @offset is mapped by @load. Whole pages
 * are mapped: what precedes or follows a segment in its pages is there as well.
 */
bool mt_elf_load_covers(const struct mt_elf_load *load, uint64_t offset);

size_t mt_elf_nr_loads(const struct mt_elf *elf);
const struct mt_elf_load *mt_elf_load(const struct mt_elf *elf, size_t index);

/*
 * Translate between file offsets and addresses by the PT_LOAD headers; where two
 * share a page of the file, the executable one wins. So a file mapped executable
 * from offset O at address A has the load bias A - vaddr(O). Return 0 or -ENOENT.
 */
int mt_elf_offset_to_vaddr(const struct mt_elf *elf, uint64_t offset, uint64_t *vaddr);
int mt_elf_vaddr_to_offset(const struct mt_elf *elf, uint64_t vaddr, uint64_t *offset);

enum mt_elf_type {
	MT_ELF_FUNC,
	MT_ELF_IFUNC,		/* .value is the function that chooses */
	MT_ELF_OBJECT,
	MT_ELF_NOTYPE,		/* a label, in code only */
};

enum mt_elf_binding {
	MT_ELF_LOCAL,
	MT_ELF_GLOBAL,
	MT_ELF_WEAK,
};

struct mt_elf_symbol {
	const char *name;	/* without "@VERSION"; valid during the call */
	uint64_t value;
	uint64_t size;		/* 0 where the file does not say */
	enum mt_elf_type type;
	enum mt_elf_binding binding;
	bool code;		/* lies in an executable section */
};

/* A return other than 0 ends the iteration, which then returns that. */
typedef int (*mt_elf_symbol_fn)(void *ctx, const struct mt_elf_symbol *symbol);

/*
 * Call @fn for each defined symbol of .symtab and then of .dynsym (the same
 * function is often in both, and has often more than one name). Returns 0 also
 * where there is no symbol at all; -ENOEXEC if the tables are damaged.
 */
int mt_elf_symbols(const struct mt_elf *elf, mt_elf_symbol_fn fn, void *ctx);

/*
 * Call @fn for each PLT stub whose function is known by its relocation; the name
 * is that of the function, without "@plt". Returns as mt_elf_symbols().
 */
int mt_elf_plt_stubs(const struct mt_elf *elf, mt_elf_symbol_fn fn, void *ctx);

/* A function, named or not, is at [@start, @start + @size). As mt_elf_symbol_fn. */
typedef int (*mt_elf_frame_fn)(void *ctx, uint64_t start, uint64_t size);

/*
 * Call @fn for each function (or part of one) that can be unwound: in a stripped
 * file the only trace of its functions. What is damaged is left out. Returns 0 or
 * what @fn returned.
 */
int mt_elf_frames(const struct mt_elf *elf, mt_elf_frame_fn fn, void *ctx);

#endif /* MTRACE_BASE_ELF_SYMBOLS_H */
