#include "unittest.h"

#include "catalogue/category.h"

#include "catalogue/catalogue.h"
#include "handles/livevariables.h"
#include "variables/control.h"
#include "catalogue/enumeration.h"
#include "fakelibrary.h"
#include "settings/knobs.h"

#include <string.h>

/* One process, one catalogue: the tests build upon each other. */

static int stamp(void)
{
    int now = -1;
    assert_int_equal(MPI_T_category_changed(&now), MPI_SUCCESS);
    return now;
}

static int index_of(const char *name)
{
    int index = -1;
    assert_int_equal(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
    return index;
}

static int members(const char *category, enum member_kind kind, int *indices, int len)
{
    int count = -1;
    assert_int_equal(category_members(index_of(category), kind, len, indices, &count), MPI_SUCCESS);
    return count;
}

FIXTURE(open_all)
{
    fake_open();
}

TESTS_ALL(open_all, NULL)

TEST(own_variables_are_in_one_leaf_each)
{
    int seen[512] = {0}, indices[512], count = 0, sub;
    assert_int_equal(MPI_T_category_get_num(&count), MPI_SUCCESS);
    for (int c = 0; c < count; c++) {
        int pvars = -1, cvars = -1;
        assert_int_equal(MPI_T_category_get_info(c, NULL, NULL, NULL, NULL, &cvars, &pvars, &sub), MPI_SUCCESS);
        assert_true(sub == 0 || pvars + cvars == 0);
        assert_int_equal(MPI_T_category_get_pvars(c, 512, indices), MPI_SUCCESS);
        for (int i = 0; i < pvars; i++)
            seen[indices[i]]++;
    }
    for (size_t i = 0; i < variable_count + live_variable_count(); i++)
        assert_int_equal(seen[i], 1);
    assert_true(members("mpit", MEMBER_CATEGORY, NULL, 0) >= 5);
}

TEST(the_stamp_changes_with_a_member_and_only_then)
{
    int before = stamp(), indices[8];
    assert_int_equal(stamp(), before);
    fake_cvar_add("library_a");
    struct fake_category *c = fake_category_add("library");
    int with_category = stamp();
    assert_true(with_category > before);
    assert_int_equal(stamp(), with_category);
    c->cvars[c->cvar_count++] = 0;
    fake.stamp++; /* of a variable that had entered before, Open MPI's stamp tells */
    int with_member = stamp();
    assert_true(with_member > with_category);
    assert_int_equal(members("library", MEMBER_CVAR, indices, 8), 1);
    assert_int_equal(indices[0], control_find("library_a"));
    assert_int_equal(stamp(), with_member);
}

TEST(a_member_that_comes_to_life_is_appended)
{
    int indices[8] = {-7, -7, -7};
    struct fake_category *c = &fake.categories[0];
    fake_cvar_add("library_b")->dead = true;
    fake_cvar_add("library_c");
    c->cvars[c->cvar_count++] = 1;
    c->cvars[c->cvar_count++] = 2;
    int before = stamp();
    assert_int_equal(members("library", MEMBER_CVAR, indices, 8), 2);
    assert_int_equal(indices[1], control_find("library_c"));
    assert_int_equal(indices[2], -7);
    assert_int_equal(control_find("library_b"), -1);
    fake.cvars[1].dead = false;
    assert_true(stamp() > before);
    assert_int_equal(members("library", MEMBER_CVAR, indices, 8), 3);
    assert_int_equal(indices[0], control_find("library_a"));
    assert_int_equal(indices[1], control_find("library_c"));
    assert_int_equal(indices[2], control_find("library_b"));
}

/* It is what the standard offers for polling. */
TEST(a_tree_that_stays_is_not_read_again)
{
    int before = stamp(), asks = fake.category_asks, count, index;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(stamp(), before);
        assert_int_equal(MPI_T_category_get_num(&count), MPI_SUCCESS);
        assert_int_equal(MPI_T_category_get_index("nobody", &index), MPI_T_ERR_INVALID_NAME);
    }
    assert_int_equal(fake.category_asks, asks);
}

TEST(what_dies_keeps_its_index_and_info)
{
    char name[32];
    int length = sizeof name, index = control_find("library_a"), before = stamp(), category = index_of("library");
    fake.cvars[0].dead = true;
    fake.categories[0].dead = true;
    control_refresh();
    assert_int_equal(MPI_T_category_get_info(category, name, &length, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
    assert_string_equal(name, "library");
    assert_int_equal(control_find("library_a"), index);
    assert_string_equal(control_at(index)->name, "library_a");
    assert_int_equal(stamp(), before);
    assert_int_equal(members("library", MEMBER_CVAR, NULL, 0), 3);
    fake.cvars[0].dead = false;
    fake.categories[0].dead = false;
    assert_int_equal(stamp(), before);
    assert_int_equal(control_find("library_a"), index);
}

TEST(pvars_are_found_without_a_walk)
{
    fake_pvar_add("library_sum", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    int index = catalogue_find("library_sum", MPI_T_PVAR_CLASS_COUNTER); /* before anybody has counted them */
    assert_int_equal(index, (int)(variable_count + live_variable_count()));
    assert_int_equal(catalogue_find("library_sum", MPI_T_PVAR_CLASS_TIMER), -1);
    fake_pvar_add("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long); /* a name of ours */
    assert_int_equal(catalogue_refresh(), (int)(variable_count + live_variable_count()) + 1);
    assert_true(catalogue_find("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER) < (int)variable_count);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

TEST(entered_variables_get_their_category)
{
    int indices[4];
    struct catalogue_entry pvar = {.native_index = -1,
                                   .name = (char *)(uintptr_t) "solver_steps",
                                   .description = (char *)(uintptr_t) "",
                                   .class = MPI_T_PVAR_CLASS_COUNTER,
                                   .category = "solver/run"};
    int index = catalogue_add(&pvar);
    assert_true(index >= (int)(variable_count + live_variable_count()));
    assert_int_equal(catalogue_add(&pvar), -1);
    category_refresh();
    assert_int_equal(members("solver/run", MEMBER_PVAR, indices, 4), 1);
    assert_int_equal(indices[0], index);
}

/* A tool that shows USER levels shows nothing that slows calls down, or lies below MPI. */
TEST(own_variables_have_levels_and_costs)
{
    for (int i = 0; i < (int)variable_count; i++) {
        const struct catalogue_entry *entry = catalogue_at(i);
        bool below = begins(entry->name, "mpit_os_") || begins(entry->name, "mpit_fabric_") ||
                     begins(entry->name, "mpit_umq_") || begins(entry->name, "MPI_T_UMQ_LENGTH") ||
                     entry->own->demand != DEMAND_NONE;
        bool slows = entry->own->demand != DEMAND_NONE || entry->own->source == SOURCE_UMQ_HIGHEST;
        assert_true(below ? entry->verbosity >= MPI_T_VERBOSITY_TUNER_BASIC : true);
        assert_int_equal(slows, strstr(entry->description, "microsecond") != NULL);
    }
    static const struct {
        const char *name;
        int class, verbosity;
    } some[] = {
        {"mpit_mpi_time", MPI_T_PVAR_CLASS_TIMER, MPI_T_VERBOSITY_USER_BASIC},
        {"mpit_p2p_count", MPI_T_PVAR_CLASS_COUNTER, MPI_T_VERBOSITY_USER_BASIC},
        {"mpit_peer_send_count", MPI_T_PVAR_CLASS_COUNTER, MPI_T_VERBOSITY_USER_DETAIL},
        {"mpit_fabric_polls", MPI_T_PVAR_CLASS_COUNTER, MPI_T_VERBOSITY_TUNER_DETAIL},
        {"mpit_events_recorded", MPI_T_PVAR_CLASS_COUNTER, MPI_T_VERBOSITY_MPIDEV_BASIC},
    };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        assert_int_equal(catalogue_at(catalogue_find(some[i].name, some[i].class))->verbosity, some[i].verbosity);
}

TEST(own_controls_say_who_may_write_them_and_when)
{
    for (unsigned knob = 0; knob < KNOB_COUNT; knob++) {
        const struct control *control = control_at(control_find(knob_table[knob].name));
        assert_int_equal(control->scope, MPI_T_SCOPE_LOCAL);
        assert_non_null(strstr(control->description, "It may be written "));
        assert_int_equal(!knob_table[knob].run_time, strstr(control->description, "read-only from then on") != NULL);
    }
    assert_int_equal(control_at(control_find("mpit_trace"))->verbosity, MPI_T_VERBOSITY_USER_BASIC);
    assert_int_equal(control_at(control_find("mpit_os"))->verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
    assert_int_equal(control_at(control_find("mpit_spool_limit_bytes"))->verbosity, MPI_T_VERBOSITY_TUNER_DETAIL);
}

TEST(an_enumeration_outlives_the_librarys)
{
    char text[] = "colour,red,green", name[16];
    int value, length = sizeof name, count;
    struct fake_cvar *first = fake_cvar_add("library_colour"), *second = fake_cvar_add("library_other_colour");
    first->enumtype = second->enumtype = (MPI_T_enum)(void *)text;
    control_refresh();
    MPI_T_enum copy = control_at(control_find("library_colour"))->enumtype;
    assert_ptr_equal(copy, control_at(control_find("library_other_colour"))->enumtype);
    assert_ptr_not_equal(copy, first->enumtype);
    memset(text, 'x', sizeof text); /* freed, and used for something else */
    assert_int_equal(MPI_T_enum_get_info(copy, &count, name, &length), MPI_SUCCESS);
    assert_int_equal(count, 2);
    assert_string_equal(name, "colour");
    length = sizeof name;
    assert_int_equal(MPI_T_enum_get_item(copy, 1, &value, name, &length), MPI_SUCCESS);
    assert_int_equal(value, 11);
    assert_string_equal(name, "green");
    assert_int_equal(MPI_T_enum_get_item(copy, 2, &value, name, &length), MPI_T_ERR_INVALID_INDEX);
    assert_int_equal(MPI_T_enum_get_info(first->enumtype, &count, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

/* MPICH's stamp does not change then. */
TEST(a_new_variable_in_an_old_category_is_seen)
{
    int indices[8], before = stamp(), native_stamp = fake.stamp;
    struct fake_category *c = &fake.categories[0];
    fake_pvar_add("library_mark", MPI_T_PVAR_CLASS_HIGHWATERMARK, native.unsigned_long_long);
    c->pvars[c->pvar_count++] = fake.pvar_count - 1;
    assert_true(stamp() > before);
    assert_int_equal(fake.stamp, native_stamp);
    assert_int_equal(members("library", MEMBER_PVAR, indices, 8), 1);
    assert_int_equal(indices[0], catalogue_find("library_mark", MPI_T_PVAR_CLASS_HIGHWATERMARK));
}

TEST(what_can_never_be_used_is_not_listed)
{
    int before = catalogue_refresh();
    fake_pvar_add("mtl_psm2_rx_user_num", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    fake_pvar_add("of_a_window", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long)->bind = MPI_T_BIND_MPI_WIN;
    assert_int_equal(catalogue_refresh(), before);
    assert_int_equal(catalogue_find("mtl_psm2_rx_user_num", MPI_T_PVAR_CLASS_COUNTER), -1);
    assert_int_equal(catalogue_find("of_a_window", MPI_T_PVAR_CLASS_COUNTER), -1);
    fake_pvar_add("library_next", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    assert_int_equal(catalogue_refresh(), before + 1);
}
