/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tool says on stderr, in one form: "mtrace-user: error: ..." and
 * "mtrace-user: warning: ...". Results go to stdout or to files, never here.
 */
#ifndef MTRACE_BASE_LOG_H
#define MTRACE_BASE_LOG_H

/* One line that says what was wrong and what to do about it. */
void mt_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Something was changed or lost, and work goes on. */
void mt_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What is being done; left out under --quiet. */
void mt_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void mt_log_set_quiet(int quiet);

#endif /* MTRACE_BASE_LOG_H */
