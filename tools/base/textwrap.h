/* Text in lines of a terminal. */
#ifndef MPIT_TOOLS_TEXTWRAP_H
#define MPIT_TOOLS_TEXTWRAP_H

#include <stddef.h>
#include <stdio.h>

enum { SCREEN_COLUMNS = 80 };

/* Prints a text that begins in column `indent`, in lines of at most SCREEN_COLUMNS bytes, and ends the last one. */
void text_wrap(const char *text, unsigned indent, FILE *out);

/* Cuts a text that is longer than its column, after a whole character, and puts the dots there. Returns it. */
const char *text_cut(char *text, size_t columns, const char *dots);

#endif
