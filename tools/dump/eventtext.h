/*
 * Events as text for people: a line for each call and, indented under it, a line for each of its records. For programs,
 * see eventcsv.h.
 */
#ifndef MPIT_TOOLS_EVENTTEXT_H
#define MPIT_TOOLS_EVENTTEXT_H

#include "reader/readergaps.h"
#include "job/timeline.h"

#include <stdio.h>

/* The widths of the columns. */
struct text_columns {
    int seconds, call, comm;
};

#define TEXT_COLUMNS_LEAST                                                                                             \
    (struct text_columns)                                                                                              \
    {                                                                                                                  \
        .seconds = 14, .call = 22, .comm = 24                                                                          \
    }

/* The origin of a line. */
struct text_source {
    FILE *out;
    const struct timeline *line;
    const struct text_columns *columns;
    const struct run_reader *file;
    uint32_t thread;
    uint32_t path;     /* of the call. 0: none, or not known */
    const char *place; /* of the call in the program: shown instead of the path. NULL: not looked up. "": not known */
};

/* Widens the columns for the contents of the file. */
void eventtext_measure(struct text_columns *columns, const struct timeline *line, const struct run_reader *file);

void eventtext_head(FILE *out, const struct text_columns *columns);
/* A call, or an event between calls, and when it began. */
void eventtext_call(const struct text_source *source, const struct event *event, int64_t begin_ns,
                    const struct event_extension *more);
/* Prints a record of a call that began at `call`. `name` is the name of the record. */
void eventtext_record(const struct text_source *source, const char *name, const struct event *event, uint64_t call,
                      const struct event_extension *more);
/* The call that the thread was in when its process ended. */
void eventtext_unfinished(const struct text_source *source, const struct event *event);
/* Reports the gap between the call that began at `since_ns` (-1: the start) and the call that began at `begin_ns`. */
void eventtext_gap(const struct text_source *source, const struct run_gap *gap, int64_t begin_ns, int64_t since_ns);
/* Reports that this many records of the thread are missing. */
void eventtext_missing(const struct text_source *source, uint64_t count);

#endif
