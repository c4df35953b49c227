/*
 * Requests that are under way: what was posted, until a completion call returns it.
 *
 *   shard[hash of the handle] ── bucket ──> request ──> request ...         one a handle
 *                                             │ younger
 *                                             v
 *                                           request ...                     posted later under the same handle
 *
 * One handle can stand for several requests at once: libraries return one shared handle for sends that are complete when
 * they are posted. They come out in the order in which they went in.
 *
 * Posting, taking and putting back are O(1). Under MPI_THREAD_MULTIPLE a shard is held by a spin lock for a few
 * instructions; else there is no lock. A completion call takes its requests out before it calls MPI (so that a handle
 * that the library uses again at once cannot be mistaken) and puts back those that did not complete.
 */
#ifndef MPIT_PROBES_REQUEST_H
#define MPIT_PROBES_REQUEST_H

#include "log.h"

enum request_type { REQUEST_SEND, REQUEST_RECV, REQUEST_COLL, REQUEST_COMM };

struct comm_origin;

struct request {
    uint64_t handle;
    struct request *chain;   /* next handle in the bucket */
    struct request *younger; /* next one of the same handle */
    struct request *last;    /* youngest one of the same handle; kept in the oldest */
    struct comm *comm;       /* NULL: its figures are lost */
    uint64_t begin;          /* ticks when it was posted */
    uint64_t bytes, bytes_out;
    int32_t peer, tag;
    uint16_t kind; /* of the posting call */
    uint8_t type;  /* enum request_type */
    bool persistent, active;
    MPI_Comm *newcomm;   /* REQUEST_COMM: where the new communicator will stand */
    uint32_t number;     /* REQUEST_COMM: its creation number in the parent */
};

/* An empty request to fill and put in; NULL without memory (counted). */
struct request *request_make(void);
void request_release(struct request *request);
void request_put(struct request *request, uint64_t handle);
/* The oldest request of this handle, out of the table; NULL when it is not known. */
struct request *request_take(uint64_t handle);
/* The oldest request of this handle, left in the table. Not under MPI_THREAD_MULTIPLE. */
struct request *request_peek(uint64_t handle);

/* Posts a request that the call `kind` has returned. */
static inline void request_post(struct request filled, uint64_t handle)
{
    struct request *request = request_make();
    if (!request)
        return;
    *request = filled;
    request_put(request, handle);
}

#endif
