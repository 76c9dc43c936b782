/* SPDX-License-Identifier: GPL-2.0 */
/* The tool's version, as --version and a recording's meta.json tell it. */
#ifndef MTRACE_CMD_VERSION_H
#define MTRACE_CMD_VERSION_H

/* MTRACE_VERSION comes from the Makefile. */
#define MT_TOOL		"mtrace-user " MTRACE_VERSION

#endif /* MTRACE_CMD_VERSION_H */
