/*
 * The variables of a run, as in its files: the counts of each process. Files describe their counters themselves.
 * Nothing here depends on the name of a variable, except the names of its slots.
 */
#ifndef MPIT_TOOLS_VALUELIST_H
#define MPIT_TOOLS_VALUELIST_H

#include "reader/reader.h"

#include <jansson.h>
#include <stdio.h>

/* Returns an array with one object for each variable of each process (and communicator) whose name matches `pattern`
 * (NULL: all). An object has job, rank, communicator, name, class, unit, values. Returns NULL with a reason in
 * error[512] if it cannot read anything. If it can read only a part, it warns about each missing part. */
json_t *value_list(const char *path, const char *pattern, char error[512]);

/* Adds the variables of one process, as far as its file has been read. */
void value_list_add(json_t *list, const struct run_reader *run, const char *pattern);
/* Prints one entry as a line. */
void value_entry_print(const json_t *entry, FILE *out);
void value_list_print(const json_t *list, FILE *out);

#endif
