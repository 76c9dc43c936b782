/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tool's only growable array: MT_ARRAY(type) declares one, which is empty
 * when zeroed. Elements move when it grows: keep indices, not pointers.
 */
#ifndef MTRACE_BASE_ARRAY_H
#define MTRACE_BASE_ARRAY_H

#include <stddef.h>

#define MT_ARRAY(type)		\
	struct {		\
		type *data;	\
		size_t count;	\
		size_t room;	\
	}

/*
 * Grow *@data to hold at least @need elements of @elem bytes; the new ones are
 * not initialised. Returns 0 or -ENOMEM (nothing is changed then).
 */
int mt_array_reserve(void **data, size_t *room, size_t need, size_t elem);

/* Append a copy of @value. Evaluates to 0 or -ENOMEM. */
#define mt_array_push(a, value)							\
	({									\
		int _err = 0;							\
		if ((a)->count == (a)->room)					\
			_err = mt_array_reserve((void **)&(a)->data, &(a)->room,\
						(a)->count + 1,			\
						sizeof(*(a)->data));		\
		if (!_err)							\
			(a)->data[(a)->count++] = (value);			\
		_err;								\
	})

#define mt_array_free(a)				\
	do {						\
		free((a)->data);			\
		(a)->data = NULL;			\
		(a)->count = (a)->room = 0;		\
	} while (0)

#endif /* MTRACE_BASE_ARRAY_H */
