/*
 * Completion calls: the requests that each one completed, and the bytes and sources of their messages.
 *
 *   completion_take    remembers the handles (MPI overwrites them); takes the requests out when threads run at once
 *   the MPI call
 *   completion_done    takes a completed request out, if it is still in the table
 *   completion_flush   emits the call's event; then for each request that it completed one record
 */
#ifndef MPIT_PROBES_COMPLETION_H
#define MPIT_PROBES_COMPLETION_H

#include "thread/raising.h"
#include "requests/request.h"

enum { COMPLETION_FEW = 4 };

struct completion {
    struct probe probe;
    enum call kind;
    int count;                 /* of the program's array */
    MPI_Request *handles;      /* the program's array */
    uint64_t *saved;           /* the handles before the call */
    struct request **taken;    /* under MPI_THREAD_MULTIPLE: the requests of the handles, else NULL */
    struct request **done;     /* the requests that the call completed, in order */
    const MPI_Status **status; /* in the order of `done` */
    MPI_Status *statuses;      /* in place of MPI_STATUSES_IGNORE */
    int done_count;
    int quiet_count; /* new communicators of calls that are not recorded: at the other end of `done` */
    bool lent;       /* the arrays are in the scratch memory, but the thread's state does not show this call */
    void *own;       /* the arrays' memory if it is not the log's scratch memory */
    uint64_t one_saved;
    struct request *one_taken, *one_done;
    const MPI_Status *one_status;
    struct { /* the arrays of a call on few requests */
        uint64_t saved[COMPLETION_FEW];
        struct request *taken[COMPLETION_FEW], *done[COMPLETION_FEW];
        const MPI_Status *status[COMPLETION_FEW];
        MPI_Status statuses[COMPLETION_FEW];
    } few;
};

/* Lays the arrays of a call on few requests. `takes`: requests are taken out of the table. */
HOT void few_lay(struct completion *c, bool own_statuses, bool takes)
{
    c->own = NULL;
    c->lent = false;
    c->saved = c->few.saved;
    c->done = c->few.done;
    c->status = c->few.status;
    c->taken = takes ? c->few.taken : NULL;
    c->statuses = own_statuses ? c->few.statuses : NULL;
}

/* Starts a call on `count` requests, whose probe has entered. `own_statuses`: room for statuses is wanted. */
void completion_take(struct completion *completion, enum call kind, int count, MPI_Request *handles, bool own_statuses);
/* The same for MPI_Request_free: the request is out of the table from then on. */
void completion_take_freed(struct completion *completion, enum call kind, MPI_Request *handle);

/* Request `index` of the array was completed. `status` may be NULL: its message is not known. */
void completion_done(struct completion *completion, int index, int result, const MPI_Status *status);
/* The same for the requests that `indices` names. */
void completion_done_some(struct completion *completion, int result, int outcount, const int *indices,
                          const MPI_Status *statuses);

/* Leaves a call that has returned request `index` of the array complete. */
void completion_any(struct completion *completion, int index, int result, const MPI_Status *status);
/* Leaves the call. */
void completion_flush(struct completion *completion, int result);
/* Leaves a call that has completed all of them. If statuses have an error, pending requests stay. `end`: when it returned,
 * if the caller has read the counter. Else 0. */
void completion_flush_all(struct completion *completion, int result, const MPI_Status *statuses, uint64_t end);

/* Leaves MPI_Startall: the requests are under way. */
void completion_started(struct completion *completion, int result);

/* Leaves a call on one request. `ended`: the call has returned it complete, or failed. `taken`: from single_take. */
void single_leave(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                  int result, bool ended, const MPI_Status *status);

/* Threads did not run at once when the call began, and its request stayed in the table. */
#define LEFT_THERE ((struct request *)UINTPTR_MAX)

HOT struct request *single_take(uint64_t saved, const MPI_Request *handle)
{
    return __builtin_expect(book_is_shared(), 0) ? request_take(saved, handle) : LEFT_THERE;
}

/* The same for MPI_Start. */
HOT struct request *start_take(uint64_t saved)
{
    return __builtin_expect(book_is_shared(), 0) ? request_take_idle(saved, true) : LEFT_THERE;
}

void start_leave(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                 int result);

/* ---- for the functions above ------------------------------------------------------------------------------------- */

/* Fills in a call on one request: its handle before the call, and its request under MPI_THREAD_MULTIPLE. */
void completion_set_one(struct completion *c, enum call kind, MPI_Request *handle, uint64_t saved,
                        struct request *taken);
void completion_memory_release(struct completion *c);
void untaken_put_back(struct completion *c);
/* Writes the records of the requests in `done`, and ends the call. */
void completion_records(struct completion *c, int result);

HOT void completion_end(struct completion *c)
{
    completion_memory_release(c);
    c->probe.log->scratch.lent -= c->lent;
    if (!probe_is_quiet(&c->probe) || c->done_count)
        raise_finish(c->probe.log);
}

/* Records the requests that ended unseen, or that could not be kept. Called after a call that posted a request. */
void displaced_record(struct log *log);

static inline void posted_finish(struct log *log)
{
    if (__builtin_expect(log->requests.displaced != NULL || log->requests.unkept_count, 0))
        displaced_record(log);
}

/* MPI_Request_get_status has found this request complete. `begin`: of its call. 0: not timed. Call it after the
 * event. */
void request_told(struct log *log, uint64_t handle, uint64_t begin);
/* For MPI_Request_free of a request that MPI_Request_get_status has reported, and whose end no other call has seen: a
 * receive has its message, and a send may have been canceled. *status: the same again. Requests that the program did
 * not ask about are not queried here: the library may call an error handler for a failed request, and freeing it does
 * not. */
bool completion_ended_unseen(struct completion *completion, MPI_Status *status);
/* The call freed an active request: its message is not seen. `end`: from completion_ended_unseen. NULL: not
 * complete. */
void completion_freed(struct completion *completion, int result, const MPI_Status *end);

/* The call returned an error for one request. True if it completed the request all the same. */
bool completion_ended(const struct completion *completion, int index, int result);

#endif
