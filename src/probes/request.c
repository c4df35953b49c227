#include "request.h"

#include "umq.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SLAB_BYTES = 64 << 10, SHARD_BITS = 6, SHARDS = 1 << SHARD_BITS, FIRST_BUCKETS = 64, SPINS_MOST = 1000 };

struct shard {
    bool locked;
    uint32_t mask; /* buckets - 1; 0 = none yet */
    uint32_t used;
    struct request **buckets;
};

struct front_place request_front[FRONT_PLACES];

static struct shard shards[SHARDS];
static struct request *first_buckets[SHARDS][FIRST_BUCKETS];

/* What one thread has too many of (it completes what others post) goes through the pool to those that have none: chains
 * of SPARE_MOST requests, linked by `younger`. */
static struct request *pool;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static bool spare_fetch(struct log *log)
{
    pthread_mutex_lock(&pool_lock);
    struct request *batch = pool;
    if (batch)
        pool = batch->younger;
    pthread_mutex_unlock(&pool_lock);
    log->spare = batch;
    log->spare_count = batch ? SPARE_MOST : 0;
    return batch != NULL;
}

/* Cuts a fresh slab into requests. */
static bool spare_cut(struct log *log)
{
    char *slab = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return false;
    }
    for (size_t at = 0; at + sizeof(struct request) <= SLAB_BYTES; at += sizeof(struct request))
        request_release(log, (struct request *)(void *)(slab + at));
    return true;
}

struct request *request_make_slow(struct log *log)
{
    return spare_fetch(log) || spare_cut(log) ? request_make(log) : NULL;
}

void request_spare_give(struct log *log)
{
    pthread_mutex_lock(&pool_lock);
    log->spare->younger = pool;
    pool = log->spare;
    pthread_mutex_unlock(&pool_lock);
    log->spare = NULL;
    log->spare_count = 0;
}

static void shard_wait(struct shard *shard)
{
    do
        for (int spins = 0; __atomic_load_n(&shard->locked, __ATOMIC_RELAXED); spins++)
            if (spins >= SPINS_MOST) /* its holder may wait for this processor */
                sched_yield();
    while (__atomic_exchange_n(&shard->locked, true, __ATOMIC_ACQUIRE));
}

static uint64_t hash_of(uint64_t handle)
{
    return handle * UINT64_C(0x9e3779b97f4a7c15);
}

/* Acquire pairs with the release in shard_unlock. */
static struct shard *shard_lock(uint64_t hash)
{
    struct shard *shard = &shards[hash >> (64 - SHARD_BITS)];
    if (book.concurrent && __atomic_exchange_n(&shard->locked, true, __ATOMIC_ACQUIRE))
        shard_wait(shard);
    return shard;
}

static void shard_unlock(struct shard *shard)
{
    if (book.concurrent)
        __atomic_store_n(&shard->locked, false, __ATOMIC_RELEASE);
}

static struct request **bucket_of_hash(struct shard *shard, uint64_t hash)
{
    return &shard->buckets[(hash >> 24) & shard->mask];
}

/* Doubles the buckets; without memory the chains only grow longer. */
static void shard_grow(struct shard *shard)
{
    struct request **first = first_buckets[shard - shards];
    if (!shard->buckets) {
        shard->buckets = first;
        shard->mask = FIRST_BUCKETS - 1;
        return;
    }
    struct request **old = shard->buckets;
    uint32_t old_mask = shard->mask;
    struct request **fresh = calloc(2 * ((size_t)old_mask + 1), sizeof *fresh);
    if (!fresh)
        return;
    shard->buckets = fresh;
    __atomic_signal_fence(
        __ATOMIC_SEQ_CST); /* a handler that reads the table: never the new mask for the old buckets */
    shard->mask = 2 * old_mask + 1;
    for (uint32_t i = 0; i <= old_mask; i++)
        for (struct request *r = old[i], *chain; r; r = chain) {
            chain = r->chain;
            struct request **bucket = bucket_of_hash(shard, hash_of(r->handle));
            r->chain = *bucket;
            *bucket = r;
        }
    if (old != first)
        free(old);
}

void request_put(struct request *request, uint64_t handle)
{
    uint64_t hash = hash_of(handle);
    request->handle = handle;
    request->younger = NULL;
    if (!book.concurrent)
        front_place(handle)->overflow++;
    struct shard *shard = shard_lock(hash);
    if (shard->used >= shard->mask)
        shard_grow(shard);
    struct request **bucket = bucket_of_hash(shard, hash);
    struct request *oldest = *bucket;
    while (oldest && oldest->handle != handle)
        oldest = oldest->chain;
    if (oldest) {
        struct request *last = oldest->younger ? oldest->last : oldest;
        last->younger = request;
        oldest->last = request;
    } else {
        request->chain = *bucket;
        *bucket = request;
        shard->used++;
    }
    shard_unlock(shard);
}

/* What lives in front becomes a request of its own. */
static struct request *front_take(struct log *log, struct front_place *place)
{
    struct request *request = request_make(log);
    if (request) {
        request->handle = place->handle;
        request->posted = place->posted;
        request->persistent = request->quiet = false;
        request->weight = 1;
        request->active = true;
    }
    place->handle = 0;
    return request;
}

enum { SEARCH_MOST = 64 }; /* so many requests of one handle are looked through for their variable */

/* Takes one out of the requests of one handle, the oldest of which is *at. */
static struct request *list_take(struct request **at, const void *where, bool only_there)
{
    struct request *oldest = *at, *before = NULL, *request = oldest;
    for (int i = 0; request && request->posted.where != where; i++) {
        before = request;
        request = i < SEARCH_MOST ? request->younger : NULL;
    }
    if (!request && only_there)
        return NULL;
    if (!request || request == oldest) {
        if (oldest->younger) {
            oldest->younger->last = oldest->last;
            oldest->younger->chain = oldest->chain;
        }
        *at = oldest->younger ? oldest->younger : oldest->chain;
        return oldest;
    }
    before->younger = request->younger;
    if (oldest->last == request)
        oldest->last = before;
    return request;
}

static struct request *behind_take(uint64_t handle, const void *where, bool only_there)
{
    uint64_t hash = hash_of(handle);
    struct shard *shard = shard_lock(hash);
    struct request *request = NULL;
    if (shard->mask) {
        struct request **at = bucket_of_hash(shard, hash);
        while (*at && (*at)->handle != handle)
            at = &(*at)->chain;
        if (*at) {
            bool alone = !(*at)->younger;
            request = list_take(at, where, only_there);
            shard->used -= alone && request;
        }
    }
    shard_unlock(shard);
    if (request && !book.concurrent)
        front_place(handle)->overflow--;
    return request;
}

struct request *request_take(struct log *log, uint64_t handle, const void *where)
{
    struct front_place *place = front_place(handle);
    if (book.concurrent || !handle || place->handle != handle)
        return behind_take(handle, where, false);
    if (place->posted.where != where && place->overflow) {
        struct request *request = behind_take(handle, where, true);
        if (request)
            return request;
    }
    return front_take(log, place); /* it is older than what overflowed */
}

static struct request *behind_find(uint64_t handle)
{
    uint64_t hash = hash_of(handle);
    struct shard *shard = &shards[hash >> (64 - SHARD_BITS)];
    struct request *request = shard->buckets ? *bucket_of_hash(shard, hash) : NULL;
    while (request && request->handle != handle)
        request = request->chain;
    return request;
}

struct request *request_peek(uint64_t handle)
{
    struct request *request = behind_find(handle);
    while (request && (!request->persistent || request->active))
        request = request->younger;
    return request;
}

uint64_t request_begin(uint64_t handle)
{
    const struct front_place *place = front_place(handle);
    if (handle && place->handle == handle)
        return place->posted.begin;
    const struct request *request = behind_find(handle);
    return request && request->active ? request->posted.begin : 0;
}

static void pending_add(struct umq_pending *pending, const struct comm *comm, const struct posted *posted)
{
    if (posted->type != REQUEST_RECV || !posted->view || posted->view->comm != comm || posted->peer == PEER_PROC_NULL)
        return;
    pending->all++;
    pending->any += posted->peer == PEER_ANY;
    for (unsigned i = 0; i < pending->count; i++)
        pending->posted[i] += pending->ranks[i] == posted->peer;
}

/* A signal may have interrupted a change of the table: what is linked is whole, and what is not is not there. */
void request_pending_count(const struct comm *comm, struct umq_pending *pending)
{
    for (unsigned i = 0; i < FRONT_PLACES; i++)
        if (request_front[i].handle)
            pending_add(pending, comm, &request_front[i].posted);
    for (unsigned s = 0; s < SHARDS; s++)
        for (uint32_t i = 0; shards[s].used && i <= shards[s].mask; i++)
            for (const struct request *chain = shards[s].buckets[i]; chain; chain = chain->chain)
                for (const struct request *r = chain; r; r = r->younger)
                    if (r->active)
                        pending_add(pending, comm, &r->posted);
}
