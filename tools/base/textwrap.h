/* Text in lines of a terminal. */
#ifndef MPIT_TOOLS_TEXTWRAP_H
#define MPIT_TOOLS_TEXTWRAP_H

#include <stdio.h>

enum { SCREEN_COLUMNS = 80 };

/* Prints a text that begins in column `indent`, in lines of at most SCREEN_COLUMNS bytes, and ends the last one. */
void text_wrap(const char *text, unsigned indent, FILE *out);

#endif
