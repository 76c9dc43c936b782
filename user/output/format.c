// SPDX-License-Identifier: GPL-2.0
/*
 * Words and text that the formats share.
 */
#include <stdbool.h>
#include <string.h>

#include "user/output/format.h"

static const struct {
	uint32_t flag;
	const char *word;
} flag_words[] = {
	{ MT_SLICE_F_NO_CALL, "no-call" },
	{ MT_SLICE_F_NO_RETURN, "no-return" },
	{ MT_SLICE_F_TAIL_CALL, "tail-call" },
	{ MT_SLICE_F_UNTRACED, "untraced" },
	{ MT_SLICE_F_SYSCALL, "syscall" },
	{ MT_SLICE_F_GAP, "gap" },
	{ MT_SLICE_F_ASYNC, "async" },
	{ MT_SLICE_F_TRIGGER, "trigger" },
};

void mt_flags_text(uint32_t flags, const char *separator, char text[MT_FLAGS_TEXT_MAX])
{
	char *at = text;
	size_t i;

	*at = '\0';
	for (i = 0; i < sizeof(flag_words) / sizeof(flag_words[0]); i++) {
		if (!(flags & flag_words[i].flag))
			continue;
		if (at != text)
			at = stpcpy(at, separator);
		at = stpcpy(at, flag_words[i].word);
	}
}

const char *mt_reason_text(enum mt_reason reason)
{
	switch (reason) {
	case MT_REASON_TRIGGER:
		return "trigger";
	case MT_REASON_COMMAND:
		return "command";
	case MT_REASON_EXIT:
		return "exit";
	case MT_REASON_EXEC:
		return "exec";
	}
	return "unknown reason";
}

/* Bytes of the UTF-8 character at @s, 0: there is none. */
static size_t utf8_length(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t len, i;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	code = s[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* Not the shortest form, a surrogate, or beyond Unicode. */
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return len;
}

size_t mt_clean_text(const char *from, char *to, size_t len)
{
	size_t done = 0;
	size_t n;

	while (*from) {
		n = utf8_length((const unsigned char *)from);
		if (done + (n ? n : 1) > len)
			break;
		if (n) {
			memcpy(to + done, from, n);
		} else {
			to[done] = '?';
			n = 1;
		}
		done += n;
		from += n;
	}
	return done;
}
