/* The script that a command line of Python runs. */
#ifndef MPIT_BASE_SCRIPT_H
#define MPIT_BASE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the script, or the module of -m. `command`: words between blanks, with quotes around words that have some. False: the
 * program is not Python, or the command names neither. */
bool script_of(char *text, size_t bytes, const char *program, const char *command);

#endif
