/* The datatype system: which types variables may have, and enumerations. */
#include "survey.h"

#include <limits.h>
#include <string.h>

/* Calls judge for the enumeration of each variable that has one. */
static void each_enum(void (*judge)(MPI_T_enum, const char *))
{
    int found = 0, cvars = 0;
    EACH_PVAR(p)
        if (p->datatype == MPI_INT && p->enumtype != MPI_T_ENUM_NULL) {
            judge(p->enumtype, p->name);
            found++;
        }
    MPI_T_cvar_get_num(&cvars);
    for (int i = 0; i < cvars; i++) {
        MPI_T_enum type = MPI_T_ENUM_NULL;
        MPI_Datatype datatype = MPI_DATATYPE_NULL;
        char name[256] = "";
        int length = sizeof name;
        if (MPI_T_cvar_get_info(i, name, &length, NULL, &datatype, &type, NULL, NULL, NULL, NULL) == MPI_SUCCESS &&
            datatype == MPI_INT && type != MPI_T_ENUM_NULL) {
            judge(type, name);
            found++;
        }
    }
    some(found, "enumerations");
}

TEST(pvar_types, RUNNING, "15.3.5", "The type of a pvar is one that the interface knows.")
{
    int found = 0;
    EACH_PVAR(p) {
        expect(type_bytes(p->datatype) > 0, "%s has another type", p->name);
        found++;
    }
    some(found, "performance variables");
}

TEST(cvar_types, RUNNING, "15.3.5", "The type of a cvar is one that the interface knows.")
{
    int count = 0;
    NEED(MPI_T_cvar_get_num(&count));
    for (int i = 0; i < count; i++) {
        MPI_Datatype datatype = MPI_DATATYPE_NULL;
        if (MPI_T_cvar_get_info(i, NULL, NULL, NULL, &datatype, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS)
            expect(type_bytes(datatype) > 0, "cvar %d has another type", i);
    }
    some(count, "control variables");
}

TEST(enum_is_for_int, RUNNING, "15.3.5", "A pvar that is not of type MPI_INT has MPI_T_ENUM_NULL for enumeration.")
{
    int found = 0;
    EACH_PVAR(p)
        if (p->datatype != MPI_INT) {
            expect(p->enumtype == MPI_T_ENUM_NULL, "%s is no MPI_INT and has an enumeration", p->name);
            found++;
        }
    some(found, "variables of other types");
}

static void judge_info(MPI_T_enum type, const char *of)
{
    int num = -1, length = 256;
    char name[256] = "";
    EXPECT_CODE(MPI_T_enum_get_info(type, &num, name, &length), MPI_SUCCESS, "%s", of);
    expect(num > 0, "the enumeration of %s has %d items", of, num);
    expect(name[0], "the enumeration of %s has no name", of);
}

TEST(enum_info, RUNNING, "15.3.5", "An enumeration has items, and a name of at least length one.")
{
    each_enum(judge_info);
}

static void judge_items(MPI_T_enum type, const char *of)
{
    int num = 0;
    MPI_T_enum_get_info(type, &num, NULL, NULL);
    for (int i = 0; i < num; i++) {
        int value = INT_MIN, length = 256;
        char name[256] = "";
        EXPECT_CODE(MPI_T_enum_get_item(type, i, &value, name, &length), MPI_SUCCESS, "item %d of %s", i, of);
        expect(name[0] && value != INT_MIN, "item %d of %s has no name or no value", i, of);
    }
}

TEST(enum_items, RUNNING, "15.3.5", "Each item from 0 to num-1 has a value and a name of at least length one.")
{
    each_enum(judge_items);
}

static void judge_range(MPI_T_enum type, const char *of)
{
    int num = 0, value;
    MPI_T_enum_get_info(type, &num, NULL, NULL);
    EXPECT_CODE(MPI_T_enum_get_item(type, num, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX, "item num of %s", of);
    EXPECT_CODE(MPI_T_enum_get_item(type, -1, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX, "item -1 of %s", of);
    EXPECT_CODE(MPI_T_enum_get_item(type, INT_MAX, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX, "item INT_MAX of %s",
                of);
}

TEST(enum_item_range, RUNNING, "15.3.10",
     "An item that is out of range: MPI_T_ERR_INVALID_INDEX (MPI 3 had MPI_T_ERR_INVALID_ITEM).")
{
    each_enum(judge_range);
}

static void judge_nulls(MPI_T_enum type, const char *of)
{
    EXPECT_CODE(MPI_T_enum_get_info(type, NULL, NULL, NULL), MPI_SUCCESS, "%s", of);
    EXPECT_CODE(MPI_T_enum_get_item(type, 0, NULL, NULL, NULL), MPI_SUCCESS, "%s", of);
}

TEST(enum_nulls, RUNNING, "15.3.5", "OUT parameters that are NULL are ignored: enumerations.")
{
    each_enum(judge_nulls);
}

TEST(enum_null, TOOL, "15.3.10", "MPI_T_ENUM_NULL is refused.")
{
    int value, length = 0;
    EXPECT_REFUSED(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &value, NULL, &length), "MPI_T_ENUM_NULL");
    EXPECT_REFUSED(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, NULL, &length), "MPI_T_ENUM_NULL");
}

static void judge_again(MPI_T_enum type, const char *of)
{
    char name[2][256] = {"", ""}, item[2][256] = {"", ""};
    int num[2] = {0}, value[2] = {0};
    for (int i = 0; i < 2; i++) {
        int length = 256, item_length = 256;
        MPI_T_enum_get_info(type, &num[i], name[i], &length);
        MPI_T_enum_get_item(type, num[i] - 1, &value[i], item[i], &item_length);
    }
    expect(num[0] == num[1] && value[0] == value[1] && strcmp(name[0], name[1]) == 0 && strcmp(item[0], item[1]) == 0,
           "the enumeration of %s changes", of);
}

TEST(enum_is_constant, RUNNING, "15.3.5", "Asked again, an enumeration answers the same.")
{
    each_enum(judge_again);
}

PVAR_TEST(enum_values_of_states, "15.3.7", "The value of a variable with an enumeration is the value of an item.",
          p->datatype == MPI_INT && p->enumtype != MPI_T_ENUM_NULL, "performance variables with an enumeration")
{
    int num = 0, item;
    double values[VALUES_MOST];
    bool known = false;
    EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s", p->name);
    MPI_T_enum_get_info(p->enumtype, &num, NULL, NULL);
    for (int i = 0; i < num; i++)
        if (MPI_T_enum_get_item(p->enumtype, i, &item, NULL, NULL) == MPI_SUCCESS && item == (int)values[0])
            known = true;
    expect(known, "%s is %d, which is no item", p->name, (int)values[0]);
}
