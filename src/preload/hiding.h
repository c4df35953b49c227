/*
 * Functions that the program's MPI library lacks. libmpit.so has trampolines for all functions of all MPIs. A program
 * that asks dlsym for one that its own library lacks must get NULL, as without mpit. So libmpit.so takes its definition
 * out of its symbol table. References that the loader has bound before stay.
 */
#ifndef MPIT_PRELOAD_HIDING_H
#define MPIT_PRELOAD_HIDING_H

#include <stdbool.h>
#include <stddef.h>

/* Function i begins at code + i * bytes. Hides those with hidden[i]. If memory cannot be written, nothing changes. */
void symbols_hide(const char *code, size_t bytes, const bool hidden[], size_t count);

#endif
