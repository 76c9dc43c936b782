/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sizes in bytes as people write them, and the rounding of a snapshot's size.
 * Knows nothing of sessions.
 */
#ifndef MTRACE_BASE_SIZE_H
#define MTRACE_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Read "4096", "512K", "4M", "1.5G", "2T", "64P" (powers of 1024; "KB", "KiB"
 * and lower case too) into *@bytes. Returns 0; -EINVAL if @text is no size;
 * -ERANGE if it does not fit in 64 bits.
 */
int mt_size_parse(const char *text, uint64_t *bytes);

/* Write @bytes as the largest unit that is exact, e.g. "4 MiB", "12345 bytes". */
void mt_size_format(uint64_t bytes, char *buf, size_t len);

/* mt_size_round_pages() results */
#define MT_SIZE_EXACT		0	/* was a power-of-two number of pages */
#define MT_SIZE_ROUNDED		1	/* rounded up to one */
#define MT_SIZE_BELOW_PAGE	2	/* below one page: one page */
#define MT_SIZE_ABOVE_MAX	3	/* above 2^48 bytes: 2^48 */

#define MT_SIZE_MAX		(1ULL << 48)

/* Round *@bytes up to a power-of-two number of @page-sized pages; MT_SIZE_*. */
int mt_size_round_pages(uint64_t *bytes, uint64_t page);

#endif /* MTRACE_BASE_SIZE_H */
