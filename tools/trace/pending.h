/*
 * The pending requests of a process: posted, and without a known completion. Reads only the last events of each thread,
 * so it may miss a request that was posted long ago.
 */
#ifndef MPIT_TOOLS_PENDING_H
#define MPIT_TOOLS_PENDING_H

#include "reader/reader.h"

enum request_class;

struct pending {
    unsigned class; /* enum request_class */
    uint32_t comm;  /* number of the communicator, or 0 if unknown */
    int32_t peer;
};

/* Returns the class of the request that the process itself posts with a call, or with a record of a call. Returns -1
 * for other requests than sends, receives and collectives. */
int request_class_posted(const struct event *event);
/* Returns the class of the request that a record ends, or -1 for none. */
int request_class_ended(const struct event *event);

/* The caller frees *list. Returns the number of pending requests, or -1 without memory, or if the newest events are
 * missing, and perhaps the ends of requests. *whole: there are no other pending requests from before the known
 * events. */
long pending_find(const struct run_reader *run, struct pending **list, bool *whole);

#endif
