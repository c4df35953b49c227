/*
 * How lists of events show the window or the file of a call, or of the end of its request.
 */
#ifndef MPIT_TOOLS_OBJECTSHOWN_H
#define MPIT_TOOLS_OBJECTSHOWN_H

#include "reader/reader.h"

#include <stdbool.h>

struct object_shown {
    const char *what; /* "window" or "file", or NULL for neither */
    uint32_t number;  /* n: the n-th made on the communicator, 0: unknown */
    size_t record;    /* index of its name in the file's list of objects, or object_count for none */
    bool moves;       /* the event has a number of bytes. Others move none, or do not know it yet */
};

/* `class` is the class of the call, or of the post of the request. `ticks` is a time when the event had its
 * communicator. */
struct object_shown object_shown(const struct run_reader *file, const struct event *event, unsigned class,
                                 uint64_t ticks);
/* Returns the raw name, or NULL if it has none. */
const char *object_shown_name(const struct run_reader *file, const struct object_shown *shown);
/* Returns the class of the calls whose requests such a record ends, or CLASS_OTHER for other records. */
unsigned object_class_ended(unsigned kind);

#endif
