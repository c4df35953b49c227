/* Categories. */
#include "survey.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MOST = 4096, CATEGORIES_MOST = 2048 };

struct category {
    int index;
    char name[NAME_MOST];
    int cvars, pvars, categories;
};

static int categories(void)
{
    int count = 0;
    NEED(MPI_T_category_get_num(&count));
    some(count, "categories");
    return count;
}

static bool category_at(int index, struct category *c)
{
    int length = sizeof c->name;
    memset(c, 0, sizeof *c);
    c->index = index;
    return MPI_T_category_get_info(index, c->name, &length, NULL, NULL, &c->cvars, &c->pvars, &c->categories) ==
           MPI_SUCCESS;
}

TEST(category_info_every_index, RUNNING, "15.3.9", "Every index below the number of categories can be asked for.")
{
    struct category c;
    for (int i = 0, n = categories(); i < n; i++) {
        expect(category_at(i, &c), "MPI_T_category_get_info fails for %d of %d", i, n);
        expect(c.cvars >= 0 && c.pvars >= 0 && c.categories >= 0, "%s has %d cvars, %d pvars, %d categories", c.name,
               c.cvars, c.pvars, c.categories);
    }
}

TEST(category_range, RUNNING, "15.3.10", "An index that no category has: MPI_T_ERR_INVALID_INDEX.")
{
    int n = categories(), out[] = {n, n + 1, -1, INT_MAX, INT_MIN}, count, member;
    for (int i = 0; i < 5; i++) {
        EXPECT_CODE(MPI_T_category_get_info(out[i], NULL, NULL, NULL, NULL, &count, NULL, NULL),
                    MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(MPI_T_category_get_cvars(out[i], 1, &member), MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(MPI_T_category_get_pvars(out[i], 1, &member), MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(MPI_T_category_get_categories(out[i], 1, &member), MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
    }
}

TEST(category_names, RUNNING, "15.3.9", "A category has a name of at least length one, unique among the categories.")
{
    static struct category all[CATEGORIES_MOST];
    int n = categories();
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++) {
        if (!category_at(i, &all[i]))
            continue;
        expect(all[i].name[0], "category %d has no name", i);
        for (int j = 0; j < i; j++)
            expect(!all[j].name[0] || strcmp(all[i].name, all[j].name) != 0, "%s is the name of categories %d and %d",
                   all[i].name, j, i);
    }
}

TEST(category_get_index, RUNNING, "15.3.9", "MPI_T_category_get_index finds each category by its name.")
{
    struct category c;
    for (int i = 0, n = categories(); i < n; i++)
        if (category_at(i, &c)) {
            int index = -1;
            EXPECT_CODE(MPI_T_category_get_index(c.name, &index), MPI_SUCCESS, "%s", c.name);
            expect(index == i, "%s is category %d, and found as %d", c.name, i, index);
        }
}

TEST(category_get_index_unknown, TOOL, "15.3.9", "A name that no category has: MPI_T_ERR_INVALID_NAME.")
{
    int index;
    EXPECT_CODE(MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME, "an unknown name");
    EXPECT_CODE(MPI_T_category_get_index("", &index), MPI_T_ERR_INVALID_NAME, "an empty name");
}

TEST(category_nulls, RUNNING, "15.3.9", "OUT parameters that are NULL are ignored: MPI_T_category_get_info.")
{
    struct category c;
    for (int i = 0, n = categories(); i < n; i++)
        for (int at = -1; at < 3 && category_at(i, &c); at++) {
            int count[3] = {-1, -1, -1};
            EXPECT_CODE(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, at == 0 ? &count[0] : NULL,
                                                at == 1 ? &count[1] : NULL, at == 2 ? &count[2] : NULL),
                        MPI_SUCCESS, "category %d with parameter %d alone", i, at);
            expect(at < 0 || count[at] >= 0, "category %d: parameter %d alone is not returned", i, at);
        }
}

typedef int lister(int, int, int[]);

/* The members are as many as was said, and indices of what there is. */
static void members_judge(lister *list, int what, int most)
{
    static int members[MEMBERS_MOST];
    struct category c;
    int seen = 0;
    for (int i = 0, n = categories(); i < n; i++) {
        if (!category_at(i, &c))
            continue;
        int count = what == 0 ? c.cvars : what == 1 ? c.pvars : c.categories;
        for (int k = 0; k < MEMBERS_MOST; k++)
            members[k] = INT_MIN;
        EXPECT_CODE(list(i, MEMBERS_MOST, members), MPI_SUCCESS, "%s", c.name);
        for (int k = 0; k < MEMBERS_MOST; k++)
            expect(k < count ? members[k] >= 0 && members[k] < most : members[k] == INT_MIN,
                   "%s: member %d of %d is %d, there are %d such things", c.name, k, count, members[k], most);
        seen += count;
    }
    some(seen, "members of that sort");
}

TEST(category_cvars, RUNNING, "15.3.9", "The cvars of a category are as many as it says, and indices of cvars.")
{
    int most = 0;
    NEED(MPI_T_cvar_get_num(&most));
    members_judge(MPI_T_category_get_cvars, 0, most);
}

TEST(category_pvars, RUNNING, "15.3.9", "The pvars of a category are as many as it says, and indices of pvars.")
{
    int most = 0;
    NEED(MPI_T_pvar_get_num(&most));
    members_judge(MPI_T_category_get_pvars, 1, most);
}

TEST(category_categories, RUNNING, "15.3.9",
     "The categories in a category are as many as it says, and indices of such.")
{
    int most = 0;
    NEED(MPI_T_category_get_num(&most));
    members_judge(MPI_T_category_get_categories, 2, most);
}

TEST(category_members_cut, RUNNING, "15.3.9", "An array of length len gets at most len members.")
{
    lister *const lists[] = {MPI_T_category_get_cvars, MPI_T_category_get_pvars, MPI_T_category_get_categories};
    struct category c;
    for (int i = 0, n = categories(); i < n; i++)
        for (int what = 0; what < 3; what++) {
            int members[2] = {-77, -77};
            if (!category_at(i, &c))
                continue;
            EXPECT_CODE(lists[what](i, 1, members), MPI_SUCCESS, "%s", c.name);
            expect(members[1] == -77, "%s writes beyond an array of length 1", c.name);
            members[0] = -77;
            EXPECT_CODE(lists[what](i, 0, members), MPI_SUCCESS, "%s with length 0", c.name);
            expect(members[0] == -77, "%s writes into an array of length 0", c.name);
        }
}

static bool includes(int outer, int wanted, int depth)
{
    struct category c;
    if (depth > 100)
        return true;
    if (!category_at(outer, &c) || c.categories <= 0)
        return false;
    int *members = calloc((size_t)c.categories, sizeof *members);
    bool found = false;
    if (members && MPI_T_category_get_categories(outer, c.categories, members) == MPI_SUCCESS)
        for (int k = 0; k < c.categories && !found; k++)
            found = members[k] == wanted || includes(members[k], wanted, depth + 1);
    free(members);
    return found;
}

TEST(category_has_no_cycle, RUNNING, "15.3.9", "A category does not include itself, nor by way of others.")
{
    struct category c;
    for (int i = 0, n = categories(); i < n; i++) {
        category_at(i, &c);
        expect(!includes(i, i, 0), "%s includes itself", c.name);
    }
}

TEST(category_changed_is_still, RUNNING, "15.3.9", "While nothing changes, MPI_T_category_changed returns the same.")
{
    int a = -1, b = -2;
    EXPECT_CODE(MPI_T_category_changed(&a), MPI_SUCCESS, "now");
    struct category c;
    for (int i = 0, n = categories(); i < n; i++)
        category_at(i, &c);
    EXPECT_CODE(MPI_T_category_changed(&b), MPI_SUCCESS, "now");
    expect(a == b, "%d, then %d", a, b);
}

static struct category kept[CATEGORIES_MOST];

TEST(category_changed_tells, TOOL, "15.3.9",
     "MPI_T_category_changed grows when categories or their members were added: over MPI_Init.")
{
    int n = 0, m = 0, before = -1, after = -1;
    bool changed = false;
    struct category now;
    NEED(MPI_T_category_get_num(&n));
    NEED(MPI_T_category_changed(&before));
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++)
        category_at(i, &kept[i]);
    mpi_begin();
    NEED(MPI_T_category_get_num(&m));
    changed = m != n;
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++)
        if (category_at(i, &now) &&
            (now.cvars != kept[i].cvars || now.pvars != kept[i].pvars || now.categories != kept[i].categories))
            changed = true;
    NEED(MPI_T_category_changed(&after));
    if (!changed)
        skip("MPI_Init changes no category");
    expect(after > before, "categories changed over MPI_Init, the number went from %d to %d", before, after);
}

TEST(category_indices_stay, TOOL, "15.3.9", "Categories are added, none is removed, and none changes its index.")
{
    int n = categories(), m = 0;
    struct category now;
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++)
        category_at(i, &kept[i]);
    mpi_begin();
    NEED(MPI_T_category_get_num(&m));
    expect(m >= n, "%d before MPI_Init, %d after it", n, m);
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++) {
        if (!kept[i].name[0])
            continue;
        expect(category_at(i, &now) && strcmp(now.name, kept[i].name) == 0, "category %d was %s, is %s", i,
               kept[i].name, now.name);
        expect(now.cvars >= kept[i].cvars && now.pvars >= kept[i].pvars && now.categories >= kept[i].categories,
               "%s lost members over MPI_Init", now.name);
    }
}

static int members_before[CATEGORIES_MOST][64];

TEST(category_members_stay, TOOL, "15.3.9", "Members are added, none is removed, and their order does not change.")
{
    int n = categories(), now[64];
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++) {
        if (category_at(i, &kept[i]))
            MPI_T_category_get_cvars(i, 64, members_before[i]);
    }
    mpi_begin();
    for (int i = 0; i < n && i < CATEGORIES_MOST; i++) {
        int count = kept[i].cvars < 64 ? kept[i].cvars : 64;
        if (!kept[i].name[0])
            continue;
        EXPECT_CODE(MPI_T_category_get_cvars(i, 64, now), MPI_SUCCESS, "%s", kept[i].name);
        expect(memcmp(now, members_before[i], (size_t)count * sizeof now[0]) == 0,
               "the first cvars of %s are others after MPI_Init", kept[i].name);
    }
}
