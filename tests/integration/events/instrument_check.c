/*
 * instrument_check PLUGIN [absent]: what include/mpit/instrument.h promises, seen through MPI_T. With `absent`, what it
 * promises where mpit is not loaded. Prints a line for each check that fails and "N passed, N failed".
 */
#define _GNU_SOURCE
#define MPIT_CATEGORY_NAME "check"
#include "instrument_check.h"

#include <mpit/instrument.h>

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

MPIT_CATEGORY(check_category, "check", "", "What the check declares.");
MPIT_CATEGORY(check_below, "check_below", "check", "A category in it.");
MPIT_ENUMERATION(check_states, "States.", {0, "idle"}, {5, "busy"}, {-3, "broken"});
MPIT_COUNTER(check_count, "A counter.");
MPIT_COUNTER_ARRAY(check_array, 3, "Counters.");
MPIT_VARIABLE(check_small, MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED, 1, MPIT_BIND_NONE, 0, NULL, "A 32-bit counter.");
MPIT_COUNTER_ON_COMM(check_bound, "A counter of communicators.");
MPIT_AGGREGATE_DOUBLE(check_sum, "A sum of doubles.");
MPIT_TIMER(check_timer, "A timer.");
MPIT_LEVEL(check_level, "A level.");
MPIT_LEVEL_DOUBLE(check_real_level, "A level of doubles.");
MPIT_HIGHWATERMARK(check_high, "A high watermark.");
MPIT_LOWWATERMARK(check_low, "A low watermark.");
MPIT_SIZE(check_size, "A size.");
MPIT_PERCENTAGE(check_share, "A share.");
MPIT_STATE(check_state, &check_states, "A state.");
MPIT_GENERIC_DOUBLE(check_generic, "A number.");
MPIT_REGION(check_region, "A region.");
MPIT_REGION_ON_COMM(check_bound_region, "A region of communicators.");
MPIT_CONTROL_INT(check_control, -2, -5, 5, "A control.");
MPIT_CONTROL_CHOICE(check_choice, 5, &check_states, "A choice.");
MPIT_VARIABLE(check_each, MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, MPIT_EVERY_UPDATE, NULL,
              "A counter whose updates are all in the trace.");

struct check_instance {
    int number;
    double real;
};
MPIT_EVENT(check_event, struct check_instance, "An event.",
           {MPIT_TYPE_INT, offsetof(struct check_instance, number), "number"},
           {MPIT_TYPE_DOUBLE, offsetof(struct check_instance, real), "real"});

int passed, failed;
MPI_T_pvar_session session;
static MPI_Comm world;

int index_of(const char *name, int class)
{
    int index = -1;
    return MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS ? index : -1;
}

MPI_T_pvar_handle handle_of(const char *name, int class, MPI_Comm *comm)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = 0;
    if (MPI_T_pvar_handle_alloc(session, index_of(name, class), comm, &handle, &count) != MPI_SUCCESS) {
        failed++;
        printf("not ok no handle of %s\n", name);
    }
    MPI_T_pvar_start(session, handle); /* a continuous one refuses */
    return handle;
}

unsigned long long value_of(MPI_T_pvar_handle handle)
{
    unsigned long long values[8] = {12345, 0};
    return MPI_T_pvar_read(session, handle, values) == MPI_SUCCESS ? values[0] : 54321;
}

double real_of(MPI_T_pvar_handle handle)
{
    double value = -1;
    return MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS ? value : -2;
}

static void info_is_as_declared(void)
{
    char name[64], text[256];
    int name_length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum names;
    int index = index_of("check_state", MPI_T_PVAR_CLASS_STATE);
    CHECK(MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &class, &type, &names, text, &text_length, &bind,
                              &readonly, &continuous, &atomic) == MPI_SUCCESS);
    CHECK(strcmp(name, "check_state") == 0 && strncmp(text, "A state.", 8) == 0 && type == MPI_INT);
    CHECK(readonly == 1 && continuous == 1 && atomic == 0 && bind == MPI_T_BIND_NO_OBJECT);
    int items = 0, value = 0;
    name_length = sizeof name;
    CHECK(MPI_T_enum_get_info(names, &items, name, &name_length) == MPI_SUCCESS && items == 3);
    CHECK(strcmp(name, "check_states") == 0);
    name_length = sizeof name;
    CHECK(MPI_T_enum_get_item(names, 2, &value, name, &name_length) == MPI_SUCCESS && value == -3);
    CHECK(strcmp(name, "broken") == 0 && MPI_T_enum_get_item(names, 3, &value, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_get_info(index_of("check_small", MPI_T_PVAR_CLASS_COUNTER), NULL, NULL, NULL, NULL, &type, NULL,
                              NULL, NULL, NULL, &readonly, &continuous, &atomic) == MPI_SUCCESS);
    CHECK(type == MPI_UNSIGNED && !readonly && !continuous && atomic);
    CHECK(MPI_T_pvar_get_info(index_of("check_bound", MPI_T_PVAR_CLASS_COUNTER), NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL, &bind, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(bind == MPI_T_BIND_MPI_COMM);
}

static void sums_count_in_windows(void)
{
    MPI_T_pvar_handle one = handle_of("check_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle other = handle_of("check_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    unsigned long long value = 0;
    mpit_add(&check_count, 3);
    CHECK(value_of(one) == 3 && value_of(other) == 3);
    CHECK(MPI_T_pvar_stop(session, one) == MPI_SUCCESS);
    mpit_add(&check_count, 4);
    CHECK(value_of(one) == 3 && value_of(other) == 7);
    CHECK(MPI_T_pvar_start(session, one) == MPI_SUCCESS);
    mpit_add(&check_count, 5);
    CHECK(value_of(one) == 8 && value_of(other) == 12);
    CHECK(MPI_T_pvar_readreset(session, one, &value) == MPI_SUCCESS && value == 8);
    CHECK(value_of(one) == 0 && value_of(other) == 12);
    value = 100;
    CHECK(MPI_T_pvar_write(session, one, &value) == MPI_SUCCESS);
    mpit_add(&check_count, 1);
    CHECK(value_of(one) == 101 && value_of(other) == 13);
    CHECK(MPI_T_pvar_reset(session, one) == MPI_SUCCESS && value_of(one) == 0);
    CHECK(mpit_get(&check_count) >= 13);

    MPI_T_pvar_handle array = handle_of("check_array", MPI_T_PVAR_CLASS_COUNTER, NULL);
    unsigned long long values[3];
    mpit_add_at(&check_array, 2, 9);
    mpit_add_at(&check_array, 3, 9); /* there is none */
    CHECK(MPI_T_pvar_read(session, array, values) == MPI_SUCCESS && values[0] == 0 && values[2] == 9);

    MPI_T_pvar_handle small = handle_of("check_small", MPI_T_PVAR_CLASS_COUNTER, NULL);
    unsigned pair[2] = {7, 7};
    mpit_add(&check_small, 0x100000002ull);
    CHECK(MPI_T_pvar_read(session, small, pair) == MPI_SUCCESS && pair[0] == 2 && pair[1] == 7);

    MPI_T_pvar_handle sum = handle_of("check_sum", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    mpit_add_double(&check_sum, 0.5);
    mpit_add_double(&check_sum, 0.25);
    CHECK(real_of(sum) == 0.75);
    double half = 0.5;
    CHECK(MPI_T_pvar_write(session, sum, &half) == MPI_SUCCESS && real_of(sum) == 0.5);

    MPI_T_pvar_handle timer = handle_of("check_timer", MPI_T_PVAR_CLASS_TIMER, NULL);
    uint64_t begin = mpit_timer_begin(&check_timer);
    usleep(3000);
    mpit_timer_end(&check_timer, begin);
    CHECK(value_of(timer) >= 3000000 && value_of(timer) < 3000000000u);
    MPI_T_pvar_reset(session, timer);
    mpit_add(&check_timer, 77);
    CHECK(value_of(timer) == 77);

    MPI_T_pvar_handle each = handle_of("check_each", MPI_T_PVAR_CLASS_COUNTER, NULL);
    mpit_add(&check_each, 2);
    mpit_add(&check_each, 2);
    CHECK(value_of(each) == 4);
}

static void values_are_what_was_set(void)
{
    MPI_T_pvar_handle size = handle_of("check_size", MPI_T_PVAR_CLASS_SIZE, NULL);
    MPI_T_pvar_handle share = handle_of("check_share", MPI_T_PVAR_CLASS_PERCENTAGE, NULL);
    MPI_T_pvar_handle state = handle_of("check_state", MPI_T_PVAR_CLASS_STATE, NULL);
    MPI_T_pvar_handle generic = handle_of("check_generic", MPI_T_PVAR_CLASS_GENERIC, NULL);
    int pair[2] = {0, 77};
    mpit_set(&check_size, 4096);
    mpit_set_double(&check_share, 0.125);
    mpit_set_int(&check_state, -3);
    mpit_set_double(&check_generic, -1.5);
    CHECK(value_of(size) == 4096 && real_of(share) == 0.125 && real_of(generic) == -1.5);
    CHECK(MPI_T_pvar_read(session, state, pair) == MPI_SUCCESS && pair[0] == -3 && pair[1] == 77);
    CHECK(MPI_T_pvar_start(session, size) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, size) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, size, pair) == MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    mpit_set(&check_count, 5); /* a sum is not set */
    mpit_add_double(&check_size, 4.0);
    CHECK(value_of(size) == 4100);
}

static void watermarks_are_exact_for_each_handle(void)
{
    MPI_T_pvar_handle level = handle_of("check_level", MPI_T_PVAR_CLASS_LEVEL, NULL);
    MPI_T_pvar_handle high = handle_of("check_level", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    unsigned long long value = 0;
    mpit_level_add(&check_level, 10);
    mpit_level_subtract(&check_level, 6);
    MPI_T_pvar_handle later = handle_of("check_level", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    MPI_T_pvar_handle low = handle_of("check_level", MPI_T_PVAR_CLASS_LOWWATERMARK, NULL);
    CHECK(value_of(level) == 4 && value_of(high) == 10 && value_of(later) == 4 && value_of(low) == 4);
    mpit_level_add(&check_level, 3);
    mpit_level_subtract(&check_level, 5);
    CHECK(value_of(level) == 2 && value_of(high) == 10 && value_of(later) == 7 && value_of(low) == 2);
    CHECK(MPI_T_pvar_readreset(session, later, &value) == MPI_SUCCESS && value == 7 && value_of(later) == 2);
    mpit_level_set(&check_level, 5);
    CHECK(MPI_T_pvar_stop(session, later) == MPI_SUCCESS);
    mpit_level_set(&check_level, 50);
    mpit_level_set(&check_level, 1);
    CHECK(value_of(later) == 5 && value_of(high) == 50 && value_of(low) == 1);
    CHECK(MPI_T_pvar_write(session, high, &value) == MPI_T_ERR_PVAR_NO_WRITE);

    MPI_T_pvar_handle real = handle_of("check_real_level", MPI_T_PVAR_CLASS_LOWWATERMARK, NULL);
    MPI_T_pvar_handle most = handle_of("check_real_level", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    mpit_set_double(&check_real_level, -2.5);
    mpit_set_double(&check_real_level, 1.5);
    CHECK(real_of(real) == -2.5 && real_of(most) == 1.5);
    mpit_set(&check_high, 8);
    MPI_T_pvar_handle alone = handle_of("check_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    MPI_T_pvar_handle least = handle_of("check_low", MPI_T_PVAR_CLASS_LOWWATERMARK, NULL);
    mpit_set(&check_high, 3);
    mpit_set(&check_low, 9);
    CHECK(value_of(alone) == 8 && value_of(least) == 0);
}

static void bound_ones_count_for_their_communicator(void)
{
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    struct mpit_cell *of_world = mpit_bind(&check_bound, &world), *of_dup = mpit_bind(&check_bound, &dup);
    CHECK(of_world && of_dup && of_world != of_dup && mpit_bind(&check_bound, &dup) == of_dup);
    CHECK(!mpit_bind(&check_count, &dup) && !mpit_bind(&check_bound, NULL));
    mpit_add(&check_bound, 100); /* nobody's */
    MPI_T_pvar_handle one = handle_of("check_bound", MPI_T_PVAR_CLASS_COUNTER, &world);
    MPI_T_pvar_handle other = handle_of("check_bound", MPI_T_PVAR_CLASS_COUNTER, &dup);
    mpit_cell_add(of_world, 1);
    mpit_cell_add(of_dup, 2);
    CHECK(value_of(one) == 1 && value_of(other) == 2);
    struct mpit_cell *region = mpit_region_bind(&check_bound_region, &dup);
    MPI_T_pvar_handle regions = handle_of("check_bound_region", MPI_T_PVAR_CLASS_COUNTER, &dup);
    mpit_cell_region_enter(region);
    mpit_cell_region_leave(region);
    CHECK(value_of(regions) == 1);
    MPI_Comm_free(&dup);
    mpit_cell_add(of_dup, 2);
    unsigned long long value;
    CHECK(MPI_T_pvar_read(session, other, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_readreset(session, other, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(value_of(one) == 1);
}

/* More communicators than there is room for at once; each has the variable and the region bound to it. */
static void binding_gives_places_back(void)
{
    enum { CYCLES = 14000 };
    unsigned long long lost_then[32] = {0}, lost_now[32] = {0};
    MPI_T_pvar_handle lost = handle_of("mpit_events_lost", MPI_T_PVAR_CLASS_COUNTER, NULL);
    int unbound = 0, wrong = 0;
    MPI_T_pvar_read(session, lost, lost_then);
    for (int i = 0; i < CYCLES; i++) {
        MPI_Comm dup;
        MPI_Comm_dup(MPI_COMM_SELF, &dup);
        struct mpit_cell *cell = mpit_bind(&check_bound, &dup), *region = mpit_region_bind(&check_bound_region, &dup);
        unbound += !cell || !region;
        wrong += mpit_cell_get(cell) != 0;
        mpit_cell_add(cell, 1);
        mpit_cell_region_enter(region);
        mpit_cell_region_leave(region);
        if (i == CYCLES - 1) {
            MPI_T_pvar_handle last = handle_of("check_bound", MPI_T_PVAR_CLASS_COUNTER, &dup);
            mpit_cell_add(cell, 3);
            CHECK(value_of(last) == 3);
        }
        MPI_Comm_free(&dup);
    }
    MPI_T_pvar_read(session, lost, lost_now);
    CHECK(unbound == 0 && wrong == 0);
    for (int i = 0; i < 32; i++)
        CHECK(lost_now[i] == lost_then[i]);
}

static void doubles_begin_at_nothing(void)
{
    mpit_add_double(&check_sum, 1e14);
    MPI_T_pvar_handle sum = handle_of("check_sum", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    mpit_add_double(&check_sum, 0.001);
    CHECK(real_of(sum) == 0.001);
    CHECK(MPI_T_pvar_stop(session, sum) == MPI_SUCCESS);
    mpit_add_double(&check_sum, 7);
    CHECK(MPI_T_pvar_start(session, sum) == MPI_SUCCESS);
    mpit_add_double(&check_sum, 0.001);
    double value = 0;
    CHECK(MPI_T_pvar_readreset(session, sum, &value) == MPI_SUCCESS && value == 0.001 + 0.001);
    CHECK(real_of(sum) == 0);
    mpit_add_double(&check_sum, -1e14);
    MPI_T_pvar_handle_free(session, &sum);
}

static void inner(int depth)
{
    mpit_region_enter(&check_region);
    if (depth)
        inner(depth - 1);
    mpit_region_leave(&check_region);
}

static void regions_are_counted_and_timed(void)
{
    MPI_T_pvar_handle times = handle_of("check_region", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle time = handle_of("check_region", MPI_T_PVAR_CLASS_TIMER, NULL);
    mpit_region_enter(&check_region);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(2000);
    mpit_region_leave(&check_region);
    CHECK(value_of(times) == 1 && value_of(time) >= 2000000);
    unsigned long long before = value_of(time);
    inner(20);
    CHECK(value_of(times) == 22 && value_of(time) - before < 2000000000u);
    inner(300); /* deeper than there is room for: what is over is lost and counted */
    CHECK(value_of(times) == 22 + 128);
    mpit_region_leave(&check_region); /* said once, ignored */
    CHECK(value_of(times) == 22 + 128);
    mpit_region_enter(&check_region);
    mpit_cell_region_enter(mpit_region_bind(&check_bound_region, &world)); /* left by a jump, say */
    mpit_region_leave(&check_region);
    CHECK(value_of(times) == 22 + 129);
}

static MPI_T_cvar_handle control_of(const char *name)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int index = -1, count = 0;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS && count >= 1);
    return handle;
}

static void controls_take_what_they_allow(void)
{
    MPI_T_cvar_handle handle = control_of("check_control"), choice = control_of("check_choice");
    int value = 0;
    CHECK(MPI_T_cvar_read(handle, &value) == MPI_SUCCESS && value == -2 && mpit_control_int(&check_control) == -2);
    value = 5;
    CHECK(MPI_T_cvar_write(handle, &value) == MPI_SUCCESS && mpit_control_int(&check_control) == 5);
    value = 6;
    CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_INVALID && mpit_control_int(&check_control) == 5);
    value = -6;
    CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_INVALID);
    value = -3;
    CHECK(MPI_T_cvar_write(choice, &value) == MPI_SUCCESS && mpit_control_int(&check_choice) == -3);
    value = 1;
    CHECK(MPI_T_cvar_write(choice, &value) == MPI_T_ERR_INVALID);
    struct mpit_control text = {.name = "check_text",
                                .description = "A text.",
                                .initial.text = "first",
                                .type = MPIT_TYPE_CHAR,
                                .scope = MPIT_SCOPE_LOCAL,
                                .capacity = 8};
    char buffer[8] = "";
    CHECK(mpit_control_register(&text) == MPIT_OK);
    MPI_T_cvar_handle text_handle = control_of("check_text");
    CHECK(mpit_control_text(&text, buffer, sizeof buffer) == 5 && strcmp(buffer, "first") == 0);
    CHECK(MPI_T_cvar_write(text_handle, "second\0") == MPI_SUCCESS);
    CHECK(mpit_control_text(&text, buffer, 4) == 6 && strcmp(buffer, "sec") == 0);
    CHECK(MPI_T_cvar_write(text_handle, "too long") == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_read(text_handle, buffer) == MPI_SUCCESS && strcmp(buffer, "second") == 0);
    CHECK(mpit_control_remove(&text) == MPIT_OK);
    CHECK(MPI_T_cvar_read(text_handle, buffer) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
}

static void categories_hold_what_was_declared(void)
{
    int index = -1, cvars = 0, pvars = 0, categories = 0, below = -1, members[64], stamp = 0, later = 0;
    char name[64];
    int length = sizeof name;
    CHECK(MPI_T_category_get_index("check", &index) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_info(index, name, &length, NULL, NULL, &cvars, &pvars, &categories) == MPI_SUCCESS);
    CHECK(strcmp(name, "check") == 0 && cvars == 2 && pvars >= 20 && pvars < 64 && categories == 1);
    CHECK(MPI_T_category_get_pvars(index, 64, members) == MPI_SUCCESS);
    int found = 0;
    for (int i = 0; i < pvars; i++)
        found += members[i] == index_of("check_count", MPI_T_PVAR_CLASS_COUNTER);
    CHECK(found == 1);
    CHECK(MPI_T_category_get_categories(index, 1, &below) == MPI_SUCCESS);
    length = sizeof name;
    CHECK(MPI_T_category_get_info(below, name, &length, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(strcmp(name, "check/check_below") == 0);
    CHECK(MPI_T_category_changed(&stamp) == MPI_SUCCESS);
    static struct mpit_variable fresh =
        MPIT_VARIABLE_INITIAL("check_fresh", MPIT_CLASS_SIZE, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_NONE, 0, NULL, "");
    CHECK(mpit_variable_register(&fresh) == MPIT_OK);
    CHECK(MPI_T_category_changed(&later) == MPI_SUCCESS && later != stamp);
}

static int refused(const char *name, uint32_t class, uint32_t type, uint32_t count, uint32_t flags)
{
    struct mpit_variable v = MPIT_VARIABLE_INITIAL(name, class, type, count, MPIT_BIND_NONE, flags, NULL, "d");
    int result = mpit_variable_register(&v);
    CHECK(result == MPIT_OK || (!v.cell && !v.entry));
    mpit_add(&v, 1); /* harmless */
    if (result == MPIT_OK)
        mpit_variable_remove(&v);
    return result;
}

static void levels_are_the_nine_of_mpi(void)
{
    static const int levels[] = {
        MPI_T_VERBOSITY_USER_BASIC,   MPI_T_VERBOSITY_USER_DETAIL,  MPI_T_VERBOSITY_TUNER_BASIC,
        MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_VERBOSITY_MPIDEV_BASIC, MPI_T_VERBOSITY_MPIDEV_DETAIL,
        MPI_T_VERBOSITY_USER_ALL,     MPI_T_VERBOSITY_TUNER_ALL,    MPI_T_VERBOSITY_MPIDEV_ALL};
    static struct mpit_variable variables[10];
    for (uint32_t i = 0; i < 10; i++) {
        static char names[10][32];
        int verbosity = -1;
        snprintf(names[i], sizeof names[i], "check_verbosity_%u", i);
        variables[i] = (struct mpit_variable)MPIT_VARIABLE_INITIAL(names[i], MPIT_CLASS_SIZE, MPIT_TYPE_DOUBLE, 1,
                                                                   MPIT_BIND_NONE, 0, NULL, "");
        variables[i].verbosity = i;
        if (i == 9) {
            CHECK(mpit_variable_register(&variables[i]) == MPIT_ERR_CLASS);
            break;
        }
        CHECK(mpit_variable_register(&variables[i]) == MPIT_OK);
        CHECK(MPI_T_pvar_get_info(index_of(names[i], MPI_T_PVAR_CLASS_SIZE), NULL, NULL, &verbosity, NULL, NULL, NULL,
                                  NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
        CHECK(verbosity == levels[i]);
    }
}

static void bad_use_has_its_code(void)
{
    const uint32_t ull = MPIT_TYPE_UNSIGNED_LONG_LONG;
    CHECK(refused("", MPIT_CLASS_COUNTER, ull, 1, 0) == MPIT_ERR_NAME);
    CHECK(refused(NULL, MPIT_CLASS_COUNTER, ull, 1, 0) == MPIT_ERR_NAME);
    CHECK(refused("with space", MPIT_CLASS_COUNTER, ull, 1, 0) == MPIT_ERR_NAME);
    CHECK(refused("1st", MPIT_CLASS_COUNTER, ull, 1, 0) == MPIT_ERR_NAME);
    CHECK(refused("mpit_send_count", MPIT_CLASS_COUNTER, ull, 1, 0) == MPIT_ERR_NAME);
    CHECK(refused("a123456789b123456789c123456789d123456789e123456789f123456789g123", MPIT_CLASS_COUNTER, ull, 1, 0) ==
          MPIT_ERR_NAME);
    CHECK(refused("check_count", MPIT_CLASS_COUNTER, ull, 1, 0) == MPIT_ERR_DUPLICATE);
    CHECK(refused("check_count", MPIT_CLASS_AGGREGATE, ull, 1, 0) == MPIT_OK);
    CHECK(refused("check_count", MPIT_CLASS_AGGREGATE, MPIT_TYPE_DOUBLE, 1, 0) == MPIT_ERR_DUPLICATE);
    CHECK(refused("check_region", MPIT_CLASS_TIMER, ull, 1, 0) == MPIT_ERR_DUPLICATE);
    CHECK(refused("check_level", MPIT_CLASS_HIGHWATERMARK, ull, 1, 0) == MPIT_ERR_DUPLICATE);
    CHECK(refused("check_x", 0, ull, 1, 0) == MPIT_ERR_CLASS && refused("check_x", 11, ull, 1, 0) == MPIT_ERR_CLASS);
    CHECK(refused("check_x", MPIT_CLASS_COUNTER, MPIT_TYPE_DOUBLE, 1, 0) == MPIT_ERR_TYPE);
    CHECK(refused("check_x", MPIT_CLASS_STATE, ull, 1, 0) == MPIT_ERR_TYPE);
    CHECK(refused("check_x", MPIT_CLASS_LEVEL, MPIT_TYPE_INT, 1, 0) == MPIT_ERR_TYPE);
    CHECK(refused("check_x", MPIT_CLASS_GENERIC, MPIT_TYPE_CHAR, 1, 0) == MPIT_ERR_TYPE);
    CHECK(refused("check_x", MPIT_CLASS_GENERIC, 99, 1, 0) == MPIT_ERR_TYPE);
    CHECK(refused("check_x", MPIT_CLASS_COUNTER, ull, 0, 0) == MPIT_ERR_COUNT);
    CHECK(refused("check_x", MPIT_CLASS_HIGHWATERMARK, ull, 2, 0) == MPIT_ERR_COUNT);
    CHECK(refused("check_x", MPIT_CLASS_COUNTER, ull, 1, MPIT_WITH_WATERMARKS) == MPIT_ERR_CLASS);
    CHECK(mpit_variable_register(&check_count) == MPIT_ERR_REGISTERED);
    CHECK(mpit_variable_register(NULL) == MPIT_ERR_ARGUMENT);
    struct mpit_control control = {.name = "check_y",
                                   .type = MPIT_TYPE_INT,
                                   .scope = MPIT_SCOPE_LOCAL,
                                   .initial.integer = 3,
                                   .least.integer = 4,
                                   .most.integer = 9};
    CHECK(mpit_control_register(&control) == MPIT_ERR_VALUE);
    const struct mpit_item items[] = {{1, "a"}, {1, "b"}};
    struct mpit_enumeration twice = {.name = "check_twice", .items = items, .count = 2};
    CHECK(mpit_enumeration_register(&twice) == MPIT_ERR_VALUE);
    struct mpit_category orphan = {.name = "check_orphan", .parent = "check_nobody"};
    CHECK(mpit_category_register(&orphan) == MPIT_ERR_ARGUMENT);
    struct mpit_variable never = MPIT_VARIABLE_INITIAL("n", MPIT_CLASS_SIZE, ull, 1, 0, 0, NULL, "");
    CHECK(mpit_variable_remove(&never) == MPIT_ERR_ARGUMENT);
}

static void unloaded_library_leaves_its_index(const char *path)
{
    int index = -1, again = -1, class = 0, count;
    char name[64];
    int length = sizeof name;
    unsigned long long value = 0;
    MPI_T_pvar_handle handle, fresh;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != NULL);
    if (!plugin)
        return;
    void (*call)(int) = (void (*)(int))dlsym(plugin, "plugin_call");
    CHECK((index = index_of("plugin_calls", MPI_T_PVAR_CLASS_COUNTER)) >= 0);
    handle = handle_of("plugin_calls", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle region = handle_of("plugin_region", MPI_T_PVAR_CLASS_COUNTER, NULL);
    call(3);
    call(4);
    CHECK(value_of(handle) == 2 && value_of(region) == 2);
    dlclose(plugin);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &fresh, &count) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_get_info(index, name, &length, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(strcmp(name, "plugin_calls") == 0 && class == MPI_T_PVAR_CLASS_COUNTER);
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    call = (void (*)(int))dlsym(plugin, "plugin_call");
    again = index_of("plugin_calls", MPI_T_PVAR_CLASS_COUNTER);
    call(1);
    CHECK(again == index && value_of(handle) == 3); /* the handle counts on */
    MPI_T_cvar_handle control = control_of("plugin_control");
    int (*get)(void) = (int (*)(void))dlsym(plugin, "plugin_control_get");
    int ten = 10;
    CHECK(MPI_T_cvar_write(control, &ten) == MPI_SUCCESS && get() == 10);
    dlclose(plugin);
    CHECK(MPI_T_cvar_write(control, &ten) == MPI_T_ERR_INVALID_HANDLE);
}

static int heard;
static struct check_instance heard_last;

static void hear(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 void *user_data)
{
    (void)registration, (void)safety;
    struct check_instance copy;
    double real = 0;
    CHECK(user_data == &heard && MPI_T_event_copy(instance, &copy) == MPI_SUCCESS);
    CHECK(MPI_T_event_read(instance, 1, &real) == MPI_SUCCESS && real == copy.real);
    heard_last = copy;
    heard++;
}

static void events_reach_their_callbacks(void)
{
    struct check_instance instance = {3, 0.25};
    MPI_Datatype types[2];
    MPI_Aint displacements[2];
    MPI_T_event_registration registration;
    int index = -1, elements = 2;
    mpit_event_raise(&check_event, &instance); /* nobody listens */
    CHECK(MPI_T_event_get_index("check_event", &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_info(index, NULL, NULL, NULL, types, displacements, &elements, NULL, NULL, NULL, NULL,
                               NULL) == MPI_SUCCESS);
    CHECK(elements == 2 && types[1] == MPI_DOUBLE && displacements[1] == offsetof(struct check_instance, real));
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration) == MPI_SUCCESS);
    CHECK(check_event.cell->own == 0);
    CHECK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &heard,
                                        hear) == MPI_SUCCESS);
    CHECK(check_event.cell->own != 0);
    mpit_event_raise(&check_event, &instance);
    instance.number = -4;
    mpit_event_raise(&check_event, &instance);
    CHECK(heard == 2 && heard_last.number == -4 && heard_last.real == 0.25);
    CHECK(mpit_event_remove(&check_event) == MPIT_OK);
    mpit_event_raise(&check_event, &instance);
    MPI_T_event_registration late;
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &late) == MPI_T_ERR_INVALID_INDEX);
    CHECK(mpit_event_register(&check_event) == MPIT_OK);
    mpit_event_raise(&check_event, &instance);
    CHECK(heard == 3);
    CHECK(MPI_T_event_handle_free(registration, NULL, NULL) == MPI_SUCCESS);
    mpit_event_raise(&check_event, &instance);
    CHECK(heard == 3 && check_event.cell->own == 0);
}

static void without_mpit_nothing_happens(const char *path)
{
    struct mpit_variable v = MPIT_VARIABLE_INITIAL("absent", MPIT_CLASS_SIZE, MPIT_TYPE_UNSIGNED, 1, 0, 0, NULL, "");
    CHECK(mpit_variable_register(&v) == MPIT_NOT_LOADED && !v.cell);
    CHECK(mpit_variable_remove(&v) == MPIT_NOT_LOADED);
    CHECK(!check_count.cell && !check_region.cell && !mpit_bind(&check_bound, &world));
    mpit_add(&check_count, 1);
    mpit_level_add(&check_level, 1);
    mpit_set_double(&check_share, 0.5);
    inner(1000);
    CHECK(mpit_get(&check_count) == 0 && mpit_timer_begin(&check_timer) == 0);
    CHECK(mpit_control_int(&check_control) == -2 && mpit_control_int(&check_choice) == 5);
    CHECK(index_of("check_count", MPI_T_PVAR_CLASS_COUNTER) < 0);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != NULL);
    if (plugin)
        dlclose(plugin);
}

static void with_mpit(const char *plugin)
{
    info_is_as_declared();
    sums_count_in_windows();
    values_are_what_was_set();
    watermarks_are_exact_for_each_handle();
    bound_ones_count_for_their_communicator();
    binding_gives_places_back();
    doubles_begin_at_nothing();
    regions_are_counted_and_timed();
    controls_take_what_they_allow();
    categories_hold_what_was_declared();
    events_reach_their_callbacks();
    levels_are_the_nine_of_mpi();
    bad_use_has_its_code();
    unloaded_library_leaves_its_index(plugin);
    nothing_is_lost_or_doubled();
    removal_is_safe_while_others_read();
    child_of_fork_counts_for_itself();
}

int main(int argc, char **argv)
{
    int provided;
    mpit_add(&check_count, 1); /* before MPI is there */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world = MPI_COMM_WORLD;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (argc > 2)
        without_mpit_nothing_happens(argv[1]);
    else
        with_mpit(argv[1]);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    mpit_add(&check_count, 1); /* and after */
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
