/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands: each gets its own arguments (argv[0] is its name) and returns
 * the exit code, MT_EXIT_* or a traced program's under --exit-status. A new
 * command is a file, a line here and a row in main.c.
 */
#ifndef MTRACE_CMD_COMMANDS_H
#define MTRACE_CMD_COMMANDS_H

int mt_cmd_run(int argc, char **argv);
int mt_cmd_decode(int argc, char **argv);
int mt_cmd_snapshot(int argc, char **argv);
int mt_cmd_status(int argc, char **argv);

#endif /* MTRACE_CMD_COMMANDS_H */
