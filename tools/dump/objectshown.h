/*
 * What lists of events say of the window or the file that a call, or the end of its request, is about.
 */
#ifndef MPIT_TOOLS_OBJECTSHOWN_H
#define MPIT_TOOLS_OBJECTSHOWN_H

#include "reader/reader.h"

#include <stdbool.h>

struct object_shown {
    const char *what; /* "window" or "file"; NULL: it is about none */
    uint32_t number;  /* so many had been made on the communicator; 0: not known */
    size_t record;    /* what it is called, by place in the file's list of objects; its object_count: nothing */
    bool moves;       /* the event says how many bytes; others move none, or do not know it yet */
};

/* `class` of the call, or of what posted the request; `ticks`: when the event had its communicator. */
struct object_shown object_shown(const struct run_reader *file, const struct event *event, unsigned class,
                                 uint64_t ticks);
/* Not cleaned; NULL: it has none. */
const char *object_shown_name(const struct run_reader *file, const struct object_shown *shown);
/* That of the calls whose requests such a record ends; CLASS_OTHER: it is another one. */
unsigned object_class_ended(unsigned kind);

#endif
