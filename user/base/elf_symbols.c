// SPDX-License-Identifier: GPL-2.0
/*
 * ELF by libelf: headers, build-id and symbol tables. PLT stubs are in
 * elf_plt.c. Knows nothing of processes or mappings.
 */
#include "user/base/elf_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/elf_private.h"
#include "user/base/regular.h"

#define DEBUG_ROOT	"/usr/lib/debug/.build-id"
#define PAGE_MASK	0xfffULL

static char *hex_of(const unsigned char *bytes, size_t len)
{
	char *text = malloc(len * 2 + 1);
	size_t i;

	if (!text)
		return NULL;
	for (i = 0; i < len; i++)
		sprintf(text + i * 2, "%02x", bytes[i]);
	text[len * 2] = '\0';
	return text;
}

/* Look for NT_GNU_BUILD_ID in one PT_NOTE. */
static int read_notes(struct mt_elf *elf, const GElf_Phdr *ph)
{
	Elf_Type type = ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
	Elf_Data *data;
	GElf_Nhdr note;
	size_t pos = 0, name, desc;

	data = elf_getdata_rawchunk(elf->elf, ph->p_offset, ph->p_filesz, type);
	if (!data)
		return 0;
	while (!elf->build_id && (pos = gelf_getnote(data, pos, &note, &name, &desc)) > 0) {
		const unsigned char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name, "GNU", sizeof("GNU")) != 0 || !note.n_descsz)
			continue;
		elf->build_id = hex_of(bytes + desc, note.n_descsz);
		if (!elf->build_id)
			return -ENOMEM;
	}
	return 0;
}

static int read_headers(struct mt_elf *elf)
{
	size_t i, count;
	int err;

	if (!gelf_getehdr(elf->elf, &elf->ehdr))
		return -ENOEXEC;
	if (elf->ehdr.e_machine != EM_X86_64 && elf->ehdr.e_machine != EM_386)
		return -ENOEXEC;
	if (elf_getphdrnum(elf->elf, &count))
		return -ENOEXEC;
	for (i = 0; i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf->elf, (int)i, &ph))
			return -ENOEXEC;
		err = 0;
		if (ph.p_type == PT_NOTE && !elf->build_id) {
			err = read_notes(elf, &ph);
		} else if (ph.p_type == PT_LOAD) {
			struct mt_elf_load load = {
				.offset = ph.p_offset,
				.vaddr = ph.p_vaddr,
				.file_size = ph.p_filesz,
				.mem_size = ph.p_memsz,
				.exec = ph.p_flags & PF_X,
			};

			err = mt_array_push(&elf->loads, load);
		}
		if (err)
			return err;
	}
	return 0;
}

int mt_elf_open(const char *path, struct mt_elf **out)
{
	struct mt_elf *elf;
	struct stat st;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	elf = calloc(1, sizeof(*elf));
	if (!elf)
		return -ENOMEM;
	elf->fd = mt_regular_open(path, true, &st);
	if (elf->fd < 0) {
		err = elf->fd;
		goto err_free;
	}
	err = -ENOEXEC;
	elf->elf = elf_begin(elf->fd, ELF_C_READ, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF)
		goto err_close;
	err = read_headers(elf);
	if (err)
		goto err_close;
	*out = elf;
	return 0;

err_close:
	mt_elf_close(elf);
	return err;
err_free:
	free(elf);
	return err;
}

int mt_elf_open_debug(const struct mt_elf *elf, struct mt_elf **out)
{
	char *path;
	int err;

	if (!elf->build_id || strlen(elf->build_id) < 3)
		return -ENOENT;
	if (asprintf(&path, DEBUG_ROOT "/%.2s/%s.debug", elf->build_id, elf->build_id + 2) < 0)
		return -ENOMEM;
	err = mt_elf_open(path, out);
	free(path);
	return err;
}

void mt_elf_close(struct mt_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	close(elf->fd);
	mt_array_free(&elf->loads);
	free(elf->build_id);
	free(elf);
}

const char *mt_elf_build_id(const struct mt_elf *elf)
{
	return elf->build_id;
}

uint64_t mt_elf_entry(const struct mt_elf *elf)
{
	return elf->ehdr.e_entry;
}

bool mt_elf_is_relocatable(const struct mt_elf *elf)
{
	return elf->ehdr.e_type == ET_DYN;
}

bool mt_elf_is_32bit(const struct mt_elf *elf)
{
	return elf->ehdr.e_machine == EM_386;
}

size_t mt_elf_nr_loads(const struct mt_elf *elf)
{
	return elf->loads.count;
}

const struct mt_elf_load *mt_elf_load(const struct mt_elf *elf, size_t index)
{
	return &elf->loads.data[index];
}

bool mt_elf_load_covers(const struct mt_elf_load *load, uint64_t offset)
{
	uint64_t end = (load->offset + load->file_size + PAGE_MASK) & ~PAGE_MASK;

	return offset >= (load->offset & ~PAGE_MASK) && offset < end;
}

int mt_elf_offset_to_vaddr(const struct mt_elf *elf, uint64_t offset, uint64_t *vaddr)
{
	const struct mt_elf_load *best = NULL;
	size_t i;

	for (i = 0; i < elf->loads.count; i++) {
		const struct mt_elf_load *load = &elf->loads.data[i];

		if (mt_elf_load_covers(load, offset) &&
		    (!best || (load->exec && !best->exec)))
			best = load;
	}
	if (!best)
		return -ENOENT;
	*vaddr = offset - best->offset + best->vaddr;
	return 0;
}

int mt_elf_vaddr_to_offset(const struct mt_elf *elf, uint64_t vaddr, uint64_t *offset)
{
	size_t i;

	for (i = 0; i < elf->loads.count; i++) {
		const struct mt_elf_load *load = &elf->loads.data[i];

		if (vaddr >= load->vaddr && vaddr - load->vaddr < load->file_size) {
			*offset = vaddr - load->vaddr + load->offset;
			return 0;
		}
	}
	return -ENOENT;
}

static bool known_type(unsigned char st_info, enum mt_elf_type *type)
{
	switch (GELF_ST_TYPE(st_info)) {
	case STT_FUNC:
		*type = MT_ELF_FUNC;
		return true;
	case STT_GNU_IFUNC:
		*type = MT_ELF_IFUNC;
		return true;
	case STT_OBJECT:
		*type = MT_ELF_OBJECT;
		return true;
	case STT_NOTYPE:
		*type = MT_ELF_NOTYPE;
		return true;
	}
	return false;
}

static enum mt_elf_binding binding_of(unsigned char st_info)
{
	switch (GELF_ST_BIND(st_info)) {
	case STB_LOCAL:
		return MT_ELF_LOCAL;
	case STB_WEAK:
		return MT_ELF_WEAK;
	}
	return MT_ELF_GLOBAL;		/* STB_GNU_UNIQUE too */
}

/*
 * A debug file's sections have no bytes but keep their flags, so this holds there.
 */
static bool in_code(const struct mt_elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf->elf, index);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR);
}

/* @name without its version, in @scratch if it has one; NULL: no memory. */
static const char *plain_name(const char *name, char **scratch)
{
	const char *at = name[0] ? strchr(name + 1, '@') : NULL;

	if (!at)
		return name;
	free(*scratch);
	*scratch = strndup(name, at - name);
	return *scratch;
}

static int table_symbols(const struct mt_elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
			 mt_elf_symbol_fn fn, void *ctx)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	bool last_code = false;
	size_t i, count, last = SHN_UNDEF;
	char *scratch = NULL;
	int err = 0;

	if (!data || !sh->sh_entsize)
		return sh->sh_size ? -ENOEXEC : 0;
	count = data->d_size / sh->sh_entsize;
	for (i = 1; i < count && !err; i++) {
		struct mt_elf_symbol symbol;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym)) {
			err = -ENOEXEC;
			break;
		}
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE ||
		    !known_type(sym.st_info, &symbol.type))
			continue;
		symbol.name = elf_strptr(elf->elf, sh->sh_link, sym.st_name);
		if (!symbol.name || !symbol.name[0])
			continue;
		if (sym.st_shndx != last) {
			last = sym.st_shndx;
			last_code = in_code(elf, last);
		}
		symbol.code = last_code;
		if (symbol.type == MT_ELF_NOTYPE && !symbol.code)
			continue;
		symbol.name = plain_name(symbol.name, &scratch);
		if (!symbol.name) {
			err = -ENOMEM;
			break;
		}
		symbol.value = sym.st_value;
		symbol.size = sym.st_size;
		symbol.binding = binding_of(sym.st_info);
		err = fn(ctx, &symbol);
	}
	free(scratch);
	return err;
}

int mt_elf_symbols(const struct mt_elf *elf, mt_elf_symbol_fn fn, void *ctx)
{
	static const GElf_Word types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		Elf_Scn *scn = NULL;

		while ((scn = elf_nextscn(elf->elf, scn))) {
			GElf_Shdr sh;
			int err;

			if (!gelf_getshdr(scn, &sh) || sh.sh_type != types[i])
				continue;
			err = table_symbols(elf, scn, &sh, fn, ctx);
			if (err)
				return err;
		}
	}
	return 0;
}
