#include "requests/request.h"

#include "base/invariant.h"
#include "registry/unfreed.h"
#include "requests/requestarena.h"
#include "umq/umq.h"

#include <sched.h>
#include <stdlib.h>

enum { FIRST_BITS = 8, SPINS_MOST = 1000, LOAD_MOST = 4 };

static struct request *first_buckets[1 << FIRST_BITS];
struct request_table request_table = {.buckets = first_buckets, .shift = 64 - FIRST_BITS};

/* The caller holds the table. */
static bool request_table_is_valid(void)
{
    bool crowded = false;
    for (int i = 0; i < CROWDS_MOST; i++) {
        const struct request_crowd *crowd = &request_table.crowds[i];
        if (!crowd->oldest != !crowd->youngest || (crowd->oldest && !crowd->handle))
            return false;
        crowded = crowded || crowd->oldest;
    }
    return crowded == (request_table.crowd != 0) && request_table.buckets && request_table.shift &&
           request_table.shift <= 64 - FIRST_BITS && (!request_table.spare || !request_table.spare->handle);
}

/* Of a request that only the caller has, or that is in the table, which the caller holds. */
static bool request_is_valid(const struct request *request)
{
    uint32_t number = request_number(request), count = arena_count();
    return number && number < count && request->type <= REQUEST_PAIR && request->state <= REQUEST_STARTING &&
           !(request->extended && (request->crowded || !request->more || request->more >= count)) &&
           (request->crowded || !request->hidden) && (request->posted.comm || !request->holds);
}

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void table_wait(void)
{
    do
        for (int spins = 0; __atomic_load_n(&request_table.locked, __ATOMIC_RELAXED); spins++)
            if (spins >= SPINS_MOST) /* its holder may wait for this processor */
                sched_yield();
    while (__atomic_exchange_n(&request_table.locked, true, __ATOMIC_ACQUIRE));
}

/* Returns whether the caller must unlock: threads may begin to run at once meanwhile, and a thread that did not lock the
 * table must not unlock it. Acquire pairs with the release in table_unlock. */
HOT bool table_lock(void)
{
    bool locks = RELAXED_LOAD(&book.concurrent);
    if (locks && __atomic_exchange_n(&request_table.locked, true, __ATOMIC_ACQUIRE))
        table_wait();
    MPIT_ASSERT(request_table_is_valid());
    return locks;
}

HOT void table_unlock(bool locked)
{
    if (locked)
        __atomic_store_n(&request_table.locked, false, __ATOMIC_RELEASE);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Makes spare requests. Number 0 is not used. The caller holds the table. */
static bool spare_make(void)
{
    struct request *made = arena_extend();
    for (int i = ARENA_STEP - 1; made && i >= 0; i--)
        if (request_number(&made[i])) {
            made[i].next = request_table.spare;
            request_table.spare = &made[i];
        }
    if (!made)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    return made != NULL;
}

static struct request *chain_next(const struct request *request)
{
    return request->chain ? request_at(request->chain) : NULL;
}

static struct request **own_bucket(const struct request *request)
{
    return request_bucket(request->crowded ? request_variable_key(request->where) : request->handle);
}

static void chain_add(struct request *request)
{
    struct request **bucket = own_bucket(request);
    request->chain = *bucket ? request_number(*bucket) : 0;
    *bucket = request;
}

static void chain_remove(struct request *request)
{
    struct request **bucket = own_bucket(request), *before = *bucket;
    if (before == request)
        *bucket = chain_next(request);
    else
        while (before && chain_next(before) != request)
            before = chain_next(before);
    if (before && before != request)
        before->chain = request->chain;
    request->chain = 0;
}

/* Makes four times as many buckets when chains may have become long. Without memory they only grow longer. */
static void buckets_grow(void)
{
    size_t count = (size_t)1 << (64 - request_table.shift), bytes = 4 * count * sizeof *request_table.buckets;
    if (arena_count() <= LOAD_MOST * count || !run_memory_take(&book.run, bytes))
        return;
    struct request **old = request_table.buckets, **fresh = calloc(1, bytes);
    if (!fresh) {
        run_memory_give(&book.run, bytes);
        return;
    }
    request_table.buckets = fresh;
    request_table.shift -= 2;
    for (size_t i = 0; i < count; i++) {
        struct request *moved = NULL; /* the chain, from its end on: equal handles keep their order */
        for (struct request *r = old[i], *next; r; r = next) {
            next = chain_next(r);
            r->chain = moved ? request_number(moved) : 0;
            moved = r;
        }
        for (struct request *r = moved, *next; r; r = next) {
            next = chain_next(r);
            chain_add(r);
        }
    }
    if (old == first_buckets)
        return;
    free(old);
    run_memory_give(&book.run, bytes / 4);
}

/* Returns an empty request. */
static struct request *empty_take(void)
{
    if (!request_table.spare) {
        if (!spare_make())
            return NULL;
        buckets_grow();
    }
    struct request *request = request_table.spare;
    request_table.spare = request->next;
    return request;
}

static void empty_give(struct request *request)
{
    request->handle = 0;
    request->next = request_table.spare;
    request_table.spare = request;
}

/* True if it has members that need a struct request_more. */
static bool is_extended(const struct posted *posted)
{
    return posted->type >= REQUEST_COMM || (posted->type == REQUEST_COLL && posted->bytes_out > INT32_MAX);
}

void request_fill(struct request *request, const struct posted *posted)
{
    static const uint16_t kinds[] = {[REQUEST_SEND] = RECORD_SEND_DONE, [REQUEST_RECV] = RECORD_RECV_DONE};
    request->posted = (struct event){.begin = posted->begin,
                                     .kind = posted->type <= REQUEST_RECV ? kinds[posted->type] : 0,
                                     .duration = posted->kind,
                                     .comm = posted->view ? (uint16_t)posted->view->slot : 0,
                                     .peer = posted->peer,
                                     .tag = posted->type == REQUEST_COLL ? (int32_t)posted->bytes_out : posted->tag,
                                     .bytes = posted->bytes};
    request->where = posted->where;
    request->path = posted->path;
    request->plain = 0;
    request->type = posted->type;
    if (posted->persistent) {
        request->persistent = true;
        request->state = REQUEST_IDLE;
    }
    if (posted->quiet)
        request->quiet = true;
    if (posted->type == REQUEST_RECV && posted->peer == PEER_PROC_NULL)
        request->nobody = true;
    request->chain = 0;
}

struct request *request_make(const struct posted *posted)
{
    bool locked = table_lock();
    struct request *request = empty_take(), *more = request && is_extended(posted) ? empty_take() : NULL;
    if (request && is_extended(posted) && !more) {
        empty_give(request);
        request = NULL;
    }
    table_unlock(locked);
    if (!request)
        return NULL;
    request_fill(request, posted);
    if (more) {
        request->extended = true;
        request->more = request_number(more);
        *request_more(request) = (struct request_more){.bytes_out = posted->bytes_out};
    }
    if (book_is_shared() || posted->persistent) /* it may start long after its communicator was freed */
        request_hold(request);
    return request;
}

void request_release(struct request *request)
{
    MPIT_ASSERT(request_is_valid(request) && !request->handle);
    struct comm *comm = request->holds ? book.comms[request->posted.comm] : NULL;
    bool locked = table_lock();
    if (request->extended)
        empty_give(request_at(request->more));
    empty_give(request);
    table_unlock(locked);
    if (comm)
        comm_let_go(comm);
}

void request_hold(struct request *request)
{
    MPIT_ASSERT(request_is_valid(request));
    if (request->holds || !request->posted.comm)
        return;
    request->holds = true;
    comm_hold(book.comms[request->posted.comm]);
}

/* ---- into the table ---------------------------------------------------------------------------------------------- */

/* Returns the oldest request of this handle in its chain that is not crowded, or NULL. */
static struct request *first_find(uint64_t handle)
{
    struct request *found = NULL;
    for (struct request *r = *request_bucket(handle); r; r = chain_next(r))
        if (r->handle == handle && !r->crowded)
            found = r;
    return found;
}

static struct request *crowded_find(uint64_t handle, const void *where)
{
    for (struct request *r = *request_bucket(request_variable_key(where)); r; r = chain_next(r))
        if (r->crowded && r->handle == handle && r->where == where)
            return r;
    return NULL;
}

/* Returns the crowd of this handle, or NULL. There are few: a library has a shared handle or two. */
HOT struct request_crowd *crowd_of(uint64_t handle)
{
    for (struct request_crowd *crowd = request_table.crowds; crowd < request_table.crowds + CROWDS_MOST; crowd++)
        if (crowd->handle == handle)
            return crowd;
        else if (!crowd->handle)
            break;
    return NULL;
}

/* The same. Makes one, if there is a place for it. */
static struct request_crowd *crowd_make(uint64_t handle)
{
    struct request_crowd *crowd = crowd_of(handle);
    for (int i = 0; !crowd && i < CROWDS_MOST; i++)
        if (!request_table.crowds[i].handle) {
            crowd = &request_table.crowds[i];
            crowd->handle = handle;
        }
    return crowd;
}

/* Returns the oldest crowded request of this handle, or NULL. */
static struct request *crowd_oldest(uint64_t handle)
{
    const struct request_crowd *crowd = request_table.crowd ? crowd_of(handle) : NULL;
    return crowd && crowd->oldest ? request_at(crowd->oldest) : NULL;
}

static struct request *crowd_next(const struct request *request)
{
    return request->younger ? request_at(request->younger) : NULL;
}

/* Puts it to the crowded ones, as the youngest. */
HOT void crowd_link(struct request_crowd *crowd, struct request *request)
{
    uint32_t number = request_number(request);
    request->crowded = true;
    request->older = crowd->youngest;
    request->younger = 0;
    *(request->older ? &request_at(request->older)->younger : &crowd->oldest) = number;
    crowd->youngest = number;
    request_table.crowd++;
}

HOT void crowd_unlink(struct request *request)
{
    struct request_crowd *crowd = crowd_of(request->handle);
    *(request->older ? &request_at(request->older)->younger : &crowd->oldest) = request->younger;
    *(request->younger ? &request_at(request->younger)->older : &crowd->youngest) = request->older;
    request->crowded = false;
    request->path = 0; /* its place was needed */
    request_table.crowd--;
}

/* The same, and puts it into the bucket of its variable. */
static void crowd_add(struct request_crowd *crowd, struct request *request)
{
    const struct request *first = first_find(request->handle);
    request->hidden =
        (first && first->where == request->where) || crowded_find(request->handle, request->where) != NULL;
    crowd_link(crowd, request);
    if (!request->hidden)
        chain_add(request);
}

static void table_remove(struct request *request)
{
    MPIT_ASSERT(request_is_valid(request) && request->handle);
    if (!request->hidden)
        chain_remove(request);
    if (request->crowded)
        crowd_unlink(request);
    request->hidden = false;
    request->handle = 0;
}

static void displaced_add(struct log *log, struct request *request)
{
    request->next = log->requests.displaced;
    log->requests.displaced = request;
}

/* Puts it into the table, where its handle has another one. `log`: it is new, and displaces requests of the same handle
 * that is not shared. */
static void table_insert_known(struct request *request, struct log *log, bool shared)
{
    struct request *first;
    while (log && !shared && (first = first_find(request->handle)) != NULL) {
        table_remove(first);
        displaced_add(log, first);
    }
    struct request_crowd *crowd = shared && !request->extended ? crowd_make(request->handle) : NULL;
    if (crowd)
        crowd_add(crowd, request);
    else
        chain_add(request);
}

static void table_insert(struct request *request, struct log *log)
{
    uint64_t handle = request->handle;
    struct request **bucket = request_bucket(handle);
    MPIT_ASSERT(request_is_valid(request));
    if (!book_is_shared() && !*bucket && !request_table.crowd) {
        *bucket = request;
        return;
    }
    bool locked = table_lock();
    bool known = first_find(handle) || crowd_oldest(handle);
    bool shared = known && abi_request_was_shared(handle);
    if (known && !shared) { /* not under the lock: it may ask the dynamic linker */
        table_unlock(locked);
        shared = abi_request_is_shared(handle);
        locked = table_lock();
    }
    if (known)
        table_insert_known(request, log, shared);
    else
        chain_add(request);
    table_unlock(locked);
}

void request_put(struct request *request, uint64_t handle)
{
    request->handle = handle;
    table_insert(request, NULL);
    if (request->persistent)
        unfreed_add(LEFT_PERSISTENT, handle, request->path, clock_now());
}

bool request_link(struct log *log, struct request *request)
{
    const struct request *head = *request_bucket(request->handle);
    struct request **bucket = request_bucket(request_variable_key(request->where));
    struct request_crowd *crowd = crowd_of(request->handle);
    if (!book_is_shared() && crowd && !*bucket && head->handle == request->handle && !head->crowded &&
        head->where != request->where) {
        crowd_link(crowd, request);
        *bucket = request;
        return false;
    }
    table_insert(request, log);
    return log->requests.displaced != NULL;
}

void request_put_new(struct log *log, struct request *request, uint64_t handle)
{
    request->handle = handle;
    table_insert(request, log);
    if (request->persistent)
        unfreed_add(LEFT_PERSISTENT, handle, request->path, clock_now());
}

/* ---- out of the table -------------------------------------------------------------------------------------------- */

/* Returns the request of this handle and variable. If there is none: the oldest of the handle, unless `only_there`. */
static struct request *table_find(uint64_t handle, const void *where, bool only_there)
{
    struct request *first = NULL, *there = NULL;
    for (struct request *r = *request_bucket(handle); r; r = chain_next(r))
        if (r->handle == handle && !r->crowded) {
            first = r;
            there = r->where == where ? r : there;
        }
    if (!there && request_table.crowd)
        there = crowded_find(handle, where);
    if (there || only_there)
        return there;
    struct request *crowded = crowd_oldest(handle);
    return first && (!crowded || first->posted.begin <= crowded->posted.begin) ? first : crowded;
}

enum take { TAKE, TAKE_THERE, TAKE_PERSISTENT };

static struct request *take(uint64_t handle, const void *where, enum take how)
{
    bool locked = table_lock();
    struct request *request = handle ? table_find(handle, where, how == TAKE_THERE) : NULL;
    if (request && (!request->persistent || how == TAKE_PERSISTENT))
        table_remove(request);
    table_unlock(locked);
    if (request && request->persistent && how == TAKE_PERSISTENT)
        unfreed_remove(LEFT_PERSISTENT, handle);
    return request;
}

/* Takes a request that is the only one of its handle. NULL: it is not, or it is not known. */
HOT struct request *take_alone(uint64_t handle, const void *where)
{
    struct request **bucket = request_bucket(handle), *request = *bucket;
    MPIT_ASSERT(request_table_is_valid());
    if (!request || request->handle != handle || request->chain || request->crowded ||
        (request_table.crowd && request->where != where))
        return NULL;
    if (!request->persistent) {
        *bucket = NULL;
        request->handle = 0;
    }
    return request;
}

/* Takes a crowded request that is the only one in the bucket of its variable. NULL: it is not, or it is not known. */
HOT struct request *take_crowded(uint64_t handle, const void *where)
{
    struct request **bucket = request_bucket(request_variable_key(where)), *request = *bucket;
    MPIT_ASSERT(request_table_is_valid());
    if (!request || !request->crowded || request->handle != handle || request->where != where || request->persistent ||
        request->chain)
        return NULL;
    *bucket = NULL;
    crowd_unlink(request);
    request->handle = 0;
    return request;
}

/* Nearly all requests are found quickly. */
struct request *request_take(uint64_t handle, const void *where)
{
    struct request *request = NULL;
    if (!book_is_shared() && request_table.crowd)
        request = take_crowded(handle, where);
    if (!request && !book_is_shared() && handle)
        request = take_alone(handle, where);
    return request ? request : take(handle, where, TAKE);
}

struct request *request_take_there(uint64_t handle, const void *where)
{
    return take(handle, where, TAKE_THERE);
}

struct request *request_remove(uint64_t handle, const void *where)
{
    return take(handle, where, TAKE_PERSISTENT);
}

/* True if it may be started. MPICH's MPI_Waitany and the like treat a started request to MPI_PROC_NULL as inactive, and
 * do not report its end. */
static bool may_start(const struct request *request, uint64_t handle)
{
    return request->handle == handle && request->persistent &&
           (request->state != REQUEST_ACTIVE || request->posted.peer == PEER_PROC_NULL);
}

static struct request *idle_find(uint64_t handle)
{
    struct request *found = NULL;
    for (struct request *r = *request_bucket(handle); r; r = chain_next(r))
        if (may_start(r, handle))
            found = r;
    for (struct request *r = crowd_oldest(handle); r && !found; r = crowd_next(r))
        if (may_start(r, handle))
            found = r;
    return found;
}

struct request *request_take_idle(uint64_t handle, bool marks)
{
    bool locked = table_lock();
    struct request *request = handle ? idle_find(handle) : NULL;
    if (request && marks && request->state == REQUEST_IDLE)
        request_state_set(request, REQUEST_STARTING); /* the library orders it before the end */
    table_unlock(locked);
    return request;
}

uint64_t request_begin(uint64_t handle)
{
    const struct request *request = handle ? table_find(handle, NULL, false) : NULL;
    return request && request->state == REQUEST_ACTIVE ? request->posted.begin : 0;
}

bool request_copy_comm(uint64_t handle, struct request *copy, struct request_more *more)
{
    bool locked = table_lock();
    struct request *request = first_find(handle);
    bool makes = request && request->type == REQUEST_COMM;
    if (makes) {
        *copy = *request;
        *more = *request_more(request);
        request_more(request)->newcomm = native.comm_null;
    }
    table_unlock(locked);
    return makes;
}

void request_rename(struct request *request, uint64_t handle)
{
    bool locked = table_lock();
    table_remove(request);
    request->handle = handle;
    chain_add(request);
    table_unlock(locked);
}

/* True if the status is the one of an inactive request. Other fields do not tell. */
static bool is_empty(const struct request *request, const MPI_Status *status)
{
    return request->type == REQUEST_RECV && request->posted.duration == CALL_MPI_Recv_init &&
           request->posted.peer != PEER_PROC_NULL && status && status->MPI_SOURCE == MPI_ANY_SOURCE &&
           !abi_status_cancelled(status);
}

bool request_has_ended(const struct request *request, const MPI_Status *status)
{
    enum { YIELDS_MOST = 100000 };
    if (!request->persistent || !book_is_shared())
        return request->state == REQUEST_ACTIVE;
    if (is_empty(request, status))
        return false;
    for (int i = 0; __atomic_load_n(&request->state, __ATOMIC_ACQUIRE) == REQUEST_STARTING && i < YIELDS_MOST; i++)
        sched_yield(); /* its records are being written */
    return request->state == REQUEST_ACTIVE;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Calls `found` for each request in the table. */
static void table_visit(void (*found)(struct request *request, void *data), void *data)
{
    for (size_t i = 0; i < (size_t)1 << (64 - request_table.shift); i++)
        for (struct request *r = request_table.buckets[i]; r; r = chain_next(r))
            found(r, data);
    for (int i = 0; i < CROWDS_MOST; i++)
        for (struct request *r = crowd_oldest(request_table.crowds[i].handle); r; r = crowd_next(r))
            if (r->hidden)
                found(r, data);
}

static void request_share(struct request *request, void *data)
{
    (void)data;
    request_hold(request);
}

void request_visit(void (*found)(struct request *request, void *data), void *data)
{
    bool locked = table_lock();
    table_visit(found, data);
    table_unlock(locked);
}

void requests_share(void)
{
    request_visit(request_share, NULL);
}

struct comm_visit {
    void (*found)(struct comm *comm);
};

static void comm_visit(struct request *request, void *data)
{
    const struct comm_visit *visit = data;
    if (request->posted.comm && !request->holds)
        visit->found(book.comms[request->posted.comm]);
}

void request_comm_visit(void (*found)(struct comm *comm))
{
    struct comm_visit visit = {found};
    if (!book_is_shared())
        table_visit(comm_visit, &visit);
}

/* A signal may have interrupted a change of the table. So this looks at all memory for requests. Each one with a handle
 * is whole. */
void request_pending_visit(const struct comm *comm, umq_receive_found *found, void *data)
{
    for (uint32_t i = 1; i < arena_count(); i++) {
        const struct request *r = request_at(i);
        bool receives = r->type == REQUEST_RECV || r->type == REQUEST_PAIR;
        if (r->handle && receives && r->state == REQUEST_ACTIVE && r->posted.comm == comm->slot &&
            r->posted.peer != PEER_PROC_NULL)
            found(data, r->posted.peer, r->posted.tag);
    }
}
