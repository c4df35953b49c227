/* A code object of Python: the function and the file it was made from, and the line of an instruction. It is alive. */
#ifndef MPIT_PROBES_PYTHONCODE_H
#define MPIT_PROBES_PYTHONCODE_H

#include "format/runfile.h"

#include <stdint.h>

/* Writes the path of its module (pythonplace.h). */
void python_code_path(const char *code, char path[MODULE_PATH_BYTES]);
/* Returns the address of a frame there. */
uint64_t python_code_address(const char *code, uintptr_t instruction);

#endif
