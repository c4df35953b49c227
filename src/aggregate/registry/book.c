#include "registry/book.h"

#include "base/array.h"
#include "base/invariant.h"
#include "base/signals.h"
#include "registry/commmap.h"
#include "registry/commreuse.h"
#include "registry/paths.h"
#include "registry/unfreed.h"
#include "format/label.h"
#include "handles/windows.h"
#include "site/hide.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct shared_cells own_shared = {.closed = {[EXTREME_MESSAGE_LOW] = LOW_NEUTRAL,
                                                    [EXTREME_SENDS_LOW] = LOW_NEUTRAL,
                                                    [EXTREME_RECVS_LOW] = LOW_NEUTRAL,
                                                    [EXTREME_BYTES_LOW] = LOW_NEUTRAL,
                                                    [EXTREME_SPAN_FIRST] = LOW_NEUTRAL}};
static struct comm own = {.shared = &own_shared};
struct book book = {.lock = PTHREAD_MUTEX_INITIALIZER, .own = &own};

static int variables_write(struct run *run)
{
    uint64_t offset;
    struct variable_record *records = run_alloc(run, variable_number() * sizeof *records, &offset);
    if (!records)
        return -1;
    for (size_t i = 0; i < variable_number(); i++)
        records[i] = variable_at(i)->record;
    run->header->variables = offset;
    run->header->variable_count = offset ? variable_number() : 0;
    return 0;
}

static int calls_write(struct run *run)
{
    uint64_t offset;
    struct call_record *records = run_alloc(run, CALL_COUNT * sizeof *records, &offset);
    if (!records)
        return -1;
    for (size_t i = 0; i < CALL_COUNT; i++) {
        snprintf(records[i].name, sizeof records[i].name, "%s", call_table[i].name);
        records[i].class = call_table[i].class;
        records[i].role = call_table[i].role;
        records[i].op = call_table[i].op;
    }
    run->header->calls = offset;
    run->header->call_count = offset ? CALL_COUNT : 0;
    return 0;
}

static bool refused; /* there was no memory for the tables: no thread and no communicator is counted */

int book_open(void)
{
    static struct comm *none[1];
    book.comms = calloc(COMM_SLOTS, sizeof *book.comms);
    book.comm_count = 1;
    book.full_limit = 0;
    paths_forget();
    run_gaps_open(&book.run);
    refused = !book.comms || variables_write(&book.run) != 0 || calls_write(&book.run) != 0;
    if (!book.comms)
        book.comms = none;
    return refused ? -1 : 0;
}

struct tally_block *book_block_make(enum block_kind kind, uint32_t thread, uint32_t comm, uint32_t page, size_t cells,
                                    uint64_t *offset)
{
    struct tally_block *block = run_alloc(&book.run, sizeof *block + cells * sizeof(uint64_t), offset);
    if (block) {
        block->kind = kind;
        block->thread = thread;
        block->comm = comm;
        block->page = page;
        block->cells = (uint32_t)cells;
    }
    return block;
}

void book_block_link(struct tally_block *block, uint64_t offset)
{
    run_link(&book.run, &book.run.header->first_block, &block->next, offset);
}

static bool comm_is_valid(const struct comm *comm)
{
    return comm->slot && comm->slot < __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&book.comms[comm->slot], __ATOMIC_ACQUIRE) == comm && comm->record && comm->shared;
}

static bool ledger_is_valid(const struct ledger *ledger)
{
    return ledger->tally.cells && ledger->record && !ledger->views == !ledger->view_count &&
           ledger->index < __atomic_load_n(&book.thread_count, __ATOMIC_RELAXED);
}

static bool view_is_valid(const struct view *view)
{
    return view->root && view->tally.cells && view->slot == view->comm->slot &&
           view->tally.shared == view->comm->shared;
}

uint64_t book_events_unfiled(void)
{
    uint64_t events = 0;
    for (struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        if (!l->record->events_cell)
            events += cell_load(&l->tally.cells->events);
    return events;
}

bool book_ledger_open(struct ledger *ledger, int tid)
{
    pthread_mutex_lock(&book.lock);
    uint64_t record_offset, block_offset;
    struct thread_record *record = refused ? NULL : run_alloc(&book.run, sizeof *record, &record_offset);
    struct tally_block *block = record ? book_block_make(BLOCK_THREAD, book.thread_count, 0, 0,
                                                         sizeof(struct thread_cells) / sizeof(uint64_t), &block_offset)
                                       : NULL;
    if (!block) {
        pthread_mutex_unlock(&book.lock);
        return false;
    }
    ledger->last.handle = HANDLE_NEVER;
    ledger->index = book.thread_count;
    __atomic_store_n(&book.thread_count, ledger->index + 1, __ATOMIC_RELAXED); /* other threads read the number */
    ledger->record = record;
    ledger->tally.cells = (struct thread_cells *)(block + 1);
    ledger->tally.concurrent = book_is_shared();
    record->index = ledger->index;
    record->tid = tid;
    record->begin_ticks = clock_now();
    record->events_cell = block_offset ? block_offset + sizeof *block : 0;
    if (record_offset && block_offset) {
        run_link(&book.run, &book.run.header->first_thread, &record->next, record_offset);
        book_block_link(block, block_offset);
    }
    ledger->next = book.threads;
    __atomic_store_n(&book.threads, ledger, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&book.lock);
    return true;
}

void book_share(void)
{
    pthread_mutex_lock(&book.lock);
    RELAXED_STORE(&book.concurrent, true);
    for (struct ledger *l = book.threads; l; l = l->next)
        RELAXED_STORE(&l->tally.concurrent, true);
    pthread_mutex_unlock(&book.lock);
}

struct comm *book_comm_find(uint64_t handle)
{
    return comm_map_find(&book.map, handle);
}

struct comm *book_object_find(struct comm_map *const *objects, uint64_t handle)
{
    return comm_map_find(objects, handle);
}

void book_object_set(struct comm_map **objects, uint64_t handle, struct comm *comm)
{
    pthread_mutex_lock(&book.lock);
    if (comm_map_set(objects, handle, comm) != 0)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    pthread_mutex_unlock(&book.lock);
}

/* Makes a slot with shared cells, and a record. The caller links both. */
static struct comm *slot_make(uint64_t *record_offset, uint64_t *block_offset)
{
    struct comm *comm = calloc(1, sizeof *comm);
    struct comm_record *record = comm ? run_alloc(&book.run, sizeof *record, record_offset) : NULL;
    struct tally_block *block = record ? book_block_make(BLOCK_SHARED, 0, book.comm_count, 0,
                                                         sizeof(struct shared_cells) / sizeof(uint64_t), block_offset)
                                       : NULL;
    if (!block) {
        __atomic_store_n(&book.full_limit, book.run.memory_limit, __ATOMIC_RELAXED);
        free(comm);
        return NULL;
    }
    comm->slot = record->slot = book.comm_count;
    record->end_ticks = UINT64_MAX;
    record->serial = 1;
    comm->record = record;
    comm->shared = (struct shared_cells *)(block + 1);
    for (unsigned i = 0; i < EXTREME_COUNT; i++)
        comm->shared->closed[i] = extreme_neutral((enum extreme)i);
    if (!*record_offset || !*block_offset)
        *record_offset = *block_offset = 0;
    return comm;
}

/* Describes the communicator. Until then the serial of the record is odd, and readers ignore it. */
static void comm_describe(struct comm *comm, const struct comm_facts *facts)
{
    struct comm_record *record = comm->record;
    comm->handle = facts->handle;
    record->size = facts->size;
    record->rank = facts->rank;
    record->remote_size = facts->remote_size;
    RELAXED_STORE(&comm->size, facts->size); /* snapshots read them meanwhile */
    RELAXED_STORE(&comm->rank, facts->rank);
    RELAXED_STORE(&comm->remote_size, facts->remote_size);
    comm->parent = record->parent = facts->parent;
    comm->up = facts->parent ? book.comms[facts->parent] : NULL;
    comm->holds = 1;
    if (comm->up)
        comm_hold(comm->up);
    size_t bytes = strnlen(facts->name, sizeof comm->name - 1);
    memset(comm->name, 0, sizeof comm->name);
    memcpy(comm->name, facts->name, bytes);
    memcpy(record->name, comm->name, sizeof record->name);
    comm->foreign = facts->flags & COMM_FOREIGN;
    record->group = facts->group;
    __atomic_store_n(&record->flags, facts->flags | (facts->remote_size ? COMM_INTER : 0), __ATOMIC_RELAXED);
    record->created_ticks = clock_now();
    __atomic_store_n(&record->serial, record->serial + 1, __ATOMIC_RELEASE);
}

struct comm *book_comm_make(const struct comm_facts *facts)
{
    if (refused || book.comm_count >= COMM_SLOTS || book_is_short())
        return NULL;
    uint64_t offset, block_offset;
    struct comm *comm = slot_make(&offset, &block_offset);
    if (!comm)
        return NULL;
    comm_describe(comm, facts);
    if (offset) { /* in this order, so that each block has a slot at all times */
        run_link(&book.run, &book.run.header->first_comm, &comm->record->next, offset);
        book_block_link((struct tally_block *)comm->shared - 1, block_offset);
    }
    __atomic_store_n(&book.comms[comm->slot], comm, __ATOMIC_RELEASE);
    __atomic_store_n(&book.comm_count, comm->slot + 1, __ATOMIC_RELEASE);
    return comm;
}

static bool slot_fits(void)
{
    size_t block = sizeof(struct tally_block) + sizeof(struct shared_cells);
    return run_fits(&book.run, sizeof(struct comm_record) + block + (size_t)2 * RUN_ALIGN);
}

/* While a slot moves. A handler that reads a total now would wait for the thread that it has interrupted. Signals of
 * errors (SIGSEGV and so on) stay open. */
static struct comm *comm_renewed(const struct comm_facts *facts, bool needed)
{
    sigset_t before;
    if (book.totals_wanted)
        signals_hold(&before);
    struct comm *comm = facts->since ? comm_reuse(facts, needed) : NULL;
    if (comm) {
        comm_describe(comm, facts);
        __atomic_add_fetch(&book.run.header->comm_changes, 1, __ATOMIC_RELEASE);
    }
    if (book.totals_wanted)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    return comm;
}

void book_totals_want(void)
{
    pthread_mutex_lock(&book.lock);
    book.totals_wanted = true;
    pthread_mutex_unlock(&book.lock);
}

/* Reuses the slot of a freed communicator if enough of them are kept, or if there is no other slot. The search comes
 * before the request for memory, as a failed request would count as a loss. */
static struct comm *comm_place(const struct comm_facts *facts)
{
    struct comm *comm = comm_renewed(facts, false);
    if (comm)
        return comm;
    bool fits = slot_fits();
    if (!fits)
        comm = comm_renewed(facts, true);
    if (!comm)
        comm = book_comm_make(facts);
    if (!comm && fits)
        comm = comm_renewed(facts, true);
    if (!comm)
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    return comm;
}

struct comm *book_comm_add(const struct comm_facts *facts)
{
    pthread_mutex_lock(&book.lock);
    struct comm *comm = comm_map_find(&book.map, facts->handle);
    if (!comm && (comm = comm_place(facts)) && comm_map_set(&book.map, facts->handle, comm) != 0)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    pthread_mutex_unlock(&book.lock);
    return comm;
}

void book_comm_label(struct comm *comm, const char *label, size_t most)
{
    char clean[COMM_LABEL_BYTES];
    label_clean(clean, sizeof clean, label, most);
    if (hides(HIDE_COMMUNICATORS))
        hide_text(clean, sizeof clean, clean);
    pthread_mutex_lock(&book.lock);
    memset(comm->record->label, 0, sizeof comm->record->label);
    memcpy(comm->record->label, clean, strlen(clean));
    pthread_mutex_unlock(&book.lock);
}

static void comm_mark(struct comm *comm, bool freed)
{
    uint32_t flags = comm->record->flags & ~(uint32_t)COMM_FREED;
    __atomic_store_n(&comm->freed, freed, __ATOMIC_RELEASE);
    comm->record->freed_ticks = freed ? clock_now() : 0;
    __atomic_store_n(&comm->record->flags, freed ? flags | COMM_FREED : flags, __ATOMIC_RELAXED);
}

/*
 * Removes the handle from all threads' caches. Another thread may use its cache meanwhile, but not for this handle:
 * using a communicator while it is freed is an error of the program. That thread may have taken the entry for another
 * handle when that one is removed. It must search for that again. The view in the entry stays, since it may be the other
 * one's.
 */
static void caches_forget(uint64_t handle)
{
    for (struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        if (RELAXED_LOAD(&l->last.handle) == handle)
            RELAXED_STORE(&l->last.handle, HANDLE_NEVER);
        struct comm_cache_entry *known = ledger_cache(l, handle);
        if (RELAXED_LOAD(&known->handle) == handle)
            RELAXED_STORE(&known->handle, 0);
    }
}

void book_comm_retire(struct comm *comm)
{
    pthread_mutex_lock(&book.lock);
    MPIT_ASSERT(comm_is_valid(comm));
    if (!comm->freed) {
        unfreed_remove(LEFT_COMM, comm->handle);
        comm_map_remove(book.map, comm->handle, comm);
        comm_mark(comm, true);
        caches_forget(comm->handle);
    }
    pthread_mutex_unlock(&book.lock);
}

void book_comm_restore(struct comm *comm)
{
    pthread_mutex_lock(&book.lock);
    if (comm->freed) {
        comm_map_set(&book.map, comm->handle, comm);
        comm_mark(comm, false);
        unfreed_add(LEFT_COMM, comm->handle, 0, clock_now());
    }
    pthread_mutex_unlock(&book.lock);
}

void book_comm_release(struct comm *comm)
{
    struct comm *up = comm->up;
    MPIT_ASSERT(comm_is_valid(comm));
    comm_let_go(comm);
    if (up)
        comm_let_go(up);
}

struct view *book_view_make(struct ledger *ledger, struct comm *comm)
{
    uint32_t peers = (uint32_t)(comm->remote_size ? comm->remote_size : comm->size);
    uint64_t offset;
    MPIT_ASSERT(ledger_is_valid(ledger) && comm_is_valid(comm));
    struct view *view = calloc(1, sizeof *view);
    struct peer_leaf **root = calloc((size_t)1 << comm_room(comm->size, comm->remote_size), sizeof *root);
    struct tally_block *block = view && root ? book_block_make(BLOCK_COMM, ledger->index, comm->slot, 0,
                                                               sizeof(struct comm_cells) / sizeof(uint64_t), &offset)
                                             : NULL;
    if (!block) {
        free(view);
        free(root);
        __atomic_store_n(&book.full_limit, book.run.memory_limit, __ATOMIC_RELAXED);
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    view->comm = comm;
    view->slot = comm->slot;
    view->thread = ledger->index;
    view->root = root;
    view->tally.cells = (struct comm_cells *)(block + 1);
    view->tally.cells->message_low = LOW_NEUTRAL;
    view->tally.cells->span_first = LOW_NEUTRAL;
    view->tally.shared = comm->shared;
    view->tally.page_number = UINT32_MAX; /* no page yet */
    view->tally.peers = peers;
    book_block_link(block, offset);
    view->next = comm->views;
    (void)__atomic_exchange_n(&comm->views, view, __ATOMIC_SEQ_CST); /* before windows_view_join looks at the segment */
    windows_view_join(view);
    return view;
}

static bool views_extend(struct ledger *ledger, uint32_t slot)
{
    uint32_t count = (uint32_t)array_room(ledger->view_count, 16, slot + 1);
    if (!ARRAY_EXTENDED(ledger->views, ledger->view_count, count)) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return false;
    }
    ledger->view_count = count;
    return true;
}

struct view *book_view(struct ledger *ledger, struct comm *comm)
{
    MPIT_ASSERT(ledger_is_valid(ledger) && comm_is_valid(comm));
    if (comm->slot >= ledger->view_count && !views_extend(ledger, comm->slot))
        return NULL;
    struct view *view = ledger->views[comm->slot];
    if (!view && !book_is_short()) {
        pthread_mutex_lock(&book.lock);
        view = book_view_make(ledger, comm);
        pthread_mutex_unlock(&book.lock);
        ledger->views[comm->slot] = view;
    }
    return view;
}

struct peer_cells *book_view_page(struct view *view, uint32_t number)
{
    struct peer_leaf **leaf = &view->root[number / LEAF_PAGES];
    MPIT_ASSERT(view_is_valid(view));
    if (!*leaf) {
        struct peer_leaf *fresh = calloc(1, sizeof *fresh);
        if (!fresh) {
            run_lost(&book.run, LOSS_NO_MEMORY, 1);
            return NULL;
        }
        __atomic_store_n(leaf, fresh, __ATOMIC_RELEASE);
    }
    struct peer_cells **page = &(*leaf)->pages[number % LEAF_PAGES];
    if (!*page) {
        uint64_t offset;
        struct tally_block *block = book_block_make(BLOCK_PEERS, view->thread, view->comm->slot, number,
                                                    sizeof(struct peer_cells) / sizeof(uint64_t), &offset);
        if (!block)
            return NULL;
        book_block_link(block, offset);
        __atomic_store_n(page, (struct peer_cells *)(block + 1), __ATOMIC_RELEASE);
    }
    return *page;
}

void view_page_turn(struct view *view, uint32_t peer)
{
    static struct peer_cells lost_page;
    MPIT_ASSERT(view_is_valid(view));
    struct peer_cells *page = peer < view->tally.peers ? book_view_page(view, peer / PEERS_PER_PAGE) : NULL;
    view->tally.page = page ? page : &lost_page;
    view->tally.page_number = page ? peer / PEERS_PER_PAGE : UINT32_MAX;
}

/* A reader may still use the shorter array, so that stays. It is half as long as the next. */
static bool regions_extend(struct ledger *ledger, uint32_t id)
{
    uint32_t count = ledger->region_count ? ledger->region_count : 16;
    while (count <= id)
        count *= 2;
    struct region_cells **regions = calloc(count, sizeof *regions);
    if (!regions)
        return false;
    if (ledger->region_count)
        memcpy(regions, ledger->regions, ledger->region_count * sizeof *regions);
    __atomic_store_n(&ledger->regions, regions, __ATOMIC_RELEASE); /* the array first: see book_region_peek */
    __atomic_store_n(&ledger->region_count, count, __ATOMIC_RELEASE);
    return true;
}

struct region_cells *book_region(struct ledger *ledger, uint32_t id, uint32_t slot)
{
    MPIT_ASSERT(ledger_is_valid(ledger));
    if (id < ledger->region_count && ledger->regions[id])
        return ledger->regions[id];
    if (id >= ledger->region_count && !regions_extend(ledger, id)) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    uint64_t offset;
    struct tally_block *block =
        book_block_make(BLOCK_REGION, ledger->index, slot, id, sizeof(struct region_cells) / sizeof(uint64_t), &offset);
    if (!block)
        return NULL;
    book_block_link(block, offset);
    __atomic_store_n(&ledger->regions[id], (struct region_cells *)(block + 1), __ATOMIC_RELEASE);
    return ledger->regions[id];
}

const struct region_cells *book_region_peek(const struct ledger *ledger, uint32_t id)
{
    if (id >= __atomic_load_n(&ledger->region_count, __ATOMIC_ACQUIRE))
        return NULL;
    struct region_cells *const *regions = __atomic_load_n(&ledger->regions, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&regions[id], __ATOMIC_ACQUIRE);
}

struct counter_cells *book_counters(struct ledger *ledger)
{
    uint64_t offset;
    if (ledger->tally.counters)
        return ledger->tally.counters;
    struct tally_block *block =
        book_block_make(BLOCK_COUNTERS, ledger->index, 0, 0, sizeof(struct counter_cells) / sizeof(uint64_t), &offset);
    if (!block)
        return NULL;
    book_block_link(block, offset);
    __atomic_store_n(&ledger->tally.counters, (struct counter_cells *)(block + 1), __ATOMIC_RELEASE);
    return ledger->tally.counters;
}

static void view_accumulate(const struct variable_record *record, const struct view *view, uint64_t *values,
                            size_t count)
{
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)view->tally.cells,
                  sizeof(struct comm_cells) / sizeof(uint64_t), values, count);
    if (record->terms[0].block != BLOCK_PEERS)
        return;
    for (uint32_t p = 0; p <= view->tally.peers / PEERS_PER_PAGE; p++) {
        const struct peer_cells *page = view_page_find(view, p);
        if (page)
            variable_take(record, BLOCK_PEERS, p, (const uint64_t *)page, sizeof *page / sizeof(uint64_t), values,
                          count);
    }
}

static void thread_accumulate(const struct variable_record *record, const struct ledger *ledger, uint64_t *values,
                              size_t count)
{
    static const struct {
        unsigned kind;
        size_t bytes;
    } blocks[] = {{BLOCK_THREAD, sizeof(struct thread_cells)},
                  {BLOCK_FABRIC, sizeof(struct fabric_cells)},
                  {BLOCK_FABRIC_CALLS, sizeof(struct fabric_call_cells)},
                  {BLOCK_COUNTERS, sizeof(struct counter_cells)}};
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
        for (unsigned i = 1; i <= thread_blocks_most(blocks[b].kind); i++) {
            const uint64_t *cells = thread_block_cells(ledger, blocks[b].kind, i);
            if (cells)
                variable_take(record, blocks[b].kind, 0, cells, blocks[b].bytes / sizeof(uint64_t), values, count);
        }
}

void book_values(const struct variable *variable, const struct comm *comm, uint64_t *values, size_t count)
{
    const struct variable_record *record = &variable->record;
    variable_clear(record, values, count);
    if (comm) {
        for (const struct view *view = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); view; view = view->next)
            view_accumulate(record, view, values, count);
        variable_take(record, BLOCK_SHARED, 0, (const uint64_t *)comm->shared, sizeof *comm->shared / sizeof(uint64_t),
                      values, count);
        variable_finish(record, values);
        return;
    }
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        thread_accumulate(record, l, values, count);
    for (uint32_t i = 1; i <= FABRIC_PROVIDERS_MOST; i++) {
        const struct level_cells *level = __atomic_load_n(&book.pending[i], __ATOMIC_ACQUIRE);
        if (level)
            variable_take(record, BLOCK_FABRIC_LEVEL, 0, (const uint64_t *)level, sizeof *level / sizeof(uint64_t),
                          values, count);
    }
    if (book.run.header)
        variable_take(record, BLOCK_LOSSES, 0, book.run.header->lost, LOSS_COUNT, values, count);
    variable_finish(record, values);
}

size_t book_value_count(const struct variable *variable, const struct comm *comm)
{
    if (variable->record.count)
        return variable->record.count;
    if (variable->source >= SOURCE_THREAD_STATE && variable->source <= SOURCE_THREAD_ID) {
        size_t threads = __atomic_load_n(&book.thread_count, __ATOMIC_RELAXED), room = 16;
        while (room < threads + 1)
            room *= 2;
        return room;
    }
    return comm ? (size_t)(comm->remote_size ? comm->remote_size : comm->size) : 0;
}
