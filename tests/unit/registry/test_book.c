/* Threads, communicators, views and pages of peers, alone and with readers beside them. One book serves all tests. */
#include "unittest.h"

#include "registry/book.h"
#include "registry/commmap.h"
#include "effort.h"
#include "ledgerfixture.h"
#include "registry/objectnumbers.h"
#include "reader/reader.h"
#include "runfixture.h"
#include "figures/variables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char directory[64];
static uint64_t handle_last = 0x1000;

static int book_setup(void **state)
{
    (void)state;
    struct run_problem problem;
    clock_open();
    fixture_directory_make(directory);
    if (run_open(&book.run, directory, UINT64_C(4) << 30, 0, &problem) != 0 || book.run.fd < 0)
        return -1;
    return book_open();
}

FIXTURE(book_teardown)
{
    run_close(&book.run, RUN_FINALIZED, false);
    fixture_directory_remove(directory);
}

static struct comm *comm_new(int32_t size, int32_t remote_size)
{
    handle_last += 0x40;
    struct comm_facts facts = {
        .handle = handle_last, .parent = 1, .size = size, .rank = 0, .remote_size = remote_size, .name = "test"};
    struct comm *comm = book_comm_add(&facts);
    assert_non_null(comm);
    return comm;
}

static struct ledger *ledger_new(void)
{
    struct ledger *ledger = ledger_make(77);
    assert_non_null(ledger);
    return ledger;
}

static const struct variable *variable_find(const char *name, enum variable_class class)
{
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            return &variables[i];
    fail_msg("no %s", name);
    return NULL;
}

static uint64_t value_of(const char *name, const struct comm *comm)
{
    uint64_t value;
    book_values(variable_find(name, VARIABLE_COUNTER), comm, &value, 1);
    return value;
}

static void send(struct ledger *ledger, struct comm *comm, int32_t peer)
{
    struct view *view = view_of(ledger, comm);
    struct event event = {.kind = CALL_MPI_Send, .comm = (uint16_t)comm->slot, .peer = peer, .bytes = 8};
    view_page_select(view, peer);
    fold(&ledger->tally, &view->tally, &event, NULL);
}

TESTS_ALL(book_setup, book_teardown)

TEST(threads_get_numbers_in_order)
{
    uint32_t before = book.thread_count;
    struct ledger *first = ledger_new(), *second = ledger_new();
    EQUALS({first->index, before}, {second->index, before + 1});
    assert_ptr_equal(book.threads, second);
    assert_ptr_equal(second->next, first);
    assert_int_equal(first->record->tid, 77);
}

TEST(communicator_is_found_by_its_handle)
{
    struct comm *comm = comm_new(4, 0), *other = comm_new(4, 0);
    assert_ptr_equal(book_comm_find(comm->handle), comm);
    assert_ptr_equal(book_comm_find(other->handle), other);
    assert_null(book_comm_find(0));
    assert_null(book_comm_find(handle_last + 1));
    assert_int_equal(other->slot, comm->slot + 1);
    assert_ptr_equal(book.comms[comm->slot], comm);
}

TEST(known_handle_is_not_added_twice)
{
    struct comm *comm = comm_new(4, 0);
    uint32_t count = book.comm_count;
    assert_ptr_equal(book_comm_add(&(struct comm_facts){.handle = comm->handle, .size = 9, .name = "again"}), comm);
    EQUALS({book.comm_count, count}, {comm->size, 4});
}

TEST(long_name_is_cut_and_ends)
{
    char name[3 * COMM_NAME_BYTES];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    handle_last += 0x40;
    struct comm *comm = book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 1, .name = name});
    assert_int_equal(strlen(comm->name), COMM_NAME_BYTES - 1);
    assert_string_equal(comm->record->name, comm->name);
}

TEST(retired_handle_is_forgotten_and_its_figures_stay)
{
    struct comm *comm = comm_new(4, 0);
    struct ledger *ledger = ledger_new();
    send(ledger, comm, 1);
    ledger->last = ledger->cache[3] = (struct comm_cache_entry){comm->handle, view_of(ledger, comm)};
    ledger->cache[4] = (struct comm_cache_entry){0x77, NULL};
    book_comm_retire(comm);
    assert_null(book_comm_find(comm->handle));
    assert_true(ledger->last.handle == HANDLE_NEVER);
    assert_int_equal(ledger->cache[3].handle, 0);
    assert_int_equal(ledger->cache[4].handle, 0x77);
    assert_int_equal(comm->record->flags & COMM_FREED, COMM_FREED);
    assert_true(comm->record->freed_ticks > 0);
    assert_int_equal(value_of("mpit_send_count", comm), 1);
    book_comm_retire(comm);
    assert_null(book_comm_find(comm->handle));
}

TEST(restored_handle_is_found_again)
{
    struct comm *comm = comm_new(4, 2);
    book_comm_retire(comm);
    book_comm_restore(comm);
    assert_ptr_equal(book_comm_find(comm->handle), comm);
    EQUALS({comm->record->flags, COMM_INTER}, {comm->record->freed_ticks, 0});
    assert_false(comm->freed);
}

TEST(reused_handle_is_another_communicator)
{
    struct comm *old = comm_new(4, 0);
    struct ledger *ledger = ledger_new();
    send(ledger, old, 1);
    book_comm_retire(old);
    struct comm *new = book_comm_add(&(struct comm_facts){.handle = old->handle, .size = 2, .name = "new"});
    assert_ptr_not_equal(new, old);
    assert_ptr_equal(book_comm_find(old->handle), new);
    send(ledger, new, 1);
    send(ledger, new, 0);
    assert_int_equal(value_of("mpit_send_count", old), 1);
    assert_int_equal(value_of("mpit_send_count", new), 2);
    book_comm_retire(old);
    assert_ptr_equal(book_comm_find(old->handle), new);
}

TEST(map_grows_and_finds_every_handle)
{
    enum { HANDLES = EFFORT(20000, 2000) };
    static struct comm_map *map;
    char *names = calloc(HANDLES, 1); /* addresses that stand for communicators */
    assert_null(comm_map_find(&map, 5));
    for (uint64_t i = 0; i < HANDLES; i++)
        assert_int_equal(comm_map_set(&map, 0x7f0000000000 + 0x200 * i, (struct comm *)(void *)(names + i)), 0);
    for (uint64_t i = 0; i < HANDLES; i += 3)
        comm_map_set(&map, 0x7f0000000000 + 0x200 * i, NULL);
    for (uint64_t i = HANDLES; i < HANDLES + 5000; i++)
        comm_map_set(&map, 0x7f0000000000 + 0x200 * i, (struct comm *)(void *)names);
    for (uint64_t i = 0; i < HANDLES; i++) {
        void *expected = i % 3 ? names + i : NULL;
        assert_ptr_equal(comm_map_find(&map, 0x7f0000000000 + 0x200 * i), expected);
    }
    assert_null(comm_map_find(&map, 0x7f0000000001));
    free(names);
}

TEST(views_are_a_threads_own_and_are_summed)
{
    struct comm *comm = comm_new(4, 0);
    struct ledger *first = ledger_new(), *second = ledger_new();
    assert_ptr_not_equal(view_of(first, comm), view_of(second, comm));
    assert_ptr_equal(view_of(first, comm), view_of(first, comm));
    for (int i = 0; i < 5; i++)
        send(first, comm, 1);
    send(second, comm, 2);
    uint64_t peers[4];
    book_values(variable_find("mpit_peer_send_count", VARIABLE_COUNTER), comm, peers, 4);
    assert_int_equal(value_of("mpit_send_count", comm), 6);
    EQUALS({peers[0], 0}, {peers[1], 5}, {peers[2], 1});
}

TEST(view_of_a_far_slot_does_not_disturb_the_near_ones)
{
    struct ledger *ledger = ledger_new();
    struct comm *near = comm_new(2, 0);
    struct view *view = view_of(ledger, near);
    for (int i = 0; i < 100; i++)
        comm_new(2, 0);
    struct comm *far = comm_new(2, 0);
    assert_non_null(view_of(ledger, far));
    assert_ptr_equal(view_of(ledger, near), view);
}

static void access_check(struct ledger *ledger, struct accessed_last *last, uint64_t handle, const struct comm *comm,
                         uint32_t number)
{
    struct accessed on;
    objects_look(ledger, &book.windows, handle, last, &on);
    assert_ptr_equal(on.object.comm, comm);
    if (!comm) {
        assert_null(on.view);
        return;
    }
    assert_ptr_equal(on.view->comm, comm);
    assert_int_equal(on.object.number, number);
    assert_true(accessed_holds(&book.windows, &last->last));
    assert_ptr_equal(last->last.on.view, on.view);
}

/* By turns each is found; one that was freed is not, and what comes at its handle is what it is now. */
TEST(windows_are_remembered_while_nothing_changes)
{
    struct accessed_last last = {0};
    struct ledger *ledger = ledger_new();
    struct comm *first = comm_new(4, 0), *second = comm_new(4, 0);
    access_check(ledger, &last, 0, NULL, 0);
    objects_set(&book.windows, 0x100, (struct object){first, 1, 0});
    objects_set(&book.windows, 0x200, (struct object){second, 7, 4});
    for (int i = 0; i < 4; i++) {
        access_check(ledger, &last, 0x100, first, 1);
        access_check(ledger, &last, 0x200, second, 7);
    }
    objects_set(&book.windows, 0x200, (struct object){0});
    assert_false(accessed_holds(&book.windows, &last.last)); /* the quick way in asks that */
    access_check(ledger, &last, 0x200, NULL, 0);
    access_check(ledger, &last, 0x100, first, 1);
    objects_set(&book.windows, 0x200, (struct object){first, 2, 0});
    access_check(ledger, &last, 0x200, first, 2);
    for (uint64_t i = 0; i < 4 * ACCESSED_PLACES; i++)
        objects_set(&book.windows, 0x1000 + 0x40 * i, (struct object){i % 2 ? first : second, (uint32_t)i + 10, 0});
    for (uint64_t i = 0; i < 64 * ACCESSED_PLACES; i++) {
        uint64_t n = i * 7 % (4 * ACCESSED_PLACES);
        access_check(ledger, &last, 0x1000 + 0x40 * n, n % 2 ? first : second, (uint32_t)n + 10);
    }
}

TEST(peers_of_a_million_take_the_pages_that_were_talked_to)
{
    enum { GROUP = 1000000 };
    const int32_t ranks[] = {0, 63, 64, 8191, 8192, 500000, 999999};
    struct comm *comm = comm_new(GROUP, 0);
    struct ledger *ledger = ledger_new();
    view_of(ledger, comm);
    uint64_t before = book.run.virtual_bytes + book.run.arena_used;
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
            send(ledger, comm, ranks[i]);
    uint64_t grown = book.run.virtual_bytes + book.run.arena_used - before;
    assert_true(grown < 6 * (sizeof(struct peer_cells) + RUN_PAGE_BYTES) + (256 << 10));
    uint64_t *counts = calloc(GROUP, sizeof *counts);
    assert_int_equal(book_value_count(variable_find("mpit_peer_send_count", VARIABLE_COUNTER), comm), GROUP);
    book_values(variable_find("mpit_peer_send_count", VARIABLE_COUNTER), comm, counts, GROUP);
    uint64_t sum = 0;
    for (size_t i = 0; i < GROUP; i++)
        sum += counts[i];
    assert_int_equal(sum, 3 * sizeof ranks / sizeof ranks[0]);
    for (unsigned i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        assert_int_equal(counts[ranks[i]], 3);
    free(counts);
}

TEST(peers_of_an_intercommunicator_are_the_remote_group)
{
    struct comm *comm = comm_new(2, 300);
    struct ledger *ledger = ledger_new();
    send(ledger, comm, 299);
    uint64_t counts[300];
    const struct variable *variable = variable_find("mpit_peer_send_count", VARIABLE_COUNTER);
    assert_int_equal(book_value_count(variable, comm), 300);
    book_values(variable, comm, counts, 300);
    assert_int_equal(counts[299], 1);
    assert_int_equal(book_value_count(variable, NULL), 0);
}

TEST(peer_out_of_the_group_touches_nobodys_page)
{
    struct comm *comm = comm_new(10, 0);
    struct ledger *ledger = ledger_new();
    send(ledger, comm, 5);
    send(ledger, comm, 5000000);
    send(ledger, comm, 5);
    uint64_t counts[10];
    book_values(variable_find("mpit_peer_send_count", VARIABLE_COUNTER), comm, counts, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(counts[i], i == 5 ? 2 : 0);
}

TEST(without_memory_is_counted_and_recording_goes_on)
{
    uint64_t limit = book.run.memory_limit, lost = book.run.header->lost[LOSS_NO_MEMORY];
    struct comm *comm = comm_new(1000000, 0);
    struct ledger *ledger = ledger_new();
    view_of(ledger, comm);
    book.run.memory_limit = book.run.memory_bytes;
    while (book.run.header->lost[LOSS_NO_MEMORY] == lost)
        ledger_make(1);
    int32_t peer = 0;
    for (lost = book.run.header->lost[LOSS_NO_MEMORY]; book.run.header->lost[LOSS_NO_MEMORY] == lost; peer += 64)
        send(ledger, comm, peer);
    assert_int_equal(value_of("mpit_send_count", comm), peer / 64);
    handle_last += 0x40;
    while (book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 1, .name = "x"}))
        handle_last += 0x40;
    assert_null(book_comm_find(handle_last));
    book.run.memory_limit = limit;
    send(ledger, comm, peer);
    assert_int_equal(value_of("mpit_send_count", comm), peer / 64 + 1);
    assert_non_null(book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 1, .name = "x"}));
}

/* ---- readers beside writers -------------------------------------------------------------------------------------- */

enum { WRITERS = 3, READERS = 2, ROUNDS = EFFORT(300, 50), PEERS = EFFORT(20000, 2000) };

static struct comm *common;
static bool ended;

static void *write_all(void *argument)
{
    uint64_t handle = UINT64_C(0x900000000) + ((uint64_t)(uintptr_t)argument << 24);
    struct ledger *ledger = ledger_make(1);
    for (int i = 0; i < ROUNDS; i++) {
        struct comm *own = book_comm_add(
            &(struct comm_facts){.handle = handle + 64 * (uint64_t)(i % 50), .size = 8, .name = "writer"});
        send(ledger, own, i % 8);
        send(ledger, common, (i * 67) % PEERS);
        if (i % 3 == 0)
            book_comm_retire(own);
        if (i % 6 == 0)
            book_comm_restore(own);
    }
    return NULL;
}

static void *read_all(void *argument)
{
    uint64_t last = 0, *peers = calloc(PEERS, sizeof *peers);
    const struct variable *variable = variable_find("mpit_peer_send_count", VARIABLE_COUNTER);
    bool *right = argument;
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        uint64_t sum = 0, now;
        book_values(variable, common, peers, PEERS);
        for (int i = 0; i < PEERS; i++)
            sum += peers[i];
        now = value_of("mpit_send_count", common);
        /* each writer may be stopped between the two cells that one message goes to */
        *right &= now >= last && sum + WRITERS >= last && sum <= WRITERS * ROUNDS;
        last = now;
        value_of("mpit_events_recorded", NULL);
        for (uint32_t i = 1; i < __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE); i++)
            value_of("mpit_send_count", __atomic_load_n(&book.comms[i], __ATOMIC_ACQUIRE));
        for (uint64_t i = 0; i < 50; i++)
            book_comm_find(UINT64_C(0x900000000) + 64 * i);
    }
    free(peers);
    return NULL;
}

TEST(readers_see_whole_books_while_writers_add)
{
    pthread_t writers[WRITERS], readers[READERS];
    bool right[READERS] = {true, true};
    common = comm_new(PEERS, 0);
    ended = false;
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_all, &right[i]);
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, write_all, (void *)(uintptr_t)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_true(right[0] && right[1]);
    assert_int_equal(value_of("mpit_send_count", common), WRITERS * ROUNDS);
}

TEST(file_holds_what_the_book_holds)
{
    struct run_reader reader;
    if (run_reader_open(&reader, book.run.path) != 0)
        fail_msg("%s", reader.error);
    EQUALS({reader.thread_count, book.thread_count}, {reader.comm_count, book.comm_count},
           {reader.variable_count, variable_count}, {reader.call_count, CALL_COUNT});
    assert_string_equal(reader.comms[common->slot]->name, common->name);
    uint64_t sum = 0;
    for (size_t i = 0; i < reader.block_count; i++)
        if (reader.blocks[i].kind == BLOCK_COMM && reader.blocks[i].comm == common->slot)
            sum += ((const struct comm_cells *)tally_cells(&reader.blocks[i]))->p2p_done;
    assert_int_equal(sum, WRITERS * ROUNDS);
    run_reader_close(&reader);
}

/* The last one: no communicator can be added behind it. */
TEST(slots_end_and_that_is_counted)
{
    uint64_t lost = book.run.header->lost[LOSS_UNKNOWN_COMM];
    struct comm *last = NULL;
    for (uint32_t i = book.comm_count; i < COMM_SLOTS; i++)
        last = comm_new(1, 0);
    assert_int_equal(last->slot, COMM_SLOTS - 1);
    handle_last += 0x40;
    assert_null(book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 1, .name = "one too many"}));
    assert_int_equal(book.run.header->lost[LOSS_UNKNOWN_COMM], lost + 1);
    assert_null(book_comm_find(handle_last));
    assert_ptr_equal(book_comm_find(last->handle), last);
}
