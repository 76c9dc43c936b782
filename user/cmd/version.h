/* SPDX-License-Identifier: GPL-2.0 */
/* The tool's version, as --version and a recording's meta.json tell it. */
#ifndef MTRACE_CMD_VERSION_H
#define MTRACE_CMD_VERSION_H

#define MT_VERSION	"0.1"
#define MT_TOOL		"mtrace-user " MT_VERSION

#endif /* MTRACE_CMD_VERSION_H */
