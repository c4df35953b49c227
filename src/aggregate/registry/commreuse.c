#include "registry/commreuse.h"

#include "base/array.h"
#include "base/invariant.h"
#include "registry/commpast.h"
#include "registry/commsum.h"
#include "instruments/instrument.h"

#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS_MOST = 8, SUM_NAMES_MOST = COMM_SUMS_MOST / 2 };

/* The counts of the freed communicators of one pattern and room. */
struct comm_sum {
    struct comm *comm;
    struct view **views; /* by the thread's index */
    uint32_t view_count;
    unsigned room;
};

void (*comm_pending_visit)(void (*found)(struct comm *comm));

/* The number of scans of the requests (commreuse.h). A communicator that was in none has the number 0. */
static uint64_t looks = 1;

/* ---- the queues of freed ones ------------------------------------------------------------------------------------ */

static bool comm_queue_is_valid(const struct comm_queue *queue)
{
    return !queue->count ? !queue->first && !queue->last
                         : queue->first && queue->first->queued && queue->last && !queue->last->behind &&
                               queue->count <= book.freed_count;
}

static void queue_push(struct comm *comm)
{
    struct comm_queue *queue = &book.freed[comm_room(comm->size, comm->remote_size)];
    MPIT_ASSERT(comm_queue_is_valid(queue) && !comm->queued);
    comm->behind = NULL;
    comm->queued = true;
    if (queue->last)
        queue->last->behind = comm;
    else
        queue->first = comm;
    queue->last = comm;
    queue->count++;
    __atomic_store_n(&book.freed_count, book.freed_count + 1, __ATOMIC_RELAXED);
}

static struct comm *queue_pop(struct comm_queue *queue)
{
    struct comm *comm = queue->first;
    MPIT_ASSERT(comm_queue_is_valid(queue));
    if (!comm)
        return NULL;
    queue->first = comm->behind;
    comm->queued = false;
    if (!queue->first)
        queue->last = NULL;
    queue->count--;
    __atomic_store_n(&book.freed_count, book.freed_count - 1, __ATOMIC_RELAXED);
    return comm;
}

void comm_abandoned(struct comm *comm)
{
    pthread_mutex_lock(&book.lock);
    comm->quiet_ticks = clock_now();
    comm->quiet_look = looks;
    if (book_is_short()) /* there is a slot again */
        __atomic_store_n(&book.full_limit, 0, __ATOMIC_RELAXED);
    if (!comm->queued) /* it may have been held once more */
        queue_push(comm);
    pthread_mutex_unlock(&book.lock);
}

/* True if a thread is in a call on it. It may be freed while another thread waits in a receive. */
static bool comm_is_entered(const struct comm *comm)
{
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        if (__atomic_load_n(&l->record->state.call, __ATOMIC_ACQUIRE) != CALL_NONE &&
            __atomic_load_n(&l->record->state.comm, __ATOMIC_RELAXED) == comm->slot)
            return true;
    return false;
}

static void pending_found(struct comm *comm)
{
    comm->pending_look = looks;
}

/* True if a request refers to it without holding it. */
static bool comm_is_pending(const struct comm *comm)
{
    if (!comm_pending_visit)
        return false;
    if (comm->quiet_look == looks || comm->pending_look == looks) {
        looks++;
        comm_pending_visit(pending_found);
    }
    return comm->pending_look == looks;
}

static bool comm_is_unused(const struct comm *comm, uint64_t since)
{
    return comm->quiet_ticks < since && !__atomic_load_n(&comm->holds, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&comm->bound, __ATOMIC_ACQUIRE) && !comm_is_entered(comm) && !comm_is_pending(comm);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static struct comm_sum *sum_add(const struct comm *comm, const char *pattern, unsigned room)
{
    if (!book.sums)
        book.sums = calloc(COMM_SUMS_MOST, sizeof *book.sums);
    if (!book.sums || book.sum_count == COMM_SUMS_MOST)
        return NULL;
    struct comm *made = book_comm_make(&(struct comm_facts){
        .size = comm->size, .rank = comm->rank, .remote_size = comm->remote_size, .name = pattern});
    if (!made)
        return NULL;
    struct comm_sum *sum = &book.sums[book.sum_count++];
    *sum = (struct comm_sum){.comm = made, .room = room};
    made->freed = made->is_sum = true;
    __atomic_store_n(&made->record->flags, COMM_SUM, __ATOMIC_RELAXED);
    return sum;
}

/* The sum of one kind. If there are very many kinds, the sum of all others. */
static struct comm_sum *sum_search(const struct comm *comm, unsigned room)
{
    char pattern[COMM_NAME_BYTES];
    comm_pattern(pattern, comm->name);
    for (int attempt = 0; attempt < 2; attempt++) {
        for (uint32_t i = 0; i < book.sum_count; i++)
            if (book.sums[i].room == room && strcmp(book.sums[i].comm->name, pattern) == 0)
                return &book.sums[i];
        if (book.sum_count < SUM_NAMES_MOST || attempt)
            break;
        strcpy(pattern, "(freed communicators)");
    }
    return sum_add(comm, pattern, room);
}

/* A loop that makes and frees communicators makes them of one kind. */
static struct comm_sum *sum_find(const struct comm *comm)
{
    static struct comm_kind kind; /* of book.sum_latest */
    unsigned room = comm_room(comm->size, comm->remote_size);
    if (book.sum_latest && book.sum_latest->room == room && comm_kind_has(&kind, comm->name))
        return book.sum_latest;
    book.sum_latest = sum_search(comm, room);
    if (book.sum_latest)
        comm_kind_learn(&kind, book.sum_latest->comm->name, comm->name);
    return book.sum_latest;
}

static struct ledger *ledger_find(uint32_t index)
{
    struct ledger *ledger = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE);
    while (ledger && ledger->index != index)
        ledger = ledger->next;
    return ledger;
}

/* The sum's cells of that thread. */
static struct view *sum_view(struct comm_sum *sum, uint32_t thread)
{
    if (thread >= sum->view_count) {
        uint32_t count = thread + 16;
        if (!ARRAY_EXTENDED(sum->views, sum->view_count, count))
            return NULL;
        sum->view_count = count;
    }
    struct ledger *ledger = sum->views[thread] ? NULL : ledger_find(thread);
    if (ledger)
        sum->views[thread] = book_view_make(ledger, sum->comm);
    return sum->views[thread];
}

/* Calls `what` for each page of peers of the view. Returns false if `what` did. */
static bool pages_visit(struct view *view, struct view *sum, bool (*what)(struct peer_cells *, struct view *, uint32_t))
{
    size_t leaves = (size_t)1 << comm_room(view->comm->size, view->comm->remote_size);
    for (size_t l = 0; l < leaves; l++)
        for (unsigned p = 0; view->root[l] && p < LEAF_PAGES; p++) {
            struct peer_cells *page = view->root[l]->pages[p];
            if (page && !what(page, sum, (uint32_t)(l * LEAF_PAGES + p)))
                return false;
        }
    return true;
}

static bool page_prepare(struct peer_cells *page, struct view *sum, uint32_t number)
{
    (void)page;
    return book_view_page(sum, number) != NULL;
}

static bool page_move(struct peer_cells *page, struct view *sum, uint32_t number)
{
    peer_cells_move(book_view_page(sum, number), page);
    return true;
}

/* Makes all cells that the sum will need, so that nothing can be lost halfway. */
static bool sum_prepare(struct comm_sum *sum, const struct comm *comm)
{
    for (struct view *v = comm->views; v; v = v->next) {
        struct view *to = sum_view(sum, v->thread);
        if (!to || !pages_visit(v, to, page_prepare))
            return false;
    }
    return instruments_prepare(comm, sum->comm);
}

static void sum_describe(struct comm_sum *sum, const struct comm *comm)
{
    struct comm_record *record = sum->comm->record;
    if (!record->merged)
        memcpy(record->label, comm->record->label, sizeof record->label);
    else if (strcmp(record->label, comm->record->label) != 0)
        memset(record->label, 0, sizeof record->label); /* they have different labels */
    __atomic_store_n(&record->merged, record->merged + 1, __ATOMIC_RELAXED);
    if (comm->size > sum->comm->size)
        __atomic_store_n(&record->size, comm->size, __ATOMIC_RELAXED);
    if (comm->remote_size > sum->comm->remote_size)
        __atomic_store_n(&record->remote_size, comm->remote_size, __ATOMIC_RELAXED);
    RELAXED_STORE(&sum->comm->size, record->size);
    RELAXED_STORE(&sum->comm->remote_size, record->remote_size);
    uint32_t peers = (uint32_t)(record->remote_size ? record->remote_size : record->size);
    for (struct view *v = sum->comm->views; v; v = v->next) /* readers search for pages up to there */
        RELAXED_STORE(&v->tally.peers, peers);
}

/* ---- from one to the next ---------------------------------------------------------------------------------------- */

/*
 * True if each message was compared with the extremes. Windows move extremes from the thread's cells to the closed
 * ones.
 */
static bool messages_met(const struct comm *comm, const struct comm_cells *cells)
{
    return cell_load(&cells->message_low) != LOW_NEUTRAL ||
           cell_load(&comm->shared->closed[EXTREME_MESSAGE_LOW]) != LOW_NEUTRAL;
}

static void cells_move(struct comm *comm, struct comm_sum *sum)
{
    for (struct view *v = comm->views; v; v = v->next) {
        struct view *to = sum_view(sum, v->thread);
        comm_cells_move(to->tally.cells, v->tally.cells, messages_met(comm, v->tally.cells));
        pages_visit(v, to, page_move);
    }
    instruments_move(comm, sum->comm);
    shared_cells_sum(sum->comm->shared, comm->shared);
    shared_cells_clear(comm->shared);
    sum_describe(sum, comm);
}

static void comm_renew(struct comm *comm, const struct comm_facts *facts)
{
    struct comm_record *record = comm->record;
    uint32_t peers = (uint32_t)(facts->remote_size ? facts->remote_size : facts->size);
    for (struct view *v = comm->views; v; v = v->next) {
        v->tally.peers = peers;
        v->tally.page_number = UINT32_MAX;
    }
    RELAXED_STORE(&comm->lives, comm->lives + 1); /* other threads read these while a slot moves, and then read again */
    RELAXED_STORE(&comm->span_drained, 0);
    comm->creations = 0;
    comm->windows_made = comm->files_made = 0;
    comm->difference = 0;
    free(comm->topology); /* the old one is freed, so no thread is in a collective on it */
    comm->topology = NULL;
    record->since_ticks = facts->since;
    record->freed_ticks = 0;
    memset(record->label, 0, sizeof record->label);
    __atomic_store_n(&comm->freed, false, __ATOMIC_RELEASE);
}

static struct comm *unused_take(struct comm_queue *queue, const struct comm_facts *facts, bool needed)
{
    for (int i = 0; i < ATTEMPTS_MOST && queue->count > (needed ? 0 : COMMS_KEPT); i++) {
        struct comm *comm = queue_pop(queue);
        if (!comm)
            break;
        if (comm_is_unused(comm, facts->since))
            return comm;
        queue_push(comm);
    }
    return NULL;
}

struct comm *comm_reuse(const struct comm_facts *facts, bool needed)
{
    struct comm *comm = unused_take(&book.freed[comm_room(facts->size, facts->remote_size)], facts, needed);
    if (!comm)
        return NULL;
    struct comm_sum *sum = comm_past_open() ? sum_find(comm) : NULL;
    if (!sum || !sum_prepare(sum, comm)) {
        queue_push(comm);
        return NULL;
    }
    __atomic_add_fetch(&book.run.header->comm_changes, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&comm->record->serial, 1, __ATOMIC_ACQ_REL);
    comm_past_add(comm->record, comm->quiet_ticks, sum->comm->slot);
    cells_move(comm, sum);
    comm_renew(comm, facts);
    return comm;
}
