/*
 * Small run files that are right in every byte, made by hand with the writer (run.h) and the fold.
 *
 *   fixture ── run ──> the file
 *     │─ comms[slot]      record and shared cells
 *     └─ threads[index]   record, cells, buffer of events, views[slot] with their pages of peers
 *
 * fixture_emit does what the recorder does with an event: folds it, keeps it, counts it.
 */
#ifndef MPIT_UNIT_RUNFIXTURE_H
#define MPIT_UNIT_RUNFIXTURE_H

#include "fold.h"
#include "run.h"

/* Ids of the instruments that fixture_instruments_add makes. */
enum { FIXTURE_REGION = 1, FIXTURE_STATE = 2, FIXTURE_ARRAY = 4 };

enum { FIXTURE_THREADS = 4, FIXTURE_COMMS = 4, FIXTURE_PAGES = 16, FIXTURE_BEGIN_TICKS = 1000 };

struct fixture_view {
    struct comm_tally tally;
    struct peer_cells *pages[FIXTURE_PAGES];
};

struct fixture_thread {
    struct thread_record *record;
    struct tally tally;
    struct chunk_header *ring;
    struct region_cells *region; /* of FIXTURE_REGION */
    struct fixture_view views[FIXTURE_COMMS];
};

struct fixture {
    char directory[64];
    struct run run;
    struct run_problem problem;
    struct fixture_thread threads[FIXTURE_THREADS];
    struct comm_record *comms[FIXTURE_COMMS];
    struct shared_cells *shared[FIXTURE_COMMS];
};

/* A new directory of its own under TMPDIR, and what removes it with all that it holds. */
void fixture_directory_make(char directory[64]);
void fixture_directory_remove(const char *directory);

/* A run in a new directory, with its tables, in the middle of MPI_Init. */
void fixture_open(struct fixture *fixture);
/* Communicator `slot` of `size` processes (its slot is not 0). */
void fixture_comm_add(struct fixture *fixture, uint32_t slot, int32_t size, const char *name);
/* A region, a state with names for its values, and an array that is bound to communicator 1. */
void fixture_instruments_add(struct fixture *fixture);
/* Thread `index` with a buffer for `capacity` events; each time that it is full, it goes to the trace. */
void fixture_thread_add(struct fixture *fixture, uint32_t index, uint32_t capacity);
void fixture_emit(struct fixture *fixture, uint32_t thread, struct event event, const struct event_extension *more);
/* Closes the run; the file stays until fixture_remove. */
void fixture_close(struct fixture *fixture, enum run_phase phase);
void fixture_remove(struct fixture *fixture);

/* A finished run: two communicators, two threads whose traces hold every kind of record, peers on several pages. */
void fixture_fill(struct fixture *fixture);

#endif
