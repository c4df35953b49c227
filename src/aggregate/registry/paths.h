/*
 * The call paths of the process. A path is an MPI function with the return addresses of its callers. It has a number,
 * in the order of first use. Each thread has counters for each path that it took.
 *
 *   frames ──> path_number ──> path_record in the run file
 *                  │
 *                  └─ thread ──> path_counters: path_cells in the run file
 *
 * At most EVENT_PATHS_MOST paths have a number of their own, and only while there is memory. All others share
 * PATH_OTHERS.
 *
 * Who may run with whom: any thread may call these functions. They take a lock. They are for slow paths.
 */
#ifndef MPIT_AGGREGATE_PATHS_H
#define MPIT_AGGREGATE_PATHS_H

#include "registry/book.h"

struct path_frames {
    enum call kind;
    unsigned flags; /* enum path_flags */
    unsigned count;
    uint64_t frame[PATH_FRAMES_MOST]; /* as in path_record */
};

/* An object that is loaded into the process. */
struct path_module {
    uint64_t bias;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    const char *path; /* "": the program */
};

/* Called when a run begins: it has no paths yet. */
void paths_forget(void);

/* Returns the number of the module for frames. 0: there is no place for it. */
uint32_t path_module_number(const struct path_module *module);

/* Returns the number of the path. 0: there is no memory for any path. */
uint32_t path_number(const struct path_frames *frames);

/* Returns the thread's counters for the path. Makes them at first use. NULL: no memory, which is counted. */
struct path_cells *path_counters(struct ledger *ledger, uint32_t number);

/* The counters of a thread for a path, or NULL. Any thread, without a lock. */
const struct path_cells *path_counters_look(const struct ledger *ledger, uint32_t number);
/* The largest number of a path so far, or 0. Any thread, without a lock. */
uint32_t paths_last(void);

/* A path, as it was recorded. Both stay to the end of the run. */
struct path_found {
    uint32_t number;
    const struct path_record *record;   /* NULL: no such path */
    const struct module_record *module; /* of its innermost frame. NULL: none */
};
/* Finds the records of some paths. Any thread. */
void paths_find(struct path_found *list, size_t count);
/* The address in memory of a frame of a record. 0: it is a function of Python. */
uint64_t path_frame_address(uint64_t frame);

#endif
