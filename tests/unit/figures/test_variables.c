/* The catalogue: what programs outside rely on, and which cells each variable is made of. */
#include "unittest.h"

#include "figures/variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The catalogue's lines for what this version offers: name, class, bound, count, unit. */
static const struct contract {
    const char *name;
    enum variable_class class;
    uint32_t bound, count;
    const char *unit;
} contract[] = {
    {"mpit_current_call", VARIABLE_STATE, 0, 1, ""},
    {"mpit_mpi_fraction", VARIABLE_PERCENTAGE, 0, 1, ""},
    {"mpit_buffer_fill", VARIABLE_PERCENTAGE, 0, 1, ""},
    {"mpit_last_return", VARIABLE_GENERIC, 0, 1, "ns"},
    {"mpit_call_count", VARIABLE_COUNTER, 0, CALL_COUNT, ""},
    {"mpit_call_time", VARIABLE_TIMER, 0, CALL_COUNT, "ticks"},
    {"mpit_mpi_time", VARIABLE_TIMER, 0, 1, "ticks"},
    {"mpit_events_recorded", VARIABLE_COUNTER, 0, 1, ""},
    {"mpit_events_lost", VARIABLE_COUNTER, 0, LOSS_COUNT, ""},
    {"mpit_buffer_bytes", VARIABLE_SIZE, 0, 1, "bytes"},
    {"mpit_size_bucket_limit", VARIABLE_SIZE, 0, 40, "bytes"},
    {"mpit_comm_size", VARIABLE_SIZE, 1, 1, ""},
    {"mpit_comm_time", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_comm_span", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_p2p_time", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_wait_time", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_p2p_transfer_time", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_coll_time", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_coll_execution_time", VARIABLE_TIMER, 1, 1, "ticks"},
    {"mpit_coll_op_time", VARIABLE_TIMER, 1, COLLECTIVE_COUNT, "ticks"},
    {"mpit_coll_op_count", VARIABLE_COUNTER, 1, COLLECTIVE_COUNT, ""},
    {"mpit_p2p_count", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_send_count", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_recv_count", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_coll_count", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_p2p_timeouts", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_send_bytes", VARIABLE_AGGREGATE, 1, 1, "bytes"},
    {"mpit_recv_bytes", VARIABLE_AGGREGATE, 1, 1, "bytes"},
    {"mpit_coll_bytes", VARIABLE_AGGREGATE, 1, 1, "bytes"},
    {"mpit_send_size_count", VARIABLE_COUNTER, 1, 40, ""},
    {"mpit_recv_size_count", VARIABLE_COUNTER, 1, 40, ""},
    {"mpit_coll_size_count", VARIABLE_COUNTER, 1, 40, ""},
    {"mpit_send_size_bytes", VARIABLE_AGGREGATE, 1, 40, "bytes"},
    {"mpit_recv_size_bytes", VARIABLE_AGGREGATE, 1, 40, "bytes"},
    {"mpit_small_count", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_large_count", VARIABLE_COUNTER, 1, 1, ""},
    {"mpit_peer_send_count", VARIABLE_COUNTER, 1, 0, ""},
    {"mpit_peer_recv_count", VARIABLE_COUNTER, 1, 0, ""},
    {"mpit_peer_send_bytes", VARIABLE_AGGREGATE, 1, 0, "bytes"},
    {"mpit_peer_recv_bytes", VARIABLE_AGGREGATE, 1, 0, "bytes"},
    {"mpit_message_bytes", VARIABLE_HIGHWATERMARK, 1, 1, "bytes"},
    {"mpit_message_bytes", VARIABLE_LOWWATERMARK, 1, 1, "bytes"},
    {"mpit_pending_sends", VARIABLE_LEVEL, 1, 1, ""},
    {"mpit_pending_sends", VARIABLE_HIGHWATERMARK, 1, 1, ""},
    {"mpit_pending_sends", VARIABLE_LOWWATERMARK, 1, 1, ""},
    {"mpit_pending_recvs", VARIABLE_LEVEL, 1, 1, ""},
    {"mpit_pending_recvs", VARIABLE_HIGHWATERMARK, 1, 1, ""},
    {"mpit_pending_recvs", VARIABLE_LOWWATERMARK, 1, 1, ""},
    {"mpit_pending_bytes", VARIABLE_LEVEL, 1, 1, "bytes"},
    {"mpit_pending_bytes", VARIABLE_HIGHWATERMARK, 1, 1, "bytes"},
    {"mpit_pending_bytes", VARIABLE_LOWWATERMARK, 1, 1, "bytes"},
    {"mpit_umq_length", VARIABLE_LEVEL, 1, 1, ""},
    {"mpit_umq_length", VARIABLE_HIGHWATERMARK, 1, 1, ""},
    {"MPI_T_UMQ_LENGTH", VARIABLE_LEVEL, 1, 1, ""},
};

static const struct variable *find(const char *name, enum variable_class class)
{
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            return &variables[i];
    fail_msg("there is no %s of class %d", name, (int)class);
    return NULL;
}

TEST(catalogue_holds_what_was_promised)
{
    for (size_t i = 0; i < sizeof contract / sizeof contract[0]; i++) {
        const struct variable_record *record = &find(contract[i].name, contract[i].class)->record;
        if (record->bound != contract[i].bound || record->count != contract[i].count ||
            strcmp(record->unit, contract[i].unit) != 0)
            fail_msg("%s: bound %u, count %u, unit \"%s\"", record->name, record->bound, record->count, record->unit);
    }
}

TEST(names_are_unique_within_their_class_and_end)
{
    for (size_t i = 0; i < variable_count; i++) {
        assert_non_null(memchr(variables[i].record.name, '\0', VARIABLE_NAME_BYTES));
        assert_non_null(memchr(variables[i].record.unit, '\0', VARIABLE_UNIT_BYTES));
        assert_true(strncmp(variables[i].record.name, "mpit_", 5) == 0 ||
                    strcmp(variables[i].record.name, "MPI_T_UMQ_LENGTH") == 0); /* the standard's example names it */
        for (size_t j = 0; j < i; j++)
            assert_false(variables[i].record.class == variables[j].record.class &&
                         strcmp(variables[i].record.name, variables[j].record.name) == 0);
    }
}

TEST(descriptions_say_the_unit_and_that_reading_is_safe)
{
    for (size_t i = 0; i < variable_count; i++) {
        const struct variable *v = &variables[i];
        if (!strstr(v->description, "async-signal-safe"))
            fail_msg("%s: \"%s\"", v->record.name, v->description);
        if (strcmp(v->record.unit, "ticks") == 0 && !strstr(v->description, "nanoseconds"))
            fail_msg("%s: \"%s\"", v->record.name, v->description);
        if (strcmp(v->record.unit, "bytes") == 0 && !strstr(v->description, "ytes"))
            fail_msg("%s: \"%s\"", v->record.name, v->description);
    }
}

static size_t block_cells(unsigned block)
{
    const size_t cells[] = {[BLOCK_THREAD] = sizeof(struct thread_cells),
                            [BLOCK_COMM] = sizeof(struct comm_cells),
                            [BLOCK_PEERS] = sizeof(struct peer_cells),
                            [BLOCK_SHARED] = sizeof(struct shared_cells),
                            [BLOCK_LOSSES] = LOSS_COUNT * sizeof(uint64_t),
                            [BLOCK_FABRIC] = sizeof(struct fabric_cells),
                            [BLOCK_FABRIC_CALLS] = sizeof(struct fabric_call_cells),
                            [BLOCK_FABRIC_LEVEL] = sizeof(struct level_cells),
                            [BLOCK_COUNTERS] = sizeof(struct counter_cells)};
    return cells[block] / sizeof(uint64_t);
}

TEST(terms_lie_in_their_blocks)
{
    for (size_t i = 0; i < variable_count; i++)
        for (unsigned t = 0; t < VARIABLE_TERMS; t++) {
            const struct variable_term *term = &variables[i].record.terms[t];
            if (!term->block)
                continue;
            size_t slots = term->block == BLOCK_PEERS ? PEERS_PER_PAGE : variables[i].record.count;
            size_t last = term->first + (slots - 1) * term->stride + (term->run - 1u) * term->step;
            assert_true(term->run > 0 && term->weight != 0);
            if (last >= block_cells(term->block))
                fail_msg("%s: term %u reaches cell %zu of block kind %u", variables[i].record.name, t, last,
                         term->block);
        }
}

TEST(every_variable_comes_from_somewhere)
{
    for (size_t i = 0; i < variable_count; i++) {
        bool cells = variables[i].record.terms[0].block != 0;
        bool none = variables[i].record.combine == COMBINE_NONE;
        assert_true(cells != none);
        assert_true(none == (variables[i].source != SOURCE_CELLS));
        bool mark = variables[i].record.class == VARIABLE_HIGHWATERMARK ||
                    variables[i].record.class == VARIABLE_LOWWATERMARK || variables[i].record.combine == COMBINE_SPAN;
        assert_true(mark == (variables[i].extreme != EXTREME_NONE || variables[i].source == SOURCE_UMQ_HIGHEST));
    }
}

/* One for each counter that is asked for: its whole name is kept where the record has no room for it. */
TEST(counters_get_variables)
{
    static struct counter_cells cells;
    uint64_t values[PLACE_COUNT];
    const char *name = "component:::a_native_event_with_a_long_name:attribute=17";
    size_t before = variable_number();
    const struct variable *variable = variable_add_counter(COUNTER_ASKED + 3, name, "ns");
    assert_non_null(variable);
    assert_true(variable_number() == before + 1 && variable_at(before) == variable);
    assert_ptr_equal(variable_at(0), &variables[0]);
    assert_true(strncmp(variable_name(variable), "mpit_papi_", 10) == 0);
    assert_string_equal(variable_name(variable) + 10, name);
    assert_non_null(memchr(variable->record.name, '\0', VARIABLE_NAME_BYTES));
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        cells.count[COUNTER_ASKED + 3][i] = i + 10;
    variable_clear(&variable->record, values, PLACE_COUNT);
    variable_take(&variable->record, BLOCK_COUNTERS, 0, (const uint64_t *)&cells, block_cells(BLOCK_COUNTERS), values,
                  PLACE_COUNT);
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        assert_int_equal(values[i], i + 10);
}

/* What the variable makes of one block in which only the given cell is set. */
static void one_cell_read(const struct variable *variable, unsigned kind, size_t cell, uint64_t *values, size_t count)
{
    uint64_t *cells = calloc(block_cells(kind), sizeof *cells);
    assert_non_null(cells);
    cells[cell] = 5;
    variable_clear(&variable->record, values, count);
    variable_take(&variable->record, kind, 0, cells, block_cells(kind), values, count);
    variable_finish(&variable->record, values);
    free(cells);
}

#define AT(type, field) (offsetof(struct type, field) / sizeof(uint64_t))

static void cell_check(const char *name, enum variable_class class, unsigned kind, size_t cell, size_t slot)
{
    uint64_t values[1024];
    const struct variable *variable = find(name, class);
    size_t count = variable->record.count ? variable->record.count : 64;
    one_cell_read(variable, kind, cell, values, count);
    for (size_t i = 0; i < count; i++)
        if (values[i] != (i == slot ? 5 : 0))
            fail_msg("%s: cell %zu is %llu in slot %zu", name, cell, (unsigned long long)values[i], i);
}

TEST(each_cell_is_in_the_variables_that_are_made_of_it)
{
    cell_check("mpit_call_count", VARIABLE_COUNTER, BLOCK_THREAD, AT(thread_cells, call_count[7]), 7);
    cell_check("mpit_call_time", VARIABLE_TIMER, BLOCK_THREAD, AT(thread_cells, call_time[CALL_COUNT - 1]),
               CALL_COUNT - 1);
    cell_check("mpit_mpi_time", VARIABLE_TIMER, BLOCK_THREAD, AT(thread_cells, call_time[3]), 0);
    cell_check("mpit_events_recorded", VARIABLE_COUNTER, BLOCK_THREAD, AT(thread_cells, events), 0);
    cell_check("mpit_events_lost", VARIABLE_COUNTER, BLOCK_LOSSES, LOSS_UNSEEN_COMPLETION, LOSS_UNSEEN_COMPLETION);
    cell_check("mpit_p2p_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, p2p_time), 0);
    cell_check("mpit_wait_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, wait_time), 0);
    cell_check("mpit_comm_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, p2p_time), 0);
    cell_check("mpit_comm_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, wait_time), 0);
    cell_check("mpit_comm_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, comm_time), 0);
    cell_check("mpit_comm_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, io_time), 0);
    cell_check("mpit_comm_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, coll_time[COLLECTIVE_COUNT - 1]), 0);
    cell_check("mpit_coll_op_time", VARIABLE_TIMER, BLOCK_COMM, AT(comm_cells, coll_time[COLLECTIVE_SCAN]),
               COLLECTIVE_SCAN);
    cell_check("mpit_coll_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, coll_count[COLLECTIVE_SCAN]), 0);
    cell_check("mpit_p2p_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, p2p_done), 0);
    cell_check("mpit_send_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, send[39].count), 0);
    cell_check("mpit_recv_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, recv[39].count), 0);
    cell_check("mpit_send_bytes", VARIABLE_AGGREGATE, BLOCK_COMM, AT(comm_cells, send[0].bytes), 0);
    cell_check("mpit_recv_size_bytes", VARIABLE_AGGREGATE, BLOCK_COMM, AT(comm_cells, recv[12].bytes), 12);
    cell_check("mpit_send_size_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, send[39].count), 39);
    cell_check("mpit_coll_size_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, coll_size_count[39]), 39);
    cell_check("mpit_small_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, recv[2].count), 0);
    cell_check("mpit_large_count", VARIABLE_COUNTER, BLOCK_COMM, AT(comm_cells, large), 0);
    cell_check("mpit_peer_send_count", VARIABLE_COUNTER, BLOCK_PEERS, AT(peer_cells, peer[63].send.count), 63);
    cell_check("mpit_peer_recv_bytes", VARIABLE_AGGREGATE, BLOCK_PEERS, AT(peer_cells, peer[9].recv.bytes), 9);
    cell_check("mpit_pending_sends", VARIABLE_LEVEL, BLOCK_SHARED, AT(shared_cells, sends.now), 0);
    cell_check("mpit_pending_recvs", VARIABLE_HIGHWATERMARK, BLOCK_SHARED, AT(shared_cells, recvs.high), 0);
    cell_check("mpit_pending_bytes", VARIABLE_HIGHWATERMARK, BLOCK_SHARED, AT(shared_cells, closed[EXTREME_BYTES_HIGH]),
               0);
    cell_check("mpit_message_bytes", VARIABLE_HIGHWATERMARK, BLOCK_COMM, AT(comm_cells, message_high), 0);
    cell_check("mpit_message_bytes", VARIABLE_HIGHWATERMARK, BLOCK_SHARED,
               AT(shared_cells, closed[EXTREME_MESSAGE_HIGH]), 0);
}

TEST(nested_time_and_large_messages_are_taken_off)
{
    struct thread_cells thread = {.call_time = {[1] = 100, [2] = 11}, .nested_time = 11};
    struct comm_cells comm = {.send = {[3] = {10, 0}}, .recv = {[4] = {5, 0}}, .large = 6};
    const struct variable *time = find("mpit_mpi_time", VARIABLE_TIMER);
    const struct variable *small = find("mpit_small_count", VARIABLE_COUNTER);
    uint64_t value;
    variable_clear(&time->record, &value, 1);
    variable_take(&time->record, BLOCK_THREAD, 0, (const uint64_t *)&thread, block_cells(BLOCK_THREAD), &value, 1);
    assert_int_equal(value, 100);
    variable_clear(&small->record, &value, 1);
    variable_take(&small->record, BLOCK_COMM, 0, (const uint64_t *)&comm, block_cells(BLOCK_COMM), &value, 1);
    assert_int_equal(value, 9);
}

TEST(smallest_message_of_none_is_the_largest_number)
{
    const struct variable_record *record = &find("mpit_message_bytes", VARIABLE_LOWWATERMARK)->record;
    struct comm_cells some = {.message_low = 17}, none = {.message_low = LOW_NEUTRAL};
    uint64_t value;
    variable_clear(record, &value, 1);
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)&none, block_cells(BLOCK_COMM), &value, 1);
    assert_true(value == UINT64_MAX);
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)&some, block_cells(BLOCK_COMM), &value, 1);
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)&none, block_cells(BLOCK_COMM), &value, 1);
    assert_int_equal(value, 17);
}

TEST(span_goes_from_the_first_begin_to_the_last_end_of_all_blocks)
{
    const struct variable_record *record = &find("mpit_comm_span", VARIABLE_TIMER)->record;
    struct comm_cells early = {.span_first = 100, .span_last = 150}, late = {.span_first = 120, .span_last = 300};
    struct comm_cells none = {.span_first = LOW_NEUTRAL};
    struct shared_cells shared = {.closed = {[EXTREME_SPAN_FIRST] = 90}};
    uint64_t values[2];
    variable_clear(record, values, 2);
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)&none, block_cells(BLOCK_COMM), values, 2);
    variable_finish(record, values);
    assert_int_equal(values[0], 0);
    variable_clear(record, values, 2);
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)&late, block_cells(BLOCK_COMM), values, 2);
    variable_take(record, BLOCK_COMM, 0, (const uint64_t *)&early, block_cells(BLOCK_COMM), values, 2);
    variable_take(record, BLOCK_SHARED, 0, (const uint64_t *)&shared, block_cells(BLOCK_SHARED), values, 2);
    variable_finish(record, values);
    assert_int_equal(values[0], 210);
}

TEST(page_of_peers_lands_at_its_ranks)
{
    const struct variable_record *record = &find("mpit_peer_recv_count", VARIABLE_COUNTER)->record;
    struct peer_cells page = {.peer = {[0].recv.count = 3, [5].recv.count = 4, [6].recv.count = 9}};
    uint64_t values[134];
    variable_clear(record, values, 134);
    variable_take(record, BLOCK_PEERS, 2, (const uint64_t *)&page, block_cells(BLOCK_PEERS), values, 134);
    variable_take(record, BLOCK_PEERS, 1000000, (const uint64_t *)&page, block_cells(BLOCK_PEERS), values, 134);
    for (size_t i = 0; i < 134; i++)
        assert_int_equal(values[i], i == 128 ? 3 : i == 133 ? 4 : 0);
}

/* Whether it matters to the variable what stands behind the first `told` cells of a block. */
static bool rest_is_read(const struct variable_record *record, unsigned kind, size_t told, size_t offered)
{
    static uint64_t values[2][1024];
    size_t count = record->count > 1 ? record->count : 2;
    for (unsigned way = 0; way < 2; way++) {
        uint64_t *cells = calloc(block_cells(kind), sizeof *cells);
        assert_non_null(cells);
        for (size_t i = 0; i < block_cells(kind); i++)
            cells[i] = i < told ? 3 : way * (i + 1) * 1000;
        variable_clear(record, values[way], count);
        variable_take(record, kind, 0, cells, offered, values[way], count);
        free(cells);
    }
    return memcmp(values[0], values[1], count * sizeof values[0][0]) != 0;
}

TEST(block_that_is_too_short_is_not_read_behind_its_end)
{
    for (size_t i = 0; i < variable_count; i++)
        for (unsigned kind = BLOCK_THREAD; kind <= BLOCK_COUNTERS; kind++) {
            const struct variable_record *record = &variables[i].record;
            bool made_of_it = false;
            for (unsigned t = 0; t < VARIABLE_TERMS; t++)
                made_of_it = made_of_it || record->terms[t].block == kind;
            assert_true(rest_is_read(record, kind, 0, block_cells(kind)) == made_of_it);
            for (size_t have = 0; have < 20 && have <= block_cells(kind); have++)
                if (rest_is_read(record, kind, have, have))
                    fail_msg("%s reads behind cell %zu of block kind %u", record->name, have, kind);
        }
}

TEST(every_slot_of_an_enumeration_has_a_name_of_its_own)
{
    const struct {
        enum variable_names names;
        size_t count;
    } enumerations[] = {{NAMES_CALL, CALL_COUNT}, {NAMES_COLL, COLLECTIVE_COUNT}, {NAMES_LOSS, LOSS_COUNT}};
    for (unsigned e = 0; e < 3; e++) {
        for (size_t i = 0; i < enumerations[e].count; i++)
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(variable_slot_name(enumerations[e].names, i),
                                        variable_slot_name(enumerations[e].names, j));
        assert_null(variable_slot_name(enumerations[e].names, enumerations[e].count));
    }
    assert_string_equal(variable_slot_name(NAMES_CALL, 0), "none");
    assert_string_equal(variable_slot_name(NAMES_CALL, CALL_MPI_Allreduce), "MPI_Allreduce");
    assert_string_equal(variable_slot_name(NAMES_COLL, COLLECTIVE_REDUCE_SCATTER_BLOCK), "MPI_Reduce_scatter_block");
    assert_null(variable_slot_name(NAMES_NONE, 0));
}
