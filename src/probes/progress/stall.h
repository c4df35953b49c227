/*
 * Where a call stalls: the probes of the progress engine tell it here.
 *
 *   progress engine ── a poll ──> stall_ucx.c, stall_opal.c, stall_sleep.c ──> poll_begin, poll_end ──> log->stall
 *                                                                                                    │
 *   wrapper ── leave: stalled at all? ──> probe_leave_rare ── stall_end ──> RECORD_STALL ────────────┘
 *
 * A call that may wait is at work until so many polls in a row have found nothing that they took about two
 * microseconds: an answer of a neighbour comes sooner, and would come later if each such wait were measured. Then it is
 * stalled, since the first of them, until a poll finds something. How long a poll takes that finds nothing, a thread
 * learns from its longer waits, so that these first ones need no clock. The last of them reads it when it returns.
 * Later ones read it when they begin, so that the one that finds something, which may go on to move a large message,
 * belongs to the work. Polls may lie inside of each other (Open MPI's progress calls UCX's): the outermost reads the
 * clock, and has found what those inside of it found.
 *
 * A call that does not wait (a test, the posting of a request) is at work, whatever its poll finds: a program that
 * polls by itself is not stalled in MPI.
 *
 * Who may run with whom: all of it belongs to the thread of the log. thread_record.stalled is read by anyone.
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
    uint64_t since; /* it found nothing to do from then on; 0: it is at work */
    uint64_t first; /* when that was so for the first time */
    uint64_t ticks; /* the stalls that have ended */
    uint64_t poll;  /* when the outermost poll began, of those in a stall */
    uint32_t times; /* how many stalls; 0: none, and nothing has to be done when it returns */
    union {
        uint64_t polling; /* of these all; it is as large as `left` between polls: */
        struct {
            uint32_t left;  /* polls in vain that are no stall yet; 0 in a stall */
            uint16_t depth; /* polls, one inside of the other */
            bool found;     /* one inside of the outermost has found something */
            bool slept;     /* a stall has begun inside of it */
        };
    };
    uint64_t working;  /* the last stall ended then */
    uint64_t moved;    /* when the call began of which a poll has last found something */
    uint32_t patience; /* so many polls in vain are no stall */
    uint32_t idle;     /* ticks that one takes, as learned; 0: not yet */
    uint64_t watched;  /* since then each poll reads the clock, */
    uint32_t polls;    /* and so many have */
    uint64_t work;     /* from then on it was at work, which was seen later: samples have to be told (sampler.c) */
};

/* In `polling`: one poll, of depth 1, and that it has found something. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "stall.polling has what is left first"
#endif
#define POLL_INSIDE (UINT64_C(1) << 32)
#define POLL_INSIDE_FOUND (UINT64_C(1) << 48)

/* So many polls in vain are no stall, until a thread has learned how long they take, and ever; and at most so many. */
enum { PATIENCE_LEAST = 16, PATIENCE_MOST = 256 };

/* Calls that may wait, by kind. */
void stall_open(void);
/* How many ticks two microseconds are. */
void stall_scale(struct clock_scale scale);

/* poll_begin and poll_end, around a poll of the progress engine, are in polling.h; for these: */
extern LIBRARY_LOCAL uint8_t stall_may_wait[]; /* by kind */
void stall_poll_begin(struct log *log);
void poll_outermost_end(struct log *log);

/* Something inside of a poll has found something. */
void poll_found(void);

/* Around what lets the thread sleep, outside of polls or inside. NULL: nothing has to be done when it wakes up. */
struct log *sleep_begin(void);
void sleep_end(struct log *log);

/* An outermost call begins: it is in no poll. */
static inline __attribute__((always_inline)) void stall_call_begin(struct stall *stall)
{
    stall->polling = stall->patience;
}
/* The outermost call has ended: how it stalled, as a record; clears it. False: it is not timed. */
bool stall_end(struct log *log, const struct probe *probe, const struct event *call, uint64_t duration,
               struct event *record);
/* The call was left by a jump, or with its thread. */
void stall_forget(struct log *log);

/* A probe that looks at polls rests while waits are short (stall_opal.c): who knows better than the few polls that are
 * counted then (a sleep, a socket) ends that. */
extern LIBRARY_LOCAL struct stall_rest {
    bool rests;
    uint32_t calls;    /* so many that polled have come since one has stalled */
    void (*end)(void); /* of the probe that rests */
} stall_rest;

/* ---- the probes: each says whether what it watches is what MPI uses ---- */

bool stall_ucx_here(void);
bool stall_opal_here(void);
/* Of stall_opal.c: its watch may rest from now on, as one thread at a time calls MPI and MPI_Init has polled; or never
 * again. */
void stall_opal_rest(bool may);
bool stall_fabric_here(void);

#endif
