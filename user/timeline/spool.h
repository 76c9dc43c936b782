/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An array that may outgrow memory: where it is large it lives in an unlinked
 * temporary file that is mapped, so that the kernel can write it out. Knows nothing
 * of its elements.
 *
 * The file is made in $TMPDIR, else in /var/tmp (which, unlike /tmp, is on a
 * disk); it is gone when the process is, however it ends.
 */
#ifndef MTRACE_TIMELINE_SPOOL_H
#define MTRACE_TIMELINE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

struct mt_spool {
	char *map;
	size_t elem;		/* bytes of one element */
	uint64_t count;
	uint64_t room;
	size_t mapped;		/* bytes */
	int fd;
};

/* Make @spool an empty array of elements of @elem bytes. Takes no resource yet. */
void mt_spool_init(struct mt_spool *spool, size_t elem);
void mt_spool_free(struct mt_spool *spool);

/*
 * Append one element that is not initialised and return it in *@element. Elements
 * move when the spool grows: keep indices, not pointers. Returns 0 or -errno
 * (-ENOSPC: the file system is full) after a message, and can then only be freed.
 */
int mt_spool_push(struct mt_spool *spool, void **element);

/* Element @index, which must be below spool->count. */
static inline void *mt_spool_at(const struct mt_spool *spool, uint64_t index)
{
	return spool->map + index * spool->elem;
}

#endif /* MTRACE_TIMELINE_SPOOL_H */
