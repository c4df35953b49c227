/* The source of empty requests: slabs, the lists of the threads, and the pool between these. */
#include "requests/request.h"

#include <sys/mman.h>

char *request_slabs[SLABS_MOST];

/* A thread that completes the requests of others has too many spare ones. They go through the pool to other threads, in
 * batches of SPARE_MOST requests, linked by `next_batch`. */
static struct request *pool;
static uint32_t slab_count;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static struct request **next_batch(struct request *batch)
{
    return (struct request **)(void *)((char *)batch + sizeof batch->handle);
}

/* For requests in front, whose handles must not be lost when memory has run out. */
static struct request *reserve;
static char *reserve_slab;

static void reserve_give(struct request *request)
{
    request->spare = reserve;
    reserve = request;
}

void request_release_one(struct log *log, struct request *request)
{
    if (request_slab(request) == reserve_slab) {
        reserve_give(request);
        return;
    }
    if (log->requests.spare_count == SPARE_MOST)
        request_spare_give(log);
    request->spare = log->requests.spare;
    log->requests.spare = request;
    log->requests.spare_count++;
}

static bool spare_fetch(struct log *log)
{
    pthread_mutex_lock(&pool_lock);
    struct request *batch = pool;
    if (batch)
        pool = *next_batch(batch);
    pthread_mutex_unlock(&pool_lock);
    log->requests.spare = batch;
    log->requests.spare_count = batch ? SPARE_MOST : 0;
    return batch != NULL;
}

/* Returns memory that begins at a multiple of its size. */
static char *slab_map(void)
{
    char *memory = mmap(NULL, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    char *slab = (char *)(((uintptr_t)memory + SLAB_BYTES - 1) & ~(uintptr_t)(SLAB_BYTES - 1));
    if (slab > memory)
        munmap(memory, (size_t)(slab - memory));
    munmap(slab + SLAB_BYTES, (size_t)(memory + SLAB_BYTES - slab));
    return slab;
}

/* The caller holds the lock of the pool. */
static char *slab_open(void)
{
    if (slab_count == SLABS_MOST || !run_memory_take(&book.run, SLAB_BYTES))
        return NULL;
    char *slab = slab_map();
    if (!slab) {
        run_memory_give(&book.run, SLAB_BYTES);
        return NULL;
    }
    *(uint32_t *)(void *)slab = slab_count;
    request_slabs[slab_count++] = slab;
    return slab;
}

/* Cuts a fresh slab into requests. */
static bool spare_cut(struct log *log)
{
    pthread_mutex_lock(&pool_lock);
    if (!reserve_slab && (reserve_slab = slab_open()) != NULL)
        for (unsigned i = 1; i < SLAB_REQUESTS; i++) /* number 0 is not used */
            reserve_give(request_at(i));
    char *slab = slab_open();
    pthread_mutex_unlock(&pool_lock);
    if (!slab) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return false;
    }
    for (unsigned i = 0; i < SLAB_REQUESTS; i++)
        request_release_one(log, (struct request *)(void *)(slab + SLAB_HEAD) + i);
    return true;
}

struct request *request_make_slow(struct log *log)
{
    return spare_fetch(log) || spare_cut(log) ? request_make(log) : NULL;
}

void request_spare_give(struct log *log)
{
    pthread_mutex_lock(&pool_lock);
    *next_batch(log->requests.spare) = pool;
    pool = log->requests.spare;
    pthread_mutex_unlock(&pool_lock);
    log->requests.spare = NULL;
    log->requests.spare_count = 0;
}

struct request *request_make_surely(struct log *log)
{
    struct request *request = request_make(log);
    if (!request && reserve) {
        request = reserve;
        reserve = request->spare;
    }
    return request;
}
