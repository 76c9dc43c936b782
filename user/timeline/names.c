// SPDX-License-Identifier: GPL-2.0
/*
 * Names of functions, as linkers and demanglers write them. The names are those
 * of the C library, of the unwinder that gcc and clang share, and of the kernel.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "user/timeline/names.h"

struct trait {
	const char *name;
	unsigned int traits;
};

static const struct trait traits[] = {
	{ "setjmp", MT_TRAIT_SETJMP },
	{ "_setjmp", MT_TRAIT_SETJMP },
	{ "__setjmp", MT_TRAIT_SETJMP },
	{ "sigsetjmp", MT_TRAIT_SETJMP },
	{ "__sigsetjmp", MT_TRAIT_SETJMP },
	{ "longjmp", MT_TRAIT_LONGJMP },
	{ "_longjmp", MT_TRAIT_LONGJMP },
	{ "__longjmp", MT_TRAIT_LONGJMP },
	{ "siglongjmp", MT_TRAIT_LONGJMP },
	{ "__libc_longjmp", MT_TRAIT_LONGJMP },
	{ "__libc_siglongjmp", MT_TRAIT_LONGJMP },
	{ "__longjmp_chk", MT_TRAIT_LONGJMP },
	{ "____longjmp_chk", MT_TRAIT_LONGJMP },
	{ "_Unwind_RaiseException", MT_TRAIT_UNWINDER },
	{ "_Unwind_Resume", MT_TRAIT_UNWINDER },
	{ "_Unwind_Resume_or_Rethrow", MT_TRAIT_UNWINDER },
	{ "_Unwind_ForcedUnwind", MT_TRAIT_UNWINDER },
	{ "execve", MT_TRAIT_EXEC },
	{ "__execve", MT_TRAIT_EXEC },
	{ "execveat", MT_TRAIT_EXEC },
	{ "fexecve", MT_TRAIT_EXEC },
	{ "_start", MT_TRAIT_ENTRY_POINT },
	{ "_dl_start_user", MT_TRAIT_ENTRY_POINT },
	{ "__restore_rt", MT_TRAIT_RESTORER },
	{ "__x86_return_thunk", MT_TRAIT_RETURN_THUNK },
	{ "retbleed_return_thunk", MT_TRAIT_RETURN_THUNK },
	{ "srso_return_thunk", MT_TRAIT_RETURN_THUNK },
	{ "srso_alias_return_thunk", MT_TRAIT_RETURN_THUNK },
	{ "its_return_thunk", MT_TRAIT_RETURN_THUNK },
};

/* What compilers put behind a name for a part or a variant of a function. */
static const char *const suffixes[] = {
	".cold", ".part", ".isra", ".constprop", ".lto_priv", ".llvm", ".ipa", ".localalias",
};

static const char clone[] = " [clone ";

/* Length of @name's first @len characters without one suffix; @len: it has none. */
static size_t strip_suffix(const char *name, size_t len)
{
	const char *from = NULL;
	size_t end = len;
	size_t i, n;

	if (len && name[len - 1] == ']') {
		for (i = 0; i + sizeof(clone) - 1 < len; i++)
			if (!memcmp(name + i, clone, sizeof(clone) - 1))
				return i;
		return len;
	}
	/* ".part.0", ".llvm.123", ".cold" */
	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end < len && end && name[end - 1] == '.')
		end--;
	else
		end = len;
	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		n = strlen(suffixes[i]);
		if (end <= n)
			continue;
		from = name + end - n;
		if (!memcmp(from, suffixes[i], n))
			return end - n;
	}
	return len;
}

static size_t base_length(const char *name)
{
	size_t len = strlen(name);
	size_t shorter;

	while ((shorter = strip_suffix(name, len)) != len)
		len = shorter;
	return len;
}

static bool is_cold(const char *name)
{
	const char *at = strstr(name, ".cold");

	return at && at != name && (!at[5] || at[5] == '.' || at[5] == ']');
}

unsigned int mt_function_traits(const struct mt_function *fn)
{
	const char *name = fn->name;
	size_t len = strcspn(name, "@");	/* "foo@plt", "foo@@GLIBC_2.2.5" */
	unsigned int result = 0;
	size_t i;

	for (i = 0; i < sizeof(traits) / sizeof(traits[0]); i++)
		if (!strncmp(name, traits[i].name, len) && !traits[i].name[len])
			result |= traits[i].traits;
	if (is_cold(name))
		result |= MT_TRAIT_COLD;
	return result;
}

bool mt_function_same(const struct mt_function *a, const struct mt_function *b)
{
	size_t len;

	if (a == b)
		return true;
	if (a->name[0] != b->name[0] || strcmp(a->object, b->object))
		return false;
	len = base_length(a->name);
	if (len != base_length(b->name) || memcmp(a->name, b->name, len))
		return false;
	/* One name twice is two functions, such as static ones of two files. */
	return strcmp(a->name, b->name) != 0;
}
