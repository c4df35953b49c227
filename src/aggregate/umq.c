#include "umq.h"

#include "calls.h"
#include "knobs.h"
#include "neighbours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 1 << 20, RETRIES_MOST = 16, BATCH = 64 };
#define PLACE_AMBIGUOUS UINT64_MAX

#if defined(__SANITIZE_THREAD__)
#define LOADS_IN_ORDER() ((void)0) /* it does not know fences; the accesses are volatile or atomic in themselves */
#else
#define LOADS_IN_ORDER() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

/* Blocks that were found, oldest change first; a new one replaces it when there are more. */
struct known {
    struct known *older;
    uint64_t head; /* the list's head then */
    uint32_t slot;
    size_t count;
    const struct tally_block *blocks[];
};

struct source {
    struct source *next;
    struct neighbour *neighbour;
    uint64_t comm_head;    /* records up to this one have been looked at for the name, */
    uint64_t comm_changes; /* as they were at this number of changes */
    uint64_t place;        /* slot << 32 | rank + 1; 0 = not found yet */
    struct known *known;
};

struct umq {
    struct umq *next;
    struct comm *comm;
    uint32_t serial; /* of its record: which of those that have had the slot */
    struct source *sources;
};

void (*umq_pending_count)(const struct comm *comm, struct umq_pending *pending);

static struct umq *umqs;
static struct umq_watch *watches;
static pthread_mutex_t bind_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- a neighbour's file --------------------------------------------------------------------------------------------
 */

static const struct run_header *header_of(const struct source *source)
{
    return (const struct run_header *)(const void *)source->neighbour->base;
}

static uint32_t slot_of(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

static int32_t rank_of(uint64_t place)
{
    return (int32_t)(place & UINT32_MAX) - 1;
}

/* Is the record that of the communicator, as its other member has it? Not while it changes. */
static bool record_fits(const struct comm_record *record, const struct comm *comm)
{
    uint32_t serial = __atomic_load_n(&record->serial, __ATOMIC_ACQUIRE);
    bool fits = strncmp(record->name, comm->name, sizeof record->name) == 0 && record->size == comm->size &&
                record->remote_size == 0 && record->rank >= 0 && record->rank < comm->size &&
                record->rank != comm->rank && record->slot > 0 && record->slot < COMM_SLOTS &&
                !(record->flags & (COMM_FREED | COMM_SUM));
    LOADS_IN_ORDER();
    return fits && !(serial & 1) && RELAXED_LOAD(&record->serial) == serial;
}

/* Where the neighbour has the communicator; 0 while it has not, or is none of its members. Two of one name (made by
 * functions that are not recorded) cannot be told apart. */
static uint64_t source_place(struct source *source, const struct comm *comm)
{
    uint64_t place = __atomic_load_n(&source->place, __ATOMIC_RELAXED);
    if (!neighbour_is_mine(source->neighbour, book.run.header))
        return 0;
    uint64_t head = __atomic_load_n(&header_of(source)->first_comm, __ATOMIC_ACQUIRE);
    uint64_t changes = __atomic_load_n(&header_of(source)->comm_changes, __ATOMIC_ACQUIRE);
    uint64_t seen = __atomic_load_n(&source->comm_head, __ATOMIC_RELAXED);
    bool changed = changes != __atomic_load_n(&source->comm_changes, __ATOMIC_RELAXED);
    if (head == seen && !changed)
        return place == PLACE_AMBIGUOUS ? 0 : place;
    if (changed) /* slots have gone to other communicators: what was known of them may be wrong */
        place = seen = 0;
    uint64_t at = head;
    for (int steps = 0; at && at != seen && steps < STEPS_MOST; steps++) {
        const struct comm_record *record = neighbour_at(source->neighbour, at, sizeof *record);
        if (!record)
            break;
        uint64_t found = ((uint64_t)record->slot << 32) | (uint32_t)(record->rank + 1);
        if (record_fits(record, comm) && found != place)
            place = place ? PLACE_AMBIGUOUS : found;
        at = record->next;
    }
    __atomic_store_n(&source->place, place, __ATOMIC_RELAXED);
    __atomic_store_n(&source->comm_head, head, __ATOMIC_RELAXED);
    __atomic_store_n(&source->comm_changes, changes, __ATOMIC_RELAXED);
    return place == PLACE_AMBIGUOUS ? 0 : place;
}

/* The blocks of one communicator, one by one: those that were known, then those in front of them in the list. */
struct walk {
    struct source *source;
    const struct known *known;
    uint32_t slot, page;
    size_t next;
    uint64_t at;
    int steps;
};

static struct walk walk_begin(struct source *source, uint32_t slot, uint32_t page)
{
    const struct known *known = __atomic_load_n(&source->known, __ATOMIC_ACQUIRE);
    return (struct walk){.source = source,
                         .known = known && known->slot == slot ? known : NULL,
                         .slot = slot,
                         .page = page,
                         .at = __atomic_load_n(&header_of(source)->first_block, __ATOMIC_ACQUIRE)};
}

static size_t cells_wanted(const struct walk *walk, const struct tally_block *block)
{
    if (block->comm != walk->slot)
        return 0;
    if (block->kind == BLOCK_PEERS && block->page == walk->page)
        return sizeof(struct peer_cells) / sizeof(uint64_t);
    return block->kind == BLOCK_COMM ? sizeof(struct comm_cells) / sizeof(uint64_t) : 0;
}

static const struct tally_block *walk_next(struct walk *walk)
{
    if (walk->known && walk->next < walk->known->count)
        return walk->known->blocks[walk->next++];
    while (walk->at && (!walk->known || walk->at != walk->known->head) && walk->steps++ < STEPS_MOST) {
        uint64_t at = walk->at;
        const struct tally_block *block = neighbour_at(walk->source->neighbour, at, sizeof *block);
        if (!block)
            break;
        walk->at = block->next;
        size_t cells = cells_wanted(walk, block);
        if (cells && block->cells >= cells &&
            neighbour_at(walk->source->neighbour, at, sizeof *block + cells * sizeof(uint64_t)))
            return block;
    }
    return NULL;
}

static const uint64_t *cells_of(const struct tally_block *block)
{
    return (const uint64_t *)(block + 1);
}

/* ---- what is being sent -------------------------------------------------------------------------------------------
 */

/* Does a thread in this state send to `rank` of the communicator in `slot`? */
static bool sends_to(const struct thread_state *state, uint32_t slot, int32_t rank)
{
    uint32_t call = RELAXED_LOAD(&state->call);
    if (call == CALL_NONE || call >= CALL_COUNT || RELAXED_LOAD(&state->comm) != slot)
        return false;
    switch (call_table[call].fold) {
    case FOLD_SEND:
    case FOLD_POST_SEND:
        return RELAXED_LOAD(&state->peer) == rank;
    case FOLD_SENDRECV:
        return RELAXED_LOAD(&state->partner) == rank + 1;
    default:
        return false;
    }
}

/* What was counted, and what is in a call whose message has not been: `mark` tells whether any of it has moved. */
struct sending {
    uint64_t calls, mark;
};

/* A call's message is in the tallies once the end of the thread's last communication lies behind the call's begin. */
static void sending_add(struct sending *sending, const struct thread_state *state, uint32_t slot, int32_t rank,
                        const uint64_t *span_last)
{
    uint64_t since = RELAXED_LOAD(&state->since);
    bool sends = sends_to(state, slot, rank) && !(span_last && cell_load(span_last) >= since);
    sending->calls += sends;
    sending->mark =
        (sending->mark ^ since ^ sends ^ ((uint64_t)RELAXED_LOAD(&state->call) << 48)) * UINT64_C(0x100000001b3);
}

static const uint64_t *source_span(struct source *source, uint32_t slot, uint32_t page, uint32_t thread)
{
    struct walk walk = walk_begin(source, slot, page);
    const struct tally_block *block;
    while ((block = walk_next(&walk)))
        if (block->kind == BLOCK_COMM && block->thread == thread)
            return cells_of(block) + offsetof(struct comm_cells, span_last) / sizeof(uint64_t);
    return NULL;
}

static struct sending source_sending(struct source *source, uint32_t slot, int32_t rank)
{
    struct sending sending = {0, 0};
    uint64_t at = __atomic_load_n(&header_of(source)->first_thread, __ATOMIC_ACQUIRE);
    for (int steps = 0; at && steps < STEPS_MOST; steps++) {
        const struct thread_record *thread = neighbour_at(source->neighbour, at, sizeof *thread);
        if (!thread)
            break;
        bool sends = sends_to(&thread->state, slot, rank);
        sending_add(&sending, &thread->state, slot, rank,
                    sends ? source_span(source, slot, (uint32_t)rank / PEERS_PER_PAGE, thread->index) : NULL);
        at = thread->next;
    }
    return sending;
}

static uint64_t source_counted(struct source *source, uint32_t slot, int32_t rank)
{
    uint64_t sum = 0;
    struct walk walk = walk_begin(source, slot, (uint32_t)rank / PEERS_PER_PAGE);
    const struct tally_block *block;
    while ((block = walk_next(&walk)))
        if (block->kind == BLOCK_PEERS)
            sum += cell_load(&((const struct peer_cells *)(block + 1))->peer[rank % PEERS_PER_PAGE].send.count);
    return sum;
}

/* ---- this process -------------------------------------------------------------------------------------------------
 */

static const struct peer_cells *view_page(const struct view *view, int32_t rank)
{
    const struct peer_leaf *leaf = __atomic_load_n(&view->root[rank / LEAF_PEERS], __ATOMIC_ACQUIRE);
    return leaf ? __atomic_load_n(&leaf->pages[rank / PEERS_PER_PAGE % LEAF_PAGES], __ATOMIC_ACQUIRE) : NULL;
}

/* Messages received from the rank, or sent to it. */
static uint64_t own_count(const struct comm *comm, int32_t rank, bool sent)
{
    uint64_t sum = 0;
    for (const struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next) {
        const struct peer_cells *page = view_page(v, rank);
        if (page)
            sum += cell_load(sent ? &page->peer[rank % PEERS_PER_PAGE].send.count
                                  : &page->peer[rank % PEERS_PER_PAGE].recv.count);
    }
    return sum;
}

static struct sending own_sending(const struct comm *comm)
{
    struct sending sending = {0, 0};
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        const struct view *view = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE);
        while (view && view->thread != l->index)
            view = view->next;
        sending_add(&sending, &l->record->state, comm->slot, comm->rank, view ? &view->tally.cells->span_last : NULL);
    }
    return sending;
}

/* ---- the length ---------------------------------------------------------------------------------------------------
 */

/* Messages from one process that are not received. `source` NULL: from this one. Read again while it moves. */
static uint64_t waiting(const struct comm *comm, struct source *source, uint64_t place)
{
    int32_t from = source ? rank_of(place) : comm->rank;
    uint64_t sent = 0, received = 0;
    for (int tries = 0; tries < RETRIES_MOST; tries++) {
        struct sending before, after;
        received = own_count(comm, from, false);
        before = source ? source_sending(source, slot_of(place), comm->rank) : own_sending(comm);
        LOADS_IN_ORDER();
        sent =
            before.calls + (source ? source_counted(source, slot_of(place), comm->rank) : own_count(comm, from, true));
        LOADS_IN_ORDER();
        after = source ? source_sending(source, slot_of(place), comm->rank) : own_sending(comm);
        if (before.mark == after.mark && received == own_count(comm, from, false))
            break;
    }
    return sent > received ? sent - received : 0;
}

/* The calling thread is the only one that has called MPI: nobody else changes the table of requests. */
static bool is_alone(void)
{
    const struct ledger *only = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE);
    return !book.concurrent && only && !only->next && book_thread_state == &only->record->state;
}

/* The waiting messages of up to BATCH processes at once, without those that pending receives may take. */
struct batch {
    const struct comm *comm;
    const struct event *posting; /* a receive that is being posted: in the table already, and not pending yet */
    uint64_t receives;           /* pending ones on the communicator */
    uint64_t all, any;           /* of which the table names the source; any source */
    uint64_t length;
    unsigned count;
    int32_t ranks[BATCH];
    uint64_t messages[BATCH];
};

/* As if the receive that is being posted were not in the table. */
static void posting_forget(const struct batch *batch, struct umq_pending *pending)
{
    const struct event *posting = batch->posting;
    if (!posting || posting->comm != batch->comm->slot || !pending->all)
        return;
    pending->all--;
    if (posting->peer == PEER_ANY && pending->any)
        pending->any--;
    for (unsigned i = 0; i < pending->count; i++)
        if (pending->ranks[i] == posting->peer && pending->posted[i])
            pending->posted[i]--;
}

static void batch_settle(struct batch *batch)
{
    uint64_t posted[BATCH] = {0};
    struct umq_pending pending = {.ranks = batch->ranks, .count = batch->count, .posted = posted};
    if (batch->receives && umq_pending_count && is_alone()) {
        umq_pending_count(batch->comm, &pending);
        posting_forget(batch, &pending);
    }
    for (unsigned i = 0; i < batch->count; i++)
        if (batch->messages[i] > posted[i])
            batch->length += batch->messages[i] - posted[i];
    batch->all = pending.all;
    batch->any = pending.any;
    batch->count = 0;
}

static void batch_add(struct batch *batch, int32_t rank, uint64_t messages)
{
    if (!messages)
        return;
    batch->ranks[batch->count] = rank;
    batch->messages[batch->count++] = messages;
    if (batch->count == BATCH)
        batch_settle(batch);
}

static uint64_t length_of(struct umq *umq, const struct event *posting)
{
    const struct comm *comm = umq->comm;
    struct batch batch;
    if (comm->remote_size)
        return 0;
    batch.comm = comm;
    batch.posting = posting;
    batch.receives = cell_load(&comm->shared->recvs.now);
    batch.all = batch.any = batch.length = 0;
    batch.count = 0;
    batch_add(&batch, comm->rank, waiting(comm, NULL, 0));
    for (struct source *s = __atomic_load_n(&umq->sources, __ATOMIC_ACQUIRE); s; s = s->next) {
        uint64_t place = source_place(s, comm);
        if (place)
            batch_add(&batch, rank_of(place), waiting(comm, s, place));
    }
    if (batch.count)
        batch_settle(&batch);
    /* receives from any source, and those that the table does not name */
    uint64_t anywhere = batch.any + (batch.receives > batch.all ? batch.receives - batch.all : 0);
    return batch.length > anywhere ? batch.length - anywhere : 0;
}

uint64_t umq_length(struct umq *umq)
{
    int error = errno; /* a signal handler may be reading */
    uint64_t length = length_of(umq, NULL);
    errno = error;
    return length;
}

uint64_t umq_peers(struct umq *umq)
{
    int error = errno;
    uint64_t count = umq->comm->remote_size == 0;
    if (!umq->comm->remote_size)
        for (struct source *s = __atomic_load_n(&umq->sources, __ATOMIC_ACQUIRE); s; s = s->next)
            count += source_place(s, umq->comm) != 0;
    errno = error;
    return count;
}

/* ---- binding ------------------------------------------------------------------------------------------------------
 */

/* Notes the blocks that have come, so that a read need not look for them again. */
static void source_refresh(struct source *source, const struct comm *comm)
{
    uint64_t place = source_place(source, comm);
    if (!place)
        return;
    uint32_t page = (uint32_t)comm->rank / PEERS_PER_PAGE;
    struct walk walk = walk_begin(source, slot_of(place), page), again = walk;
    size_t count = 0, old = walk.known ? walk.known->count : 0;
    uint64_t head = walk.at;
    while (walk_next(&walk))
        count++;
    if (walk.known ? head == walk.known->head || (count == old && walk.steps < 1024) : !head)
        return;
    struct known *known = malloc(sizeof *known + count * sizeof known->blocks[0]);
    if (!known)
        return; /* reads look for themselves */
    *known = (struct known){.older = source->known, .head = head, .slot = slot_of(place)};
    for (const struct tally_block *block; known->count < count && (block = walk_next(&again));)
        known->blocks[known->count++] = block;
    __atomic_store_n(&source->known, known, __ATOMIC_RELEASE);
}

static void sources_look(struct umq *umq)
{
    if (umq->comm->size < 2 || umq->comm->remote_size)
        return;
    neighbours_look(&book.run);
    for (struct neighbour *n = neighbours_first(); n; n = n->next) {
        struct source *source = umq->sources;
        while (source && source->neighbour != n)
            source = source->next;
        if (source || !n->base || __atomic_load_n(&n->kinship, __ATOMIC_RELAXED) == KINSHIP_NONE)
            continue;
        struct source *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return;
        fresh->neighbour = n;
        fresh->next = umq->sources;
        __atomic_store_n(&umq->sources, fresh, __ATOMIC_RELEASE);
    }
    for (struct source *source = umq->sources; source; source = source->next)
        source_refresh(source, umq->comm);
}

/* The slot has gone to another communicator; no handle of the one before is left that could be read. */
static void sources_forget(struct umq *umq)
{
    for (struct source *source = umq->sources; source; source = source->next) {
        while (source->known) {
            struct known *older = source->known->older;
            free(source->known);
            source->known = older;
        }
        source->place = source->comm_head = 0;
    }
}

struct umq *umq_bind(struct comm *comm)
{
    pthread_mutex_lock(&bind_lock);
    struct umq *umq = umqs;
    while (umq && umq->comm != comm)
        umq = umq->next;
    if (!umq && (umq = calloc(1, sizeof *umq))) {
        umq->comm = comm;
        umq->next = umqs;
        umqs = umq;
    }
    if (umq && umq->serial != comm->record->serial) {
        umq->serial = comm->record->serial;
        sources_forget(umq);
    }
    if (umq)
        sources_look(umq);
    pthread_mutex_unlock(&bind_lock);
    return umq;
}

/* ---- watches ------------------------------------------------------------------------------------------------------
 */

static void watch_look(struct umq_watch *watch, const struct event *posting)
{
    int error = errno;
    uint64_t length = length_of(watch->umq, posting), seen = cell_load(&watch->highest);
    while (length > seen &&
           !__atomic_compare_exchange_n(&watch->highest, &seen, length, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    errno = error;
}

void umq_watches_look(const struct event *posting)
{
    for (struct umq_watch *w = __atomic_load_n(&watches, __ATOMIC_ACQUIRE); w; w = w->next)
        if (__atomic_load_n(&w->open, __ATOMIC_ACQUIRE))
            watch_look(w, posting);
}

/* Calls go the long way round while there is a watch, and look there: the short one has no place for it. */
static void watch_set(struct umq_watch *watch, bool open)
{
    if (__atomic_exchange_n(&watch->open, open, __ATOMIC_ACQ_REL) != open)
        knobs_attend(open ? 1 : -1);
}

void umq_watch_tie(struct umq_watch *watch, struct umq *umq)
{
    __atomic_store_n(&watch->open, false, __ATOMIC_RELEASE);
    watch->umq = umq;
    cell_store(&watch->highest, umq_length(umq));
    if (watch->linked)
        return;
    watch->linked = true;
    watch->next = __atomic_load_n(&watches, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&watches, &watch->next, watch, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void umq_watch_open(struct umq_watch *watch)
{
    watch_look(watch, NULL);
    watch_set(watch, true);
}

void umq_watch_close(struct umq_watch *watch)
{
    if (__atomic_load_n(&watch->open, __ATOMIC_ACQUIRE))
        watch_look(watch, NULL);
    watch_set(watch, false);
}

void umq_watch_reset(struct umq_watch *watch)
{
    cell_store(&watch->highest, umq_length(watch->umq));
}

uint64_t umq_watch_read(struct umq_watch *watch)
{
    if (__atomic_load_n(&watch->open, __ATOMIC_ACQUIRE))
        watch_look(watch, NULL);
    return cell_load(&watch->highest);
}
