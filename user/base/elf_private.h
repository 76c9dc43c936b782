/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an open ELF file is, for elf_symbols.c and elf_plt.c alone.
 */
#ifndef MTRACE_BASE_ELF_PRIVATE_H
#define MTRACE_BASE_ELF_PRIVATE_H

#include <gelf.h>

#include "user/base/array.h"
#include "user/base/elf_symbols.h"

struct mt_elf {
	int fd;
	Elf *elf;
	GElf_Ehdr ehdr;
	char *build_id;
	MT_ARRAY(struct mt_elf_load) loads;
};

#endif /* MTRACE_BASE_ELF_PRIVATE_H */
