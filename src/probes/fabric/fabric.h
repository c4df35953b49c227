/*
 * What happens below MPI: operations and polls of libfabric and UCX, while somebody asks for them.
 *
 *   fabric_ofi.c ──┐ fabric_begin, fabric_end     ┌─> events of the thread, folded into the cells of the provider
 *   fabric_ucx.c ──┤ fabric_poll_begin, _end ─────┤
 *                  └────────────────── log->fabric└─> sums of the MPI call that the thread is in ── it returns
 *                                                       ──> RECORD_FABRIC, RECORD_TRANSFERS
 *
 * Operations are counted where the program or the MPI library calls them: what a provider calls of another one below
 * it, or of itself, is inside. An operation that begins while the progress engine runs (a callback of UCX, a schedule
 * of Open MPI's nonblocking collectives) serves another call than the one that the thread is in.
 *
 * Polls are counted in a sum, which becomes an event when the call returns, when they found something outside of MPI,
 * and once in POLLS_MOST and, inside of a call, a second; so do refused operations.
 *
 * While nobody asks, none of it is called: the tables of libfabric's objects have the provider's own entries, and the
 * gates of UCX lead past us where it is known where to.
 *
 * Who may run with whom: a thread has its own; the switch may be turned by any thread and any signal handler.
 */
#ifndef MPIT_PROBES_FABRIC_H
#define MPIT_PROBES_FABRIC_H

#include "format/fabriccalls.h"
#include "thread/log.h"

/* A library below MPI, as those who watch it call it; never freed. */
struct fabric_provider {
    struct fabric_provider *next;
    uint32_t number;     /* in the book, once it was used; 0: not yet */
    bool refused;        /* there is no place for it */
    uint32_t epoch;      /* when it was used first since somebody asks */
    int64_t outstanding; /* below 0: threads have seen completions before their operations were counted */
    char name[PROVIDER_NAME_BYTES];
};

/* What waits to become an event, of a provider; .kind 0: nothing. */
struct fabric_waiting {
    struct event polls, again, done;
};

/* Of a thread. */
struct fabric {
    struct fabric_provider *selected; /* that the tally is set to */
    uint32_t epoch;                   /* fabric_epoch, when it was selected */
    uint32_t inside;                  /* of an operation: what is called there is not counted */
    bool polling;
    struct fabric_waiting waiting[FABRIC_PROVIDERS_MOST + 1]; /* by the provider's number */
    /* of the outermost MPI call that the thread is in: */
    uint64_t ticks;
    uint64_t first, last; /* of a collective: begin of the first transfer, end of the last */
    uint32_t transfers, others;
    bool used; /* there is something to tell when it returns */
};

/* An operation, or a poll, on the stack of who watches it. */
struct fabric_op {
    struct log *log; /* NULL: it is not watched */
    struct fabric *fabric;
    struct fabric_provider *provider;
    uint64_t begin;
    uint64_t key; /* of the message (fabric_keys.h); 0: none */
    bool nested;  /* in a poll */
};

/* Somebody asks. */
extern LIBRARY_LOCAL bool fabric_on;
/* How often somebody has begun to. What was outstanding before is forgotten: who was to tell of its end was not heard.
 */
extern LIBRARY_LOCAL uint32_t fabric_epoch;

struct fabric_provider *fabric_provider(const char *name);

/* Around an operation. */
void fabric_begin_watched(struct fabric_op *op, struct fabric_provider *provider);
HOT void fabric_begin(struct fabric_op *op, struct fabric_provider *provider)
{
    op->log = NULL;
    if (__builtin_expect(RELAXED_LOAD(&fabric_on), 0))
        fabric_begin_watched(op, provider);
}

enum fabric_outcome {
    FABRIC_DONE,    /* begun, and nobody will be told of its completion, or it is complete */
    FABRIC_PENDING, /* begun */
    FABRIC_AGAIN,
    FABRIC_FAILED,
};
void fabric_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, enum fabric_outcome outcome);

/* Around a poll, in which callbacks may begin operations; `completed` operations, of which `failed` with an error.
 * `found`: it was not in vain. */
void fabric_poll_begin(struct fabric_op *op, struct fabric_provider *provider);
void fabric_poll_end(struct fabric_op *op, bool found, uint32_t completed, uint32_t failed);
/* A poll that an operation makes itself until it is complete: callbacks of the program's may begin others in there. */
void fabric_within_begin(struct fabric_op *op);
void fabric_within_end(struct fabric_op *op);
/* The same for what is told elsewhere than in a poll. */
void fabric_completed(struct fabric_provider *provider, uint32_t completed, uint32_t failed);

/* What waits to become events does. At the end of a call, of a thread, of the run. */
void fabric_flush(struct log *log);
/* The outermost call is about to be told; its records, of which there are two at the most. */
struct fabric_records {
    struct event fabric, transfers; /* .kind 0: none */
};
void fabric_call_end(struct log *log, const struct event *call, uint64_t duration, struct fabric_records *records);
void fabric_forget(struct log *log);

/* A run begins. */
void fabric_open(void);
/* Of fabric_ofi.c and fabric_ucx.c: whether somebody asks has changed. Lock-free, async-signal-safe. */
void fabric_ofi_switch(bool on);
void fabric_ucx_switch(bool on);

#endif
