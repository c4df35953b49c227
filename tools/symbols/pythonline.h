/* Function, file and line of a function of Python: the path of its module has them (pythonplace.h). */
#ifndef MPIT_TOOLS_PYTHONLINE_H
#define MPIT_TOOLS_PYTHONLINE_H

#include "symbols/symbols.h"

/* Writes texts that the caller frees. False: the module is none of Python. */
bool python_line_fill(const char *path, uint64_t address, struct symbol_line *line);

#endif
