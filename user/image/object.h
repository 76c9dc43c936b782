/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One file with code (a program, a library, an image kept in the recording): its
 * bytes and its functions, wherever and however often it is mapped. This is
 * where a file is found to be missing or not the one that ran.
 */
#ifndef MTRACE_IMAGE_OBJECT_H
#define MTRACE_IMAGE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/image/function.h"
#include "user/image/symbols.h"

struct mt_object {
	char *name;		/* as in the process's maps */
	char *build_id;		/* that the recording gave, or NULL */
	char *file;		/* that was opened; NULL where there are no bytes */
	bool is_image;		/* file holds just one mapping, not the whole object */
	bool is_elf;
	const uint8_t *bytes;	/* of file, mapped */
	size_t len;
	struct mt_symbols symbols;
	MT_ARRAY(struct mt_elf_load) loads;
};

/*
 * Open the code that a map named @name: from @image (a path, or NULL) or else
 * from the file @name. What is missing, unreadable or has another build-id than
 * @build_id gives an object without bytes, after one warning. 0 or -ENOMEM.
 */
int mt_object_open(const char *name, const char *build_id, const char *image,
		   struct mt_object **out);
void mt_object_close(struct mt_object *object);

/*
 * The address, in the object's own terms, of what is mapped from @offset: by its
 * program headers where there are any, else @offset itself.
 */
uint64_t mt_object_vaddr(const struct mt_object *object, uint64_t offset);

/* An object at one place: its functions with their run-time addresses. */
struct mt_placed {
	const struct mt_object *object;
	uint64_t bias;			/* run-time address - object's address */
	uint64_t hole_start;		/* run-time limits of a function that has ... */
	uint64_t hole_end;		/* ... no symbol */
	struct mt_function *functions;	/* one a symbol */
	struct mt_function **holes;	/* one before each span and one after all;
					 * NULL until asked for */
};

/* [@start, @end) is the mapping. Returns 0 or -ENOMEM. */
int mt_placed_new(const struct mt_object *object, uint64_t bias, uint64_t start, uint64_t end,
		  struct mt_placed **out);
void mt_placed_free(struct mt_placed *placed);

/*
 * The function at run-time address @addr; NULL if there was no memory for it.
 * [*@start, *@end) is the stretch around @addr that is certain to be the same
 * function's: less than the function where another one lies inside it.
 */
const struct mt_function *mt_placed_find(struct mt_placed *placed, uint64_t addr,
					 uint64_t *start, uint64_t *end);

#endif /* MTRACE_IMAGE_OBJECT_H */
