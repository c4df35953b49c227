/* Variables as metrics: names, units, labels and texts, of those in the catalogue and of some that it does not have. */
#define _GNU_SOURCE
#include "exporter/metrictable.h"

#include "format/counter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct metric_table table;
static struct counter_table asked = {.count = 1, .list = {{.name = "perf::PAGE-FAULTS"}}};
static struct call_record calls[3] = {{.name = "none"}, {.name = "MPI_B"}, {.name = "MPI_A"}};
static struct run_reader run = {.calls = calls, .call_count = 3, .counters = &asked};

static int setup(void **state)
{
    (void)state;
    metric_table_free(&table);
    return 0;
}

static struct variable_record record_of(const char *name, enum variable_class class, const char *unit, uint32_t count)
{
    struct variable_record record = {.class = class, .count = count, .combine = COMBINE_SUM};
    record.terms[0] = (struct variable_term){.block = BLOCK_THREAD, .weight = 1, .run = 1, .step = 1, .stride = 1};
    strncpy(record.name, name, sizeof record.name - 1);
    strncpy(record.unit, unit, sizeof record.unit - 1);
    return record;
}

/* The metric of a variable; NULL: it is none. */
static const struct metric *metric_of(const struct variable_record *record)
{
    int number = metric_number(&table, &run, record, NULL);
    return number < 0 ? NULL : &table.list[number];
}

static void units_stand_at_the_end_of_names(void **state)
{
    static const struct {
        const char *variable, *unit;
        enum variable_class class;
        const char *name, *metric_unit;
        enum metric_type type;
    } cases[] = {
        {"mpit_send_count", "", VARIABLE_COUNTER, "mpit_send_count", "", METRIC_COUNTER},
        {"mpit_mpi_time", "ticks", VARIABLE_TIMER, "mpit_mpi_time_seconds", "seconds", METRIC_COUNTER},
        {"mpit_os_time", "ns", VARIABLE_TIMER, "mpit_os_time_seconds", "seconds", METRIC_COUNTER},
        {"mpit_send_bytes", "bytes", VARIABLE_AGGREGATE, "mpit_send_bytes", "bytes", METRIC_COUNTER},
        {"mpit_message_bytes", "bytes", VARIABLE_HIGHWATERMARK, "mpit_message_max_bytes", "bytes", METRIC_GAUGE},
        {"mpit_message_bytes", "bytes", VARIABLE_LOWWATERMARK, "mpit_message_min_bytes", "bytes", METRIC_GAUGE},
        {"mpit_pending_sends", "", VARIABLE_LEVEL, "mpit_pending_sends", "", METRIC_GAUGE},
        {"mpit_pending_sends", "", VARIABLE_HIGHWATERMARK, "mpit_pending_sends_max", "", METRIC_GAUGE},
        {"mpit_things_total", "", VARIABLE_COUNTER, "mpit_things", "", METRIC_COUNTER},
        {"Other-Lib:x", "J", VARIABLE_AGGREGATE, "mpit_other_lib_x", "", METRIC_COUNTER},
        {"up", "", VARIABLE_LEVEL, "mpit_up", "", METRIC_GAUGE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct variable_record record = record_of(cases[i].variable, cases[i].class, cases[i].unit, 1);
        const struct metric *metric = metric_of(&record);
        assert_non_null(metric);
        assert_string_equal(metric->name, cases[i].name);
        assert_string_equal(metric->unit, cases[i].metric_unit);
        assert_int_equal(metric->type, cases[i].type);
        assert_int_equal(metric->shape, SHAPE_NUMBER);
    }
}

/* Of the whole catalogue: no two of one name, all with a text, and none that speaks of MPI_T. */
static void catalogue_has_names_and_texts(void **state)
{
    static const char *const foreign[] = {"enumeration", "nanosecond",     "async-signal", "handle",
                                          "reset",       "mpit_fabric is", "bucket_limit", ", in bytes"};
    size_t metrics = 0;
    (void)state;
    for (size_t i = 0; i < variable_count; i++) {
        const struct variable_record *record = &variables[i].record;
        const struct metric *metric = metric_of(record);
        bool cells = record->combine != COMBINE_NONE && record->count != 0;
        if (!!metric != cells)
            fail_msg("%s of class %u is %sa metric", record->name, record->class, metric ? "" : "not ");
        if (!metric)
            continue;
        metrics++;
        size_t length = strlen(metric->help);
        assert_true(length > 10 && metric->help[length - 1] == '.');
        for (size_t k = 0; k < sizeof foreign / sizeof foreign[0]; k++)
            if (strstr(metric->help, foreign[k]))
                fail_msg("%s: %s", record->name, metric->help);
    }
    assert_true(metrics > 50);
    assert_int_equal(metrics, table.count);
    for (size_t i = 0; i < table.count; i++) {
        assert_int_equal(strspn(table.list[i].name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         strlen(table.list[i].name));
        for (size_t k = 0; k < i; k++)
            if (table.list[i].shape != SHAPE_PART && table.list[k].shape != SHAPE_PART)
                assert_string_not_equal(table.list[i].name, table.list[k].name);
    }
}

/* The time in MPI and the useful time add up to more than the run time. The text says why. */
static void time_in_mpi_says_that_it_has_the_start_of_mpi(void **state)
{
    (void)state;
    const char *const timers[] = {"mpit_mpi_time", "mpit_work_time"};
    for (size_t i = 0; i < variable_count; i++)
        for (size_t k = 0; k < 2; k++)
            if (strcmp(variables[i].record.name, timers[k]) == 0)
                assert_non_null(strstr(metric_of(&variables[i].record)->help, "MPI_Init and MPI_Finalize count here"));
}

static const struct metric *metric_named(const char *name)
{
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(table.list[i].name, name) == 0 && table.list[i].shape != SHAPE_PART)
            return &table.list[i];
    fail_msg("no metric %s", name);
    return NULL;
}

static void sizes_are_histograms_with_their_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < variable_count; i++)
        metric_of(&variables[i].record);
    const struct metric *sent = metric_named("mpit_send_size_bytes"), *coll = metric_named("mpit_coll_size_bytes");
    assert_int_equal(sent->type, METRIC_HISTOGRAM);
    assert_string_equal(table.list[sent->sum].variable, "mpit_send_size_bytes");
    assert_string_equal(table.list[coll->sum].variable, "mpit_coll_bytes");
    /* another library's, which has no bytes */
    struct variable_record record = record_of("mpit_page_size_count", VARIABLE_COUNTER, "", BUCKET_COUNT);
    const struct metric *page = metric_of(&record);
    assert_int_equal(page->shape, SHAPE_HISTOGRAM);
    assert_int_equal(page->sum, -1);
}

static void slots_are_told_apart_by_name(void **state)
{
    char number[24];
    (void)state;
    for (size_t i = 0; i < variable_count; i++)
        metric_of(&variables[i].record);
    assert_string_equal(metric_named("mpit_events_lost")->label, "cause");
    assert_string_equal(metric_named("mpit_stall_time_seconds")->label, "reason");
    assert_string_equal(metric_named("mpit_coll_op_count")->label, "collective");
    assert_string_equal(metric_slot_name(&table, metric_named("mpit_stall_time_seconds"), 3, number), "stall_recv");
    /* functions by name, whichever number a run gives them */
    const struct metric *count = metric_named("mpit_call_count");
    size_t a = metric_slot(&table, count, &run, 2), b = metric_slot(&table, count, &run, 1);
    struct call_record turned[3] = {{.name = "none"}, {.name = "MPI_A"}, {.name = "MPI_B"}};
    struct run_reader other = {.calls = turned, .call_count = 3};
    assert_int_equal(metric_slot(&table, count, &other, 1), a);
    assert_int_equal(metric_slot(&table, count, &other, 2), b);
    assert_string_equal(metric_slot_name(&table, count, a, number), "MPI_A");
    /* what would move a cursor, however it is written, is one name */
    struct call_record odd[3] = {{.name = "none"}, {.name = "MPI_\033A"}, {.name = "MPI_\377A"}};
    struct run_reader hostile = {.calls = odd, .call_count = 3};
    size_t slot = metric_slot(&table, count, &hostile, 1);
    assert_int_equal(metric_slot(&table, count, &hostile, 2), slot);
    assert_string_equal(metric_slot_name(&table, count, slot, number), "MPI_?A");
    struct variable_record record = record_of("mpit_things", VARIABLE_COUNTER, "", 7);
    const struct metric *things = metric_of(&record);
    assert_string_equal(things->label, "slot");
    assert_string_equal(metric_slot_name(&table, things, 6, number), "6");
}

/* Weeks of jobs, each with functions that no other has. */
static void functions_that_nobody_counts_are_forgotten(void **state)
{
    char number[24];
    (void)state;
    for (size_t i = 0; i < variable_count; i++)
        metric_of(&variables[i].record);
    const struct metric *count = metric_named("mpit_call_count");
    bool used[METRIC_SLOTS_MOST] = {false};
    size_t lasting = metric_slot(&table, count, &run, 2), most = 0;
    used[lasting] = true;
    for (int job = 0; job < 3 * METRIC_SLOTS_MOST; job++) {
        struct call_record own[3] = {{.name = "none"}};
        snprintf(own[1].name, sizeof own[1].name, "MPI_Own_%d", job);
        struct run_reader other = {.calls = own, .call_count = 3}; /* the last has no name at all */
        size_t a = metric_slot(&table, count, &other, 1), b = metric_slot(&table, count, &other, 2);
        assert_true(a < METRIC_SLOTS_MOST && b < METRIC_SLOTS_MOST && a != b && a != lasting && b != lasting);
        assert_string_equal(metric_slot_name(&table, count, a, number), own[1].name);
        assert_string_equal(metric_slot_name(&table, count, lasting, number), run_reader_call_name(&run, 2));
        used[a] = used[b] = true;
        metric_calls_keep(&table, used);
        assert_int_equal(metric_slot(&table, count, &other, 1), a); /* it is still told */
        most = table.call_count > most ? table.call_count : most;
        used[a] = used[b] = false;
        metric_calls_keep(&table, used);
    }
    assert_true(most <= lasting + 3);
    assert_int_equal(metric_slot(&table, count, &run, 2), lasting);
}

static void event_of_papi_has_its_whole_name(void **state)
{
    struct variable_record record = record_of("mpit_papi_perf::PAG", VARIABLE_AGGREGATE, "", PLACE_COUNT);
    char number[24];
    (void)state;
    record.terms[0].block = BLOCK_COUNTERS;
    record.terms[0].first = COUNTER_ASKED * PLACE_COUNT;
    const struct metric *metric = metric_of(&record);
    assert_string_equal(metric->variable, "mpit_papi_perf::PAGE-FAULTS");
    assert_string_equal(metric->name, "mpit_papi_perf__page_faults");
    assert_string_equal(metric->label, "place");
    assert_string_equal(metric_slot_name(&table, metric, PLACE_P2P, number), "p2p");
}

static void what_is_no_metric_is_left_out(void **state)
{
    struct variable_record peers = record_of("mpit_peer_send_count", VARIABLE_COUNTER, "", 0),
                           huge = record_of("mpit_huge", VARIABLE_COUNTER, "", UINT32_MAX),
                           taken = record_of("mpit_exporter_scrapes", VARIABLE_COUNTER, "", 1),
                           one = record_of("mpit_a-b", VARIABLE_COUNTER, "", 1),
                           other = record_of("mpit_a:b", VARIABLE_COUNTER, "", 1),
                           state_of = record_of("mpit_state", VARIABLE_STATE, "", 1);
    (void)state;
    assert_null(metric_of(&peers));
    assert_null(metric_of(&huge));
    assert_null(metric_of(&taken));
    assert_null(metric_of(&state_of));
    assert_non_null(metric_of(&one));
    assert_null(metric_of(&other)); /* its name would be the same */
    assert_ptr_equal(metric_of(&one), metric_of(&one));
    for (int i = 0; i < METRICS_MOST + 10; i++) {
        char name[VARIABLE_NAME_BYTES];
        snprintf(name, sizeof name, "mpit_many_%d", i);
        struct variable_record many = record_of(name, VARIABLE_COUNTER, "", 1);
        metric_of(&many);
    }
    assert_int_equal(table.count, METRICS_MOST);
    assert_int_equal(metric_number(&table, &run, &other, NULL), METRIC_REFUSED);
    assert_int_equal(metric_number(&table, &run, &taken, NULL), METRIC_REFUSED);
    assert_int_equal(metric_number(&table, &run, &peers, NULL), METRIC_NONE);
    assert_int_equal(metric_number(&table, &run, &one, "mpit_b*"), METRIC_NONE);
}

/* Weeks of jobs with variables of their own, and one name that is of another class in each. */
static void what_nobody_has_is_let_go(void **state)
{
    static const enum variable_class classes[] = {VARIABLE_COUNTER, VARIABLE_LEVEL};
    struct variable_record lasting = record_of("mpit_lasting", VARIABLE_COUNTER, "", 1),
                           bytes = record_of("mpit_x_size_bytes", VARIABLE_AGGREGATE, "bytes", BUCKET_COUNT),
                           sizes = record_of("mpit_x_size_count", VARIABLE_COUNTER, "", BUCKET_COUNT);
    (void)state;
    assert_int_equal(metric_number(&table, &run, &bytes, NULL), 0);
    int number = metric_number(&table, &run, &lasting, NULL);
    int histogram = metric_number(&table, &run, &sizes, NULL);
    assert_int_equal(table.list[histogram].sum, 0);
    for (int job = 0; job < 2 * METRICS_MOST; job++) {
        char name[VARIABLE_NAME_BYTES];
        snprintf(name, sizeof name, "mpit_own_%d", job);
        struct variable_record own = record_of(name, VARIABLE_COUNTER, "", 1),
                               common = record_of("mpit_common", classes[job % 2], "", 1);
        bool used[METRICS_MOST] = {false};
        used[number] = used[histogram] = true;
        int numbers[] = {metric_number(&table, &run, &own, NULL), metric_number(&table, &run, &common, NULL)};
        for (int i = 0; i < 2; i++) {
            assert_true(numbers[i] >= 0 && numbers[i] != number && numbers[i] != histogram);
            used[numbers[i]] = true;
        }
        metric_table_keep(&table, used);
        assert_int_equal(metric_number(&table, &run, &common, NULL), numbers[1]);
        memset(used, 0, sizeof used); /* the job has gone */
        used[number] = used[histogram] = true;
        metric_table_keep(&table, used);
        assert_int_equal(metric_number(&table, &run, &lasting, NULL), number);
        assert_int_equal(table.list[histogram].sum, -1); /* not what has its number now */
    }
    assert_true(table.count <= 8);
    assert_int_equal(table.list[metric_number(&table, &run, &sizes, NULL)].sum, -1);
    number = metric_number(&table, &run, &bytes, NULL);
    assert_int_equal(table.list[histogram].sum, number);
}

static void patterns_choose_by_name(void **state)
{
    (void)state;
    assert_true(name_matches("mpit_send_count", NULL));
    assert_true(name_matches("mpit_send_count", "mpit_send*"));
    assert_false(name_matches("mpit_recv_count", "mpit_send*"));
    assert_true(name_matches("mpit_recv_count", "mpit_send*,*count"));
    assert_false(name_matches("mpit_recv_count", "*count,!mpit_recv*"));
    assert_true(name_matches("mpit_send_count", "!mpit_recv*"));
    assert_false(name_matches("mpit_recv_count", "!mpit_recv*"));
    assert_false(name_matches("mpit_recv_count", "!mpit_send*,!mpit_recv*"));
    assert_false(name_matches("mpit_recv_count", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(units_stand_at_the_end_of_names, setup),
        cmocka_unit_test_setup(catalogue_has_names_and_texts, setup),
        cmocka_unit_test_setup(time_in_mpi_says_that_it_has_the_start_of_mpi, setup),
        cmocka_unit_test_setup(sizes_are_histograms_with_their_bytes, setup),
        cmocka_unit_test_setup(slots_are_told_apart_by_name, setup),
        cmocka_unit_test_setup(functions_that_nobody_counts_are_forgotten, setup),
        cmocka_unit_test_setup(event_of_papi_has_its_whole_name, setup),
        cmocka_unit_test_setup(what_is_no_metric_is_left_out, setup),
        cmocka_unit_test_setup(what_nobody_has_is_let_go, setup),
        cmocka_unit_test_setup(patterns_choose_by_name, setup),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    metric_table_free(&table);
    return result;
}
