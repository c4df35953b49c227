/*
 * Requests in front of the table (request.h), while threads do not run at once. Most requests live and die here,
 * without a list, and hold no communicator (commreuse.h looks through the places instead).
 *
 *   request_front[hash of the handle]      one request a place
 *   request_beside[hash of the variable]   for a request whose place in front is taken: by a request of another handle,
 *                                          or of the same handle, if that is shared. Linked in the order of posting
 *
 * A place that has overflowed is not used until the requests that went past it are taken. No request goes beside while
 * requests of that hash are in the table. So the order of the requests of one handle holds: the one in front is the
 * oldest, then come the ones beside, then the ones in the table.
 *
 * The hot case of MPI_Wait (hot.h) completes messages alone. Other requests in front are set apart: the place has the
 * complement of their variable, which is never a variable, and the place counts as overflowed. So the hot case leaves
 * it to the body by the comparison that it makes for shared handles. A receive from MPI_PROC_NULL is set apart, too,
 * because MPICH's status shows a message of rank 0 for it. A persistent request stays in its place from call to call.
 * It holds its communicator, because it may be started long after that was freed.
 */
#ifndef MPIT_PROBES_FRONT_H
#define MPIT_PROBES_FRONT_H

#include "registry/commreuse.h"
#include "thread/log.h"

enum request_type {
    REQUEST_SEND,
    REQUEST_RECV,
    REQUEST_RMA,
    REQUEST_IO,
    REQUEST_GENERAL, /* generalized, or a flush of buffers: not a message, and on no communicator */
    REQUEST_MATCHED, /* not a request, but a message that a matched probe has found */
    REQUEST_MORE,    /* from here on: with a struct request_more */
    REQUEST_COLL = REQUEST_MORE,
    REQUEST_COMM,
    REQUEST_PAIR, /* a send and a receive. `posted` describes the receive */
};

/* Only in front, with the type: it is persistent, and it is not started. */
enum { POSTED_TYPE = 0x3f, POSTED_PERSISTENT = 0x40, POSTED_IDLE = 0x80 };

/* A request as it was posted. */
struct posted {
    struct view *view; /* of the thread that posted it. NULL: its figures are lost */
    uint64_t begin;    /* ticks when it was posted */
    const void *where; /* the program's variable that the handle was put into */
    uint64_t bytes;
    int32_t peer, tag; /* for a collective in front: the bytes that it gets out, in place of the tag */
    uint16_t kind;     /* of the posting call */
    uint8_t type;      /* enum request_type */
};

enum { FRONT_BITS = 8, FRONT_PLACES = 1 << FRONT_BITS };

struct front_place {
    uint64_t handle; /* 0 = free */
    struct posted posted;
    union {
        uint64_t overflow; /* 0: no other request has this hash, and this one is a message */
        struct {
            uint32_t behind; /* requests of this hash that are in the table, */
            uint16_t beside; /* and in request_beside */
            uint16_t apart;  /* 1: the hot case cannot complete the request in this place */
        };
        struct { /* in request_beside: places of the one before and the one after */
            uint32_t older, younger;
        };
    };
};

_Static_assert(sizeof(struct front_place) == 64, "a shift finds the place");

extern LIBRARY_LOCAL struct front_place request_front[FRONT_PLACES];

/* The send of a nonblocking sendrecv in front. `posted` describes its receive. */
struct front_pair {
    uint64_t bytes;
    int32_t dest, tag;
};

extern LIBRARY_LOCAL struct front_pair request_pairs[FRONT_PLACES];

/* Place 0 is not used: its neighbors are the youngest and the oldest. */
extern LIBRARY_LOCAL struct front_place request_beside[FRONT_PLACES + 1];

HOT uint64_t front_hash(uint64_t key)
{
    return (key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - FRONT_BITS);
}

/* Makes the compiler keep the address instead of finding it again. */
HOT struct front_place *front_kept(struct front_place *place)
{
    __asm__("" : "+r"(place));
    return place;
}

HOT struct front_place *front_place(uint64_t handle)
{
    return &request_front[front_hash(handle)];
}

HOT struct front_pair *front_pair(const struct front_place *place)
{
    return &request_pairs[place - request_front];
}

HOT uint32_t beside_number(const void *where)
{
    return 1 + (uint32_t)front_hash((uintptr_t)where / sizeof(MPI_Request));
}

HOT struct front_place *beside_place(const void *where)
{
    return &request_beside[beside_number(where)];
}

HOT bool front_is_beside(const struct front_place *place)
{
    return (uintptr_t)place - (uintptr_t)request_beside < sizeof request_beside;
}

HOT const void *front_complement(const void *where)
{
    return (const void *)~(uintptr_t)where;
}

/* True if it is alone under its hash. */
HOT bool front_is_alone(const struct front_place *place)
{
    return !(place->behind | place->beside);
}

/* The same as front_find, for a caller that knows front_place(handle). */
HOT struct front_place *front_find_at(struct front_place *place, uint64_t handle, const void *where)
{
    if (__builtin_expect(place->handle == handle && handle, 1)) {
        if (place->posted.where == where || !place->overflow)
            return place;
        if (place->apart && (place->posted.where == front_complement(where) || front_is_alone(place) ||
                             (place->posted.type & POSTED_PERSISTENT)))
            return place;
    }
    if (!place->beside)
        return NULL;
    place = beside_place(where);
    return place->handle == handle && place->posted.where == where ? place : NULL;
}

/* Returns the place of the request of this handle and variable, if it is in front, or beside. NULL: it may still be
 * there, but another request must be looked for first. `handle` is not 0. */
HOT struct front_place *front_find(uint64_t handle, const void *where)
{
    return front_find_at(front_kept(front_place(handle)), handle, where);
}

/* Returns the oldest request of this handle in front or beside, or NULL: there is none. */
struct front_place *front_oldest(uint64_t handle);

HOT void beside_free_of(struct front_place *front, struct front_place *place)
{
    request_beside[place->older].younger = place->younger;
    request_beside[place->younger].older = place->older;
    front->beside--;
    place->handle = 0;
}

HOT void beside_free(struct front_place *place)
{
    beside_free_of(front_place(place->handle), place);
}

/* Frees the place. Its contents stay readable until the thread posts another request. */
HOT void front_free(struct front_place *place)
{
    if (__builtin_expect(front_is_beside(place), 0)) {
        beside_free(place);
        return;
    }
    place->apart = 0;
    place->handle = 0;
}

/* The same for a complete request: a persistent request stays. */
HOT void front_end(struct front_place *place)
{
    if (place->posted.type & POSTED_PERSISTENT)
        place->posted.type |= POSTED_IDLE;
    else
        front_free(place);
}

/* Returns a place beside for a request whose place in front is taken, or NULL: it goes into the table. The place is
 * linked, and has its handle. The caller fills it at once, or gives it back. */
struct front_place *beside_post(uint64_t handle, const void *where);
/* Gives back the place of the last beside_post, if it returned one and the place is not filled. */
void beside_give_back(void);

bool front_keep_beside(const struct posted *posted, uint64_t handle);

/* Puts in any request. False: it goes into the table. */
HOT bool front_keep(const struct posted *posted, uint64_t handle)
{
    struct front_place *place = front_place(handle);
    if (!book.plain)
        return false;
    if (__builtin_expect((place->handle | place->overflow) != 0, 0))
        return front_keep_beside(posted, handle);
    place->posted.view = posted->view;
    place->posted.begin = posted->begin;
    place->posted.where = posted->where;
    place->posted.bytes = posted->bytes;
    place->posted.peer = posted->peer;
    place->posted.tag = posted->tag;
    place->posted.kind = posted->kind;
    place->posted.type = posted->type;
    if (posted->type > REQUEST_RECV || (posted->type == REQUEST_RECV && posted->peer == PEER_PROC_NULL)) {
        place->posted.where = front_complement(posted->where);
        place->apart = 1;
    }
    if (posted->type & POSTED_PERSISTENT)
        comm_hold(posted->view->comm);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place->handle = handle;
    return true;
}

#endif
