/*
 * The requests of one process that are under way, to find the post that a completion belongs to.
 *
 *   buckets[hash of begin] ──> the last one ──> the first one ──> the second ... ──> the last one
 *                                              a ring by index, and a list of free ones
 *
 * A completion names its post by the tick of the post, which is nearly always enough. Requests of one MPI_Startall, and
 * posts of two threads, may have the same tick. They are distinguished by communicator, peer and tag. Among equal ones,
 * the oldest post is first.
 */
#ifndef MPIT_TOOLS_REQUESTPAIRS_H
#define MPIT_TOOLS_REQUESTPAIRS_H

#include "format/event.h"

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

struct trace_request {
    uint64_t begin;
    uint64_t id; /* 0: this one is free */
    int32_t peer, tag;
    uint32_t next; /* in the ring, or in the list of free ones */
    uint16_t comm;
    uint16_t call; /* that posted it, or made it if it is persistent */
    uint8_t class; /* enum request_class */
    bool absent;   /* the archive does not have it */
};

/* LOOKS_MOST limits the steps that find the right one among requests of one tick. It is enough for 40,000 requests that
 * complete in reverse order. After that, each completion has LOOKS_LEAST steps, and a completion without a good match
 * is unmatched. Damaged files may have any number of posts in one tick, and must not take hours. */
enum { NO_REQUEST = UINT32_MAX, LOOKS_LEAST = 1 << 10, LOOKS_MOST = 1 << 30 };

struct trace_requests {
    struct trace_request *requests;
    uint32_t *buckets;      /* the last one of each ring */
    size_t count, capacity; /* capacity: of both arrays, a power of two */
    uint32_t free;
    uint64_t last_id;
    uint64_t looks;    /* steps taken so far */
    int32_t taken_tag; /* of the post that was taken out last */
};

/* Returns the request's id, unique in the process, or 0 without memory. */
uint64_t trace_requests_add(struct trace_requests *requests, enum request_class class, const struct event *post);
/* Adds a request that the archive does not have. Its end is not written, and not taken for the end of another request.
 * Returns false without memory. */
bool trace_requests_add_absent(struct trace_requests *requests, enum request_class class, const struct event *post);
/* trace_requests_take for a bucket with several requests. */
uint64_t trace_requests_choose(struct trace_requests *requests, enum request_class class, const struct event *done);
/* Returns the request that was posted at `begin` and is still under way, or 0 if there is not exactly one. *post gets
 * its class in `kind`, its communicator, peer and tag. */
uint64_t trace_requests_find(const struct trace_requests *requests, uint64_t begin, struct event *post);
/* Iterates over the requests under way, in no order. *place is 0 at first. Returns false after the last one. *post as
 * above. */
bool trace_requests_next(const struct trace_requests *requests, size_t *place, struct event *post);
void trace_requests_release(struct trace_requests *requests);

static inline uint32_t *trace_requests_bucket(const struct trace_requests *requests, uint64_t begin)
{
    return &requests->buckets[(begin * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (requests->capacity - 1)];
}

/* Removes the request after `before` in the ring of the bucket. Returns its id, or 0 if the archive does not have
 * it. */
static inline uint64_t trace_requests_unlink(struct trace_requests *requests, uint32_t *bucket, uint32_t before)
{
    uint32_t place = requests->requests[before].next;
    struct trace_request *request = &requests->requests[place];
    uint64_t id = request->absent ? 0 : request->id;
    requests->requests[before].next = request->next;
    if (*bucket == place)
        *bucket = before == place ? NO_REQUEST : before;
    requests->taken_tag = request->tag;
    request->next = requests->free;
    request->id = 0;
    requests->free = place;
    requests->count--;
    return id;
}

/* A message to MPI_PROC_NULL matches only such a message. A caller that does not store posts to MPI_PROC_NULL would
 * otherwise find another request. */
static inline bool trace_request_fits(const struct trace_request *request, enum request_class class,
                                      const struct event *done)
{
    bool message = class == REQUEST_IS_SEND || class == REQUEST_IS_RECV;
    return request->begin == done->begin && request->class == class &&
           (!message || (request->peer == PEER_PROC_NULL) == (done->peer == PEER_PROC_NULL));
}

/* Removes the request that `done` completes, and returns its id. Returns 0 if its post was not seen, or if it is not in
 * the archive.
 */
static inline uint64_t trace_requests_take(struct trace_requests *requests, enum request_class class,
                                           const struct event *done)
{
    if (!requests->count)
        return 0;
    uint32_t *bucket = trace_requests_bucket(requests, done->begin);
    if (*bucket == NO_REQUEST)
        return 0;
    const struct trace_request *request = &requests->requests[*bucket];
    if (request->next == *bucket && trace_request_fits(request, class, done))
        return trace_requests_unlink(requests, bucket, *bucket); /* nearly always */
    return trace_requests_choose(requests, class, done);
}

#endif
