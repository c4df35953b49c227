/*
 * Requests that are under way, from the post until a completion call returns them.
 *
 *   shard[hash of the handle] ── bucket ──> youngest ── chain ──> youngest ...    one a handle
 *                                             │ younger
 *                                             v
 *                                           oldest ──> ... ──> youngest          posted under the same handle: a ring
 *
 * One handle can stand for several requests at once: libraries return one shared handle for requests that are complete
 * when posted. Then the request of the same variable of the program is taken, else the oldest. If any other handle is
 * posted again, its first request has ended unseen. That request is dropped, and counted as lost.
 *
 * While threads do not run at once, a table with one place for each hash is in front (front.h).
 *
 * Posting, taking and putting back are O(1). In a ring, where the variable is searched, they are so in the long run.
 * Under MPI_THREAD_MULTIPLE a spin lock holds a shard for a few instructions, or such a search. Otherwise there is no
 * lock. A completion call takes its requests out before it calls MPI, because the library may use a handle again at
 * once. Afterwards it puts back the requests that did not complete. Persistent requests stay in the table
 * (persistence.h), so that another thread can start them meanwhile.
 *
 * A request takes 56 bytes and its bucket 4 to 8. So a million fit into the default of mpit_buffer_limit_bytes.
 * Requests are in slabs, which are never freed but used again. Links are the numbers of requests.
 *
 *   slabs[number >> SLAB_BITS] ──> [ number | request request ... ]              aligned to its size
 */
#ifndef MPIT_PROBES_REQUEST_H
#define MPIT_PROBES_REQUEST_H

#include "registry/commreuse.h"
#include "requests/front.h"
#include "thread/log.h"

struct comm_origin;

/* The same in a request, which names the communicator by its slot. */
struct posted_request {
    uint64_t begin;
    const void *where;
    uint64_t bytes;
    int32_t peer;
    union {
        int32_t tag;
        uint32_t more; /* number of the struct request_more, if there is one */
    };
    uint16_t kind;
    uint8_t type;
} __attribute__((packed, aligned(4)));

struct request {
    union {
        uint64_t handle;
        struct request *spare; /* the next one to use again */
    };
    struct posted_request posted;
    uint16_t comm; /* slot. 0: its figures are lost, or it is on no communicator */
    bool persistent : 1, active : 1;
    bool holds : 1;   /* its communicator (commreuse.h). A request that was in front does not */
    bool quiet : 1;   /* posted or started by a call that is not recorded: its completion is not recorded either */
    bool stays : 1;   /* it was found by request_find, which left it in the table */
    bool starting;    /* a start is writing its records (persistence.h) */
    uint32_t chain;   /* of the youngest of a handle: the next handle in the bucket. 0: none */
    uint32_t younger; /* next one of the same handle. Of the youngest: the oldest */
};

/* Members that do not fit into the request. It uses the memory of another request. */
struct request_more {
    struct request *spare;
    uint64_t bytes_out; /* REQUEST_COLL. REQUEST_PAIR: bytes of the send */
    MPI_Comm newcomm;   /* REQUEST_COMM: the new communicator, which the posting call has returned */
    uint32_t number;    /* REQUEST_COMM: its creation number in the parent */
    int32_t dest, tag;  /* REQUEST_PAIR: destination and tag of the send */
    int32_t recvtag;    /* REQUEST_PAIR: tag of the receive */
};

_Static_assert(sizeof(struct request) == 56, "a million requests fit into 64 MiB");
_Static_assert(sizeof(struct request_more) <= sizeof(struct request), "it takes a request's place");

enum {
    SLAB_BYTES = 64 << 10,
    SLAB_BITS = 11,
    SLAB_HEAD = 64,
    SLAB_REQUESTS = (SLAB_BYTES - SLAB_HEAD) / sizeof(struct request),
    SLABS_MOST = 1 << 16,
};

_Static_assert(SLAB_REQUESTS <= 1 << SLAB_BITS, "a place fits into the lower bits of a number");

extern LIBRARY_LOCAL char *request_slabs[SLABS_MOST];

HOT struct request *request_at(uint32_t number)
{
    return (struct request *)(void *)(request_slabs[number >> SLAB_BITS] + SLAB_HEAD) +
           (number & ((1 << SLAB_BITS) - 1));
}

HOT char *request_slab(const struct request *request)
{
    return (char *)((uintptr_t)request & ~(uintptr_t)(SLAB_BYTES - 1));
}

HOT uint32_t request_number(const struct request *request)
{
    const char *slab = request_slab(request);
    uint32_t place = (uint32_t)((size_t)((const char *)request - slab - SLAB_HEAD) / sizeof *request);
    return *(const uint32_t *)(const void *)slab << SLAB_BITS | place;
}

HOT struct request_more *request_more(const struct request *request)
{
    return (struct request_more *)(void *)request_at(request->posted.more);
}

enum { SPARE_MOST = 512 };

/* Slow parts, not inlined. */
struct request *request_make_slow(struct log *log);
void request_spare_give(struct log *log);

/* Returns an empty request to fill and put in, or NULL without memory (counted). */
HOT struct request *request_make(struct log *log)
{
    struct request *request = log->requests.spare;
    if (__builtin_expect(request == NULL, 0))
        return request_make_slow(log);
    log->requests.spare = request->spare;
    log->requests.spare_count--;
    return request;
}

void request_release_one(struct log *log, struct request *request);
/* The same for a request in front. While threads do not run at once such requests have their own reserve. */
struct request *request_make_surely(struct log *log);

HOT void request_release(struct log *log, struct request *request)
{
    if (__builtin_expect(request->posted.type >= REQUEST_MORE, 0))
        request_release_one(log, (struct request *)(void *)request_more(request));
    struct comm *comm = request->holds ? book.comms[request->comm] : NULL;
    request_release_one(log, request);
    if (comm)
        comm_let_go(comm);
}

/* Fills an empty request. If it has a struct request_more, that is there already. */
HOT void request_fill(struct request *request, const struct posted *posted)
{
    request->posted = (struct posted_request){.begin = posted->begin,
                                              .where = posted->where,
                                              .bytes = posted->bytes,
                                              .peer = posted->peer,
                                              .tag = posted->tag,
                                              .kind = posted->kind,
                                              .type = posted->type};
    request->comm = posted->view ? (uint16_t)posted->view->slot : 0;
    request->persistent = request->holds = request->quiet = request->stays = false;
    request->active = true;
    request->starting = false;
}

/* Makes the request hold its communicator, whose slot then stays until the request is released. */
HOT void request_hold(struct request *request)
{
    if (request->holds || !request->comm)
        return;
    request->holds = true;
    comm_hold(book.comms[request->comm]);
}

/* Returns the thread's counters for the communicator of the request. NULL: its figures are lost. */
HOT struct view *request_view(struct log *log, const struct request *request)
{
    return request->comm ? view_of(&log->own, book.comms[request->comm]) : NULL;
}

/* Calls `found` with the communicator of each request in front. */
void request_front_visit(void (*found)(struct comm *comm));

/* Moves the requests in front into the table. Called after book_share. Threads use only the table from then on. */
void request_front_leave(struct log *log);

/* Puts a request into the table: one that is known under this handle, or was posted inside of another call. */
void request_put(struct request *request, uint64_t handle);
/* Puts in a request that was just posted. If the handle had a request, that one has ended unseen, and goes to
 * log->requests.displaced. */
void request_put_new(struct log *log, struct request *request, uint64_t handle);
/* Takes the request of this handle and of the variable `where` out of the table. NULL: not known. A request in front is
 * copied. */
struct request *request_take(struct log *log, uint64_t handle, const void *where);

/* The same for a request that a call has completed. A persistent request with a handle of its own stays in the
 * table. */
struct request *request_find(struct log *log, uint64_t handle, const void *where);
/* Only from the table, and only the request of this variable. */
struct request *request_take_there(uint64_t handle, const void *where);
/* Puts a complete persistent request back to where it came from. */
HOT void request_put_back(struct request *request, uint64_t handle)
{
    if (!request->stays)
        request_put(request, handle);
}

/* Returns the inactive persistent request of this handle, left in the table. For calls that began while threads did not
 * run at once. Under MPI_THREAD_MULTIPLE a request is taken out first. */
struct request *request_peek(uint64_t handle);
/* Call it before request_peek: moves a request in front into the table. */
void request_front_yield(struct log *log, uint64_t handle);
/* Copies the inactive persistent request of this handle. False: there is none. */
bool request_look(uint64_t handle, struct request *copy);
/* Copies, once, the request of this handle that makes a communicator. False: there is none. */
bool request_look_comm(uint64_t handle, struct request *copy, struct request_more *more);
/* Calls `found` for each pending receive of a communicator (umq.h). Only for the single thread that calls MPI, also in
 * a signal handler. */
void request_pending_visit(const struct comm *comm, void (*found)(void *data, int32_t rank, int32_t tag), void *data);
/* Returns when the oldest request of this handle was posted. 0: not known or not active. Not under
 * MPI_THREAD_MULTIPLE. */
uint64_t request_begin(uint64_t handle);

#endif
