#include "surface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8192, TEXT = 256, MEMBERS = 2048 };

/* What is remembered of a variable or category from one walk to the next. */
struct seen {
    char name[TEXT];
    unsigned description; /* hash */
    int facts[8];
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
};

static struct seen pvars[MOST], cvars[MOST], categories[MOST];
static int pvar_count, cvar_count, category_count;

static unsigned hash_of(const char *text)
{
    unsigned hash = 5381;
    for (; *text; text++)
        hash = hash * 33 + (unsigned char)*text;
    return hash;
}

static void same(const char *when, const char *what, int index, const struct seen *before, const struct seen *now)
{
    CHECK(strcmp(before->name, now->name) == 0, "%s: %s %d was %s and is %s", when, what, index, before->name,
          now->name);
    CHECK(before->description == now->description, "%s: the description of %s changed", when, now->name);
    CHECK(memcmp(before->facts, now->facts, sizeof now->facts) == 0 && before->datatype == now->datatype &&
              before->enumtype == now->enumtype,
          "%s: what get_info says of %s %s changed", when, what, now->name);
}

/* An enumeration can be walked, also when the component that made it is gone. */
static void enumeration_walk(MPI_T_enum type, const char *of)
{
    char name[TEXT];
    int items = -1, length = TEXT, value;
    RETURNS(MPI_SUCCESS, MPI_T_enum_get_info(type, &items, name, &length));
    CHECK(items > 0 && length > 1, "the enumeration of %s has %d items and a name of %d", of, items, length);
    for (int i = 0; i < items; i++) {
        length = TEXT;
        RETURNS(MPI_SUCCESS, MPI_T_enum_get_item(type, i, &value, name, &length));
    }
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(type, items, &value, NULL, NULL));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(type, -1, NULL, NULL, NULL));
}

static void pvar_walk(const char *when)
{
    static char description[65536];
    int count = -1, index;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_num(&count));
    CHECK(count >= pvar_count && count <= MOST, "%s: %d pvars, %d before", when, count, pvar_count);
    for (int i = 0; i < count && i < MOST; i++) {
        struct seen now = {.enumtype = MPI_T_ENUM_NULL};
        int length = TEXT, text = sizeof description, *f = now.facts;
        int result = MPI_T_pvar_get_info(i, now.name, &length, &f[0], &f[1], &now.datatype, &now.enumtype, description,
                                         &text, &f[2], &f[3], &f[4], &f[5]);
        CHECK(result == MPI_SUCCESS, "%s: pvar_get_info of %d of %d: %s", when, i, count, code_name(result));
        if (result != MPI_SUCCESS)
            continue;
        now.description = hash_of(description);
        if (i < pvar_count)
            same(when, "pvar", i, &pvars[i], &now);
        pvars[i] = now;
        CHECK(MPI_T_pvar_get_index(now.name, f[1], &index) == MPI_SUCCESS && index == i, "%s: get_index of pvar %s",
              when, now.name);
        CHECK(text == (int)strlen(description) + 1, "length of the description of %s", now.name);
        if (now.enumtype != MPI_T_ENUM_NULL)
            enumeration_walk(now.enumtype, now.name);
    }
    pvar_count = count;
}

/* A variable can be read into as many elements as it says, or it says why not. */
static void cvar_read(int index, const struct seen *variable)
{
    MPI_T_cvar_handle handle;
    int count = 0, result = MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    if (result == MPI_T_ERR_INVALID_INDEX)
        return; /* it has died */
    CHECK(result == MPI_SUCCESS && count > 0, "handle_alloc of %s: %s, %d elements", variable->name, code_name(result),
          count);
    if (result != MPI_SUCCESS)
        return;
    size_t bytes = (size_t)count * (variable->datatype == MPI_CHAR ? 1 : 8);
    char *room = malloc(bytes + 8);
    memset(room, 0x7f, bytes + 8);
    result = MPI_T_cvar_read(handle, room);
    /* Open MPI 6 says so of a string that has no value: coll_ucc_print_runtime_version */
    bool empty = result == MPI_T_ERR_INVALID && variable->datatype == MPI_CHAR && count == 1 && room[0] == 0x7f;
    CHECK(result == MPI_SUCCESS || empty, "%s cannot be read: %s", variable->name, code_name(result));
    CHECK(memcmp(room + bytes, "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 8) == 0, "%s writes behind its end", variable->name);
    if (variable->datatype == MPI_CHAR && !empty)
        CHECK(memchr(room, '\0', bytes) != NULL, "%s has no end", variable->name);
    free(room);
    RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL, "the freed handle is null");
}

static void cvar_walk(const char *when)
{
    static char description[65536];
    int count = -1, index;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_get_num(&count));
    CHECK(count >= cvar_count && count <= MOST, "%s: %d cvars, %d before", when, count, cvar_count);
    for (int i = 0; i < count && i < MOST; i++) {
        struct seen now = {.enumtype = MPI_T_ENUM_NULL};
        int length = TEXT, text = sizeof description, *f = now.facts;
        int result = MPI_T_cvar_get_info(i, now.name, &length, &f[0], &now.datatype, &now.enumtype, description, &text,
                                         &f[1], &f[2]);
        CHECK(result == MPI_SUCCESS, "%s: cvar_get_info of %d of %d: %s", when, i, count, code_name(result));
        if (result != MPI_SUCCESS)
            continue;
        now.description = hash_of(description);
        if (i < cvar_count)
            same(when, "cvar", i, &cvars[i], &now);
        cvars[i] = now;
        CHECK(MPI_T_cvar_get_index(now.name, &index) == MPI_SUCCESS && index == i, "%s: get_index of cvar %s", when,
              now.name);
        if (now.enumtype != MPI_T_ENUM_NULL)
            enumeration_walk(now.enumtype, now.name);
        cvar_read(i, &now);
    }
    cvar_count = count;
}

/* ---- categories -------------------------------------------------------------------------------------------------- */

struct listed {
    int count;
    int indices[MEMBERS];
};

static struct listed lists[1024][3]; /* cvars, pvars, categories; as last seen */
static int in_leaves_pvar[MOST], in_leaves_cvar[MOST];
static int stamp_before = -1;

static int list_get(int category, int kind, int len, int *indices)
{
    if (kind == 0)
        return MPI_T_category_get_cvars(category, len, indices);
    if (kind == 1)
        return MPI_T_category_get_pvars(category, len, indices);
    return MPI_T_category_get_categories(category, len, indices);
}

/* Returns whether it changed. */
static bool list_walk(const char *when, int category, int kind, int count)
{
    static int now[MEMBERS + 1];
    static const char *const kinds[] = {"cvars", "pvars", "categories"};
    int limit = kind == 0 ? cvar_count : kind == 1 ? pvar_count : category_count;
    struct listed *before = &lists[category][kind];
    const char *name = categories[category].name;
    CHECK(count <= MEMBERS && count >= before->count, "%s: %s has %d %s, and had %d", when, name, count, kinds[kind],
          before->count);
    for (int i = 0; i <= MEMBERS; i++)
        now[i] = -77;
    RETURNS(MPI_SUCCESS, list_get(category, kind, MEMBERS, now));
    CHECK(now[count] == -77, "%s: %s returns more %s than it has", when, name, kinds[kind]);
    CHECK(memcmp(now, before->indices, (size_t)before->count * sizeof *now) == 0, "%s: the %s of %s moved", when,
          kinds[kind], name);
    for (int i = 0; i < count; i++) {
        CHECK(now[i] >= 0 && now[i] < limit, "%s: %s lists %s %d", when, name, kinds[kind], now[i]);
        for (int k = 0; k < i; k++)
            CHECK(now[k] != now[i], "%s: %s lists %d twice", when, name, now[i]);
    }
    bool changed = before->count != count;
    before->count = count;
    memcpy(before->indices, now, (size_t)count * sizeof *now);
    return changed;
}

/* Each of mpit's variables is in one category, and that has no categories. */
static void leaves_check(const char *when)
{
    memset(in_leaves_pvar, 0, sizeof in_leaves_pvar);
    memset(in_leaves_cvar, 0, sizeof in_leaves_cvar);
    for (int c = 0; c < category_count; c++) {
        if (strncmp(categories[c].name, "mpit", 4) != 0)
            continue;
        int inner = lists[c][2].count;
        CHECK(inner == 0 || lists[c][0].count + lists[c][1].count == 0, "%s is no leaf and has variables",
              categories[c].name);
        for (int i = 0; i < lists[c][0].count; i++)
            in_leaves_cvar[lists[c][0].indices[i]]++;
        for (int i = 0; i < lists[c][1].count; i++)
            in_leaves_pvar[lists[c][1].indices[i]]++;
    }
    for (int i = 0; i < pvar_count; i++)
        if (strncmp(pvars[i].name, "mpit_", 5) == 0)
            CHECK(in_leaves_pvar[i] == 1, "%s: %s is in %d leaves", when, pvars[i].name, in_leaves_pvar[i]);
    for (int i = 0; i < cvar_count; i++)
        if (strncmp(cvars[i].name, "mpit_", 5) == 0)
            CHECK(in_leaves_cvar[i] == 1, "%s: %s is in %d leaves", when, cvars[i].name, in_leaves_cvar[i]);
}

/* Everything can be reached from the root, and nothing in two ways. */
static int tree_size(int category, int depth)
{
    int size = 1;
    CHECK(depth < 16, "the tree has a cycle");
    for (int i = 0; depth < 16 && i < lists[category][2].count; i++)
        size += tree_size(lists[category][2].indices[i], depth + 1);
    return size;
}

static void category_walk(const char *when)
{
    static char description[65536];
    int count = -1, stamp = -1, again = -1, index = -1, of_ours = 0;
    bool changed = false;
    RETURNS(MPI_SUCCESS, MPI_T_category_changed(&stamp));
    RETURNS(MPI_SUCCESS, MPI_T_category_get_num(&count));
    CHECK(count >= category_count && count <= 1024, "%s: %d categories, %d before", when, count, category_count);
    changed = count != category_count;
    int before = category_count;
    category_count = count;
    for (int i = 0; i < count && i < 1024; i++) {
        struct seen now = {.enumtype = MPI_T_ENUM_NULL};
        int length = TEXT, text = sizeof description, counts[3];
        int result =
            MPI_T_category_get_info(i, now.name, &length, description, &text, &counts[0], &counts[1], &counts[2]);
        CHECK(result == MPI_SUCCESS, "%s: category_get_info of %d: %s", when, i, code_name(result));
        now.description = hash_of(description);
        if (i < before)
            same(when, "category", i, &categories[i], &now);
        categories[i] = now;
        of_ours += strncmp(now.name, "mpit", 4) == 0;
        CHECK(MPI_T_category_get_index(now.name, &index) == MPI_SUCCESS && index == i, "%s: get_index of category %s",
              when, now.name);
        for (int kind = 0; result == MPI_SUCCESS && kind < 3; kind++)
            changed |= list_walk(when, i, kind, counts[kind]);
    }
    RETURNS(MPI_SUCCESS, MPI_T_category_changed(&again));
    CHECK(again == stamp, "%s: the stamp went from %d to %d, and nothing happened", when, stamp, again);
    CHECK(stamp_before < 0 || changed == (stamp > stamp_before), "%s: %s, and the stamp went from %d to %d", when,
          changed ? "changed" : "unchanged", stamp_before, stamp);
    stamp_before = again;
    if (own_there()) {
        leaves_check(when);
        RETURNS(MPI_SUCCESS, MPI_T_category_get_index("mpit", &index));
        CHECK(tree_size(index, 0) == of_ours && of_ours > 3, "%s: %d categories under mpit of %d", when,
              tree_size(index, 0), of_ours);
    }
}

void walk(const char *when)
{
    pvar_walk(when);
    cvar_walk(when);
    category_walk(when);
}
