/*
 * The live state of the process: current figures, which are not counted.
 *
 * The reader computes them from the threads' states and cells. They are exact except at the instant when a call of
 * another thread begins or returns. All functions are lock-free and async-signal-safe.
 *
 * A call in progress counts for its time so far. It may have been counted already, just before it returns. Then its
 * thread's tally.end is later than its begin. A call inside of another one moves tally.end too. The rare path of such
 * calls stores these ends, with the begin of the outermost call.
 */
#ifndef MPIT_AGGREGATE_MOMENT_H
#define MPIT_AGGREGATE_MOMENT_H

#include "registry/book.h"

/* Ticks of all threads that have called MPI, each from its first call on: inside MPI, stalled there, and in total. */
struct presence {
    uint64_t inside, stalled, alive;
};

/* The state of the calling thread. */
enum mpit_state moment_state(void);

/* The same for every thread. values[i] is of thread i, 0 if there is none. */
void moment_states(int *values, size_t count);
void moment_calls(int *values, size_t count);
/* Nanoseconds since the begin of the thread's outermost call. 0: in none, or it is not timed. */
void moment_call_times(uint64_t *values, size_t count);
/* The kernel's number of the thread. 0: it has ended. */
void moment_thread_ids(uint64_t *values, size_t count);

struct presence moment_presence(void);
/* Ticks of the thread's outermost calls that have returned. */
uint64_t moment_folded(const struct thread_cells *cells);
/* Ticks of the call in progress that are not counted yet. `end` is from its thread's tally. */
uint64_t moment_progress(const struct ledger *ledger, uint64_t end, uint64_t now);
/* The share of time that the threads were inside MPI since `then`, 0 .. 1. 0 when no time has passed. */
double moment_fraction(struct presence then);
/* Likewise for stalled. The stalled time of a call in progress is included. */
double moment_stall_fraction(struct presence then);
/* How full the fullest event buffer is, 0 .. 1. A trace empties a full buffer. Without a trace it stays full. */
double moment_buffer_fill(void);
/* When a call last returned, in nanoseconds since 1970-01-01 UTC. 0: none has. */
uint64_t moment_last_return(void);

/* For the recorder, on the thread of the ledger. */
void moment_nest(struct ledger *ledger, uint64_t outer_since); /* a call inside of the call that began then */
void moment_inner_end(struct ledger *ledger, uint64_t end);    /* just before it is counted */
void moment_thread_end(struct ledger *ledger, uint64_t end);
void moment_thread_return(struct ledger *ledger);                /* another thread takes the ledger of one that ended */
void moment_buffer_make(struct ledger *ledger, uint64_t events); /* a buffer for so many */
void moment_buffer_empty(struct ledger *ledger, uint64_t events); /* it begins again after so many events in total */

#endif
