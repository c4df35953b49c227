/* The current value of a variable, for handles. Read directly from the cells, without tables. */
#include "registry/book.h"

#include <pthread.h>
#include <sched.h>

static const struct variable_term *term_end(const struct variable_record *record)
{
    return record->terms + VARIABLE_TERMS;
}

/* The cells of one block that a term takes for one value. */
static inline uint64_t term_sum(const struct variable_term *term, const uint64_t *cells, size_t slot)
{
    const uint64_t *at = cells + term->first + slot * term->stride;
    return __builtin_expect(term->run == 1, 1) ? cell_load(at) : cells_sum(at, term->run, term->step);
}

/* Over all threads that have called MPI on the communicator. */
static inline uint64_t views_sum(const struct variable_term *term, const struct comm *comm, size_t slot)
{
    uint64_t sum = 0;
    for (const struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next)
        sum += term_sum(term, (const uint64_t *)v->tally.cells, slot);
    return sum;
}

static uint64_t peer_sum(const struct variable_term *term, const struct comm *comm, size_t peer)
{
    uint64_t sum = 0;
    for (const struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next) {
        const struct peer_cells *page = view_page_find(v, (uint32_t)peer / PEERS_PER_PAGE);
        sum += page ? term_sum(term, (const uint64_t *)page, peer % PEERS_PER_PAGE) : 0;
    }
    return sum;
}

static uint64_t comm_value(const struct variable_term *term, const struct comm *comm, size_t slot)
{
    return term->block == BLOCK_SHARED ? term_sum(term, (const uint64_t *)comm->shared, slot)
                                       : views_sum(term, comm, slot);
}

/* Over all communicators, and the sums of communicators that have lost their slots. */
static uint64_t comms_value(const struct variable_term *term, size_t slot)
{
    uint64_t sum = 0;
    uint32_t count = __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 1; i < count; i++)
        sum += comm_value(term, __atomic_load_n(&book.comms[i], __ATOMIC_ACQUIRE), slot);
    return sum;
}

static uint64_t threads_sum(const struct variable_term *term, size_t slot)
{
    uint64_t sum = 0;
    unsigned most = thread_blocks_most(term->block);
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        for (unsigned i = 1; i <= most; i++) {
            const uint64_t *cells = thread_block_cells(l, term->block, i);
            sum += cells ? term_sum(term, cells, slot) : 0;
        }
    return sum;
}

static uint64_t term_value(const struct variable_term *term, const struct comm *comm, size_t slot)
{
    uint64_t sum = 0;
    switch (term->block) {
    case BLOCK_SHARED:
    case BLOCK_COMM:
        return comm ? comm_value(term, comm, slot) : comms_value(term, slot);
    case BLOCK_PEERS:
        return peer_sum(term, comm, slot);
    case BLOCK_FABRIC_LEVEL:
        for (uint32_t i = 1; i <= FABRIC_PROVIDERS_MOST; i++) {
            const struct level_cells *level = __atomic_load_n(&book.pending[i], __ATOMIC_ACQUIRE);
            sum += level ? term_sum(term, (const uint64_t *)level, slot) : 0;
        }
        return sum;
    case BLOCK_LOSSES:
        return book.run.header ? term_sum(term, book.run.header->lost, slot) : 0;
    default:
        return threads_sum(term, slot);
    }
}

/* Of all terms. Negative terms are read last (see difference). */
static uint64_t terms_value(const struct variable *variable, const struct comm *comm, size_t slot)
{
    uint64_t sum = 0;
    bool more = false;
    for (const struct variable_term *t = variable->record.terms; t != term_end(&variable->record); t++) {
        more |= t->weight < 0;
        if (t->block && t->weight >= 0)
            sum += term_value(t, comm, slot);
    }
    if (!more)
        return sum;
    loads_order();
    for (const struct variable_term *t = variable->record.terms; t != term_end(&variable->record); t++)
        if (t->block && t->weight < 0)
            sum += (uint64_t)(int64_t)t->weight * term_value(t, comm, slot);
    loads_order();
    return sum;
}

enum { TOTAL_ATTEMPTS = 1 << 16 };

/*
 * When a slot moves from a freed communicator to another one, its counts move to a sum. If that happens while a total
 * is read, the read starts again. From the second attempt on it tries to get the registry's lock. It never waits for
 * the lock, as a signal handler may read a total. Under the lock no slot can move. After TOTAL_ATTEMPTS it returns the
 * last result: the thread that moves the slot may wait for a lock whose holder the handler has interrupted.
 */
static uint64_t total_value(const struct variable *variable, size_t slot)
{
    if (!book.comms)
        return 0;
    if (!book.run.header)
        return terms_value(variable, NULL, slot);
    const uint64_t *changes = &book.run.header->comm_changes;
    for (unsigned attempt = 0;; attempt++) {
        bool locked = attempt && pthread_mutex_trylock(&book.lock) == 0;
        uint64_t before = __atomic_load_n(changes, __ATOMIC_ACQUIRE), sum = 0;
        bool still = locked || !(before & 1) || attempt > TOTAL_ATTEMPTS;
        if (still)
            sum = terms_value(variable, NULL, slot);
        loads_order();
        still = still && (cell_load(changes) == before || attempt > TOTAL_ATTEMPTS);
        if (locked)
            pthread_mutex_unlock(&book.lock);
        if (still)
            return sum;
        if (attempt > 8)
            sched_yield(); /* the other thread may not be running */
    }
}

/*
 * A difference. The recorder counts the negative term first, and it is read last here. So the sample is never too
 * large. Between the two additions of an event it is too small by that event. Therefore the largest value seen is kept,
 * and the value never falls.
 */
static uint64_t difference(const struct variable *variable, const struct comm *comm, uint64_t sum)
{
    uint64_t *most = comm ? (uint64_t *)(uintptr_t)&comm->difference : &book.difference[variable->difference];
    uint64_t seen = __atomic_load_n(most, __ATOMIC_ACQUIRE);
    while ((int64_t)(sum - seen) > 0 &&
           !__atomic_compare_exchange_n(most, &seen, sum, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return (int64_t)(sum - seen) > 0 ? sum : seen;
}

static bool is_difference(const struct variable *variable)
{
    for (const struct variable_term *t = variable->record.terms; t != term_end(&variable->record); t++)
        if (t->weight < 0)
            return true;
    return false;
}

static uint64_t sample_many(const struct variable *variable, const struct comm *comm, size_t slot)
{
    uint64_t sum = variable->total ? total_value(variable, slot) : terms_value(variable, comm, slot);
    return is_difference(variable) ? difference(variable, comm, sum) : sum;
}

uint64_t book_sample(const struct variable *variable, const struct comm *comm, size_t slot)
{
    const struct variable_term *term = variable->record.terms;
    if (__builtin_expect(term[1].block || term->block != BLOCK_COMM || variable->total, 0))
        return sample_many(variable, comm, slot);
    return views_sum(term, comm, slot);
}
