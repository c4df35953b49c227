#include "request.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SHARD_BITS = 6, SHARDS = 1 << SHARD_BITS, FIRST_BUCKETS = 64, SLAB_BYTES = 64 << 10 };

struct shard {
    bool locked;
    uint32_t mask; /* buckets - 1 */
    uint32_t used;
    struct request **buckets;
    struct request *first_buckets[FIRST_BUCKETS];
};

static struct shard shards[SHARDS];

enum { SPARE_MOST = 512 };

/* Requests that wait to be used again, and the slab that new ones are cut from. Each thread has its own; what one thread
 * has too many of (it completes what others post) goes through the pool. */
static __thread struct request *spare __attribute__((tls_model("initial-exec")));
static __thread uint32_t spare_count __attribute__((tls_model("initial-exec")));
static __thread char *slab __attribute__((tls_model("initial-exec")));
static __thread size_t slab_left __attribute__((tls_model("initial-exec")));
static struct request *pool; /* chains of SPARE_MOST requests, linked by `younger` */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static bool spare_fetch(void)
{
    pthread_mutex_lock(&pool_lock);
    struct request *batch = pool;
    if (batch)
        pool = batch->younger;
    pthread_mutex_unlock(&pool_lock);
    spare = batch;
    spare_count = batch ? SPARE_MOST : 0;
    return batch != NULL;
}

static void spare_give(void)
{
    pthread_mutex_lock(&pool_lock);
    spare->younger = pool;
    pool = spare;
    pthread_mutex_unlock(&pool_lock);
    spare = NULL;
    spare_count = 0;
}

static struct request *slab_cut(void)
{
    if (slab_left < sizeof(struct request)) {
        char *fresh = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) {
            run_lost(&book.run, LOSS_NO_MEMORY, 1);
            return NULL;
        }
        slab = fresh;
        slab_left = SLAB_BYTES;
    }
    struct request *request = (struct request *)slab;
    slab += sizeof *request;
    slab_left -= sizeof *request;
    return request;
}

struct request *request_make(void)
{
    if (__builtin_expect(spare == NULL, 0) && !spare_fetch())
        return slab_cut();
    struct request *request = spare;
    spare = request->chain;
    spare_count--;
    return request;
}

void request_release(struct request *request)
{
    if (__builtin_expect(spare_count == SPARE_MOST, 0))
        spare_give();
    request->chain = spare;
    spare = request;
    spare_count++;
}

static inline uint64_t hash_of(uint64_t handle)
{
    return handle * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct shard *shard_lock(uint64_t hash)
{
    struct shard *shard = &shards[hash >> (64 - SHARD_BITS)];
    if (__builtin_expect(book.concurrent, 0))
        while (__atomic_exchange_n(&shard->locked, true, __ATOMIC_ACQUIRE))
            while (__atomic_load_n(&shard->locked, __ATOMIC_RELAXED))
                ;
    return shard;
}

static inline void shard_unlock(struct shard *shard)
{
    if (__builtin_expect(book.concurrent, 0))
        __atomic_store_n(&shard->locked, false, __ATOMIC_RELEASE);
}

static inline struct request **bucket_at(struct shard *shard, uint64_t hash)
{
    return &shard->buckets[(hash >> 24) & shard->mask];
}

/* Doubles the buckets; without memory the chains only grow longer. */
static void shard_grow(struct shard *shard)
{
    if (!shard->buckets) {
        shard->buckets = shard->first_buckets;
        shard->mask = FIRST_BUCKETS - 1;
        return;
    }
    struct request **old = shard->buckets;
    uint32_t old_mask = shard->mask;
    struct request **fresh = calloc(2 * ((size_t)old_mask + 1), sizeof(struct request *));
    if (!fresh)
        return;
    shard->buckets = fresh;
    shard->mask = 2 * old_mask + 1;
    for (uint32_t i = 0; i <= old_mask; i++)
        for (struct request *r = old[i], *chain; r; r = chain) {
            chain = r->chain;
            struct request **bucket = bucket_at(shard, hash_of(r->handle));
            r->chain = *bucket;
            *bucket = r;
        }
    if (old != shard->first_buckets)
        free(old);
}

void request_put(struct request *request, uint64_t handle)
{
    uint64_t hash = hash_of(handle);
    request->handle = handle;
    request->younger = NULL;
    struct shard *shard = shard_lock(hash);
    if (__builtin_expect(shard->used >= shard->mask, 0))
        shard_grow(shard);
    struct request **bucket = bucket_at(shard, hash);
    struct request *oldest = *bucket;
    while (oldest && oldest->handle != handle)
        oldest = oldest->chain;
    if (oldest) {
        oldest->last->younger = request;
        oldest->last = request;
    } else {
        request->last = request;
        request->chain = *bucket;
        *bucket = request;
        shard->used++;
    }
    shard_unlock(shard);
}

struct request *request_take(uint64_t handle)
{
    uint64_t hash = hash_of(handle);
    struct shard *shard = shard_lock(hash);
    struct request *request = NULL;
    if (__builtin_expect(shard->buckets != NULL, 1)) {
        struct request **place = bucket_at(shard, hash);
        while (*place && (*place)->handle != handle)
            place = &(*place)->chain;
        request = *place;
        if (request && request->younger) {
            request->younger->last = request->last;
            request->younger->chain = request->chain;
            *place = request->younger;
        } else if (request) {
            *place = request->chain;
            shard->used--;
        }
    }
    shard_unlock(shard);
    return request;
}

struct request *request_peek(uint64_t handle)
{
    uint64_t hash = hash_of(handle);
    struct shard *shard = &shards[hash >> (64 - SHARD_BITS)];
    if (!shard->buckets)
        return NULL;
    struct request *request = *bucket_at(shard, hash);
    while (request && request->handle != handle)
        request = request->chain;
    return request;
}
