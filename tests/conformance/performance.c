/* What is said of performance variables: their number, their descriptions, their indices. */
#include "survey.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int pvars(void)
{
    int count = 0;
    NEED(MPI_T_pvar_get_num(&count));
    some(count, "performance variables");
    return count;
}

TEST(pvar_info_every_index, RUNNING, "15.3.7",
     "Every index below the number of pvars can be asked for; a tool may walk the list and stop at an error.")
{
    int failed = 0, first = -1, n = pvars(), verbosity;
    for (int i = 0; i < n; i++)
        if (MPI_T_pvar_get_info(i, NULL, NULL, &verbosity, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) !=
            MPI_SUCCESS) {
            failed++;
            first = first < 0 ? i : first;
        }
    expect(failed == 0, "MPI_T_pvar_get_info fails for %d of %d, the first is %d", failed, n, first);
}

TEST(pvar_index_range, RUNNING, "15.3.7", "Any other index of a pvar: MPI_T_ERR_INVALID_INDEX.")
{
    int n = 0, count;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    NEED(MPI_T_pvar_get_num(&n));
    NEED(MPI_T_pvar_session_create(&session));
    int out[] = {n, n + 1, -1, INT_MAX, INT_MIN};
    for (int i = 0; i < 5; i++) {
        EXPECT_CODE(
            MPI_T_pvar_get_info(out[i], NULL, NULL, &count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(MPI_T_pvar_handle_alloc(session, out[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX, "%d",
                    out[i]);
    }
}

TEST(pvar_names, RUNNING, "15.3.7", "A pvar has a name of at least length one.")
{
    pvars();
    EACH_PVAR(p)
        expect(p->name[0], "pvar %d has no name", p->index);
}

static int by_name_and_class(const void *a, const void *b)
{
    const struct pvar *x = *(const struct pvar *const *)a, *y = *(const struct pvar *const *)b;
    int names = strcmp(x->name, y->name);
    return names ? names : x->class - y->class;
}

TEST(pvar_names_are_unique, RUNNING, "15.3.7", "The name and the class together are unique among the pvars.")
{
    int n = pvars(), good = 0;
    const struct pvar **all = calloc((size_t)n, sizeof *all);
    need(all != NULL, "no memory");
    EACH_PVAR(p)
        all[good++] = p;
    qsort(all, (size_t)good, sizeof *all, by_name_and_class);
    for (int i = 1; i < good; i++)
        expect(by_name_and_class(&all[i - 1], &all[i]) != 0, "%s stands for pvars %d and %d of one class", all[i]->name,
               all[i - 1]->index, all[i]->index);
}

static bool is_class(int c)
{
    return c == MPI_T_PVAR_CLASS_STATE || c == MPI_T_PVAR_CLASS_LEVEL || c == MPI_T_PVAR_CLASS_SIZE ||
           c == MPI_T_PVAR_CLASS_PERCENTAGE || c == MPI_T_PVAR_CLASS_HIGHWATERMARK ||
           c == MPI_T_PVAR_CLASS_LOWWATERMARK || c == MPI_T_PVAR_CLASS_COUNTER || c == MPI_T_PVAR_CLASS_AGGREGATE ||
           c == MPI_T_PVAR_CLASS_TIMER || c == MPI_T_PVAR_CLASS_GENERIC;
}

TEST(pvar_classes, RUNNING, "15.3.7", "The class of a pvar is one of the constants.")
{
    pvars();
    EACH_PVAR(p)
        expect(is_class(p->class), "%s has class %d", p->name, p->class);
}

TEST(pvar_types_of_classes, RUNNING, "15.3.7", "The type of a pvar is one that its class may have.")
{
    pvars();
    EACH_PVAR(p) {
        bool is_unsigned =
            p->datatype == MPI_UNSIGNED || p->datatype == MPI_UNSIGNED_LONG || p->datatype == MPI_UNSIGNED_LONG_LONG;
        bool ok = true;
        if (p->class == MPI_T_PVAR_CLASS_STATE)
            ok = p->datatype == MPI_INT;
        else if (p->class == MPI_T_PVAR_CLASS_PERCENTAGE)
            ok = p->datatype == MPI_DOUBLE;
        else if (p->class == MPI_T_PVAR_CLASS_COUNTER)
            ok = is_unsigned;
        else if (p->class != MPI_T_PVAR_CLASS_GENERIC)
            ok = is_unsigned || p->datatype == MPI_DOUBLE;
        /* the standard's own example wants an MPI_INT of this LEVEL */
        if (strcmp(p->name, "MPI_T_UMQ_LENGTH") == 0)
            ok = p->datatype == MPI_INT;
        expect(ok, "%s: its class %d may not have its type", p->name, p->class);
    }
}

TEST(pvar_flags, RUNNING, "15.3.7", "readonly, continuous and atomic are 0 or 1.")
{
    pvars();
    EACH_PVAR(p)
        expect((p->readonly == 0 || p->readonly == 1) && (p->continuous == 0 || p->continuous == 1) &&
                   (p->atomic == 0 || p->atomic == 1),
               "%s: readonly %d, continuous %d, atomic %d", p->name, p->readonly, p->continuous, p->atomic);
}

TEST(pvar_description_is_optional, RUNNING, "15.3.7",
     "A pvar without a description: desc begins with NUL and desc_len is one.")
{
    pvars();
    EACH_PVAR(p) {
        char text[8192] = "x";
        int length = sizeof text;
        EXPECT_CODE(
            MPI_T_pvar_get_info(p->index, NULL, NULL, NULL, NULL, NULL, NULL, text, &length, NULL, NULL, NULL, NULL),
            MPI_SUCCESS, "%s", p->name);
        expect(length == (int)strlen(text) + 1, "%s: a description of %zu characters with length %d", p->name,
               strlen(text), length);
    }
}

/* Asks with all but one parameter NULL; at -1 with all NULL. */
static int info_at(const struct pvar *p, int at, int out[12])
{
    static char text[2][64];
    static int length[2];
    static MPI_Datatype datatype;
    static MPI_T_enum enumtype;
    length[0] = length[1] = 64;
    return MPI_T_pvar_get_info(p->index, at == 0 ? text[0] : NULL, at == 0 ? &length[0] : NULL,
                               at == 1 ? &out[1] : NULL, at == 2 ? &out[2] : NULL, at == 3 ? &datatype : NULL,
                               at == 4 ? &enumtype : NULL, at == 5 ? text[1] : NULL, at == 5 ? &length[1] : NULL,
                               at == 6 ? &out[6] : NULL, at == 7 ? &out[7] : NULL, at == 8 ? &out[8] : NULL,
                               at == 9 ? &out[9] : NULL);
}

TEST(pvar_info_nulls, RUNNING, "15.3.7", "OUT parameters that are NULL are ignored, each and all: MPI_T_pvar_get_info.")
{
    pvars();
    EACH_PVAR(p)
        for (int at = -1; at < 10; at++) {
            int out[12];
            EXPECT_CODE(info_at(p, at, out), MPI_SUCCESS, "%s with parameter %d alone", p->name, at);
        }
}

TEST(pvar_info_is_constant, RUNNING, "15.3.7",
     "What MPI_T_pvar_get_info said of a variable, it says again, whatever happened in between.")
{
    int n = pvars();
    struct pvar *before = calloc((size_t)n, sizeof *before);
    need(before != NULL, "no memory");
    EACH_PVAR(p)
        if (p->index < n)
            before[p->index] = *p;
    traffic(2);
    for (int i = 0; i < n; i++) {
        struct pvar *b = &before[i], now = *b;
        int length = sizeof now.name;
        if (!b->name[0])
            continue;
        EXPECT_CODE(MPI_T_pvar_get_info(i, now.name, &length, &now.verbosity, &now.class, &now.datatype, &now.enumtype,
                                        NULL, NULL, &now.bind, &now.readonly, &now.continuous, &now.atomic),
                    MPI_SUCCESS, "%s, asked again", b->name);
        expect(strcmp(now.name, b->name) == 0 && now.verbosity == b->verbosity && now.class == b->class &&
                   now.datatype == b->datatype && now.enumtype == b->enumtype && now.bind == b->bind &&
                   now.readonly == b->readonly && now.continuous == b->continuous && now.atomic == b->atomic,
               "%s is described otherwise", b->name);
    }
}

TEST(pvar_get_index, RUNNING, "15.3.7", "MPI_T_pvar_get_index finds each pvar by its name and class.")
{
    pvars();
    EACH_PVAR(p) {
        int index = -1;
        EXPECT_CODE(MPI_T_pvar_get_index(p->name, p->class, &index), MPI_SUCCESS, "%s", p->name);
        expect(index == p->index, "%s is pvar %d, and found as %d", p->name, p->index, index);
    }
}

TEST(pvar_get_index_unknown, RUNNING, "15.3.7", "A name that no pvar of the class has: MPI_T_ERR_INVALID_NAME.")
{
    int index;
    EXPECT_CODE(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME,
                "an unknown name");
    EXPECT_CODE(MPI_T_pvar_get_index("", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME, "an empty name");
    EACH_PVAR(p) {
        if (!pvar_named(p->name, MPI_T_PVAR_CLASS_GENERIC))
            EXPECT_CODE(MPI_T_pvar_get_index(p->name, MPI_T_PVAR_CLASS_GENERIC, &index), MPI_T_ERR_INVALID_NAME,
                        "%s with another class", p->name);
    }
}

/* Walks before and after something happens. */
static void stays(void (*happens)(void), const char *what)
{
    int n = 0, now = 0;
    NEED(MPI_T_pvar_get_num(&n));
    some(n, "performance variables before that");
    struct pvar *before = calloc((size_t)n, sizeof *before);
    need(before != NULL, "no memory");
    EACH_PVAR(p)
        if (p->index < n)
            before[p->index] = *p;
    happens();
    NEED(MPI_T_pvar_get_num(&now));
    expect(now >= n, "%d before %s, %d after it", n, what, now);
    EACH_PVAR(p)
        if (p->index < n && before[p->index].name[0])
            expect(strcmp(p->name, before[p->index].name) == 0 && p->class == before[p->index].class,
                   "pvar %d was %s before %s, is %s", p->index, before[p->index].name, what, p->name);
    for (int i = 0; i < n; i++)
        if (before[i].name[0]) {
            int verbosity;
            EXPECT_CODE(
                MPI_T_pvar_get_info(i, NULL, NULL, &verbosity, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                MPI_SUCCESS, "%s after %s", before[i].name, what);
        }
}

TEST(pvar_indices_stay_over_init, TOOL, "15.3.7",
     "The number of pvars may grow; no index changes or goes away: over MPI_Init.")
{
    stays(mpi_begin, "MPI_Init");
}

TEST(pvar_indices_stay_over_finalize, RUNNING, "15.3.7",
     "The number of pvars may grow; no index changes or goes away: over MPI_Finalize.")
{
    stays(mpi_end, "MPI_Finalize");
}

static MPI_T_pvar_session kept_session;

TEST(pvar_inactive_has_a_code, RUNNING, "15.3.7",
     "A variable that is no longer active answers with an error code, and no more: read after MPI_Finalize.")
{
    static MPI_T_pvar_handle handles[4096];
    static unsigned long long values[VALUES_MOST];
    int n = 0, count;
    NEED(MPI_T_pvar_session_create(&kept_session));
    EACH_PVAR(p)
        if (n < 4096 && pvar_handle(p, kept_session, &handles[n], &count))
            n++;
    some(n, "variable that can be read");
    mpi_end();
    for (int i = 0; i < n; i++)
        MPI_T_pvar_read(kept_session, handles[i], values);
    for (int i = 0; i < n; i++)
        MPI_T_pvar_handle_free(kept_session, &handles[i]);
    MPI_T_pvar_session_free(&kept_session);
    EXPECT_CODE(MPI_T_finalize(), MPI_SUCCESS, "the interface");
}
