/*
 * Events as comma-separated values (RFC 4180, lines end with LF). The first line has the names of the columns. Then
 * there is one line for each call, each record of a call, and each event of an instrument. share/doc/outputs.md has the
 * columns.
 */
#ifndef MPIT_TOOLS_EVENTCSV_H
#define MPIT_TOOLS_EVENTCSV_H

#include "job/timeline.h"

#include <stdio.h>

/* The origin of a line. */
struct csv_source {
    FILE *out;
    const struct timeline *line;
    const struct run_reader *file;
    size_t job; /* 1, 2, ... */
    uint32_t thread;
    uint32_t path; /* of the call. 0: none, or not known */
};

void csv_head(FILE *out);
/* A call, or an event between calls. */
void csv_call(const struct csv_source *source, const struct event *event, const struct event_extension *more);
/* Prints a record of a call that began at `call`. `name` is the name of the record. */
void csv_record(const struct csv_source *source, const char *name, const struct event *event, uint64_t call,
                const struct event_extension *more);
/* The call that the thread was in when its process ended. */
void csv_unfinished(const struct csv_source *source, const struct event *event);
/* Reports that this many records of the thread are missing. */
void csv_missing(const struct csv_source *source, uint64_t count);

#endif
