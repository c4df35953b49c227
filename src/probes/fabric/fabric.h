/*
 * Operations below MPI: calls and polls of libfabric and UCX, while they are recorded.
 *
 *   fabric_ofi.c ──┐ fabric_begin, fabric_end     ┌─> events of the thread, folded into the cells of the provider
 *   fabric_ucx.c ──┤ fabric_poll_begin, _end ─────┤
 *                  └────────────────── log->fabric└─> sums of the MPI call that the thread is in ── it returns
 *                                                       ──> RECORD_FABRIC, RECORD_TRANSFERS
 *
 * Operations are counted where the program or the MPI library calls them. Calls that a provider makes to another
 * provider below it, or to itself, are inside of the operation. An operation that begins while the progress engine runs
 * (a callback of UCX, a schedule of Open MPI's nonblocking collectives) serves another call than the one that the
 * thread is in.
 *
 * Polls are counted in a sum. The sum becomes an event when the call returns, when polls found something outside of
 * MPI, and once in POLLS_MOST polls (inside of a call also at most once a second). The same holds for refused
 * operations.
 *
 * While recording is off, none of it is called. The tables of libfabric's objects have the provider's own entries. The
 * gates of UCX lead past mpit where the target is known.
 *
 * Who may run with whom: each thread has its own state. Any thread and any signal handler may turn the switch.
 */
#ifndef MPIT_PROBES_FABRIC_H
#define MPIT_PROBES_FABRIC_H

#include "format/fabriccalls.h"
#include "thread/log.h"

/* A library below MPI, by the name of its probe. Never freed. */
struct fabric_provider {
    struct fabric_provider *next;
    uint32_t number;     /* in the registry, once it was used. 0: not yet */
    bool refused;        /* there is no place for it */
    uint32_t epoch;      /* fabric_epoch at its first use since recording is on */
    int64_t outstanding; /* below 0: threads have seen completions before their operations were counted */
    char name[PROVIDER_NAME_BYTES];
};

/* A provider's sums that wait to become an event. .kind 0: nothing. */
struct fabric_waiting {
    struct event polls, again, done;
};

/* The state of a thread. */
struct fabric {
    struct fabric_provider *selected; /* the accumulator is set to this one */
    uint32_t epoch;                   /* fabric_epoch, when it was selected */
    uint32_t inside;                  /* of an operation: nested calls are not counted */
    bool polling;
    struct fabric_waiting waiting[FABRIC_PROVIDERS_MOST + 1]; /* by the provider's number */
    /* of the outermost MPI call that the thread is in: */
    uint64_t ticks;
    uint64_t first, last; /* of a collective: begin of the first transfer, end of the last */
    uint32_t transfers, others;
    bool used; /* there is something to record when it returns */
};

/* An operation, or a poll, on the stack of its probe. */
struct fabric_op {
    struct log *log; /* NULL: it is not recorded */
    struct fabric *fabric;
    struct fabric_provider *provider;
    uint64_t begin;
    uint64_t key; /* of the message (fabric_keys.h). 0: none */
    bool nested;  /* in a poll */
};

/* Recording of libfabric and UCX is on. */
extern LIBRARY_LOCAL bool fabric_on;
/* How often recording was switched on. Operations that were outstanding before are forgotten, because their ends were
 * missed. */
extern LIBRARY_LOCAL uint32_t fabric_epoch;

struct fabric_provider *fabric_provider(const char *name);

/* Call these around an operation. */
void fabric_begin_watched(struct fabric_op *op, struct fabric_provider *provider);
HOT void fabric_begin(struct fabric_op *op, struct fabric_provider *provider)
{
    op->log = NULL;
    if (__builtin_expect(RELAXED_LOAD(&fabric_on), 0))
        fabric_begin_watched(op, provider);
}

enum fabric_outcome {
    FABRIC_DONE,    /* begun, and complete or without a report of its completion */
    FABRIC_PENDING, /* begun */
    FABRIC_AGAIN,
    FABRIC_FAILED,
};
void fabric_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, enum fabric_outcome outcome);

/* Call these around a poll, where callbacks may begin operations. `completed`: number of completed operations. `found`:
 * the poll was not empty. */
void fabric_poll_begin(struct fabric_op *op, struct fabric_provider *provider);
void fabric_poll_end(struct fabric_op *op, bool found, uint32_t completed);
/* For a poll that an operation makes itself until it is complete. Callbacks of the program may begin operations
 * there. */
void fabric_within_begin(struct fabric_op *op);
void fabric_within_end(struct fabric_op *op);
/* An operation is complete, which is reported outside of a poll. `failed`: with an error. */
void fabric_completed(struct fabric_provider *provider, bool failed);

/* Turns the waiting sums into events. Called at the end of a call, of a thread, of the run. */
void fabric_flush(struct log *log);
/* Records of the outermost call, at most two, made before its event is written. */
struct fabric_records {
    struct event fabric, transfers; /* .kind 0: none */
};
void fabric_call_end(struct log *log, const struct event *call, uint64_t duration, struct fabric_records *records);
void fabric_forget(struct log *log);

/* A run begins. */
void fabric_open(void);
/* In fabric_ofi.c and fabric_ucx.c: recording was switched on or off. Lock-free, async-signal-safe. */
void fabric_ofi_switch(bool on);
void fabric_ucx_switch(bool on);

#endif
