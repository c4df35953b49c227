#include "umq/umqsource.h"

#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 1 << 20, CHUNKS_MOST = 4096 };
#define PLACE_AMBIGUOUS UINT64_MAX

/* ---- a neighbor's file ------------------------------------------------------------------------------------------- */

static const struct run_header *neighbor_header(const struct source *source)
{
    return (const struct run_header *)(const void *)source->neighbour->base;
}

/* Returns the place in the record, if the record is of the communicator as its other member has it. 0: it is of
 * another one, or is changing. Each field is read once, as the record may go to another communicator at any time. */
static uint64_t record_place(const struct comm_record *record, const struct comm *comm, uint64_t *since)
{
    uint32_t serial = __atomic_load_n(&record->serial, __ATOMIC_ACQUIRE), slot = RELAXED_LOAD(&record->slot);
    int32_t rank = RELAXED_LOAD(&record->rank);
    uint64_t made = RELAXED_LOAD(&record->since_ticks);
    bool fits = strncmp(record->name, comm->name, sizeof record->name) == 0 && record->size == comm->size &&
                record->remote_size == 0 && rank >= 0 && rank < comm->size && rank != comm->rank && slot > 0 &&
                slot < COMM_SLOTS && !(record->flags & (COMM_FREED | COMM_SUM));
    LOADS_IN_ORDER();
    if (!fits || (serial & 1) || RELAXED_LOAD(&record->serial) != serial)
        return 0;
    *since = made;
    return ((uint64_t)slot << 32) | (uint32_t)(rank + 1);
}

uint64_t source_place(struct source *source, const struct comm *comm)
{
    uint64_t place = __atomic_load_n(&source->place, __ATOMIC_RELAXED);
    if (!neighbour_is_mine(source->neighbour, book.run.header))
        return 0;
    uint64_t head = __atomic_load_n(&neighbor_header(source)->first_comm, __ATOMIC_ACQUIRE);
    uint64_t changes = __atomic_load_n(&neighbor_header(source)->comm_changes, __ATOMIC_ACQUIRE);
    uint64_t seen = __atomic_load_n(&source->comm_head, __ATOMIC_RELAXED);
    bool changed = changes != __atomic_load_n(&source->comm_changes, __ATOMIC_RELAXED);
    if (head == seen && !changed)
        return place == PLACE_AMBIGUOUS ? 0 : place;
    if (changed) /* slots went to other communicators: older knowledge may be wrong */
        place = seen = 0;
    uint64_t at = head, since = __atomic_load_n(&source->since, __ATOMIC_RELAXED);
    for (int steps = 0; at && at != seen && steps < STEPS_MOST; steps++) {
        const struct comm_record *record = neighbour_at(source->neighbour, at, sizeof *record);
        if (!record)
            break;
        uint64_t made, found = record_place(record, comm, &made);
        if (found && found != place) {
            place = place ? PLACE_AMBIGUOUS : found;
            since = made;
        }
        at = record->next;
    }
    __atomic_store_n(&source->since, since, __ATOMIC_RELAXED);
    __atomic_store_n(&source->place, place, __ATOMIC_RELAXED);
    __atomic_store_n(&source->comm_head, head, __ATOMIC_RELAXED);
    __atomic_store_n(&source->comm_changes, changes, __ATOMIC_RELAXED);
    return place == PLACE_AMBIGUOUS ? 0 : place;
}

/* Walks over the blocks of one communicator: the known ones, then the ones before them in the list. */
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
                         .at = __atomic_load_n(&neighbor_header(source)->first_block, __ATOMIC_ACQUIRE)};
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

/* ---- messages being sent ----------------------------------------------------------------------------------------- */

/* True if a thread in this state sends to `rank` of the communicator in `slot`. */
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

/* A call's message is counted when the end of the thread's last communication is later than the call's begin. */
void sending_add(struct sending *sending, const struct thread_state *state, uint32_t slot, int32_t rank,
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
            return (const uint64_t *)(block + 1) + offsetof(struct comm_cells, span_last) / sizeof(uint64_t);
    return NULL;
}

struct sending source_sending(struct source *source, uint32_t slot, int32_t rank)
{
    struct sending sending = {0, 0};
    uint64_t at = __atomic_load_n(&neighbor_header(source)->first_thread, __ATOMIC_ACQUIRE);
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

uint64_t source_counted(struct source *source, uint32_t slot, int32_t rank)
{
    uint64_t sum = 0;
    struct walk walk = walk_begin(source, slot, (uint32_t)rank / PEERS_PER_PAGE);
    const struct tally_block *block;
    while ((block = walk_next(&walk)))
        if (block->kind == BLOCK_PEERS)
            sum += cell_load(&((const struct peer_cells *)(block + 1))->peer[rank % PEERS_PER_PAGE].send.count);
    return sum;
}

/* ---- its event buffers ------------------------------------------------------------------------------------------- */

bool source_all_timed(const struct run_header *header)
{
    return RELAXED_LOAD(&header->timed) == 1 && !RELAXED_LOAD(&header->timed_changed);
}

/* The buffer of the thread among the first `count`. NULL: it has none there. */
static const struct umq_buffer *source_buffer(const struct source *source, unsigned count, uint32_t thread)
{
    for (unsigned i = 0; i < count; i++)
        if (source->buffers[i].thread == thread)
            return &source->buffers[i].buffer;
    return NULL;
}

bool source_ends(struct source *source, uint64_t place, const struct comm *comm, struct umq_ends *ends)
{
    struct walk walk = walk_begin(source, place_slot(place), (uint32_t)comm->rank / PEERS_PER_PAGE);
    const struct tally_block *block;
    unsigned known = __atomic_load_n(&source->buffer_count, __ATOMIC_ACQUIRE);
    while ((block = walk_next(&walk))) {
        if (block->kind != BLOCK_PEERS ||
            !cell_load(&((const struct peer_cells *)(block + 1))->peer[comm->rank % PEERS_PER_PAGE].send.count))
            continue;
        const struct umq_buffer *buffer = source_buffer(source, known, block->thread);
        if (!buffer || ends->from_count == UMQ_BUFFERS_MOST)
            return false;
        ends->from[ends->from_count++] = *buffer;
    }
    ends->from_comm = (uint16_t)place_slot(place);
    ends->from_since = __atomic_load_n(&source->since, __ATOMIC_RELAXED);
    return source_all_timed(neighbor_header(source)) &&
           neighbor_header(source)->clock_kind == book.run.header->clock_kind;
}

/* ---- when a handle is allocated ---------------------------------------------------------------------------------- */

static void source_blocks_look(struct source *source, const struct comm *comm)
{
    uint64_t place = source_place(source, comm);
    if (!place)
        return;
    uint32_t page = (uint32_t)comm->rank / PEERS_PER_PAGE;
    struct walk walk = walk_begin(source, place_slot(place), page), again = walk;
    size_t count = 0, old = walk.known ? walk.known->count : 0;
    uint64_t head = walk.at;
    while (walk_next(&walk))
        count++;
    if (walk.known ? head == walk.known->head || (count == old && walk.steps < 1024) : !head)
        return;
    struct known *known = malloc(sizeof *known + count * sizeof known->blocks[0]);
    if (!known)
        return; /* reads search themselves */
    *known = (struct known){.older = source->known, .head = head, .slot = place_slot(place)};
    for (const struct tally_block *block; known->count < count && (block = walk_next(&again));)
        known->blocks[known->count++] = block;
    __atomic_store_n(&source->known, known, __ATOMIC_RELEASE);
}

/* The buffer of a thread whose chunk is at `offset`. Returns false if it is not one. */
static bool source_buffer_at(struct neighbour *neighbour, const struct chunk_header *chunk, uint64_t offset,
                             struct umq_buffer *buffer)
{
    const uint64_t *head = &neighbor_header(&(struct source){.neighbour = neighbour})->first_thread;
    uint64_t at = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    uint32_t capacity = chunk->capacity;
    if (capacity <= RING_SPARE ||
        !neighbour_at(neighbour, offset, sizeof *chunk + (uint64_t)capacity * sizeof(struct event)))
        return false;
    for (int steps = 0; at && steps < STEPS_MOST; steps++) {
        const struct thread_record *thread = neighbour_at(neighbour, at, sizeof *thread);
        if (!thread)
            return false;
        if (thread->index == chunk->thread) {
            const uint64_t *written = neighbour_at(neighbour, thread->events_cell, sizeof *written);
            *buffer = (struct umq_buffer){.ring = chunk, .capacity = capacity, .written = written};
            return written != NULL;
        }
        at = thread->next;
    }
    return false;
}

/* Stores the event buffers. Threads make them when they begin, and they stay in place. */
static void source_buffers_look(struct source *source)
{
    uint64_t at = RUN_PAGE_BYTES;
    unsigned count = source->buffer_count;
    for (int steps = 0; count < UMQ_BUFFERS_MOST && steps < CHUNKS_MOST; steps++) {
        const struct chunk_header *chunk = neighbour_at(source->neighbour, at, sizeof *chunk);
        if (!chunk || chunk->magic != CHUNK_MAGIC || chunk->bytes < sizeof *chunk || chunk->bytes > UINT32_MAX)
            break;
        struct source_buffer found = {.thread = chunk->thread};
        if (chunk->kind == CHUNK_RING && !source_buffer(source, count, chunk->thread) &&
            source_buffer_at(source->neighbour, chunk, at, &found.buffer))
            source->buffers[count++] = found;
        at += chunk->bytes;
    }
    __atomic_store_n(&source->buffer_count, count, __ATOMIC_RELEASE);
}

void source_look(struct source *source, const struct comm *comm)
{
    source_blocks_look(source, comm);
    source_buffers_look(source);
}

void source_forget(struct source *source)
{
    while (source->known) {
        struct known *older = source->known->older;
        free(source->known);
        source->known = older;
    }
    source->place = source->comm_head = 0;
}
