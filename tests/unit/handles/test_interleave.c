/*
 * Interleavings: operations on windows and meters that take turns at every step, as threads and signal handlers do.
 *
 * Each of a few operations runs as a coroutine that gives way before every look at a pair and before every swap; who
 * goes on is drawn. Half of the time only the latest goes on until it has ended: these are signal handlers. However
 * they fall, what all of them return, and what is found behind them, must be what they give one after the other in some
 * order. The recorder is one of them: it looks at a cell, gives way, and stores.
 *
 *     test_interleave [ROUNDS]
 */
#include "unittest.h"

static void turn(void);
#define PAIR_TURN() turn()
#include "ledgerfixture.h"
#include "handles/meter.c"
#include "handles/windows.c"

#include <ucontext.h>

enum { ROUTINES = 3, STACK_BYTES = 64 << 10, RESULTS = 16, OWNER = 5 };

static unsigned rounds = 20000;
static uint64_t handle_last = 0x1000;
static struct ledger *ledger;
static struct comm *comm;
static struct view *view;

static uint64_t drawn = 88172645463325252u;

static unsigned draw(unsigned below)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return (unsigned)(drawn >> 33) % below;
}

/* ---- coroutines -------------------------------------------------------------------------------------------------- */

struct routine {
    ucontext_t context;
    char stack[STACK_BYTES];
    uint64_t (*run)(void);
    uint64_t result;
    bool ended;
};

static struct routine routines[ROUTINES];
static struct routine *running; /* NULL: nothing gives way */
static ucontext_t scheduler;

static void turn(void)
{
    if (running)
        swapcontext(&running->context, &scheduler);
}

static void routine_main(void)
{
    running->result = running->run();
    running->ended = true;
    turn();
}

static void routine_set(struct routine *routine, uint64_t (*operation)(void))
{
    getcontext(&routine->context);
    routine->context.uc_stack.ss_sp = routine->stack;
    routine->context.uc_stack.ss_size = sizeof routine->stack;
    routine->run = operation;
    routine->ended = false;
    makecontext(&routine->context, routine_main, 0);
}

static void routines_run(uint64_t (*const operations[ROUTINES])(void))
{
    bool nested = draw(2);
    unsigned begun = 1, left = ROUTINES;
    for (int i = 0; i < ROUTINES; i++)
        routine_set(&routines[i], operations[i]);
    while (left) {
        if (begun < ROUTINES && (draw(12) == 0 || left == ROUTINES - begun))
            begun++;
        unsigned next = nested ? begun - 1 : draw(begun);
        while (nested && routines[next].ended && next > 0)
            next--;
        if (routines[next].ended)
            continue;
        running = &routines[next];
        swapcontext(&scheduler, &running->context);
        running = NULL;
        left -= routines[next].ended;
    }
}

/* ---- one after the other ----------------------------------------------------------------------------------------- */

struct stage {
    void (*set)(unsigned how);           /* everything anew */
    unsigned (*look)(uint64_t *results); /* what is found behind; returns how many */
    uint64_t (*const *operations)(void);
    unsigned operation_count;
    unsigned recorder; /* the operations from here on are the recorder's: one at a time */
};

static const unsigned orders[6][ROUTINES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static bool one_after_the_other(const struct stage *stage, unsigned how, uint64_t (*const operations[ROUTINES])(void),
                                const uint64_t *wanted)
{
    for (unsigned o = 0; o < 6; o++) {
        uint64_t results[RESULTS] = {0};
        stage->set(how);
        for (int i = 0; i < ROUTINES; i++)
            results[orders[o][i]] = operations[orders[o][i]]();
        stage->look(results + ROUTINES);
        if (memcmp(results, wanted, sizeof results) == 0)
            return true;
    }
    return false;
}

static void interleave(const struct stage *stage)
{
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t (*operations[ROUTINES])(void);
        unsigned which[ROUTINES], how = draw(4);
        uint64_t results[RESULTS] = {0};
        bool recording = false;
        for (int i = 0; i < ROUTINES; i++) {
            which[i] = draw(recording ? stage->recorder : stage->operation_count);
            recording = recording || which[i] >= stage->recorder;
            operations[i] = stage->operations[which[i]];
        }
        stage->set(how);
        routines_run(operations);
        for (int i = 0; i < ROUTINES; i++)
            results[i] = routines[i].result;
        stage->look(results + ROUTINES);
        if (one_after_the_other(stage, how, operations, results))
            continue;
        print_message("round %u, begun %u, operations %u %u %u:", round, how, which[0], which[1], which[2]);
        for (int i = 0; i < RESULTS; i++)
            print_message(" %llu", (unsigned long long)results[i]);
        fail_msg("is no order of them");
    }
}

/* ---- windows on messages ----------------------------------------------------------------------------------------- */

static struct window *one, *other;

/* The recorder on the cell of the largest message, step by step. */
static void message(uint64_t bytes)
{
    uint64_t *cell = &view->tally.cells->message_high, seen = cell_load(cell);
    if (bytes <= seen)
        return;
    turn();
    cell_store(cell, bytes);
}

static uint64_t value_of(struct window *window)
{
    uint64_t value = 0;
    window_read(window, OWNER, &value);
    return value;
}

static uint64_t value_taken(struct window *window)
{
    uint64_t value = 0;
    window_readreset(window, OWNER, &value);
    return value;
}

static void windows_new(enum extreme extreme)
{
    if (one) {
        window_release(one, OWNER);
        window_release(other, OWNER);
    }
    one = window_acquire(comm, extreme, OWNER);
    other = window_acquire(comm, extreme, OWNER);
}

static void windows_set(unsigned how)
{
    windows_new(EXTREME_MESSAGE_HIGH);
    window_start(other, OWNER);
    message(100);
    if (how & 1)
        window_start(one, OWNER);
    message(how & 2 ? 20 : 120);
}

static unsigned windows_look(uint64_t *results)
{
    results[0] = value_of(one);
    results[1] = value_of(other);
    message(60);
    results[2] = value_of(one);
    results[3] = value_of(other);
    window_start(one, OWNER);
    results[4] = value_of(one);
    message(80);
    results[5] = value_taken(one);
    results[6] = value_taken(other);
    message(10);
    results[7] = value_of(one);
    results[8] = value_of(other);
    return 9;
}

static uint64_t one_start(void)
{
    return window_start(one, OWNER);
}

static uint64_t one_stop(void)
{
    return window_stop(one, OWNER);
}

static uint64_t one_reset(void)
{
    return window_reset(one, OWNER);
}

static uint64_t one_take(void)
{
    return value_taken(one);
}

static uint64_t one_read(void)
{
    return value_of(one);
}

static uint64_t other_reset(void)
{
    return window_reset(other, OWNER);
}

static uint64_t other_take(void)
{
    return value_taken(other);
}

static uint64_t other_stop(void)
{
    return window_stop(other, OWNER);
}

static uint64_t message_large(void)
{
    message(200);
    return 0;
}

static uint64_t message_middle(void)
{
    message(70);
    return 0;
}

TEST(windows_on_messages_take_turns)
{
    static uint64_t (*const operations[])(void) = {one_start,   one_stop,   one_reset,  one_take,      one_read,
                                                   other_reset, other_take, other_stop, message_large, message_middle};
    one = NULL;
    interleave(&(struct stage){windows_set, windows_look, operations, 10, 8});
}

/* ---- windows on a level ------------------------------------------------------------------------------------------ */

static void level_up(uint64_t by)
{
    struct level_cells *level = &comm->shared->sends;
    uint64_t now = cell_load(&level->now) + by;
    cell_store(&level->now, now);
    turn();
    if (now <= cell_load(&level->high))
        return;
    turn();
    cell_store(&level->high, now);
}

static void level_down(uint64_t by)
{
    struct level_cells *level = &comm->shared->sends;
    cell_store(&level->now, cell_load(&level->now) - by);
}

static void levels_set(unsigned how)
{
    comm->shared->sends.now = 3;
    windows_new(EXTREME_SENDS_HIGH);
    window_start(other, OWNER);
    if (how & 1)
        window_start(one, OWNER);
    level_up(how & 2 ? 4 : 1);
    level_down(2);
}

static unsigned levels_look(uint64_t *results)
{
    results[0] = value_of(one);
    results[1] = value_of(other);
    level_up(1);
    results[2] = value_of(one);
    results[3] = value_of(other);
    results[4] = value_taken(one);
    results[5] = value_taken(other);
    level_down(1);
    results[6] = value_of(one);
    results[7] = value_of(other);
    return 8;
}

static uint64_t up_and_down(void)
{
    level_up(5);
    return 0;
}

static uint64_t down(void)
{
    level_down(1);
    return 0;
}

TEST(windows_on_levels_take_turns)
{
    static uint64_t (*const operations[])(void) = {one_start,   one_stop,   one_reset,  one_take,    one_read,
                                                   other_reset, other_take, other_stop, up_and_down, down};
    one = NULL;
    interleave(&(struct stage){levels_set, levels_look, operations, 10, 8});
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

static uint64_t epoch; /* far behind the clock, so that no interval begins later */

static void communication(uint64_t begin, uint64_t end)
{
    struct comm_cells *cells = view->tally.cells;
    cell_store(&cells->span_last, epoch + end);
    turn();
    if (epoch + begin >= cell_load(&cells->span_first))
        return;
    turn();
    cell_store(&cells->span_first, epoch + begin);
}

/* Begins of intervals are on the clock, and communication is later: only sums that do not depend on it are looked at.
 */
static void spans_set(unsigned how)
{
    epoch = clock_now() + UINT64_C(1000000000000);
    view->tally.cells->span_last = 0;
    windows_new(EXTREME_SPAN_FIRST);
    window_start(other, OWNER);
    if (how & 1)
        window_start(one, OWNER);
    if (how & 2)
        window_write(one, OWNER, 5000);
}

static unsigned spans_look(uint64_t *results)
{
    results[0] = value_of(one);
    results[1] = value_of(other);
    return 2;
}

static uint64_t one_write(void)
{
    return window_write(one, OWNER, 77777);
}

TEST(spans_take_turns)
{
    static uint64_t (*const operations[])(void) = {one_start, one_stop,    one_reset,  one_take,
                                                   one_read,  other_reset, other_take, one_write};
    one = NULL;
    interleave(&(struct stage){spans_set, spans_look, operations, 8, 8});
}

/* Of a window that nobody changes, whatever is done to the other one. */
static uint64_t communicate(void)
{
    communication(10, 30);
    return 0;
}

static unsigned span_look(uint64_t *results)
{
    results[0] = value_of(other);
    communication(50, 60);
    results[1] = value_of(other);
    return 2;
}

TEST(span_is_not_changed_by_others)
{
    static uint64_t (*const operations[])(void) = {one_start, one_stop, one_reset, communicate};
    one = NULL;
    interleave(&(struct stage){spans_set, span_look, operations, 4, 3});
}

/* ---- meters ------------------------------------------------------------------------------------------------------ */

static struct meter meter;

static void meter_new(const char *name)
{
    if (meter.pairs)
        meter_release(&meter);
    meter = (struct meter){.owner = OWNER, .comm = comm};
    for (size_t i = 0; i < variable_count; i++)
        if (strcmp(variables[i].record.name, name) == 0)
            meter.variable = &variables[i];
    meter.count = (uint32_t)book_value_count(meter.variable, comm);
    assert_true(meter_acquire(&meter));
}

static void meters_set(unsigned how)
{
    const uint64_t large = UINT64_MAX - 1;
    meter_new("mpit_p2p_count");
    if (how & 1)
        meter_start(&meter);
    if (how & 2)
        meter_write(&meter, &large);
}

static uint64_t meter_value(void)
{
    uint64_t value = 0;
    meter_read(&meter, &value);
    return value;
}

static uint64_t meter_count(void)
{
    cell_add(&view->tally.cells->p2p_done, 1);
    return 0;
}

static unsigned meters_look(uint64_t *results)
{
    results[0] = meter_value();
    meter_count();
    results[1] = meter_value();
    return 2;
}

static uint64_t meter_starts(void)
{
    return meter_start(&meter);
}

static uint64_t meter_stops(void)
{
    return meter_stop(&meter);
}

static uint64_t meter_resets(void)
{
    return meter_reset(&meter);
}

static uint64_t meter_writes(void)
{
    const uint64_t value = 40;
    return meter_write(&meter, &value);
}

static uint64_t meter_taken(void)
{
    uint64_t value = 0;
    meter_readreset(&meter, &value);
    return value;
}

TEST(meters_take_turns)
{
    static uint64_t (*const operations[])(void) = {meter_starts, meter_stops, meter_resets,
                                                   meter_writes, meter_taken, meter_value};
    interleave(&(struct stage){meters_set, meters_look, operations, 6, 6});
}

/* Without reads: one that falls between the sample of a reset and its swap still sees the value go on from before. */
TEST(meters_and_the_recorder_take_turns)
{
    static uint64_t (*const operations[])(void) = {meter_starts, meter_stops, meter_resets,
                                                   meter_writes, meter_taken, meter_count};
    interleave(&(struct stage){meters_set, meters_look, operations, 6, 5});
}

static void peers_set(unsigned how)
{
    meter_new("mpit_peer_send_count");
    if (how & 1)
        meter_start(&meter);
}

/* Which of the values count. */
static unsigned peers_look(uint64_t *results)
{
    uint64_t before[4], behind[4];
    meter_read(&meter, before);
    for (int i = 0; i < 4; i++)
        cell_add(&view->tally.page->peer[i].send.count, 1);
    meter_read(&meter, behind);
    for (int i = 0; i < 4; i++)
        results[i] = behind[i] - before[i];
    return 4;
}

TEST(values_of_a_meter_end_in_one_state)
{
    static uint64_t (*const operations[])(void) = {meter_starts, meter_stops};
    interleave(&(struct stage){peers_set, peers_look, operations, 2, 2});
}

FIXTURE(stages_setup)
{
    struct run_problem problem;
    clock_open();
    assert_false(run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 || book_open() != 0);
    book.scale.mult = UINT64_C(1) << 32;
    ledger = ledger_make(1);
}

static int comm_setup(void **state)
{
    (void)state;
    handle_last += 0x40;
    comm = book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 4, .name = "test"});
    view = view_of(ledger, comm);
    view_page_select(view, 1);
    book_thread_state = &ledger->record->state; /* the only thread there is: no fence is needed */
    return 0;
}

TESTS_EACH(comm_setup, NULL)
TESTS_ALL(stages_setup, NULL)

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)atoi(argv[1]);
    return tests_run();
}
