#include "requests/request.h"

#include "registry/commreuse.h"
#include "requests/persistence.h"
#include "umq/umq.h"

#include <sched.h>
#include <stdlib.h>

enum { SHARD_BITS = 6, SHARDS = 1 << SHARD_BITS, FIRST_BUCKETS = 64, SPINS_MOST = 1000 };

struct shard {
    bool locked;
    uint32_t mask; /* buckets - 1. 0 = none yet */
    uint32_t used;
    uint32_t *buckets; /* numbers of requests. 0 = empty */
    uint32_t hint;  /* of a handle that stands for several requests: the request before the one taken last. 0: none */
    uint32_t spent; /* by long searches, of SEARCH_FAR */
};

static struct shard shards[SHARDS];
static uint32_t first_buckets[SHARDS][FIRST_BUCKETS];

static void place_visit(const struct front_place *place, void (*found)(struct comm *comm))
{
    if (place->handle && place->posted.view)
        found(place->posted.view->comm);
}

void request_front_visit(void (*found)(struct comm *comm))
{
    for (unsigned i = 0; i < FRONT_PLACES; i++)
        place_visit(&request_front[i], found);
    for (uint32_t i = request_beside[0].younger; i; i = request_beside[i].younger)
        place_visit(&request_beside[i], found);
}

static __attribute__((noinline)) void shard_wait(struct shard *shard)
{
    do
        for (int spins = 0; __atomic_load_n(&shard->locked, __ATOMIC_RELAXED); spins++)
            if (spins >= SPINS_MOST) /* its holder may wait for this processor */
                sched_yield();
    while (__atomic_exchange_n(&shard->locked, true, __ATOMIC_ACQUIRE));
}

HOT uint64_t hash_of(uint64_t handle)
{
    return handle * UINT64_C(0x9e3779b97f4a7c15);
}

/* A shard as one function holds it. When another thread opens a session, threads run at once from then on. A thread
 * that did not lock the shard must not unlock it. */
struct holding {
    struct shard *shard;
    bool locked;
};

/* Acquire pairs with the release in shard_unlock. */
HOT struct holding shard_lock(uint64_t hash)
{
    struct holding held = {&shards[hash >> (64 - SHARD_BITS)], book.concurrent};
    if (held.locked && __atomic_exchange_n(&held.shard->locked, true, __ATOMIC_ACQUIRE))
        shard_wait(held.shard);
    return held;
}

HOT void shard_unlock(struct holding held)
{
    if (held.locked)
        __atomic_store_n(&held.shard->locked, false, __ATOMIC_RELEASE);
}

HOT uint32_t *bucket_of_hash(struct shard *shard, uint64_t hash)
{
    return &shard->buckets[(hash >> 24) & shard->mask];
}

/* Doubles the buckets. Without memory the chains only grow longer. */
static void shard_grow(struct shard *shard)
{
    uint32_t *first = first_buckets[shard - shards];
    if (!shard->buckets) {
        shard->buckets = first;
        shard->mask = FIRST_BUCKETS - 1;
        return;
    }
    uint32_t *old = shard->buckets, old_mask = shard->mask;
    size_t bytes = 2 * ((size_t)old_mask + 1) * sizeof *old;
    uint32_t *fresh = run_memory_take(&book.run, bytes) ? calloc(1, bytes) : NULL;
    if (!fresh)
        return;
    shard->buckets = fresh;
    __atomic_signal_fence(
        __ATOMIC_SEQ_CST); /* a handler that reads the table must not see the new mask with the old buckets */
    shard->mask = 2 * old_mask + 1;
    for (uint32_t i = 0; i <= old_mask; i++)
        for (uint32_t number = old[i], chain; number; number = chain) {
            struct request *r = request_at(number);
            uint32_t *bucket = bucket_of_hash(shard, hash_of(r->handle));
            chain = r->chain;
            r->chain = *bucket;
            *bucket = number;
        }
    if (old == first)
        return;
    free(old);
    run_memory_give(&book.run, bytes / 2);
}

/* Returns the link to the handle's youngest request, or the end of its chain if there is none. */
HOT uint32_t *link_find(struct shard *shard, uint64_t hash, uint64_t handle)
{
    uint32_t *at = bucket_of_hash(shard, hash);
    while (*at && request_at(*at)->handle != handle)
        at = &request_at(*at)->chain;
    return at;
}

/* A handler that reads the table finds the old or the new one, and goes round the ring to where it began. */
static void youngest_set(uint32_t *at, struct request *request)
{
    request->chain = request_at(*at)->chain;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *at = request_number(request);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

enum put { PUT_BESIDE, PUT_OLDEST, PUT_IF_NONE, PUT_INSTEAD };

/* Puts a request to the others of its handle, as the youngest or the oldest, or instead of them. *others are the
 * others, a ring. False: there are others (PUT_IF_NONE). */
static bool behind_put(struct request *request, uint64_t handle, enum put how, struct request **others)
{
    uint64_t hash = hash_of(handle);
    uint32_t number = request_number(request);
    struct holding held = shard_lock(hash);
    struct shard *shard = held.shard;
    if (shard->used >= shard->mask)
        shard_grow(shard);
    uint32_t *at = link_find(shard, hash, handle);
    struct request *youngest = *at ? request_at(*at) : NULL;
    bool free = !youngest || how != PUT_IF_NONE;
    if (free)
        request->handle = handle;
    if (youngest && how == PUT_BESIDE) {
        request->younger = youngest->younger;
        youngest->younger = number;
        youngest_set(at, request);
    } else if (youngest && how == PUT_OLDEST) {
        request->younger = youngest->younger;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        youngest->younger = number;
    } else if (free) {
        shard->hint = 0; /* the replaced request is no longer in the ring */
        request->younger = number;
        request->chain = youngest ? youngest->chain : 0;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        *at = number;
        shard->used += !youngest;
    }
    shard_unlock(held);
    *others = youngest;
    return free;
}

void request_put(struct request *request, uint64_t handle)
{
    struct request *others;
    if (!book.concurrent)
        front_place(handle)->behind++;
    behind_put(request, handle, PUT_BESIDE, &others);
}

/* Copies a place in front into a request of its own, as it was posted. */
static struct request *front_copy(struct log *log, const struct front_place *place)
{
    struct posted posted = place->posted;
    struct request *request = request_make_surely(log), *more = NULL;
    unsigned type = posted.type & POSTED_TYPE;
    if (request && type >= REQUEST_MORE && (more = request_make_surely(log)) == NULL) {
        request_release_one(log, request);
        request = NULL;
    }
    if (!request)
        return NULL;
    posted.type &= POSTED_TYPE;
    if (!front_is_beside(place) && place->apart)
        posted.where = front_complement(posted.where);
    request->handle = place->handle;
    request_fill(request, &posted);
    request->persistent = request->holds = place->posted.type & POSTED_PERSISTENT;
    request->active = !(place->posted.type & POSTED_IDLE);
    if (more)
        request->posted.more = request_number(more);
    if (type == REQUEST_COLL)
        *request_more(request) = (struct request_more){.bytes_out = (uint32_t)posted.tag};
    if (type == REQUEST_PAIR) {
        const struct front_pair *pair = front_pair(place);
        *request_more(request) = (struct request_more){
            .bytes_out = pair->bytes, .dest = pair->dest, .tag = pair->tag, .recvtag = posted.tag};
    }
    return request;
}

static struct request *front_take(struct log *log, struct front_place *place)
{
    struct request *request = front_copy(log, place);
    if (!request && (place->posted.type & POSTED_PERSISTENT))
        comm_let_go(place->posted.view->comm);
    front_free(place);
    return request;
}

static void place_leave(struct log *log, struct front_place *place)
{
    uint64_t handle = place->handle;
    struct request *request = handle ? front_take(log, place) : NULL, *others;
    if (!request)
        return;
    if (!request->holds && request->comm)
        comm_hold(book.comms[request->comm]);
    request->holds = request->comm != 0;
    behind_put(request, handle, PUT_OLDEST, &others);
}

void request_front_leave(struct log *log)
{
    while (request_beside[0].older) /* the youngest first: each later one is put in as the oldest */
        place_leave(log, &request_beside[request_beside[0].older]);
    for (unsigned i = 0; i < FRONT_PLACES; i++)
        place_leave(log, &request_front[i]);
}

void request_front_yield(struct log *log, uint64_t handle)
{
    struct front_place *place = front_place(handle);
    if (book.concurrent || !handle || place->handle != handle || !(place->posted.type & POSTED_PERSISTENT))
        return;
    struct request *request = front_take(log, place);
    if (request)
        request_put(request, handle);
}

static void displaced_add(struct log *log, struct request *request)
{
    request->spare = log->requests.displaced;
    log->requests.displaced = request;
}

void request_put_new(struct log *log, struct request *request, uint64_t handle)
{
    struct front_place *place = front_place(handle);
    struct front_place *there = book.concurrent ? NULL : front_oldest(handle);
    struct request *others;
    if (!there && behind_put(request, handle, PUT_IF_NONE, &others)) {
        place->behind += !book.concurrent;
        return;
    }
    if (abi_request_is_shared(handle)) {
        request_put(request, handle);
        return;
    }
    struct request *front = there ? front_take(log, there) : NULL;
    if (front)
        displaced_add(log, front);
    behind_put(request, handle, PUT_INSTEAD, &others);
    uint32_t displaced = 0;
    for (struct request *r = others, *next; r; r = next) {
        next = request_at(r->younger) == others ? NULL : request_at(r->younger);
        displaced_add(log, r);
        displaced++;
    }
    if (!book.concurrent)
        place->behind += 1 - displaced;
}

enum {
    SEARCH_MOST = 64,     /* this many requests of one handle are searched for their variable, twice, */
    SEARCH_PAID = 128,    /* and then this many for each that was taken, */
    SEARCH_FAR = 1 << 12, /* which may be saved up to this many */
};

/* Returns the request before the first one of this variable, in the ring after `start`. NULL: not found. */
static struct request *ring_find(struct request *start, const void *where, uint32_t most, uint32_t *looked)
{
    struct request *before = start;
    for (*looked = 0; *looked <= most; ++*looked) {
        struct request *request = request_at(before->younger);
        if (request->posted.where == where)
            return before;
        if (request == start)
            break;
        before = request;
    }
    return NULL;
}

/* Searches the oldest requests, then the ones near the last one taken, then the whole ring. */
static struct request *ring_search(struct shard *shard, struct request *youngest, const void *where)
{
    uint32_t looked;
    struct request *last = shard->hint ? request_at(shard->hint) : NULL;
    struct request *before = ring_find(youngest, where, SEARCH_MOST, &looked);
    if (!before && looked > SEARCH_MOST && last && last->handle == youngest->handle)
        before = ring_find(last, where, SEARCH_MOST, &looked);
    shard->spent -= shard->spent < SEARCH_PAID ? shard->spent : SEARCH_PAID;
    if (before || looked <= SEARCH_MOST) /* there are no others */
        return before;
    before = ring_find(youngest, where, SEARCH_FAR - shard->spent, &looked);
    shard->spent += looked < SEARCH_FAR - shard->spent ? looked : SEARCH_FAR - shard->spent;
    return before;
}

/* Takes out one of the requests of one handle: the oldest of its variable. *at is the youngest. Programs complete
 * requests in the order of posting, but may leave some out. A request that is not among the oldest is searched near the
 * last one, and then as far as the earlier takes have paid for. So in the long run the cost of a take does not depend
 * on the number of requests. If the request is not found, the oldest of all is taken. */
static struct request *ring_take(struct shard *shard, uint32_t *at, const void *where, bool only_there)
{
    struct request *youngest = request_at(*at), *before = ring_search(shard, youngest, where);
    if (!before && only_there)
        return NULL;
    if (!before)
        before = youngest;
    struct request *request = request_at(before->younger);
    if (request == before) {
        *at = request->chain;
        shard->hint = 0;
        return request;
    }
    if (request == youngest)
        youngest_set(at, before);
    before->younger = request->younger;
    shard->hint = request_number(before);
    return request;
}

enum take { TAKE, TAKE_IF_THERE, TAKE_OR_FIND };

static struct request *behind_take(uint64_t handle, const void *where, enum take how)
{
    uint64_t hash = hash_of(handle);
    struct holding held = shard_lock(hash);
    struct shard *shard = held.shard;
    uint32_t *at = shard->mask ? link_find(shard, hash, handle) : NULL;
    struct request *request = at && *at ? request_at(*at) : NULL;
    bool alone = request && request->younger == *at, stays = false;
    if (alone && how != TAKE_IF_THERE) {
        stays = how == TAKE_OR_FIND && request->persistent;
        *at = stays ? *at : request->chain;
        if (!stays && shard->hint == request_number(request))
            shard->hint = 0;
    } else if (request) {
        request = ring_take(shard, at, where, how == TAKE_IF_THERE);
    }
    shard->used -= alone && request && !stays;
    shard_unlock(held);
    if (!request)
        return NULL;
    if (request->stays != stays) /* else another thread may be changing the other bits of the word */
        request->stays = stays;
    if (!book.concurrent)
        front_place(handle)->behind -= !stays;
    return request;
}

static struct request *take(struct log *log, uint64_t handle, const void *where, enum take how)
{
    if (book.concurrent || !handle)
        return behind_take(handle, where, how);
    struct front_place *place = front_find(handle, where);
    if (place)
        return front_take(log, place);
    place = front_oldest(handle);
    if (!place)
        return behind_take(handle, where, how);
    struct request *request = behind_take(handle, where, TAKE_IF_THERE);
    return request ? request : front_take(log, place);
}

struct request *request_take(struct log *log, uint64_t handle, const void *where)
{
    struct request *request = take(log, handle, where, book.concurrent ? TAKE_OR_FIND : TAKE);
    if (request && request->stays && call_table[log->state->call].fold == FOLD_START)
        __atomic_store_n(&request->starting, true, __ATOMIC_RELAXED); /* the library orders it before the end */
    return request;
}

struct request *request_remove(struct log *log, uint64_t handle, const void *where)
{
    return take(log, handle, where, TAKE);
}

void request_started(struct request *request)
{
    __atomic_store_n(&request->starting, false, __ATOMIC_RELEASE); /* partner: request_has_ended */
}

/* True if the status is the one of an inactive request. Other fields do not tell. */
static bool is_empty(const struct request *request, const MPI_Status *status)
{
    return request->posted.type == REQUEST_RECV && request->posted.kind == CALL_MPI_Recv_init &&
           request->posted.peer != PEER_PROC_NULL && status && status->MPI_SOURCE == MPI_ANY_SOURCE &&
           !abi_status_cancelled(status);
}

bool request_has_ended(const struct request *request, const MPI_Status *status)
{
    enum { YIELDS_MOST = 100000 };
    if (is_empty(request, status))
        return false;
    for (int i = 0; __atomic_load_n(&request->starting, __ATOMIC_ACQUIRE) && i < YIELDS_MOST; i++)
        sched_yield(); /* its records are being written */
    return request->active;
}

struct request *request_find(struct log *log, uint64_t handle, const void *where)
{
    return take(log, handle, where, TAKE_OR_FIND);
}

struct request *request_take_there(uint64_t handle, const void *where)
{
    return behind_take(handle, where, TAKE_IF_THERE);
}

/* Returns the youngest request of this handle in the table. */
static struct request *behind_find(uint64_t handle)
{
    uint64_t hash = hash_of(handle);
    struct shard *shard = &shards[hash >> (64 - SHARD_BITS)];
    uint32_t number = shard->buckets ? *link_find(shard, hash, handle) : 0;
    return number ? request_at(number) : NULL;
}

/* Returns a request that may be started. MPICH's MPI_Waitany and the like treat a started request to MPI_PROC_NULL as
 * inactive, and do not report its end. The caller holds the shard. */
static struct request *inactive_find(uint64_t handle)
{
    struct request *youngest = behind_find(handle), *request = youngest;
    while (request) {
        request = request_at(request->younger);
        if (request->persistent && (!request->active || request->posted.peer == PEER_PROC_NULL))
            return request;
        if (request == youngest)
            break;
    }
    return NULL;
}

struct request *request_peek(uint64_t handle)
{
    struct holding held = shard_lock(hash_of(handle));
    struct request *request = inactive_find(handle);
    shard_unlock(held);
    return request;
}

static bool front_look(uint64_t handle, struct request *copy)
{
    const struct front_place *place = front_place(handle);
    if (book.concurrent || !handle || place->handle != handle || !(place->posted.type & POSTED_IDLE))
        return false;
    request_fill(copy, &place->posted);
    copy->posted.type &= POSTED_TYPE;
    copy->active = false;
    return true;
}

bool request_look(uint64_t handle, struct request *copy)
{
    if (front_look(handle, copy))
        return true;
    struct holding held = shard_lock(hash_of(handle));
    const struct request *request = inactive_find(handle);
    if (request)
        *copy = *request;
    shard_unlock(held);
    return request != NULL;
}

bool request_look_comm(uint64_t handle, struct request *copy, struct request_more *more)
{
    struct holding held = shard_lock(hash_of(handle));
    const struct request *request = behind_find(handle);
    bool makes = request && request->posted.type == REQUEST_COMM;
    if (makes) {
        *copy = *request;
        *more = *request_more(request);
        request_more(request)->newcomm = native.comm_null;
    }
    shard_unlock(held);
    return makes;
}

uint64_t request_begin(uint64_t handle)
{
    const struct front_place *place = handle ? front_oldest(handle) : NULL;
    if (place)
        return place->posted.type & POSTED_IDLE ? 0 : place->posted.begin;
    const struct request *youngest = behind_find(handle);
    const struct request *oldest = youngest ? request_at(youngest->younger) : NULL;
    return oldest && oldest->active ? oldest->posted.begin : 0;
}

static void request_receive(const struct comm *comm, const struct request *r, umq_receive_found *found, void *data)
{
    if ((r->posted.type == REQUEST_RECV || r->posted.type == REQUEST_PAIR) && r->active && r->comm == comm->slot &&
        r->posted.peer != PEER_PROC_NULL)
        found(data, r->posted.peer, r->posted.type == REQUEST_PAIR ? request_more(r)->recvtag : r->posted.tag);
}

static void place_receive(const struct comm *comm, const struct front_place *place, umq_receive_found *found,
                          void *data)
{
    const struct posted *posted = &place->posted;
    unsigned type = posted->type & ~(unsigned)POSTED_PERSISTENT; /* an idle request has no type here */
    if (place->handle && (type == REQUEST_RECV || type == REQUEST_PAIR) && posted->view && posted->view->comm == comm &&
        posted->peer != PEER_PROC_NULL)
        found(data, posted->peer, posted->tag);
}

/* A signal may have interrupted a change of the table. Then each linked request is whole. */
void request_pending_visit(const struct comm *comm, umq_receive_found *found, void *data)
{
    for (unsigned i = 0; i < FRONT_PLACES; i++)
        place_receive(comm, &request_front[i], found, data);
    for (unsigned i = 1; i <= FRONT_PLACES; i++)
        place_receive(comm, &request_beside[i], found, data);
    for (unsigned s = 0; s < SHARDS; s++)
        for (uint32_t i = 0; shards[s].used && i <= shards[s].mask; i++)
            for (uint32_t chain = shards[s].buckets[i]; chain; chain = request_at(chain)->chain) {
                const struct request *r = request_at(chain);
                do {
                    request_receive(comm, r, found, data);
                    r = request_at(r->younger);
                } while (r != request_at(chain));
            }
}
