// SPDX-License-Identifier: GPL-2.0
/* Sizes as text, and the rounding of a snapshot's size; see the header. */
#include "user/base/size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char size_letters[] = "KMGTPE";

/* Bits to shift by for the unit at @text, or -1 if it is none. */
static int size_unit_shift(const char *text)
{
	const char *letter;

	if (!*text || !strcasecmp(text, "B"))
		return 0;
	letter = strchr(size_letters, toupper((unsigned char)*text));
	if (!letter)
		return -1;
	text++;
	if (*text && strcasecmp(text, "B") && strcasecmp(text, "iB"))
		return -1;
	return 10 * (int)(letter - size_letters + 1);
}

/*
 * The digits behind the point of "1.5G", as a fraction of one @shift unit,
 * rounded down to a whole byte: digit by digit, for the sum of an exact long
 * division needs no floating point.
 */
static uint64_t size_fraction(const char *digits, size_t count, int shift)
{
	unsigned __int128 sum = 0, scale = 1;

	/* 2^60 times 10^18 fits in 128 bits, and finer than 10^-18 of an exabyte is no byte. */
	if (count > 18)
		count = 18;
	for (size_t i = 0; i < count; i++) {
		sum = sum * 10 + (unsigned int)(digits[i] - '0');
		scale *= 10;
	}
	return (uint64_t)((sum << shift) / scale);
}

int mt_size_parse(const char *text, uint64_t *bytes)
{
	const char *fraction = NULL;
	size_t fraction_digits = 0;
	uint64_t whole = 0, sum;
	bool overflow = false;
	const char *p = text;
	int shift;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		overflow |= __builtin_mul_overflow(whole, 10, &whole);
		overflow |= __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole);
	}
	if (*p == '.') {
		fraction = ++p;
		while (isdigit((unsigned char)*p))
			p++;
		fraction_digits = p - fraction;
		if (!fraction_digits)
			return -EINVAL;
	}
	while (*p == ' ')
		p++;
	shift = size_unit_shift(p);
	if (shift < 0)
		return -EINVAL;
	if (overflow || whole > UINT64_MAX >> shift)
		return -ERANGE;
	sum = whole << shift;
	if (fraction &&
	    __builtin_add_overflow(sum, size_fraction(fraction, fraction_digits, shift), &sum))
		return -ERANGE;
	*bytes = sum;
	return 0;
}

void mt_size_format(uint64_t bytes, char *buf, size_t len)
{
	int unit = 0;

	while (bytes && !(bytes & 1023) && size_letters[unit]) {
		bytes >>= 10;
		unit++;
	}
	if (unit)
		snprintf(buf, len, "%" PRIu64 " %ciB", bytes, size_letters[unit - 1]);
	else
		snprintf(buf, len, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
}

int mt_size_round_pages(uint64_t *bytes, uint64_t page)
{
	uint64_t size = page;

	if (*bytes > MT_SIZE_MAX) {
		*bytes = MT_SIZE_MAX;
		return MT_SIZE_ABOVE_MAX;
	}
	if (*bytes < page) {
		*bytes = page;
		return MT_SIZE_BELOW_PAGE;
	}
	while (size < *bytes)
		size *= 2;
	if (size == *bytes)
		return MT_SIZE_EXACT;
	*bytes = size;
	return MT_SIZE_ROUNDED;
}
