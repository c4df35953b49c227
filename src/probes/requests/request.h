/*
 * The table of requests: each one from its post until a completion call returns it.
 *
 *   buckets[hash of the handle] ──> request ──> request ...                chain: others with the same hash
 *   buckets[hash of the variable] ──> crowded request ──> ...              of a handle that stands for several requests
 *        oldest ──> ... ──> youngest                                       all crowded ones of a handle, in the order of posting
 *
 * One handle can stand for several requests at once: libraries return one shared handle for requests that are complete
 * when posted. The first one is found by its handle. The others are crowded: they are found by the variable of the
 * program that the handle was put into. If the program has moved the handle to another variable, the oldest is taken. If a variable had
 * several of them, the first is found by it, and the others are taken as the oldest in their turn.
 * If any other handle is posted again, its first request has ended unseen. That request is displaced, and counted as
 * lost.
 *
 * States:
 *
 *   in the table, ACTIVE     posted or started
 *   in the table, IDLE       persistent, and not started
 *   in the table, STARTING   a call is starting it (only while threads run at once)
 *   out of the table         handle is 0: a call ends it, or it is spare
 *
 * While threads run at once, one spin lock guards the table, for a few instructions. Then a completion call takes its
 * requests out before it calls MPI, because another thread may get the same handle at once. It puts back requests that
 * did not complete. Otherwise there is no lock, and requests are taken out after the call. A persistent request stays in
 * the table until it is freed, because one thread may start a request of an array that another one tests or waits for:
 *
 *     MPI_Start    STARTING ── the call ── its records ── ACTIVE (release)
 *     completion   the call ── waits while it is STARTING (acquire) ── its records ── IDLE
 *
 * Only a thread that starts a request, or that got its end from the library, changes its state.
 *
 * A persistent request holds its communicator, because it may start long after the communicator was freed. Others do so
 * only while threads run at once. Otherwise the table is searched for them (request_comm_visit).
 *
 * A request takes 64 bytes, and its bucket 2 to 8. A million fit into the default of mpit_buffer_limit_bytes. All are in
 * one arena. It grows, and its memory is used again. The number of a request is its place there. 0: none.
 */
#ifndef MPIT_PROBES_REQUEST_H
#define MPIT_PROBES_REQUEST_H

#include "registry/commreuse.h"
#include "thread/log.h"

enum request_type {
    REQUEST_SEND,
    REQUEST_RECV,
    REQUEST_RMA,
    REQUEST_IO,
    REQUEST_GENERAL, /* generalized, or a flush of buffers: not a message, and on no communicator */
    REQUEST_MATCHED, /* not a request, but a message that a matched probe has found */
    REQUEST_COLL,
    REQUEST_COMM, /* makes a communicator */
    REQUEST_PAIR, /* a send and a receive. `posted` describes the receive */
};

enum request_state { REQUEST_ACTIVE, REQUEST_IDLE, REQUEST_STARTING };

struct request {
    uint64_t handle; /* 0: it is not in the table */
    /* begin: when it was posted. duration: the kind of the call that posted it. kind: of the record of a message's end.
     * tag of a collective: the bytes that it gets out. comm 0: its figures are lost, or it is on no communicator. */
    struct event posted;
    union {
        const void *where;    /* the program's variable that the handle was put into */
        struct request *next; /* of a spare or a displaced one */
    };
    union {
        struct {
            uint8_t type, state; /* enum request_type, enum request_state */
            bool persistent : 1;
            bool quiet : 1;    /* a call that is not recorded posted or started it: its completion is not recorded */
            bool extended : 1; /* `more` is valid. Such a request is never crowded */
            bool nobody : 1;   /* a receive from MPI_PROC_NULL. MPICH's status for it shows a message of rank 0 */
            bool holds : 1;    /* its communicator (commreuse.h) */
            bool crowded : 1;
            bool hidden : 1; /* crowded, and in no chain: an older one has the same variable */
            uint8_t reserved;
        };
        uint32_t plain; /* REQUEST_SEND or REQUEST_RECV: a message that was posted as most are, see request_is_plain */
    };
    uint32_t chain; /* number of the next one in the bucket. 0: none */
    union {
        struct {
            uint32_t older, younger; /* of a crowded one: numbers. 0: none */
        };
        struct {
            uint32_t more; /* number of its struct request_more */
            uint32_t path; /* of one that is not crowded: number of the posting call's path. 0: not known */
        };
    };
};

/* Members that do not fit into the request. It uses the memory of another request, whose handle is 0. */
struct request_more {
    uint64_t handle;
    uint64_t bytes_out; /* REQUEST_COLL: more than fit into the tag. REQUEST_PAIR: bytes of the send */
    MPI_Comm newcomm;   /* REQUEST_COMM: the new communicator, which the posting call has returned */
    uint32_t number;    /* REQUEST_COMM: its creation number in the parent */
    int32_t dest, tag;  /* REQUEST_PAIR: destination and tag of the send */
};

_Static_assert(sizeof(struct request) == 64, "a million requests fit into 64 MiB, and a shift finds one");
_Static_assert(sizeof(struct request_more) <= sizeof(struct request), "it takes a request's place");

/* The crowded requests of a handle, in the order of their posts, by `older` and `younger`. */
struct request_crowd {
    uint64_t handle; /* 0: none yet */
    uint32_t oldest, youngest;
};

enum { CROWDS_MOST = 8 }; /* requests of a further shared handle are not crowded */

struct request_table {
    struct request **buckets;
    unsigned shift; /* of a hash, to the number of its bucket */
    bool locked;
    uint32_t crowd;        /* crowded requests in the table */
    struct request *spare; /* requests to use again */
    struct request_crowd crowds[CROWDS_MOST];
};

extern LIBRARY_LOCAL struct request_table request_table;
extern LIBRARY_LOCAL struct request *request_arena;

HOT struct request *request_at(uint32_t number)
{
    return &request_arena[number];
}

HOT uint32_t request_number(const struct request *request)
{
    return (uint32_t)(request - request_arena);
}

HOT struct request_more *request_more(const struct request *request)
{
    return (struct request_more *)(void *)request_at(request->more);
}

HOT struct request **request_bucket(uint64_t key)
{
    return &request_table.buckets[(key * UINT64_C(0x9e3779b97f4a7c15)) >> request_table.shift];
}

/* What is hashed of a crowded request. */
HOT uint64_t request_variable_key(const void *where)
{
    return (uintptr_t)where / sizeof(MPI_Request);
}

/* True for an active message that was posted once, by a recorded call, and that is the last one in its chain. */
HOT bool request_is_plain(const struct request *request)
{
    return (request->plain & ~1u) == 0 && request->chain == 0;
}

/* A request as it was posted. */
struct posted {
    struct view *view; /* of the thread that posted it. NULL: its figures are lost */
    uint64_t begin;    /* ticks when it was posted */
    const void *where;
    uint64_t bytes;
    uint64_t bytes_out; /* of a collective */
    int32_t peer, tag;
    uint16_t kind; /* of the posting call */
    uint32_t path; /* number of its call path. 0: not known */
    uint8_t type;  /* enum request_type */
    bool persistent, quiet;
};

/* Returns a filled request, out of the table, or NULL without memory (counted). */
struct request *request_make(const struct posted *posted);
/* Fills an empty request. */
void request_fill(struct request *request, const struct posted *posted);
/* The request is over, and out of the table. */
void request_release(struct request *request);
/* Makes the request hold its communicator, whose slot then stays until the request is released. */
void request_hold(struct request *request);

/* Returns the thread's counters for the communicator of the request. NULL: its figures are lost. */
HOT struct view *request_view(struct log *log, const struct request *request)
{
    return request->posted.comm ? view_of(&log->own, book.comms[request->posted.comm]) : NULL;
}

/* Puts a request into the table: one that did not complete, or that was posted inside of another call. */
void request_put(struct request *request, uint64_t handle);
/* Puts in a request that was just posted. If the handle had a request and is not a shared one, the old request has ended
 * unseen. It goes to log->requests.displaced. */
void request_put_new(struct log *log, struct request *request, uint64_t handle);
/* The same, under its handle, for a request whose bucket is not empty. Returns whether another request is displaced. */
bool request_link(struct log *log, struct request *request);

/* Takes the request of this handle and of the variable `where` out of the table. A persistent request stays. NULL: not
 * known. */
struct request *request_take(uint64_t handle, const void *where);
/* The same, if it is the request of this variable. */
struct request *request_take_there(uint64_t handle, const void *where);
/* Takes it out, even if it is persistent. */
struct request *request_remove(uint64_t handle, const void *where);
/* Returns a request that may be started, and leaves it in the table. `marks`: it is STARTING from now on. */
struct request *request_take_idle(uint64_t handle, bool marks);
/* Calls `found` for each request in the table. It must not change the table. */
void request_visit(void (*found)(struct request *request, void *data), void *data);
/* Returns when the oldest request of this handle was posted. 0: not known, or not active. Not while threads run at once. */
uint64_t request_begin(uint64_t handle);
/* Copies, once, the request of this handle that makes a communicator. False: there is none. */
bool request_copy_comm(uint64_t handle, struct request *copy, struct request_more *more);
/* A persistent request goes on under another handle. */
void request_rename(struct request *request, uint64_t handle);

/* A call has returned this request as complete. False: it was inactive when the library looked at it. */
bool request_has_ended(const struct request *request, const MPI_Status *status);
/* Sets the state of a persistent request, for other threads, too. */
HOT void request_state_set(struct request *request, enum request_state state)
{
    __atomic_store_n(&request->state, (uint8_t)state, __ATOMIC_RELEASE);
}

/* Calls `found` with the communicator of each request in the table that does not hold it. Only while threads do not run at
 * once. */
void request_comm_visit(void (*found)(struct comm *comm));
/* Makes all requests hold their communicators: threads run at once from now on. */
void requests_share(void);
/* Calls `found` for each pending receive of a communicator (umq.h). Only for the single thread that calls MPI, also in
 * a signal handler. */
void request_pending_visit(const struct comm *comm, void (*found)(void *data, int32_t rank, int32_t tag), void *data);

#endif
