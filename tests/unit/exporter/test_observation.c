/*
 * Figures of a process over several looks: what does not fall, what does not mix, and what is never too large.
 *
 * The process is a reader that the test fills itself, so that each look meets the cells at the moment that it wants.
 */
#define _GNU_SOURCE
#include "figures/cells.h"
#include "exporter/observation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 5, CELLS = 4 };
enum { COUNT, DIFFERENCE, LEVEL, MOST, LEAST, VARIABLES };

struct fake_block {
    uint64_t cells[CELLS];
};

static struct {
    struct run_reader run;
    struct run_header header;
    struct comm_record records[SLOTS];
    const struct comm_record *comms[SLOTS];
    struct fake_block list[SLOTS];
    struct run_block blocks[SLOTS];
    size_t comm_blocks[SLOTS + 1];
    struct variable_record variables[VARIABLES];
} fake;

static struct observation observation;
static struct observed_process process;

static void variable_fill(int number, const char *name, enum variable_class class, enum variable_combine combine,
                          unsigned cell)
{
    struct variable_record *record = &fake.variables[number];
    *record = (struct variable_record){.class = class, .bound = 1, .count = 1, .combine = combine};
    snprintf(record->name, sizeof record->name, "%s", name);
    record->terms[0] =
        (struct variable_term){.block = BLOCK_COMM, .weight = 1, .first = cell, .run = 1, .step = 1, .stride = 1};
}

static void comm_fill(uint32_t slot, const char *name, uint32_t flags)
{
    fake.records[slot] = (struct comm_record){.slot = slot, .size = 2, .flags = flags};
    snprintf(fake.records[slot].name, COMM_NAME_BYTES, "%s", name);
    fake.comms[slot] = &fake.records[slot];
}

/* Slots 1 to 3 are communicators, slot 4 is the sum of freed ones. */
static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    variable_fill(COUNT, "mpit_x_count", VARIABLE_COUNTER, COMBINE_SUM, 0);
    variable_fill(DIFFERENCE, "mpit_rest", VARIABLE_COUNTER, COMBINE_SUM, 0);
    fake.variables[DIFFERENCE].terms[1] =
        (struct variable_term){.block = BLOCK_COMM, .weight = -1, .first = 1, .run = 1, .step = 1, .stride = 1};
    variable_fill(LEVEL, "mpit_level", VARIABLE_LEVEL, COMBINE_SUM, 2);
    variable_fill(MOST, "mpit_size", VARIABLE_HIGHWATERMARK, COMBINE_HIGH, 3);
    variable_fill(LEAST, "mpit_size", VARIABLE_LOWWATERMARK, COMBINE_LOW, 3);
    for (uint32_t slot = 1; slot < SLOTS; slot++) {
        fake.blocks[slot - 1] =
            (struct run_block){.at = fake.list[slot].cells, .kind = BLOCK_COMM, .comm = slot, .cells = CELLS};
        fake.comm_blocks[slot] = slot - 1;
    }
    fake.comm_blocks[SLOTS] = SLOTS - 1;
    comm_fill(1, "world", 0);
    comm_fill(2, "a", 0);
    comm_fill(3, "b", 0);
    comm_fill(4, "*", COMM_SUM);
    fake.run = (struct run_reader){.base = (const char *)&fake.header,
                                   .comms = fake.comms,
                                   .comm_count = SLOTS,
                                   .slot_count = SLOTS,
                                   .blocks = fake.blocks,
                                   .block_count = SLOTS - 1,
                                   .comm_blocks = fake.comm_blocks,
                                   .variables = fake.variables,
                                   .variable_count = VARIABLES};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    figure_set_free(&process.whole);
    figure_set_free(&process.others);
    for (size_t i = 0; i < process.comm_count; i++)
        figure_set_free(&process.comms[i].figures);
    free(process.comms);
    process = (struct observed_process){0};
    observation_free(&observation);
    return 0;
}

static void look(void)
{
    observation.looks++;
    fake.run.header.comm_changes = fake.header.comm_changes;
    assert_int_equal(observation_read(&observation, &process, &fake.run, "/nowhere"), 0);
}

static uint64_t value(struct figure_set *set, int variable)
{
    struct figure_row *row = figure_row(set, (size_t)variable);
    return row ? row->values[0] : 12345678;
}

static struct figure_set *comm(const char *name)
{
    for (size_t i = 0; i < process.comm_count; i++)
        if (strcmp(process.comms[i].name, name) == 0)
            return &process.comms[i].figures;
    fail_msg("no %s", name);
    return NULL;
}

static void counter_does_not_fall_while_its_cells_move(void **state)
{
    (void)state;
    fake.list[2].cells[0] = 5;
    look();
    assert_int_equal(value(&process.whole, COUNT), 5);
    fake.list[2].cells[0] = 2; /* the rest is on its way into the sum, which was looked at before */
    look();
    assert_int_equal(value(&process.whole, COUNT), 5);
    fake.list[4].cells[0] = 5;
    look();
    assert_int_equal(value(&process.whole, COUNT), 7);
}

static void difference_is_never_below_0_and_does_not_fall(void **state)
{
    (void)state;
    fake.list[1].cells[0] = 3;
    fake.list[1].cells[1] = 4; /* what is taken away was counted first */
    look();
    assert_int_equal(value(&process.whole, DIFFERENCE), 0);
    fake.list[1].cells[0] = 10;
    look();
    assert_int_equal(value(&process.whole, DIFFERENCE), 6);
    fake.list[1].cells[1] = 7;
    look();
    assert_int_equal(value(&process.whole, DIFFERENCE), 6);
}

static void level_falls_and_watermarks_do_not_come_back(void **state)
{
    (void)state;
    for (int slot = 1; slot < SLOTS; slot++)
        fake.list[slot].cells[3] = LOW_NEUTRAL;
    fake.variables[MOST].terms[0].first = 2;
    fake.list[1].cells[2] = 9;
    look();
    assert_int_equal(value(&process.whole, LEVEL), 9);
    assert_int_equal(value(&process.whole, MOST), 9);
    assert_true(value(&process.whole, LEAST) == LOW_NEUTRAL);
    fake.list[1].cells[2] = 4;
    fake.list[2].cells[2] = 1;
    fake.list[3].cells[3] = 6;
    look();
    assert_int_equal(value(&process.whole, LEVEL), 5);
    assert_int_equal(value(&process.whole, MOST), 9);
    assert_int_equal(value(&process.whole, LEAST), 6);
    fake.list[3].cells[3] = 8;
    look();
    assert_int_equal(value(&process.whole, LEAST), 6);
}

static void slot_that_is_used_again_does_not_mix(void **state)
{
    (void)state;
    observation.choice = (struct observation_choice){.by_comm = true, .comms_most = 4};
    fake.list[1].cells[0] = 100;
    fake.list[2].cells[0] = 20;
    fake.list[3].cells[0] = 3;
    look();
    assert_int_equal(process.comm_count, 3);
    assert_int_equal(value(comm("a"), COUNT), 20);
    assert_int_equal(value(&process.others, COUNT), 0);
    /* a is freed with 25, and its slot goes to c */
    fake.list[4].cells[0] = 25;
    fake.list[2].cells[0] = 1;
    comm_fill(2, "c", 0);
    fake.header.comm_changes += 2;
    look();
    assert_int_equal(value(comm("a"), COUNT), 20);
    assert_int_equal(value(comm("c"), COUNT), 1);
    assert_int_equal(value(comm("world"), COUNT), 100);
    assert_int_equal(value(&process.others, COUNT), 5); /* what a had counted since it was seen last */
    assert_int_equal(value(&process.whole, COUNT), 129);
    /* for one more there is no place */
    fake.list[4].cells[0] = 28;
    fake.list[3].cells[0] = 50;
    comm_fill(3, "d", 0);
    fake.header.comm_changes += 2;
    look();
    assert_int_equal(process.comm_count, 4);
    assert_int_equal(value(comm("b"), COUNT), 3);
    assert_int_equal(value(&process.others, COUNT), 55);
    assert_int_equal(value(&process.whole, COUNT), 179);
}

static void unused_communicator_takes_no_place(void **state)
{
    (void)state;
    observation.choice = (struct observation_choice){.by_comm = true, .comms_most = 1};
    fake.blocks[0].kind = BLOCK_SHARED; /* of world there are no cells of a thread */
    look();
    assert_int_equal(process.comm_count, 1);
    assert_string_equal(process.comms[0].name, "a");
}

static void names_that_look_the_same_are_one_series(void **state)
{
    (void)state;
    observation.choice = (struct observation_choice){.by_comm = true, .comms_most = 9};
    comm_fill(1, "x\n", 0);
    comm_fill(2, "x\r", 0);
    comm_fill(3, "other", 0); /* as all that have no series of their own are called */
    for (int slot = 1; slot < SLOTS; slot++)
        fake.list[slot].cells[0] = 1;
    look();
    assert_int_equal(process.comm_count, 1);
    assert_int_equal(value(comm("x?"), COUNT), 2);
    assert_int_equal(value(&process.others, COUNT), 2);
}

/* A process that counts two functions, of which the second has this name; its job has this number. */
struct counting {
    struct call_record calls[3];
    uint64_t cells[3];
    struct run_block block;
    size_t comm_blocks[2];
    struct variable_record variable;
    struct run_header header;
    struct live_process live;
    struct live_job job;
};

static void counting_fill(struct counting *counting, uint64_t job, const char *function, uint64_t count)
{
    *counting = (struct counting){
        .calls = {{.name = "none"}, {.name = "MPI_Common"}}, .cells = {0, 1, count}, .comm_blocks = {0, 1}};
    snprintf(counting->calls[2].name, CALL_NAME_BYTES, "%s", function);
    for (size_t i = 0; i < variable_count; i++)
        if (strcmp(variables[i].record.name, "mpit_call_count") == 0 && !variables[i].record.bound)
            counting->variable = variables[i].record;
    counting->variable.count = 3;
    memset(counting->variable.terms, 0, sizeof counting->variable.terms);
    counting->variable.terms[0] =
        (struct variable_term){.block = BLOCK_THREAD, .weight = 1, .run = 1, .step = 1, .stride = 1};
    counting->block = (struct run_block){.at = counting->cells, .kind = BLOCK_THREAD, .cells = 3};
    counting->header = (struct run_header){.job = job, .pid = (uint32_t)job, .world_size = 1};
    counting->live = (struct live_process){.path = "/nowhere", .readable = true, .here = true, .alive = true};
    counting->live.run = (struct run_reader){.base = (const char *)&counting->header,
                                             .header = counting->header,
                                             .blocks = &counting->block,
                                             .block_count = 1,
                                             .comm_blocks = counting->comm_blocks,
                                             .slot_count = 1,
                                             .calls = counting->calls,
                                             .call_count = 3,
                                             .variables = &counting->variable,
                                             .variable_count = 1};
    counting->job = (struct live_job){.job = job, .processes = &counting->live, .count = 1, .world_size = 1};
}

static void counts_of(uint64_t number, const char *function, uint64_t count)
{
    const struct metric_table *table = &observation.metrics;
    for (size_t j = 0; j < observation.job_count; j++) {
        struct figure_row *row = figure_row(&observation.jobs[j].processes[0]->whole, 0);
        if (observation.jobs[j].job != number)
            continue;
        for (size_t slot = 0; slot < row->count; slot++) {
            char text[24];
            const char *name = metric_slot_name(table, &table->list[0], slot, text);
            uint64_t wanted = strcmp(name, function) == 0 ? count : strcmp(name, "MPI_Common") == 0 ? 1 : 0;
            assert_int_equal(row->values[slot], wanted);
            count -= strcmp(name, function) == 0 ? count : 0;
        }
        assert_int_equal(count, 0); /* its name was there */
        return;
    }
    fail_msg("no job %u", (unsigned)number);
}

static void functions_of_jobs_that_ended_are_forgotten(void **state)
{
    (void)state;
    static struct counting lasting, passing;
    struct live_job jobs[2];
    struct live live = {.jobs = jobs};
    char name[CALL_NAME_BYTES];
    counting_fill(&lasting, 1, "MPI_Lasting", 7);
    for (unsigned number = 2; number < 5000; number++) {
        snprintf(name, sizeof name, "MPI_Own_%u", number);
        counting_fill(&passing, number, name, 100);
        jobs[number % 2] = lasting.job; /* either of them may be met first */
        jobs[(number + 1) % 2] = passing.job;
        live.job_count = 2;
        assert_int_equal(observation_take(&observation, &live), 0);
        counts_of(1, "MPI_Lasting", 7);
        counts_of(number, name, 100);
        passing.live.alive = false;
        assert_int_equal(observation_take(&observation, &live), 0);
        jobs[0] = lasting.job;
        live.job_count = 1;
        for (int i = 0; i < 1000000 && observation.job_count > 1; i++) /* until it has gone: it lingers for 0 ns */
            assert_int_equal(observation_take(&observation, &live), 0);
        assert_int_equal(observation.job_count, 1);
        counts_of(1, "MPI_Lasting", 7);
        assert_true(observation.metrics.call_count <= 3);
    }
}

/* Nobody knows whose cells those are. */
static void communicators_that_change_under_way_stay_what_they_were(void **state)
{
    (void)state;
    observation.choice = (struct observation_choice){.by_comm = true, .comms_most = 4};
    fake.list[2].cells[0] = 20;
    look();
    fake.list[2].cells[0] = 77; /* of another one by now */
    fake.header.comm_changes = 3;
    fake.run.header.comm_changes = 2;
    observation.looks++;
    assert_int_equal(observation_read(&observation, &process, &fake.run, "/nowhere"), 0);
    assert_int_equal(value(comm("a"), COUNT), 20);
    assert_int_equal(value(&process.whole, COUNT), 77);
    assert_int_equal(value(&process.others, COUNT), 57);
    assert_int_equal(observation.late_now, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counter_does_not_fall_while_its_cells_move, setup, teardown),
        cmocka_unit_test_setup_teardown(difference_is_never_below_0_and_does_not_fall, setup, teardown),
        cmocka_unit_test_setup_teardown(level_falls_and_watermarks_do_not_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(slot_that_is_used_again_does_not_mix, setup, teardown),
        cmocka_unit_test_setup_teardown(unused_communicator_takes_no_place, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_look_the_same_are_one_series, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_of_jobs_that_ended_are_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(communicators_that_change_under_way_stay_what_they_were, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
