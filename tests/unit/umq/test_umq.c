/* Unexpected messages, out of the run files of neighbours: whole ones, growing ones, and ones that lie. */
#include "unittest.h"

#include "settings/knobs.h"
#include "ledgerfixture.h"
#include "reader/neighbours.h"
#include "runfixture.h"
#include "umq/umq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 200, SLOT = 5 };
static const char world[] = "MPI_COMM_WORLD";

static char directory[64];
static uint64_t job = 100, next_handle = 1;
static struct ledger *ledger;
static struct comm *comm;
static struct view *own_view;
static struct run others[4];

/* A process that has come out of MPI_Init. */
static void neighbour_make(struct run *run, int32_t rank)
{
    struct run_problem problem;
    assert_int_equal(run_open(run, directory, UINT64_C(1) << 30, 0, &problem), 0);
    assert_true(run->fd >= 0);
    run->header->job = job;
    run->header->world_rank = rank;
    run->header->world_size = RANKS;
    run->header->phase = RUN_RUNNING;
}

static void *place(struct run *run, size_t bytes, uint64_t *offset)
{
    void *memory = run_alloc(run, bytes, offset);
    assert_non_null(memory);
    assert_int_not_equal(*offset, 0);
    return memory;
}

static struct comm_record *comm_place(struct run *run, uint32_t slot, int32_t rank, const char *name)
{
    uint64_t offset;
    struct comm_record *record = place(run, sizeof *record, &offset);
    record->slot = slot;
    record->size = RANKS;
    record->rank = rank;
    snprintf(record->name, sizeof record->name, "%s", name);
    run_link(run, &run->header->first_comm, &record->next, offset);
    return record;
}

static struct tally_block *block_place(struct run *run, uint32_t kind, uint32_t slot, uint32_t page, size_t bytes)
{
    uint64_t offset;
    struct tally_block *block = place(run, sizeof *block + bytes, &offset);
    block->kind = kind;
    block->comm = slot;
    block->page = page;
    block->cells = (uint32_t)(bytes / 8);
    run_link(run, &run->header->first_block, &block->next, offset);
    return block;
}

static struct peer_cells *page_place(struct run *run, uint32_t slot, uint32_t page)
{
    return (struct peer_cells *)(block_place(run, BLOCK_PEERS, slot, page, sizeof(struct peer_cells)) + 1);
}

static struct thread_record *thread_place(struct run *run)
{
    uint64_t offset;
    struct thread_record *thread = place(run, sizeof *thread, &offset);
    run_link(run, &run->header->first_thread, &thread->next, offset);
    return thread;
}

static int setup(void **state)
{
    (void)state;
    struct run_problem problem;
    struct comm_facts facts = {.handle = next_handle++, .size = RANKS, .rank = 70, .name = world};
    job++;
    for (struct neighbour *n = neighbours_first(); n; n = n->next)
        n->kinship = KINSHIP_NONE; /* of the test before */
    fixture_directory_make(directory);
    clock_open();
    assert_int_equal(run_open(&book.run, directory, UINT64_C(1) << 30, 0, &problem), 0);
    book.run.header->job = job;
    book.run.header->world_rank = 70;
    book.run.header->world_size = RANKS;
    static struct ledger *before[16]; /* ledgers are never freed */
    before[job % 16] = book.threads;
    if (book.threads)
        assert_ptr_not_equal(book.threads, before[(job - 1) % 16]);
    book.threads = NULL;
    book.thread_count = 0;
    if (!book.comms)
        assert_int_equal(book_open(), 0);
    ledger = ledger_make(1);
    book_thread_state = &ledger->record->state;
    comm = book_comm_add(&facts);
    own_view = book_view(ledger, comm);
    umq_pending_visit = NULL;
    return 0;
}

FIXTURE(teardown)
{
    fixture_directory_remove(directory);
}

static void receive(int32_t from)
{
    struct event event = {.kind = CALL_MPI_Recv, .peer = from};
    view_page_select(own_view, from);
    fold_call(FOLD_RECV, 0, &ledger->tally, &own_view->tally, &event, NULL, 1);
}

static void post_receive(void)
{
    struct event event = {.kind = CALL_MPI_Irecv, .peer = PEER_ANY};
    fold_call(FOLD_POST_RECV, 0, &ledger->tally, &own_view->tally, &event, NULL, 1);
}

TESTS_EACH(setup, teardown)

TEST(sent_and_not_received_are_waiting)
{
    neighbour_make(&others[0], 3);
    comm_place(&others[0], SLOT, 3, world);
    struct peer_cells *page = page_place(&others[0], SLOT, 1);
    page->peer[70 % 64].send.count = 5;
    page->peer[71 % 64].send.count = 100;
    struct umq *umq = umq_bind(comm);
    assert_int_equal(umq_peers(umq), 2);
    assert_int_equal(umq_length(umq), 5);
    receive(3);
    receive(3);
    assert_int_equal(umq_length(umq), 3);
    receive(4); /* another's message says nothing of these */
    assert_int_equal(umq_length(umq), 3);
    page->peer[70 % 64].send.count = 1;
    assert_int_equal(umq_length(umq), 0);
}

/* What comes after the handle: a process that gets its rank, the communicator, pages, further arenas. */
TEST(what_comes_later_is_seen)
{
    neighbour_make(&others[0], 3);
    others[0].header->world_size = 0;
    others[0].header->job = 0;
    struct umq *umq = umq_bind(comm);
    assert_int_equal(umq_peers(umq), 1);
    others[0].header->job = job;
    others[0].header->world_size = RANKS;
    assert_int_equal(umq_peers(umq), 1);
    comm_place(&others[0], SLOT, 3, world);
    assert_int_equal(umq_peers(umq), 2);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 2000; i++) { /* some MiB: several arenas */
        page_place(&others[0], SLOT + 1 + i, 1)->peer[6].send.count = 1000;
        if (i % 500 == 0) {
            page_place(&others[0], SLOT, 1)->peer[6].send.count = i + 1;
            sum += i + 1;
        }
        if (i == 1000)
            umq_bind(comm);
        if (i % 250 == 0)
            assert_int_equal(umq_length(umq), sum);
    }
    assert_int_equal(umq_length(umq), sum);
    assert_ptr_equal(umq_bind(comm), umq);
    assert_int_equal(umq_length(umq), sum);
}

TEST(calls_in_progress_count)
{
    neighbour_make(&others[0], 3);
    comm_place(&others[0], SLOT, 3, world);
    struct thread_record *thread = thread_place(&others[0]);
    struct comm_cells *cells =
        (struct comm_cells *)(block_place(&others[0], BLOCK_COMM, SLOT, 0, sizeof(struct comm_cells)) + 1);
    struct umq *umq = umq_bind(comm);
    cells->span_last = 900;
    thread->state = (struct thread_state){.since = 1000, .call = CALL_MPI_Send, .comm = SLOT, .peer = 70};
    assert_int_equal(umq_length(umq), 1);
    cells->span_last = 1200; /* counted already: the call is just returning */
    assert_int_equal(umq_length(umq), 0);
    cells->span_last = 900;
    thread->state.peer = 71;
    assert_int_equal(umq_length(umq), 0);
    thread->state.call = CALL_MPI_Recv;
    thread->state.peer = 70;
    assert_int_equal(umq_length(umq), 0);
    thread->state.call = CALL_MPI_Sendrecv;
    assert_int_equal(umq_length(umq), 0);
    thread->state.partner = 70 + 1;
    assert_int_equal(umq_length(umq), 1);
    thread->state.comm = SLOT + 1;
    assert_int_equal(umq_length(umq), 0);
    thread->state.call = 4711;
    thread->state.comm = SLOT;
    assert_int_equal(umq_length(umq), 0);
}

TEST(others_are_no_neighbours)
{
    neighbour_make(&others[0], 3);
    others[0].header->job = job + 1000; /* another job */
    neighbour_make(&others[1], 4);
    comm_place(&others[1], SLOT, 4, "MPI_COMM_WORLD/dup#1"); /* another communicator */
    neighbour_make(&others[2], 5);
    memset(others[2].header->boot, 'x', 10); /* another kernel */
    neighbour_make(&others[3], 6);
    comm_place(&others[3], SLOT, 6, world); /* two of one name */
    comm_place(&others[3], SLOT + 1, 6, world);
    comm_place(&others[0], SLOT, 3, world);
    comm_place(&others[2], SLOT, 5, world);
    for (int i = 0; i < 4; i++)
        page_place(&others[i], SLOT, 1)->peer[6].send.count = 7;
    struct umq *umq = umq_bind(comm);
    assert_int_equal(umq_peers(umq), 1);
    assert_int_equal(umq_length(umq), 0);
}

/* None of it crashes, hangs, or counts. */
TEST(files_that_lie_are_not_followed)
{
    for (int i = 0; i < 4; i++) {
        neighbour_make(&others[i], i);
        comm_place(&others[i], SLOT, i, world);
    }
    struct tally_block *far = block_place(&others[0], BLOCK_PEERS, SLOT, 1, sizeof(struct peer_cells));
    far->next = UINT64_MAX - 63; /* behind the end of everything */
    struct tally_block *loop = block_place(&others[1], BLOCK_PEERS, SLOT + 1, 1, sizeof(struct peer_cells));
    loop->next = others[1].header->first_block;
    struct tally_block *last = block_place(&others[2], BLOCK_PEERS, SLOT, 1, 64);
    last->cells = UINT32_MAX; /* more than there is room for; the file says that it goes on */
    others[2].header->first_block = others[2].header->file_bytes - 64;
    others[2].header->file_bytes = UINT64_C(1) << 40;
    others[3].header->first_comm = 8; /* in the header */
    others[3].header->first_thread = 4096 + 1;
    struct umq *umq = umq_bind(comm);
    assert_int_equal(umq_length(umq), 0);
    assert_int_equal(umq_peers(umq), 4);
    struct comm_record *wild = comm_place(&others[3], SLOT, RANKS + 7, world); /* a rank that is none */
    wild->next = 0;
    others[0].header->first_thread = others[0].header->first_comm + 8;
    assert_int_equal(umq_length(umq), 0);
}

static void fixed_pending(const struct comm *of, umq_receive_found *found, void *data)
{
    assert_ptr_equal(of, comm);
    found(data, 3, 7);
    found(data, 3, TAG_ANY);
    found(data, PEER_ANY, 7);
}

TEST(pending_receives_take_from_their_sources)
{
    for (int i = 0; i < 2; i++) {
        neighbour_make(&others[i], 3 + i);
        comm_place(&others[i], SLOT, 3 + i, world);
    }
    page_place(&others[0], SLOT, 1)->peer[6].send.count = 1;
    page_place(&others[1], SLOT, 1)->peer[6].send.count = 5;
    struct umq *umq = umq_bind(comm);
    assert_int_equal(umq_length(umq), 6);
    for (int i = 0; i < 3; i++)
        post_receive();
    assert_int_equal(umq_length(umq), 3); /* nothing known of the three */
    umq_pending_visit = fixed_pending;
    assert_int_equal(umq_length(umq), 4); /* two for the first, which has one waiting; one for any */
    post_receive();                       /* one that the table does not have */
    assert_int_equal(umq_length(umq), 3);
    book.concurrent = true;
    assert_int_equal(umq_length(umq), 2);
    book.concurrent = false;
}

static void other_tag_pending(const struct comm *of, umq_receive_found *found, void *data)
{
    assert_ptr_equal(of, comm);
    found(data, 3, 7);
}

static void event_place(struct chunk_header *ring, uint64_t *written, int32_t tag)
{
    struct event *events = (struct event *)(void *)(ring + 1);
    events[(*written)++] =
        (struct event){.begin = 100, .duration = 1, .kind = CALL_MPI_Send, .comm = SLOT, .peer = 70, .tag = tag};
}

/* Tags are in the event buffers; without one a pending receive may take any message. */
TEST(receives_leave_what_has_another_tag)
{
    uint64_t offset;
    neighbour_make(&others[0], 3);
    comm_place(&others[0], SLOT, 3, world);
    struct peer_cells *page = page_place(&others[0], SLOT, 1);
    page->peer[6].send.count = 2;
    struct umq *umq = umq_bind(comm);
    post_receive();
    umq_pending_visit = other_tag_pending;
    assert_int_equal(umq_length(umq), 1); /* nothing is known of either end */
    book.run.header->timed = others[0].header->timed = 1;
    ledger->buffer = run_ring_open(&book.run, ledger->index, 100);
    struct thread_record *thread = thread_place(&others[0]);
    uint64_t *written = place(&others[0], sizeof *written, &offset);
    thread->events_cell = offset;
    struct chunk_header *ring = run_ring_open(&others[0], 0, 100);
    event_place(ring, written, 5);
    event_place(ring, written, 7);
    assert_int_equal(umq_length(umq), 1); /* the buffer has not been found */
    ring->capacity = UINT32_MAX;
    assert_ptr_equal(umq_bind(comm), umq);
    assert_int_equal(umq_length(umq), 1); /* nor is this one, which lies */
    ring->capacity = 100;
    thread->events_cell = UINT64_MAX - 7;
    assert_ptr_equal(umq_bind(comm), umq);
    assert_int_equal(umq_length(umq), 1);
    thread->events_cell = offset;
    assert_ptr_equal(umq_bind(comm), umq);
    assert_int_equal(umq_length(umq), 1);
    event_place(ring, written, 5);
    assert_int_equal(umq_length(umq), 1); /* it is not counted yet: what waits is not clear */
    page->peer[6].send.count = 3;
    assert_int_equal(umq_length(umq), 2);
    struct event *events = (struct event *)(void *)(ring + 1);
    events[1].tag = 5; /* now none of them is what the receive waits for */
    assert_int_equal(umq_length(umq), 3);
    others[0].header->timed_changed = 1; /* times that may be none */
    assert_int_equal(umq_length(umq), 2);
    others[0].header->timed_changed = 0;
    umq_pending_visit = fixed_pending; /* three of which one is pending: the tallies and the table disagree */
    assert_int_equal(umq_length(umq), 0);
    umq_pending_visit = NULL;
    assert_int_equal(umq_length(umq), 2);
}

TEST(watches_keep_the_highest)
{
    static struct umq_watch one, two;
    neighbour_make(&others[0], 3);
    comm_place(&others[0], SLOT, 3, world);
    struct peer_cells *page = page_place(&others[0], SLOT, 1);
    uint64_t rare = knob_rare_ticks;
    struct umq *umq = umq_bind(comm);
    page->peer[6].send.count = 2;
    umq_watch_tie(&one, umq);
    umq_watch_tie(&two, umq);
    assert_int_equal(knob_rare_ticks, rare);
    umq_watch_open(&one);
    umq_watch_open(&one);
    assert_int_equal(knob_rare_ticks, 0);
    assert_int_equal(umq_watch_read(&one), 2);
    page->peer[6].send.count = 6;
    umq_watches_look(FOLD_RECV, NULL);
    page->peer[6].send.count = 1;
    assert_int_equal(umq_watch_read(&one), 6);
    assert_int_equal(umq_watch_read(&two), 2);
    umq_watch_open(&two);
    umq_watch_reset(&one);
    assert_int_equal(umq_watch_read(&one), 1);
    umq_watch_close(&one);
    page->peer[6].send.count = 9;
    umq_watches_look(FOLD_RECV, NULL);
    assert_int_equal(umq_watch_read(&one), 1);
    assert_int_equal(umq_watch_read(&two), 9);
    assert_int_equal(knob_rare_ticks, 0);
    umq_watch_close(&two);
    umq_watch_close(&two);
    assert_int_equal(knob_rare_ticks, rare);
}

TEST(a_watch_ends_with_its_communicator)
{
    static struct umq_watch watch;
    uint64_t rare = knob_rare_ticks;
    umq_watch_tie(&watch, umq_bind(comm));
    umq_watch_open(&watch);
    umq_watches_look(FOLD_RECV, NULL);
    assert_int_equal(knob_rare_ticks, 0);
    comm->freed = true;
    umq_watches_look(FOLD_SEND, NULL);
    assert_int_equal(knob_rare_ticks, rare); /* calls go the frequent path again, though the handle is there */
    umq_watch_close(&watch);
    assert_int_equal(knob_rare_ticks, rare);
    comm->freed = false;
}
