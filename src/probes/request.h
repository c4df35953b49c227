/*
 * Requests that are under way: what was posted, until a completion call returns it.
 *
 *   shard[hash of the handle] ── bucket ──> request ──> request ...         one a handle
 *                                             │ younger
 *                                             v
 *                                           request ...                     posted later under the same handle
 *
 * One handle can stand for several requests at once: libraries return one shared handle for what is complete when it is
 * posted. Then the one comes out that was posted into the same variable of the program, else the oldest.
 *
 * In front of it, while threads do not run at once, lies a table with one place for each hash: most requests live and
 * die there, without a list. A place that has overflowed is not used until what went past it has been taken, so that
 * the order holds.
 *
 * Posting, taking and putting back are O(1). Under MPI_THREAD_MULTIPLE a shard is held by a spin lock for a few
 * instructions; else there is no lock. A completion call takes its requests out before it calls MPI (so that a handle
 * that the library uses again at once cannot be mistaken) and puts back those that did not complete.
 */
#ifndef MPIT_PROBES_REQUEST_H
#define MPIT_PROBES_REQUEST_H

#include "log.h"

enum request_type { REQUEST_SEND, REQUEST_RECV, REQUEST_COLL, REQUEST_COMM, REQUEST_RMA, REQUEST_IO };

struct comm_origin;

/* What was posted. */
struct posted {
    struct view *view; /* of the thread that posted it; NULL: its figures are lost */
    uint64_t begin;    /* ticks when it was posted */
    const void *where; /* the program's variable that the handle was put into */
    uint64_t bytes;
    int32_t peer, tag;
    uint16_t kind; /* of the posting call */
    uint8_t type;  /* enum request_type */
};

struct request {
    uint64_t handle;
    struct posted posted;
    struct request *chain;   /* next handle in the bucket */
    struct request *younger; /* next one of the same handle */
    struct request *last;    /* youngest one of the same handle; kept in the oldest when there are several */
    bool persistent, active;
    bool quiet;         /* posted or started by a call that is not recorded: its completion is not, either */
    uint64_t weight;    /* how often its transfer time counts; 1 in those that live in front */
    uint64_t bytes_out; /* REQUEST_COLL */
    MPI_Comm *newcomm;  /* REQUEST_COMM: where the new communicator will stand */
    MPI_Comm held;      /* REQUEST_COMM: or what it is, where that place goes away */
    uint32_t number;    /* REQUEST_COMM: its creation number in the parent */
};

enum { FRONT_BITS = 8, FRONT_PLACES = 1 << FRONT_BITS };

struct front_place {
    uint64_t handle; /* 0 = free */
    struct posted posted;
    uint64_t overflow; /* requests of this hash that are in the table behind */
};

_Static_assert(sizeof(struct front_place) == 64, "a shift finds the place");

extern LIBRARY_LOCAL struct front_place request_front[FRONT_PLACES];

enum { SPARE_MOST = 512 };

HOT struct front_place *front_place(uint64_t handle)
{
    return &request_front[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - FRONT_BITS)];
}

/* A place for a plain request of this handle, or NULL: it goes into the table behind. */
HOT struct posted *front_post(uint64_t handle)
{
    struct front_place *place = front_place(handle);
    if (__builtin_expect(!book.plain || (place->handle | place->overflow), 0))
        return NULL;
    place->handle = handle;
    return &place->posted;
}

/* Slow parts, out of line. */
struct request *request_make_slow(struct log *log);
void request_spare_give(struct log *log);

/* An empty request to fill and put in; NULL without memory (counted). */
HOT struct request *request_make(struct log *log)
{
    struct request *request = log->spare;
    if (__builtin_expect(request == NULL, 0))
        return request_make_slow(log);
    log->spare = request->chain;
    log->spare_count--;
    return request;
}

HOT void request_release(struct log *log, struct request *request)
{
    if (__builtin_expect(log->spare_count == SPARE_MOST, 0))
        request_spare_give(log);
    request->chain = log->spare;
    log->spare = request;
    log->spare_count++;
}

/* Puts a request into the table. */
void request_put(struct request *request, uint64_t handle);
/* The request of this handle that the variable `where` holds, out of the table; NULL when it is not known. One that
 * lived in front is copied. */
struct request *request_take(struct log *log, uint64_t handle, const void *where);

/* The inactive persistent request of this handle, left in the table. Not under MPI_THREAD_MULTIPLE. */
struct request *request_peek(uint64_t handle);
struct umq_pending;
/* Adds up the pending receives of a communicator (umq.h). For the only thread that calls MPI, also out of a signal. */
void request_pending_count(const struct comm *comm, struct umq_pending *pending);
/* When the oldest request of this handle was posted; 0: not known or not active. Not under MPI_THREAD_MULTIPLE. */
uint64_t request_begin(uint64_t handle);

#endif
