/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Expected bytes as annotated text: hexadecimal bytes, and from "#" to the end
 * of the line what they mean and where the SDM says so (volume 3C, chapter 36).
 */
#ifndef ANNOTATED_H
#define ANNOTATED_H

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline size_t annotated_bytes(const char *text, uint8_t *out)
{
	size_t n = 0;

	while (*text) {
		if (*text == '#') {
			text += strcspn(text, "\n");
		} else if (isxdigit(*text)) {
			char *end;

			out[n++] = strtoul(text, &end, 16);
			text = end;
		} else {
			text++;
		}
	}
	return n;
}

static inline void assert_bytes(const uint8_t *got, size_t len, const char *text,
				const char *file, int line)
{
	uint8_t want[4096];
	const size_t n = annotated_bytes(text, want);
	size_t i;

	if (n == len && !memcmp(want, got, n))
		return;

	print_error("expected:\n%s\ngot %zu bytes, expected %zu:", text, len, n);
	for (i = 0; i < len; i++)
		print_error("%s%02x", i < n && got[i] == want[i] ? " " : " !", got[i]);
	print_error("\n");
	_fail(file, line);
}

#endif
