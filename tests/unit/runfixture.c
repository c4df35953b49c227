#define _GNU_SOURCE
#include "runfixture.h"

#include "mpit/collector.h"
#include "pack.h"
#include "samplefixture.h"
#include "traceappend.h"

#include "clock.h"
#include "variables.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fixture: %s\n", what);
    abort();
}

void fixture_directory_make(char directory[64])
{
    const char *where = getenv("TMPDIR");
    int n = snprintf(directory, 64, "%s/mpit-unit.XXXXXX", where && strlen(where) < 40 ? where : "/tmp");
    expect(n > 0 && n < 64 && mkdtemp(directory), "cannot make a directory");
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void fixture_directory_remove(const char *directory)
{
    nftw(directory, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static void *place(struct fixture *fixture, size_t bytes, uint64_t *offset)
{
    void *memory = run_alloc(&fixture->run, bytes, offset);
    expect(memory && *offset, "no place in the run file");
    return memory;
}

static void tables_write(struct fixture *fixture)
{
    struct run_header *header = fixture->run.header;
    struct variable_record *records = place(fixture, variable_count * sizeof *records, &header->variables);
    for (size_t i = 0; i < variable_count; i++)
        records[i] = variables[i].record;
    header->variable_count = variable_count;
    struct call_record *calls = place(fixture, CALL_COUNT * sizeof *calls, &header->calls);
    for (size_t i = 0; i < CALL_COUNT; i++) {
        snprintf(calls[i].name, sizeof calls[i].name, "%s", call_table[i].name);
        calls[i].class = call_table[i].class;
        calls[i].role = call_table[i].role;
        calls[i].op = call_table[i].op;
    }
    header->call_count = CALL_COUNT;
}

void fixture_open(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture_directory_make(fixture->directory);
    clock_open();
    expect(run_open(&fixture->run, fixture->directory, UINT64_C(1) << 30, 0, &fixture->problem) == 0 &&
               fixture->run.fd >= 0,
           "cannot open a run");
    struct run_header *header = fixture->run.header;
    header->job = 7;
    header->world_rank = 0;
    header->world_size = 2;
    header->traced = 1;
    header->clock_kind = CLOCK_KIND_MONOTONIC;
    header->clock_mult = UINT64_C(1) << 32;
    header->begin_ticks = header->init_ticks = FIXTURE_BEGIN_TICKS;
    snprintf(header->mpi, sizeof header->mpi, "Open MPI v0");
    tables_write(fixture);
}

static struct tally_block *block_place(struct fixture *fixture, struct tally_block filled, size_t bytes)
{
    uint64_t offset;
    struct tally_block *block = place(fixture, sizeof *block + bytes, &offset);
    *block = filled;
    block->cells = (uint32_t)(bytes / sizeof(uint64_t));
    run_link(&fixture->run, &fixture->run.header->first_block, &block->next, offset);
    return block;
}

void fixture_comm_add(struct fixture *fixture, uint32_t slot, int32_t size, const char *name)
{
    uint64_t offset;
    struct comm_record *record = place(fixture, sizeof *record, &offset);
    record->slot = slot;
    record->size = size;
    record->created_ticks = FIXTURE_BEGIN_TICKS;
    snprintf(record->name, sizeof record->name, "%s", name);
    run_link(&fixture->run, &fixture->run.header->first_comm, &record->next, offset);
    struct tally_block *block =
        block_place(fixture, (struct tally_block){.kind = BLOCK_SHARED, .comm = slot}, sizeof(struct shared_cells));
    fixture->comms[slot] = record;
    fixture->shared[slot] = (struct shared_cells *)(block + 1);
    for (unsigned i = 0; i < EXTREME_COUNT; i++)
        fixture->shared[slot]->closed[i] = extreme_neutral((enum extreme)i);
}

static struct instrument_record *instrument_place(struct fixture *fixture, struct instrument_record filled,
                                                  const char *name)
{
    uint64_t offset;
    struct instrument_record *record = place(fixture, sizeof *record, &offset);
    *record = filled;
    snprintf(record->name, sizeof record->name, "%s", name);
    snprintf(record->component, sizeof record->component, "libfixture.so");
    snprintf(record->description, sizeof record->description, "Of the fixture.");
    uint64_t *values = place(fixture, (record->count + INSTRUMENT_EXTREMES) * sizeof *values, &record->values);
    for (uint32_t i = 0; i < record->count; i++)
        values[i] = i + 1;
    run_link(&fixture->run, &fixture->run.header->first_instrument, &record->next, offset);
    return record;
}

void fixture_instruments_add(struct fixture *fixture)
{
    instrument_place(fixture,
                     (struct instrument_record){.id = FIXTURE_REGION,
                                                .kind = INSTRUMENT_REGION,
                                                .classes = 1u << VARIABLE_COUNTER | 1u << VARIABLE_TIMER,
                                                .type = 4,
                                                .count = 1},
                     "fixture_region");
    struct instrument_record *state = instrument_place(fixture,
                                                       (struct instrument_record){.id = FIXTURE_STATE,
                                                                                  .kind = INSTRUMENT_VARIABLE,
                                                                                  .class = VARIABLE_STATE,
                                                                                  .classes = 1u << VARIABLE_STATE,
                                                                                  .type = 1,
                                                                                  .count = 1},
                                                       "fixture_state");
    struct item_record *items = place(fixture, 2 * sizeof *items, &state->items);
    state->item_count = 2;
    items[0] = (struct item_record){1, "one"};
    items[1] = (struct item_record){-7, "minus seven"};
    instrument_place(fixture,
                     (struct instrument_record){.id = FIXTURE_ARRAY,
                                                .kind = INSTRUMENT_VARIABLE,
                                                .class = VARIABLE_COUNTER,
                                                .classes = 1u << VARIABLE_COUNTER,
                                                .type = 4,
                                                .count = 5,
                                                .comm = 1},
                     "fixture_array");
}

void fixture_thread_add(struct fixture *fixture, uint32_t index, uint32_t capacity)
{
    uint64_t offset;
    struct fixture_thread *thread = &fixture->threads[index];
    struct tally_block *block =
        block_place(fixture, (struct tally_block){.kind = BLOCK_THREAD, .thread = index}, sizeof(struct thread_cells));
    thread->tally.cells = (struct thread_cells *)(block + 1);
    thread->tally.message_weight = 1;
    uint64_t cell = fixture->run.arena_offset + (uint64_t)((char *)thread->tally.cells - fixture->run.arena);
    thread->record = place(fixture, sizeof *thread->record, &offset);
    thread->record->index = index;
    thread->record->begin_ticks = FIXTURE_BEGIN_TICKS;
    thread->record->events_cell = cell;
    run_link(&fixture->run, &fixture->run.header->first_thread, &thread->record->next, offset);
    thread->ring = run_ring_open(&fixture->run, index, capacity);
    expect(thread->ring, "no buffer");
}

static struct comm_tally *view_at(struct fixture *fixture, uint32_t thread, uint32_t slot, int32_t peer)
{
    struct fixture_view *view = &fixture->threads[thread].views[slot];
    if (!view->tally.cells) {
        struct tally_block *block =
            block_place(fixture, (struct tally_block){.kind = BLOCK_COMM, .thread = thread, .comm = slot},
                        sizeof(struct comm_cells));
        view->tally.cells = (struct comm_cells *)(block + 1);
        view->tally.cells->message_low = view->tally.cells->span_first = LOW_NEUTRAL;
        view->tally.shared = fixture->shared[slot];
        view->tally.peers = (uint32_t)fixture->comms[slot]->size;
    }
    if (peer < 0)
        return &view->tally;
    uint32_t number = (uint32_t)peer / PEERS_PER_PAGE;
    expect(number < FIXTURE_PAGES, "a peer too far");
    if (!view->pages[number]) {
        struct tally_block *block = block_place(
            fixture, (struct tally_block){.kind = BLOCK_PEERS, .thread = thread, .comm = slot, .page = number},
            sizeof(struct peer_cells));
        view->pages[number] = (struct peer_cells *)(block + 1);
    }
    view->tally.page = view->pages[number];
    view->tally.page_number = number;
    return &view->tally;
}

/* Every other buffer is packed, as far as there is room. */
static void trace_keep(struct fixture *fixture, uint32_t index, uint64_t first, const struct event *events,
                       uint32_t count)
{
    static struct packer table;
    static char packed[1024 * PACK_MOST];
    if (first / count % 2 == 0 || count > 1024) {
        run_trace_append(&fixture->run, index, first, events, count);
        return;
    }
    size_t bytes = events_pack(&table, events, count, packed);
    run_trace_append_packed(&fixture->run, index, first, count, packed, bytes);
}

static void keep(struct fixture *fixture, uint32_t index, const struct event *event)
{
    struct fixture_thread *thread = &fixture->threads[index];
    struct event *events = (struct event *)(thread->ring + 1);
    uint64_t number = thread->tally.cells->events;
    uint32_t capacity = thread->ring->capacity;
    events[number % capacity] = *event;
    __atomic_store_n(&thread->tally.cells->events, number + 1, __ATOMIC_RELEASE);
    if ((number + 1) % capacity == 0 && fixture->run.header->traced)
        trace_keep(fixture, index, number + 1 - capacity, events, capacity);
}

void fixture_emit(struct fixture *fixture, uint32_t index, struct event event, const struct event_extension *more)
{
    struct fixture_thread *thread = &fixture->threads[index];
    bool instrument = event_kind(&event) >= RECORD_END;
    struct comm_tally *comm = event.comm && !instrument ? view_at(fixture, index, event.comm, event.peer) : NULL;
    thread->tally.region = NULL;
    if (event_kind(&event) == EVENT_REGION) {
        if (!thread->region)
            thread->region = (struct region_cells *)(block_place(fixture,
                                                                 (struct tally_block){.kind = BLOCK_REGION,
                                                                                      .thread = index,
                                                                                      .page = (uint32_t)event.peer},
                                                                 sizeof *thread->region) +
                                                     1);
        thread->tally.region = thread->region;
    }
    fold(&thread->tally, comm, &event, more);
    keep(fixture, index, &event);
    if (event.kind & EVENT_WIDE) {
        struct event behind;
        memcpy(&behind, more, sizeof behind);
        keep(fixture, index, &behind);
    }
}

void fixture_close(struct fixture *fixture, enum run_phase phase)
{
    run_close(&fixture->run, phase, true);
    fixture->run.header->end_ticks = phase == RUN_FINALIZED ? FIXTURE_BEGIN_TICKS + 1000000 : 0;
}

void fixture_remove(struct fixture *fixture)
{
    fixture_directory_remove(fixture->directory);
}

static void messages_fill(struct fixture *fixture, uint32_t thread, uint64_t at)
{
#define EMIT(...) fixture_emit(fixture, thread, (struct event){.begin = at, __VA_ARGS__}, NULL)
    for (int32_t peer = 0; peer < 300; peer += 50, at += 100) {
        EMIT(.duration = 10, .kind = CALL_MPI_Send, .comm = 1, .peer = peer, .tag = 5, .bytes = 1u << (peer / 50));
        EMIT(.duration = 20, .kind = CALL_MPI_Recv, .comm = 1, .peer = peer, .tag = 5, .bytes = 100);
    }
    EMIT(.duration = 3, .kind = CALL_MPI_Isend, .comm = 1, .peer = 1, .tag = 1, .bytes = 4096);
    EMIT(.duration = 4, .kind = CALL_MPI_Irecv, .comm = 2, .peer = PEER_ANY, .tag = TAG_ANY, .bytes = 9999);
    EMIT(.duration = 7, .kind = CALL_MPI_Irecv, .comm = 1, .peer = 1, .tag = 1, .bytes = 10);
    EMIT(.duration = 100, .kind = CALL_MPI_Waitall, .peer = 3, .tag = 3);
    EMIT(.duration = CALL_MPI_Isend, .kind = RECORD_SEND_DONE, .comm = 1, .peer = 1, .tag = 1, .bytes = 4096);
    EMIT(.duration = CALL_MPI_Irecv, .kind = RECORD_RECV_DONE, .comm = 2, .peer = 0, .tag = 9, .bytes = 9000);
    EMIT(.duration = CALL_MPI_Irecv, .kind = RECORD_CANCELLED, .comm = 1, .peer = 1, .tag = 1, .bytes = 10);
    at += 200;
    EMIT(.duration = 9, .kind = CALL_MPI_Sendrecv, .comm = 1, .peer = 2, .tag = 3, .bytes = 64);
    EMIT(.kind = RECORD_RECEIVE, .comm = 1, .peer = 3, .tag = 3, .bytes = 65);
    EMIT(.duration = 5, .kind = CALL_MPI_Startall, .peer = 2, .tag = 2);
    EMIT(.duration = CALL_MPI_Startall, .kind = RECORD_SEND_POSTED, .comm = 1, .peer = 4, .tag = 1, .bytes = 12);
    EMIT(.duration = CALL_MPI_Startall, .kind = RECORD_RECV_POSTED, .comm = 1, .peer = 4, .tag = 1, .bytes = 12);
#undef EMIT
}

static void collectives_fill(struct fixture *fixture, uint32_t thread, uint64_t at)
{
#define EMIT(...) fixture_emit(fixture, thread, (struct event){.begin = at, __VA_ARGS__}, NULL)
    struct event_extension more = {
        .duration = UINT64_C(5) << 32, .kind = RECORD_EXTENSION, .bytes_out = UINT64_C(3) << 32};
    EMIT(.duration = 30, .kind = CALL_MPI_Allreduce, .comm = 1, .peer = PEER_NONE, .tag = 8, .bytes = 8);
    fixture_emit(fixture, thread,
                 (struct event){.begin = at + 40,
                                .duration = EVENT_DURATION_WIDE,
                                .kind = CALL_MPI_Alltoall | EVENT_WIDE,
                                .comm = 1,
                                .peer = PEER_NONE,
                                .bytes = UINT64_C(2) << 32},
                 &more);
    at += UINT64_C(6) << 32;
    EMIT(.duration = 2, .kind = CALL_MPI_Ibarrier, .comm = 2, .peer = PEER_NONE);
    EMIT(.duration = 6, .kind = CALL_MPI_Wait, .peer = 1, .tag = 1);
    EMIT(.duration = CALL_MPI_Ibarrier, .kind = RECORD_COLL_DONE, .comm = 2, .peer = PEER_NONE);
    EMIT(.duration = 50, .kind = CALL_MPI_Comm_split, .comm = 1, .peer = PEER_NONE);
    EMIT(.kind = RECORD_CREATED, .comm = 2, .peer = 1);
    EMIT(.duration = 1, .kind = CALL_MPI_Send | EVENT_FAILED, .comm = 1, .peer = 2, .bytes = 77);
    EMIT(.duration = 1, .kind = CALL_MPI_Send | EVENT_NESTED, .comm = 1, .peer = 2, .bytes = 77);
    EMIT(.duration = 5, .kind = EVENT_REGION | EVENT_NESTED, .peer = FIXTURE_REGION);
    EMIT(.kind = EVENT_METRIC, .peer = FIXTURE_STATE, .bytes = 1);
    EMIT(.duration = 4, .kind = EVENT_METRIC, .comm = 1, .peer = FIXTURE_ARRAY, .bytes = UINT64_MAX);
    fixture_emit(
        fixture, thread,
        (struct event){
            .begin = at, .duration = EVENT_DURATION_WIDE, .kind = EVENT_REGION | EVENT_WIDE, .peer = FIXTURE_REGION},
        &more);
#undef EMIT
}

/* A stream of which one part stays and one is in the buffer, with each sort of record. */
static void samples_fill(struct fixture *fixture)
{
    struct sample_writer writer;
    uint64_t deep[] = {0x1500, 0x1400, 0x1300}, shallow[] = {0x1600, 0x1300};
    sampler_open(&writer, &fixture->run, 0, 0);
    for (int part = 0; part < 2; part++) {
        sampler_map(&writer, 0x1000, 0x2000, 0x1000, "/lib/libfixture.so", 20);
        for (uint64_t i = 0; i < 4; i++) {
            sampler_take(&writer, FIXTURE_BEGIN_TICKS + 100 * i, i ? MPIT_STATE_STALL_SEND : MPIT_STATE_NOT_IN_MPI,
                         i ? CALL_MPI_Send : 0, i % 2 ? deep : shallow, i % 2 ? 3 : 2);
        }
        if (part == 0) {
            expect(run_samples_flush(&fixture->run, &writer), "samples were not appended");
            sample_put_thread(&writer, 0, 100, FIXTURE_PERIOD_NS, (char[16]){"again"});
        }
    }
}

void fixture_fill(struct fixture *fixture)
{
    fixture_open(fixture);
    fixture_comm_add(fixture, 1, 320, "MPI_COMM_WORLD");
    fixture_comm_add(fixture, 2, 2, "MPI_COMM_WORLD/split.0.1");
    fixture_instruments_add(fixture);
    for (uint32_t thread = 0; thread < 2; thread++) {
        fixture_thread_add(fixture, thread, 12);
        messages_fill(fixture, thread, FIXTURE_BEGIN_TICKS + 10 * thread);
        collectives_fill(fixture, thread, FIXTURE_BEGIN_TICKS + 5000 + 10 * thread);
    }
    samples_fill(fixture);
    fixture_close(fixture, RUN_FINALIZED);
}
