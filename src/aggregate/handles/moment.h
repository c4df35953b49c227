/*
 * The live state of the process: figures of this moment, which are not counted.
 *
 * The reader computes them from the threads' states and cells. They are exact except at the instant when a call of
 * another thread begins or returns. All functions are lock-free and async-signal-safe.
 *
 * A call in progress counts for its time so far. It may have been folded already, just before it returns. Then its
 * thread's tally.end is later than its begin. A call inside of another one moves tally.end too. The rare path of such
 * calls remembers these ends, with the begin of the outermost call.
 */
#ifndef MPIT_AGGREGATE_MOMENT_H
#define MPIT_AGGREGATE_MOMENT_H

#include "registry/book.h"

/* Ticks of all threads that have called MPI, each from its first call on: inside MPI, stalled there, and at all. */
struct presence {
    uint64_t inside, stalled, alive;
};

/* The state of the calling thread. */
enum mpit_state moment_state(void);

/* The same of every thread: values[i] is of thread i, 0 where there is none. */
void moment_states(int *values, size_t count);
void moment_calls(int *values, size_t count);
/* Nanoseconds since the begin of the call that the thread is in, the outermost one; 0: in none, or it is not timed. */
void moment_call_times(uint64_t *values, size_t count);
/* The kernel's number of the thread; 0: it has ended. */
void moment_thread_ids(uint64_t *values, size_t count);

struct presence moment_presence(void);
/* Ticks that the thread has been in the call in progress, as far as that has not been folded; `end` is its tally's. */
uint64_t moment_progress(const struct ledger *ledger, uint64_t end, uint64_t now);
/* Share of their time that the threads were inside MPI since `then`, 0 .. 1; 0 when no time has passed. */
double moment_fraction(struct presence then);
/* Likewise stalled. Of the call in progress what it has been stalled is told while it is. */
double moment_stall_fraction(struct presence then);
/* How full the fullest event buffer is, 0 .. 1. A trace empties a buffer when it is full; without one it stays so. */
double moment_buffer_fill(void);
/* When a call last returned, in nanoseconds since 1970-01-01 UTC; 0 when none has. */
uint64_t moment_last_return(void);

/* For the recorder, on the thread of the ledger. */
void moment_nest(struct ledger *ledger, uint64_t outer_since); /* a call inside of the one that began then */
void moment_inner_end(struct ledger *ledger, uint64_t end);    /* it is about to be folded */
void moment_thread_end(struct ledger *ledger, uint64_t end);
void moment_thread_return(struct ledger *ledger);                /* another thread takes the ledger of one that ended */
void moment_buffer_make(struct ledger *ledger, uint64_t events); /* a buffer for so many */
void moment_buffer_empty(struct ledger *ledger, uint64_t events); /* after so many, of all time, it begins again */

#endif
