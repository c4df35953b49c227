/*
 * The requests of a process that are under way: posted, and in nothing that is known of it completed. Looks at the last
 * events of each thread alone, so that it may miss a request that was posted long ago.
 */
#ifndef MPIT_TOOLS_PENDING_H
#define MPIT_TOOLS_PENDING_H

#include "reader/reader.h"

enum request_class;

struct pending {
    unsigned class; /* enum request_class */
    uint32_t comm;  /* number of the communicator; 0: not known */
    int32_t peer;
};

/* Adds the class of request that a call, or a record behind it, posts to the process's own: -1 if it posts none that is
 * matched here (sends, receives, collectives). */
int request_class_posted(const struct event *event);
/* The class of request that a record says the end of; -1: none. */
int request_class_ended(const struct event *event);

/* *list is to be freed. Returns how many there are, or -1: no memory, or the newest events are missing, and with them,
 * maybe, the ends of requests. *whole: there are no others, posted before what is known. */
long pending_find(const struct run_reader *run, struct pending **list, bool *whole);

#endif
