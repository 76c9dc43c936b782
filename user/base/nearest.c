// SPDX-License-Identifier: GPL-2.0
/* The distance of names: Damerau's, on three rows; see the header. */
#include "user/base/nearest.h"

#include <string.h>
#include <strings.h>

/* Names longer than this are compared by their first characters alone. */
#define NEAREST_LEN	128

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

unsigned int mt_name_distance(const char *a, const char *b, unsigned int limit)
{
	unsigned int rows[3][NEAREST_LEN + 1];
	unsigned int *older = rows[0], *old = rows[1], *row = rows[2];
	size_t len_a = strnlen(a, NEAREST_LEN);
	size_t len_b = strnlen(b, NEAREST_LEN);

	if (!strcmp(a, b))
		return 0;
	if (!strcasecmp(a, b))
		return 1;
	if ((len_a > len_b ? len_a - len_b : len_b - len_a) > limit)
		return limit + 1;
	for (size_t j = 0; j <= len_b; j++)
		old[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned int least, *spare;

		least = row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			row[j] = min3(old[j] + 1, row[j - 1] + 1,
				      old[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    older[j - 2] + 1 < row[j])
				row[j] = older[j - 2] + 1;
			if (row[j] < least)
				least = row[j];
		}
		if (least > limit)
			return limit + 1;
		spare = older;
		older = old;
		old = row;
		row = spare;
	}
	return old[len_b] > limit ? limit + 1 : old[len_b];
}

unsigned int mt_name_near(const char *name)
{
	size_t len = strlen(name);

	return len < 4 ? 1 : len < 8 ? 2 : 3;
}
