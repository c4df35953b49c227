/*
 * The walk through a trace that folds it again. Two callers use its cells: a comparison (verification.c), and the
 * counters of a part (replaypart.c).
 *
 *   event ──> wanted? ──> cells of the thread, and of its communicators by slot
 *               │
 *               └─ no ──> cells without a reader (sieve). The fold still gives the call's end and the shares of its
 *                         time to the records of the call, as some of them may be wanted.
 */
#ifndef MPIT_AGGREGATE_REPLAYING_H
#define MPIT_AGGREGATE_REPLAYING_H

#include "figures/fold.h"
#include "reader/reader.h"
#include "replay/replaypart.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replayed_page {
    struct replayed_page *next;
    uint32_t number;
    struct peer_cells cells;
};

struct replayed_comm {
    struct comm_tally tally;
    struct comm_cells cells;
    struct shared_cells shared; /* changes by the thread */
    struct replayed_page *pages;
    uint32_t number; /* of the communicator in the slot, as of the thread's current event */
};

struct extremes;

/* A wanted call inside of another one, which has not returned yet. */
struct replayed_nest {
    uint64_t begin, ticks;
};

/* Selects the wanted events. Records go with their call. If the call has no communicator (MPI_Waitall), the
 * communicator of the record decides. So a communicator gets the requests completed on it. */
struct replay_sieve {
    const struct replay_choice *choice;
    bool call, comm,
        bound; /* of the thread's last call: wanted on any communicator, wanted on its own, with a communicator */
    struct replayed_nest *nests;
    size_t nest_count, nest_room;
    uint64_t calls;                        /* wanted calls of the thread */
    uint64_t session_ticks, closing_ticks; /* of all threads: in opening the first session, and in closing the last, */
    uint64_t session_closed;               /* which began then */
    bool out_of_memory;
    struct thread_cells spare;
    struct fabric_call_cells spare_fabric;
    struct comm_cells spare_comm;
    struct shared_cells spare_shared;
    struct peer_cells spare_page;
};

struct replay {
    const struct run_reader *reader;
    struct tally tally; /* of the thread in progress */
    struct thread_cells thread;
    struct counter_cells counters; /* of that thread */
    struct path_cells *paths;      /* of that thread, by the path's number */
    struct replayed_comm **comms;  /* of that thread, by slot */
    struct region_cells *regions;  /* of that thread, by the instrument's id */
    struct fabric_cells *fabric;   /* of that thread, by the provider's number */
    struct fabric_call_cells fabric_calls;
    struct level_cells pending[FABRIC_PROVIDERS_MOST + 1]; /* of all threads */
    struct shared_cells *shared;                           /* of all threads, by slot */
    struct extremes *extremes;                             /* likewise, for a verification (verification.c) */
    char *report;
    size_t size;
    int differences;
    uint64_t nameless;          /* events of communicators without a name in the file */
    struct replay_sieve *sieve; /* NULL: all events are wanted */
};

struct replayed_comm *replayed_comm_make(struct replay *replay, uint32_t slot);
void replayed_comm_free(struct replayed_comm *comm);
/* Selects the page of that peer. Returns false without memory. */
bool replayed_page_select(struct replayed_comm *comm, int32_t peer);

enum replay_result { REPLAY_WHOLE, REPLAY_NAMELESS, REPLAY_TORN };
/*
 * Applies the events of a thread to its cells, which begin at 0. `missing`: the number of events that are in no chunk.
 */
enum replay_result replay_thread(struct replay *replay, uint32_t thread, uint64_t *missing);

#endif
