/*
 * The parts of command lines that all tools have in common.
 */
#ifndef MPIT_TOOLS_OPTIONS_H
#define MPIT_TOOLS_OPTIONS_H

/* For a wrong command line: prints the message and where to find help. Exit status 2. */
enum { EXIT_USAGE = 2 };

/* For getopt_long's ':' and '?' (an option string that begins with "+:" or ":"): names the option and ends the tool. */
__attribute__((noreturn)) void option_reject(int result, char *const argv[]);

/* For any other error in the command line. */
__attribute__((noreturn, format(printf, 1, 2))) void usage_reject(const char *format, ...);

/* Writes the help or the version, and ends the tool: 0, or 1 when standard output fails. */
__attribute__((noreturn)) void text_and_exit(const char *text);

/* Closes standard output. If a write has failed, ends the tool with a message and status 1. */
void output_close(void);

#endif
