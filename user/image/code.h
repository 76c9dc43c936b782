/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code bytes of one address space, as the decoder takes them. Whoever gives
 * it (user/image, or a test) keeps it until the decoder is done.
 */
#ifndef MTRACE_IMAGE_CODE_H
#define MTRACE_IMAGE_CODE_H

#include <stddef.h>
#include <stdint.h>

struct pt_image;

struct mt_code {
	/* libipt's view of the same bytes. */
	struct pt_image *image;

	/*
	 * Copy up to @len bytes from run-time address @addr to @buf. Returns how
	 * many there were, 0 where nothing is known of @addr.
	 */
	size_t (*read)(void *ctx, uint64_t addr, uint8_t *buf, size_t len);
	void *ctx;
};

#endif /* MTRACE_IMAGE_CODE_H */
