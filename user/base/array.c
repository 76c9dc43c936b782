// SPDX-License-Identifier: GPL-2.0
/* How MT_ARRAY() grows: by doubling, with every multiplication checked. */
#include "user/base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_FIRST_ROOM	8

int mt_array_reserve(void **data, size_t *room, size_t need, size_t elem)
{
	size_t want = *room ? *room : ARRAY_FIRST_ROOM;
	size_t bytes;
	void *grown;

	if (need <= *room)
		return 0;
	while (want < need) {
		if (want > SIZE_MAX / 2)
			return -ENOMEM;
		want *= 2;
	}
	if (__builtin_mul_overflow(want, elem, &bytes))
		return -ENOMEM;
	grown = realloc(*data, bytes);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*room = want;
	return 0;
}
