/*
 * A variable's values by name, from this process's registry or from a run file. Times are in nanoseconds.
 */
#ifndef MPIT_AGGREGATE_FIGURES_H
#define MPIT_AGGREGATE_FIGURES_H

#include "reader/reader.h"
#include "figures/variables.h"

#include <stdbool.h>

struct comm;

struct figures {
    const struct run_reader *run; /* NULL: this process's registry */
};

/* A communicator in either. */
struct figures_comm {
    const struct comm *live;
    uint32_t slot;
    const char *name, *label; /* label: as in the record (label.h) */
    uint64_t merged;          /* how many communicators are in it */
    bool is_sum;              /* of freed ones */
    int32_t size, peers;      /* peers: of the (remote) group */
};

/* Reads up to `count` values (the rest 0). Returns how many there are. 0: unknown variable. */
size_t figures_read(const struct figures *figures, const char *name, enum variable_class class,
                    const struct figures_comm *comm, uint64_t *values, size_t count);

/* The same for a variable of `run` itself. */
size_t figures_of_record(const struct run_reader *run, const struct variable_record *record,
                         const struct figures_comm *comm, uint64_t *values, size_t count);

/* Adds the counters of blocks first .. end - 1 of the file to the variable's accumulators (variables.h). They are of one
 * thread, or of ANY_THREAD. */
void figures_blocks_add(const struct run_reader *run, const struct variable_record *record, size_t first, size_t end,
                        uint32_t thread, uint64_t *values, size_t count);

/* The first value. */
uint64_t figures_one(const struct figures *figures, const char *name, enum variable_class class,
                     const struct figures_comm *comm);

/* The count of a counter, by place. */
void figures_counter(const struct figures *figures, unsigned counter, uint64_t places[PLACE_COUNT]);

/* The communicators one by one: *at begins at 0. False at the end. */
bool figures_comm_next(const struct figures *figures, uint32_t *at, struct figures_comm *comm);

#endif
