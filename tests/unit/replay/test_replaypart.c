/* The tallies of a part of a trace made by hand: what is chosen is counted as it was live, and nothing else. */
#define _GNU_SOURCE
#include "unittest.h"

#include "figures/figures.h"
#include "replay/replaypart.h"
#include "runfixture.h"

#include <string.h>

static struct fixture fixture;
static struct run_reader reader;
static struct replay_part part;
static char error[256];

/* What is chosen: kinds, begins from `from` on, and communicators by their number. */
static struct {
    unsigned only, without; /* kinds; 0: none is named */
    uint64_t from;
    uint32_t comm; /* 0: all */
} wish;

static bool wish_call(const void *data, const struct event *call, const struct event_extension *more)
{
    (void)data, (void)more;
    return (!wish.only || event_kind(call) == wish.only) && (!wish.without || event_kind(call) != wish.without) &&
           call->begin >= wish.from;
}

static bool wish_comm(const void *data, uint32_t number)
{
    (void)data;
    return !wish.comm || number == wish.comm;
}

static void part_take(void)
{
    static const struct replay_choice choice = {NULL, wish_call, wish_comm};
    if (!reader.base && run_reader_open(&reader, fixture.run.path) != 0)
        fail_msg("%s", reader.error);
    replay_part_close(&part);
    if (replay_part_open(&part, &reader, &choice, error, sizeof error) != 0)
        fail_msg("%s", error);
}

static uint64_t figure(const struct run_reader *run, const char *name, enum variable_class class, uint32_t slot)
{
    const struct figures figures = {run};
    struct figures_comm comm = {.slot = slot, .peers = 4};
    return figures_one(&figures, name, class, slot ? &comm : NULL);
}

static uint64_t call_figure(const char *name, enum variable_class class, unsigned kind)
{
    const struct figures figures = {&part.reader};
    uint64_t values[CALL_COUNT];
    figures_read(&figures, name, class, NULL, values, CALL_COUNT);
    return values[kind];
}

FIXTURE(own_setup)
{
    memset(&wish, 0, sizeof wish);
    memset(&reader, 0, sizeof reader);
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 4, "MPI_COMM_WORLD");
    fixture_comm_add(&fixture, 2, 4, "MPI_COMM_WORLD/dup#1");
    fixture_thread_add(&fixture, 0, 64);
}

FIXTURE(filled_setup)
{
    memset(&wish, 0, sizeof wish);
    memset(&reader, 0, sizeof reader);
    fixture_fill(&fixture);
}

FIXTURE(teardown)
{
    replay_part_close(&part);
    if (reader.base)
        run_reader_close(&reader);
    fixture_remove(&fixture);
}

static void call_emit(unsigned kind, uint64_t begin, uint32_t ticks, uint32_t comm, int32_t peer, uint64_t bytes)
{
    fixture_emit(&fixture, 0,
                 (struct event){.begin = begin,
                                .duration = ticks,
                                .kind = (uint16_t)kind,
                                .comm = (uint16_t)comm,
                                .peer = peer,
                                .bytes = bytes},
                 NULL);
}

/* Every cell that a part has, of all threads together. */
TEST_WITH(everything_is_what_was_counted_live, filled_setup, teardown)
{
    part_take();
    for (size_t i = 0; i < part.reader.block_count; i++) {
        const struct run_block *block = &part.reader.blocks[i];
        for (size_t c = 0; c < block->cells; c++) {
            uint64_t sum = 0;
            if (block->kind == BLOCK_FABRIC_CALLS)
                continue;
            if (block->kind == BLOCK_THREAD && c == offsetof(struct thread_cells, nested_time) / 8)
                continue; /* this trace has calls inside of none */
            if (block->kind == BLOCK_COMM && c * 8 >= offsetof(struct comm_cells, span_last) &&
                c * 8 < offsetof(struct comm_cells, coll_bytes))
                continue; /* extremes are no sums */
            for (size_t k = 0; k < reader.block_count; k++)
                if (reader.blocks[k].kind == block->kind && reader.blocks[k].comm == block->comm &&
                    reader.blocks[k].page == block->page)
                    sum += tally_cells(&reader.blocks[k])[c];
            if (sum != block->at[c])
                fail_msg("kind %u, comm %u, page %u, cell %zu: %llu, live %llu", block->kind, block->comm, block->page,
                         c, (unsigned long long)block->at[c], (unsigned long long)sum);
        }
    }
    assert_int_equal(figure(&part.reader, "mpit_comm_span", VARIABLE_TIMER, 1),
                     figure(&reader, "mpit_comm_span", VARIABLE_TIMER, 1));
    assert_int_equal(part.missing, 0);
}

TEST_WITH(nothing_is_chosen, filled_setup, teardown)
{
    wish.from = UINT64_MAX;
    part_take();
    assert_int_equal(figure(&part.reader, "mpit_events_recorded", VARIABLE_COUNTER, 0), 0);
    assert_int_equal(figure(&part.reader, "mpit_mpi_time", VARIABLE_TIMER, 0), 0);
    for (size_t i = 0; i < part.reader.thread_count; i++)
        assert_null(part.reader.threads[i]);
    for (size_t i = 0; i < part.reader.slot_count; i++)
        assert_null(part.reader.comms[i]);
}

/* A call completes a receive on each of two communicators: its time is shared out as ever, and each has its half. */
TEST_WITH(completions_go_to_the_chosen_communicator, own_setup, teardown)
{
    call_emit(CALL_MPI_Irecv, 10, 2, 1, 3, 64);
    call_emit(CALL_MPI_Irecv, 20, 2, 2, 3, 64);
    call_emit(CALL_MPI_Waitall, 100, 101, 0, 2, 0);
    call_emit(RECORD_RECV_DONE, 10, CALL_MPI_Irecv, 1, 3, 40);
    call_emit(RECORD_RECV_DONE, 20, CALL_MPI_Irecv, 2, 3, 50);
    fixture_close(&fixture, RUN_FINALIZED);
    uint64_t waited[3];
    for (uint32_t slot = 1; slot <= 2; slot++) {
        wish.comm = slot;
        part_take();
        waited[slot] = figure(&part.reader, "mpit_wait_time", VARIABLE_TIMER, slot);
        assert_int_equal(waited[slot], figure(&reader, "mpit_wait_time", VARIABLE_TIMER, slot));
        assert_int_equal(figure(&part.reader, "mpit_recv_bytes", VARIABLE_AGGREGATE, slot), slot == 1 ? 40 : 50);
        assert_int_equal(call_figure("mpit_call_count", VARIABLE_COUNTER, CALL_MPI_Waitall), 0);
        assert_int_equal(call_figure("mpit_call_count", VARIABLE_COUNTER, CALL_MPI_Irecv), 1);
        assert_null(part.reader.comms[3 - slot]);
    }
    assert_int_equal(waited[1], waited[2] + 1); /* the first has what is left of 101 */
    wish.comm = 0;
    wish.only = CALL_MPI_Irecv;
    part_take();
    assert_int_equal(figure(&part.reader, "mpit_recv_count", VARIABLE_COUNTER, 1), 0);
    wish.only = CALL_MPI_Waitall;
    part_take();
    assert_int_equal(figure(&part.reader, "mpit_recv_count", VARIABLE_COUNTER, 1), 1);
}

/* The time in MPI is that of the outermost of the chosen calls, whichever these are. */
TEST_WITH(calls_inside_of_others_count_once, own_setup, teardown)
{
    call_emit(CALL_MPI_Barrier | EVENT_NESTED, 120, 10, 1, -1, 0);
    call_emit(CALL_MPI_Comm_dup | EVENT_NESTED, 110, 40, 1, -1, 0);
    call_emit(CALL_MPI_Barrier | EVENT_NESTED, 160, 5, 1, -1, 0);
    call_emit(CALL_MPI_Allreduce, 100, 100, 1, -1, 0);
    call_emit(CALL_MPI_Barrier, 300, 7, 1, -1, 0);
    fixture_close(&fixture, RUN_FINALIZED);
    const struct {
        unsigned only, without;
        uint64_t time;
    } cases[] = {{0, 0, 107},
                 {0, CALL_MPI_Allreduce, 40 + 5 + 7},
                 {0, CALL_MPI_Comm_dup, 107},
                 {CALL_MPI_Barrier, 0, 10 + 5 + 7},
                 {CALL_MPI_Comm_dup, 0, 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wish.only = cases[i].only;
        wish.without = cases[i].without;
        part_take();
        assert_int_equal(figure(&part.reader, "mpit_mpi_time", VARIABLE_TIMER, 0), cases[i].time);
    }
    assert_int_equal(figure(&reader, "mpit_mpi_time", VARIABLE_TIMER, 0), 107);
}

/* A process was killed between an event and what belongs to it: the rest is told. */
TEST_WITH(torn_end_is_left_out, own_setup, teardown)
{
    call_emit(CALL_MPI_Barrier, 10, 1, 1, -1, 0);
    call_emit(CALL_MPI_Barrier, 20, 1, 1, -1, 0);
    ((struct event *)(fixture.threads[0].ring + 1))[1].kind |= EVENT_WIDE;
    fixture_close(&fixture, RUN_FINALIZED);
    part_take();
    assert_int_equal(call_figure("mpit_call_count", VARIABLE_COUNTER, CALL_MPI_Barrier), 1);
}

/* A damaged file: they take no more of the stack than one. */
TEST_WITH(calls_without_their_second_records_are_left_out, own_setup, teardown)
{
    enum { CALLS = 150000 };
    fixture_thread_add(&fixture, 1, CALLS + 1);
    for (uint64_t i = 0; i < CALLS; i++)
        fixture_emit(&fixture, 1,
                     (struct event){.begin = 10 + i, .duration = 1, .kind = CALL_MPI_Barrier, .comm = 1, .peer = -1},
                     NULL);
    for (uint64_t i = 0; i < CALLS - 1; i++)
        ((struct event *)(fixture.threads[1].ring + 1))[i].kind |= EVENT_WIDE;
    fixture_close(&fixture, RUN_FINALIZED);
    part_take();
    assert_int_equal(call_figure("mpit_call_count", VARIABLE_COUNTER, CALL_MPI_Barrier), 1);
}

TEST_WITH(run_without_a_trace_is_refused, own_setup, teardown)
{
    static const struct replay_choice choice = {NULL, wish_call, wish_comm};
    fixture_close(&fixture, RUN_FINALIZED);
    assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
    reader.header.traced = TRACED_NOT;
    assert_int_equal(replay_part_open(&part, &reader, &choice, error, sizeof error), -1);
    assert_non_null(strstr(error, "--trace"));
}
