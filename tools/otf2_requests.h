/*
 * The requests of one process that are under way, to find the post that a completion belongs to.
 *
 *   buckets[hash of begin] ──> requests[] ──> requests[] ...      linked by index; a list of free ones beside
 *
 * A completion names its post by the tick at which it was posted. That is nearly always enough; requests of one
 * MPI_Startall, and posts of two threads in the same tick, are told apart by communicator, peer and tag, and the one
 * that was posted first goes first.
 */
#ifndef MPIT_TOOLS_OTF2_REQUESTS_H
#define MPIT_TOOLS_OTF2_REQUESTS_H

#include "event.h"

#include <stdbool.h>
#include <stddef.h>

enum request_class {
    REQUEST_IS_SEND,
    REQUEST_IS_RECV,
    REQUEST_IS_COLL,
    REQUEST_IS_COMM,
    REQUEST_IS_ACCESS, /* to a window */
    REQUEST_IS_TRANSFER,
};

struct trace_request;

struct trace_requests {
    struct trace_request *requests;
    uint32_t *buckets;
    size_t count, capacity; /* capacity: of both arrays, a power of two */
    uint32_t free;
    uint64_t last_id;
    int32_t taken_tag; /* of the post that was taken out last */
};

/* Returns the request's id, unique in the process; 0 without memory. */
uint64_t trace_requests_add(struct trace_requests *requests, enum request_class class, const struct event *post);
/* Takes out the request that `done` completes, and returns its id; 0: it was not seen posted. */
uint64_t trace_requests_take(struct trace_requests *requests, enum request_class class, const struct event *done);
/* A request that was posted at `begin` and is still under way; 0: none. *post: its class in `kind`, its
 * communicator, peer and tag. */
uint64_t trace_requests_find(const struct trace_requests *requests, uint64_t begin, struct event *post);
/* Those that are under way, in no order; *place is 0 at first. Returns false behind the last one. *post as above. */
bool trace_requests_next(const struct trace_requests *requests, size_t *place, struct event *post);
void trace_requests_release(struct trace_requests *requests);

#endif
