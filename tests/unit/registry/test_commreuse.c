/* Slots of freed communicators: used again, by whom not, and what becomes of figures. One book serves all. */
#include "unittest.h"

#include "registry/book.h"
#include "registry/commmap.h"
#include "registry/commreuse.h"
#include "registry/commsum.h"
#include "effort.h"
#include "freedcomms.h"
#include "instruments/instrument.h"
#include "handles/livevariables.h"
#include "figures/variables.h"

#include <mpit/instrument.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t value_of(const char *name, enum variable_class class, const struct comm *comm)
{
    uint64_t value = 0;
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            book_values(&variables[i], comm, &value, 1);
    return value;
}

static uint64_t sends_of(const struct comm *comm)
{
    return value_of("mpit_send_count", VARIABLE_COUNTER, comm);
}

static uint64_t sends_of_all(void)
{
    uint64_t sum = 0;
    for (uint32_t slot = 1; slot < book.comm_count; slot++)
        sum += sends_of(book.comms[slot]);
    return sum;
}

static const struct comm *comm_called(const char *name)
{
    for (uint32_t slot = 1; slot < book.comm_count; slot++)
        if (strcmp(book.comms[slot]->name, name) == 0)
            return book.comms[slot];
    return NULL;
}

TESTS_ALL(freed_comms_setup, freed_comms_teardown)

TEST(many_cycles_take_what_few_take)
{
    cycles(COMMS_KEPT + 10);
    uint32_t slots = book.comm_count;
    uint64_t memory = book.run.memory_bytes;
    cycles(4000);
    EQUALS({book.comm_count, slots}, {book.run.memory_bytes, memory});
    assert_true(slots < COMMS_KEPT + 10);
    assert_int_equal(sends_of_all(), sent);
    const struct comm *sum = comm_called("WORLD/dup#*");
    assert_non_null(sum);
    EQUALS({sum->record->flags, COMM_SUM}, {sum->record->merged + COMMS_KEPT + 1, COMMS_KEPT + 10 + 4000});
    assert_int_equal(sends_of(sum), sum->record->merged);
    assert_int_equal(value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK, sum), 8);
}

TEST(figures_of_the_next_one_begin_at_nothing)
{
    struct comm *comm = comm_numbered(7);
    assert_int_equal(sends_of(comm), 0);
    assert_int_equal(comm->creations, 0);
    assert_string_equal(comm->record->label, "");
    for (int peer = 0; peer < 100; peer++)
        send(comm, peer);
    book_comm_label(comm, "seven", 5);
    comm->creations = 5;
    comm_free(comm);
    cycles(2 * COMMS_KEPT);
    assert_int_equal(sends_of_all(), sent);
    for (uint32_t slot = 1; slot < book.comm_count; slot++)
        if (strcmp(book.comms[slot]->name, "WORLD/dup#*") != 0) {
            assert_true(sends_of(book.comms[slot]) <= 1);
            assert_string_equal(book.comms[slot]->record->label, "");
        }
}

/* Cycles as long as would be enough, and looks whether it is still there. */
static bool is_left_alone(const struct comm *comm, uint64_t sends)
{
    char name[COMM_NAME_BYTES];
    memcpy(name, comm->name, sizeof name);
    cycles(4 * COMMS_KEPT);
    return strcmp(comm->name, name) == 0 && comm->freed && sends_of(comm) == sends;
}

TEST(who_is_referred_to_is_left_alone)
{
    struct comm *comm = comm_named("WORLD/held#1", 100);
    send(comm, 1);
    comm_hold(comm); /* a window */
    comm_bind(comm); /* a handle */
    comm_free(comm);
    assert_true(is_left_alone(comm, 1));
    comm_let_go(comm);
    assert_true(is_left_alone(comm, 1));
    comm_unbind(comm);
    assert_false(is_left_alone(comm, 1));
    assert_int_equal(sends_of(comm_called("WORLD/held#*")), 1);
}

static struct comm *pending;
static unsigned looked;

static void visit_pending(void (*found)(struct comm *comm))
{
    looked++;
    if (pending)
        found(pending);
}

TEST(who_is_pending_or_entered_is_left_alone)
{
    struct comm *comm = comm_named("WORLD/late#1", 100);
    struct ledger *other = ledger_make(2);
    pending = comm;
    comm_pending_visit = visit_pending;
    comm_free(comm);
    assert_true(is_left_alone(comm, 0));
    other->record->state = (struct thread_state){.call = CALL_MPI_Recv, .comm = comm->slot};
    pending = NULL;
    assert_true(is_left_alone(comm, 0));
    send_from(other, comm, 1); /* it returns */
    sent++;
    other->record->state.call = CALL_NONE;
    assert_false(is_left_alone(comm, 1));
    assert_int_equal(sends_of_all(), sent);
    comm_pending_visit = NULL;
}

/* One look at the requests is enough for all that were freed before. */
TEST(few_looks_are_taken)
{
    unsigned before = looked;
    pending = NULL;
    comm_pending_visit = visit_pending;
    for (int i = 0; i < 4 * COMMS_KEPT; i++) {
        struct comm *comm = comm_named("WORLD/look#1", 100);
        comm_free(comm);
    }
    assert_in_range(looked - before, 1, 8);
    comm_pending_visit = NULL;
}

TEST(parents_outlive_their_children)
{
    struct comm *parent = comm_named("WORLD/parent#1", 100);
    struct comm *child = book_comm_add(&(struct comm_facts){
        .handle = handle_last += 0x40, .parent = parent->slot, .size = 1, .name = "child", .since = clock_now()});
    assert_ptr_equal(child->up, parent);
    comm_free(parent);
    assert_true(is_left_alone(parent, 0));
    comm_free(child);
    assert_false(is_left_alone(parent, 0));
}

/* Else an event could belong to either. */
TEST(slot_of_one_that_is_younger_than_the_call_is_not_taken)
{
    uint64_t early = clock_now();
    for (int i = 0; i < 3; i++)
        cycles(COMMS_KEPT);
    uint32_t slots = book.comm_count;
    struct comm *comm = book_comm_add(
        &(struct comm_facts){.handle = handle_last += 0x40, .size = 100, .name = "early", .since = early});
    assert_int_equal(comm->slot, slots);
    comm = book_comm_add(&(struct comm_facts){.handle = handle_last += 0x40, .size = 100, .name = "unknown"});
    assert_int_equal(comm->slot, slots + 1);
}

TEST(refused_end_changes_nothing)
{
    struct comm *comm = comm_numbered(1);
    book_comm_retire(comm);
    book_comm_restore(comm);
    cycles(4 * COMMS_KEPT);
    assert_ptr_equal(book_comm_find(comm->handle), comm);
    comm_free(comm);
}

/* A matched message lets go of its communicator, and the request that stands for it takes hold of it. */
TEST(freed_one_that_is_held_once_more_waits_once)
{
    struct comm *comm = comm_numbered(3000000);
    comm_hold(comm);
    comm_free(comm);
    uint32_t waiting = book.freed_count;
    comm_let_go(comm);
    assert_int_equal(book.freed_count, waiting + 1);
    comm_hold(comm);
    assert_true(is_left_alone(comm, 0));
    comm_let_go(comm);
    assert_int_equal(book.freed_count, waiting + 1);
}

/* A window has taken the extremes out of the thread's cells: that says nothing of what is counted by size. */
TEST(messages_whose_extremes_are_closed_go_to_the_sum)
{
    struct comm *comm = comm_named("WORLD/closed#1", 100);
    send(comm, 3);
    struct comm_cells *cells = view_of(ledger, comm)->tally.cells;
    comm->shared->closed[EXTREME_MESSAGE_LOW] = cells->message_low;
    comm->shared->closed[EXTREME_MESSAGE_HIGH] = cells->message_high;
    cells->message_low = LOW_NEUTRAL;
    cells->message_high = 0;
    comm_free(comm);
    cycles(2 * COMMS_KEPT);
    const struct comm *sum = comm_called("WORLD/closed#*");
    assert_non_null(sum);
    assert_int_equal(sends_of(sum), 1);
    assert_int_equal(sends_of_all(), sent);
}

/* Handles that share a place of a map, or of a thread's cache, are told apart there. */
TEST(only_the_handle_that_is_freed_is_forgotten)
{
    static struct comm_map *map;
    struct comm *other = comm_named("WORLD/other#1", 100);
    for (uint64_t handle = 1; handle <= 100; handle++)
        assert_int_equal(comm_map_set(&map, handle, handle % 2 ? world : other), 0);
    for (uint64_t handle = 1; handle <= 100; handle++)
        comm_map_remove(map, handle, world);
    for (uint64_t handle = 1; handle <= 100; handle++)
        assert_ptr_equal(comm_map_find(&map, handle), handle % 2 ? NULL : other);
    for (unsigned i = 0; i < COMM_CACHE_PLACES; i++)
        ledger->cache[i] = (struct comm_cache_entry){0};
    struct view *view = view_of(ledger, other);
    *ledger_cache(ledger, other->handle) = (struct comm_cache_entry){other->handle, view};
    ledger->last = (struct comm_cache_entry){other->handle, view};
    comm_free(other);
    assert_true(ledger->last.handle == HANDLE_NEVER);
    for (unsigned i = 0; i < COMM_CACHE_PLACES; i++)
        assert_int_equal(ledger->cache[i].handle, 0);
}

TEST(map_of_handles_that_come_and_go_stays_as_it_is)
{
    static struct comm_map *map; /* there is no end to one */
    uint64_t lasting = 0x7000000, replaced = 1;
    assert_int_equal(comm_map_set(&map, lasting, world), 0);
    for (uint64_t i = 1; i <= 40000; i++) {
        const struct comm_map *before = map;
        assert_int_equal(comm_map_set(&map, i * 16, world), 0);
        if (i > 8)
            assert_int_equal(comm_map_set(&map, (i - 8) * 16, NULL), 0);
        replaced += map != before;
        assert_ptr_equal(comm_map_find(&map, i * 16), world);
        assert_ptr_equal(comm_map_find(&map, lasting), world);
        if (i > 8)
            assert_null(comm_map_find(&map, (i - 8) * 16));
    }
    assert_int_equal(replaced, 1); /* the first one */
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = EFFORT(3000, 150) };

static void *make_and_free(void *argument)
{
    struct ledger *own = ledger_make(1);
    uint64_t handle = ((uint64_t)(uintptr_t)argument + 1) << 40;
    for (int i = 0; i < ROUNDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "WORLD/thread#%d", i);
        struct comm *comm = book_comm_add(&(struct comm_facts){
            .handle = handle += 64, .parent = world->slot, .size = 100, .name = name, .since = clock_now()});
        send_from(own, comm, i % 100);
        if (i % 3 == 0)
            comm_hold(comm);
        comm_free(comm);
        if (i % 3 == 0) {
            send_from(own, comm, 1);
            comm_let_go(comm);
        }
    }
    return NULL;
}

TEST(threads_lose_nothing_between_them)
{
    pthread_t threads[THREADS];
    book.concurrent = true;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_and_free, (void *)(uintptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    book.concurrent = false;
    sent += THREADS * (ROUNDS + ROUNDS / 3);
    assert_int_equal(sends_of_all(), sent);
    assert_true(book.comm_count < 3 * COMMS_KEPT);
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

static const struct variable *total_called(const char *name)
{
    for (size_t i = 0; i < live_variable_count(); i++)
        if (strcmp(variable_name(live_variable_at(i)), name) == 0)
            return live_variable_at(i);
    fail_msg("there is no %s", name);
    return NULL;
}

static const struct variable *part_of(const struct variable *total)
{
    for (size_t i = 0; i < variable_count; i++) {
        size_t length = strlen(variables[i].record.name);
        if (variables[i].record.class == total->record.class &&
            strncmp(variables[i].record.name, variable_name(total), length) == 0 &&
            strcmp(variable_name(total) + length, "_total") == 0)
            return &variables[i];
    }
    fail_msg("%s is the total of nothing", variable_name(total));
    return NULL;
}

TEST(totals_are_the_sums_over_all_communicators)
{
    unsigned compared = 0;
    cycles(2 * COMMS_KEPT);
    assert_int_equal(book_sample(total_called("mpit_send_count_total"), NULL, 0), sent);
    for (size_t i = 0; i < live_variable_count(); i++) {
        const struct variable *total = live_variable_at(i), *part = total->total ? part_of(total) : NULL;
        if (!part)
            continue;
        assert_false(total->record.bound);
        for (size_t slot = 0; slot < part->record.count; slot++) {
            uint64_t sum = 0;
            for (uint32_t c = 1; c < book.comm_count; c++)
                sum += book_sample(part, book.comms[c], slot);
            assert_int_equal(book_sample(total, NULL, slot), sum);
            compared += sum != 0;
        }
    }
    assert_true(compared > 5);
}

static const struct variable *watched;
static uint64_t seen_in_handler, reads_in_handler;
static bool readers_stop;

/* `*seen`: what the reader saw before; a total never falls. */
static void total_look(const struct variable *total, uint64_t *seen)
{
    uint64_t now = book_sample(total, NULL, 0);
    if (now < *seen)
        abort();
    *seen = now;
}

static void look_in_handler(int number)
{
    (void)number;
    total_look(watched, &seen_in_handler);
    reads_in_handler++;
}

static void *look_on(void *argument)
{
    uint64_t seen = 0, *reads = argument;
    for (; !__atomic_load_n(&readers_stop, __ATOMIC_ACQUIRE); ++*reads)
        total_look(watched, &seen);
    return NULL;
}

static void *interrupt(void *argument)
{
    pthread_t *whom = argument;
    while (!__atomic_load_n(&readers_stop, __ATOMIC_ACQUIRE)) {
        pthread_kill(*whom, SIGUSR1);
        usleep(100);
    }
    return NULL;
}

/* Slots move all the time: readers in other threads and in handlers never see cells twice, or not at all. */
TEST(totals_are_exact_while_slots_move)
{
    pthread_t self = pthread_self(), threads[2];
    uint64_t reads = 0;
    watched = total_called("mpit_send_count_total");
    book_totals_want();
    signal(SIGUSR1, look_in_handler);
    readers_stop = false;
    pthread_create(&threads[0], NULL, look_on, &reads);
    pthread_create(&threads[1], NULL, interrupt, &self);
    for (int i = 0; i < 200 && (i < 5 || __atomic_load_n(&reads_in_handler, __ATOMIC_RELAXED) < 300); i++)
        cycles(EFFORT(2000, 200));
    __atomic_store_n(&readers_stop, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    signal(SIGUSR1, SIG_DFL);
    assert_true(reads > 10 && reads_in_handler > 10);
    assert_int_equal(book_sample(watched, NULL, 0), sent);
}

/* ---- instruments ------------------------------------------------------------------------------------------------- */

static const struct mpit_interface table = {.update = instrument_update, .extreme = instrument_extreme};

static size_t instances_of(const struct instrument *instrument)
{
    size_t count = 0;
    for (const struct instrument_instance *i = instrument->instances; i; i = i->next)
        count++;
    return count;
}

/* What is bound to freed communicators gives their places back, and goes to the sum. */
TEST(bound_instruments_do_not_keep_slots)
{
    static struct mpit_variable things = MPIT_VARIABLE_INITIAL(
        "things", MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_COMM, 0, NULL, "");
    static struct mpit_variable height = MPIT_VARIABLE_INITIAL("height", MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED, 1,
                                                               MPIT_BIND_COMM, MPIT_WITH_WATERMARKS, NULL, "");
    static struct mpit_variable real =
        MPIT_VARIABLE_INITIAL("real", MPIT_CLASS_AGGREGATE, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_COMM, 0, NULL, "");
    struct mpit_variable *all[] = {&things, &height, &real};
    char error[INSTRUMENT_ERROR_BYTES];
    enum { CYCLES = 5000 };
    uint32_t slots = 0;
    instrument_interface_table = &table;
    instrument_run_begin();
    for (int i = 0; i < 3; i++)
        assert_int_equal(instrument_variable_register(all[i], "libtest.so", error), MPIT_OK);
    for (unsigned i = 0; i < CYCLES; i++) {
        struct comm *comm = comm_named("WORLD/bound#1", 100);
        for (int k = 0; k < 3; k++) {
            struct instrument_instance *instance = instrument_instance(all[k]->entry, comm);
            assert_non_null(instance);
            assert_ptr_equal(instance->comm, comm);
            assert_int_equal(instrument_value(instance, all[k]->class_, 0), 0);
            assert_ptr_equal(instance, instrument_instance(all[k]->entry, comm));
            if (k == 2)
                mpit_cell_add_double(instance->cells, 0.5);
            else
                mpit_cell_add(instance->cells, 1 + i % 3);
            if (k == 1)
                mpit_cell_level_subtract(instance->cells, 1 + i % 3);
        }
        comm_free(comm);
        if (i == 3 * COMMS_KEPT)
            slots = book.comm_count;
    }
    assert_int_equal(book.comm_count, slots);
    const struct comm *sum = comm_called("WORLD/bound#*");
    assert_non_null(sum);
    uint64_t counted = 0;
    double reals = 0;
    for (const struct instrument_instance *i = ((struct instrument *)things.entry)->instances; i; i = i->next)
        counted += instrument_value(i, MPIT_CLASS_COUNTER, 0);
    for (const struct instrument_instance *i = ((struct instrument *)real.entry)->instances; i; i = i->next)
        reals += mpit_instrument_real(instrument_value(i, MPIT_CLASS_AGGREGATE, 0));
    assert_int_equal(counted, 2 * CYCLES - 1); /* 1 + 2 + 3 + ... + 1 + 2 */
    assert_true(reals == CYCLES * 0.5);
    assert_true(instances_of(things.entry) < 2 * COMMS_KEPT);
    const struct instrument_instance *heights = instrument_instance(height.entry, sum);
    assert_int_equal(instrument_value(heights, MPIT_CLASS_HIGHWATERMARK, 0), 3);
    assert_int_equal(instrument_value(heights, MPIT_CLASS_LEVEL, 0), 0);
}

static struct comm *comm_wide(const char *name, int32_t size)
{
    return book_comm_add(
        &(struct comm_facts){.handle = handle_last += 0x40, .size = size, .name = name, .since = clock_now()});
}

/* The sum is as wide as the widest of its room: 16,384 to 32,767 ranks. */
TEST(sum_has_the_peers_of_the_widest)
{
    enum { NARROW = 16400, WIDE = 32000 };
    static uint64_t counts[WIDE];
    const struct variable *variable = variables;
    while (strcmp(variable->record.name, "mpit_peer_send_count") != 0)
        variable++;
    for (int32_t i = 0; i < COMMS_KEPT + 40; i++) {
        struct comm *comm = comm_wide("WIDE/dup#1", i < 20 ? NARROW : WIDE);
        send(comm, i < 20 ? NARROW - 1 : WIDE - 1);
        comm_free(comm);
    }
    const struct comm *sum = comm_called("WIDE/dup#*");
    assert_non_null(sum);
    assert_int_equal(book_value_count(variable, sum), WIDE);
    book_values(variable, sum, counts, WIDE);
    EQUALS({counts[NARROW - 1], 20}, {counts[NARROW - 1] + counts[WIDE - 1], sum->record->merged});
    assert_true(sum->record->merged > 30);
}

/* The last one: the memory is gone, and what was freed is all that there is. */
TEST(without_memory_those_that_are_kept_are_used)
{
    uint64_t lost = book.run.header->lost[LOSS_UNKNOWN_COMM], no_memory = book.run.header->lost[LOSS_NO_MEMORY];
    book.run.memory_limit = book.run.memory_bytes;
    unsigned made = 0;
    for (char name[64]; made < 5000; made++) {
        snprintf(name, sizeof name, "WORLD/dup#%u", made);
        if (!book_comm_add(
                &(struct comm_facts){.handle = handle_last += 0x40, .size = 100, .name = name, .since = clock_now()}))
            break;
        assert_int_equal(book.run.header->lost[LOSS_NO_MEMORY], no_memory); /* there was a place */
    }
    assert_true(made >= COMMS_KEPT);
    assert_int_equal(book.run.header->lost[LOSS_UNKNOWN_COMM], lost + 1);
    while (comm_wide("WIDE/dup#1", 32000)) /* those that another test has freed */
        continue;
    assert_int_equal(sends_of_all(), sent);
    assert_true(book_is_full());
}
