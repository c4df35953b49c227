/*
 * Where a call stalls: the probes of the progress engine report here.
 *
 *   progress engine ── a poll ──> stall_ucx.c, stall_opal.c, stall_sleep.c ──> poll_begin, poll_end ──> log->stall
 *                                                                                                    │
 *   wrapper ── leave: stalled at all? ──> probe_leave_rare ── stall_end ──> RECORD_STALL ────────────┘
 *
 * A call that may wait is at work at first. It is stalled when empty polls in a row have taken about two microseconds.
 * The stall counts from the first of them, until a poll finds something. An answer of a neighbor comes sooner than
 * that, and would come later if each such wait were measured. A thread learns the length of an empty poll from its
 * longer waits, so the first polls need no clock. The last of them reads it when it returns. Later ones read it when
 * they begin. So the poll that finds something, and that may go on to move a large message, belongs to the work. Polls
 * may be nested (Open MPI's progress calls UCX's). The outermost reads the clock, and takes over the finds of the inner
 * ones.
 *
 * A call that does not wait (a test, the posting of a request) is always at work: a program that polls by itself is not
 * stalled in MPI.
 *
 * Who may run with whom: all of it belongs to the thread of the log. Any thread may read thread_record.stalled.
 */
#ifndef MPIT_PROBES_STALL_H
#define MPIT_PROBES_STALL_H

#include "clock/clock.h"
#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

struct event;
struct log;
struct probe;

/* Of the call that the thread is in. */
struct stall {
    uint64_t since; /* since then it has found nothing to do. 0: it is at work */
    uint64_t first; /* begin of its first stall */
    uint64_t ticks; /* the stalls that have ended */
    uint64_t poll;  /* when the outermost poll began, if no patience is left */
    union {
        uint64_t returns; /* 0: the return of the call needs no work. Else: */
        struct {
            uint32_t times; /* number of stalls */
            bool off;       /* the thread had no processor for a while before the call (processor.h) */
        };
    };
    uint32_t kept; /* `left` before the sleep that began this stall */
    union {
        uint64_t polling; /* of these all. It is as large as `left` between polls: */
        struct {
            uint32_t left;  /* empty polls until it is a stall. 0 in a stall */
            uint16_t depth; /* number of nested polls */
            bool found;     /* a nested poll has found something */
            bool slept;     /* a stall has begun inside of it */
        };
    };
    uint64_t working;           /* when the last stall ended */
    uint64_t moved;             /* begin of the last call with a poll that found something */
    uint32_t patience;          /* number of empty polls that are not a stall */
    uint32_t idle;              /* ticks of an empty poll, as learned. 0: not yet */
    uint64_t watched;           /* since then each poll reads the clock, */
    uint32_t polls;             /* and this many have */
    uint64_t work;              /* it is at work since then, which was seen later. For the sampler (sampler.c) */
    uint64_t looked, processor; /* when it was looked how long the thread has had a processor, in ticks */
    uint32_t crowded;           /* number of stalls that begin with such a look */
};

/* In `polling`: one poll, of depth 1, and that it has found something. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "stall.polling has what is left first"
#endif
#define POLL_INSIDE (UINT64_C(1) << 32)
#define POLL_INSIDE_FOUND (UINT64_C(1) << 48)

/* The number of empty polls that are not a stall, at least and at most. */
enum { PATIENCE_LEAST = 16, PATIENCE_MOST = 256 };
extern LIBRARY_LOCAL uint32_t stall_patience; /* until a thread has learned their length. 0: they yield */

/* Finds the kinds of calls that may wait. */
void stall_open(void);
/* MPI has begun. `yields`: an empty poll gives the processor away, and may last as long as others want that. Then each
 * one is a stall. */
void stall_scale(struct log *log, struct clock_scale scale, bool yields);

/* poll_begin and poll_end, around a poll of the progress engine, are in polling.h. They use: */
extern LIBRARY_LOCAL uint8_t stall_may_wait[]; /* by kind */
void stall_poll_begin(struct log *log);
void poll_outermost_end(struct log *log);

/* Nested code has found something in a poll. */
void poll_found(void);

/* Call these around a sleep of the thread, outside of polls or inside. Returns NULL if there is nothing to do after
 * it. */
struct log *sleep_begin(void);
void sleep_end(struct log *log);

/* An outermost call begins: it is in no poll. */
static inline __attribute__((always_inline)) void stall_call_begin(struct stall *stall)
{
    stall->polling = stall->patience;
}
/* The outermost call has ended: makes the record of its stalls, and clears them. False: it is not timed. */
bool stall_end(struct log *log, const struct probe *probe, const struct event *call, uint64_t duration,
               struct event *record);
/* The call was left by a jump, or its thread ended. */
void stall_forget(struct log *log);

/* A probe that watches polls rests while waits are short (stall_opal.c). Then only few polls are counted. Better
 * evidence of a wait (a sleep, a socket) ends the rest. */
extern LIBRARY_LOCAL struct stall_rest {
    bool rests;
    uint32_t calls; /* calls with polls since the last stall. Threads may lose one of another */
} stall_rest;

/* ---- the probes: each says whether MPI uses its progress engine -------- */

bool stall_ucx_here(void);
bool stall_opal_here(void);
/* Of stall_opal.c: its watch may rest from now on, because one thread at a time calls MPI and MPI_Init has polled.
 * False: it may never rest again. */
void stall_opal_rest(bool may);
/* The watch rests, and may have missed a stall: ends the rest. */
void stall_opal_rest_end(void);
bool stall_fabric_here(void);

#endif
