/*
 * The counters of a part of a process's events: the values of its cells if no other call had been made.
 *
 *   trace ──> walk (replaying.h) ──> cells ──> a reader like the run's own, for all readers of counters (figures.h)
 *
 * Cells about a whole process are left out: system counters, libraries below MPI except for the time of calls,
 * instruments, levels. It needs the memory for the cells of one thread of the process.
 */
#ifndef MPIT_AGGREGATE_REPLAYPART_H
#define MPIT_AGGREGATE_REPLAYPART_H

#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>

/* The selected events. */
struct replay_choice {
    const void *data;
    /* True for a selected call, or event between calls, on any communicator. */
    bool (*has_call)(const void *data, const struct event *call, const struct event_extension *more);
    bool (*has_comm)(const void *data, uint32_t number); /* 0: none */
};

struct replay_cells;

struct replay_part {
    /* The run's reader, but with cells, communicators and threads only of the part. It has threads with a selected
     * call. Valid while the run's reader is awake. Do not close it or put it to rest. */
    struct run_reader reader;
    uint64_t missing; /* events that are not in the trace */
    struct replay_cells *cells;
};

/* Returns 0, or -1 with a reason in error. The part must be closed in both cases. */
int replay_part_open(struct replay_part *part, const struct run_reader *run, const struct replay_choice *choice,
                     char *error, size_t size);
void replay_part_close(struct replay_part *part);

#endif
