// SPDX-License-Identifier: GPL-2.0
/*
 * The three kinds of line that the tool writes on stderr. Owns their form and
 * the --quiet switch; knows nothing of what they are about.
 */
#include "user/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static int log_quiet;

/*
 * One write for the whole line: the traced program shares the terminal, and a
 * line in pieces could get its output between them.
 */
static void log_line(const char *kind, const char *fmt, va_list ap)
{
	char line[4096];
	int used, more;

	used = snprintf(line, sizeof(line) - 1, "mtrace-user: %s", kind);
	more = vsnprintf(line + used, sizeof(line) - 1 - used, fmt, ap);
	if (more > 0)
		used += more;
	if (used > (int)sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	line[used] = '\0';
	fputs(line, stderr);
	fflush(stderr);
}

void mt_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("error: ", fmt, ap);
	va_end(ap);
}

void mt_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("warning: ", fmt, ap);
	va_end(ap);
}

void mt_info(const char *fmt, ...)
{
	va_list ap;

	if (log_quiet)
		return;
	va_start(ap, fmt);
	log_line("", fmt, ap);
	va_end(ap);
}

void mt_log_set_quiet(int quiet)
{
	log_quiet = quiet;
}
