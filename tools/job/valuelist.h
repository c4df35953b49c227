/*
 * The variables of a run as its files tell them: what each process counted, whichever these are. Files describe their
 * cells themselves; nothing here knows a variable by name, but for the names of their slots.
 */
#ifndef MPIT_TOOLS_VALUELIST_H
#define MPIT_TOOLS_VALUELIST_H

#include "reader/reader.h"

#include <jansson.h>
#include <stdio.h>

/* An array, one object for each variable of each process (and communicator) with a name that matches `pattern` (NULL:
 * all): job, rank, communicator, name, class, unit, values. NULL with a reason in error[512]: there is nothing to read.
 * What can be read in part goes on without the rest, with a warning for each. */
json_t *value_list(const char *path, const char *pattern, char error[512]);

/* Adds those of one process, as far as its file has been read. */
void value_list_add(json_t *list, const struct run_reader *run, const char *pattern);
/* One of them, as a line. */
void value_entry_print(const json_t *entry, FILE *out);
void value_list_print(const json_t *list, FILE *out);

#endif
