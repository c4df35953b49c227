/* Control variables. */
#include "survey.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct cvar {
    int index;
    char name[NAME_MOST];
    int verbosity, bind, scope;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
};

static bool cvar_at(int index, struct cvar *c)
{
    int length = sizeof c->name;
    memset(c, 0, sizeof *c);
    c->index = index;
    return MPI_T_cvar_get_info(index, c->name, &length, &c->verbosity, &c->datatype, &c->enumtype, NULL, NULL, &c->bind,
                               &c->scope) == MPI_SUCCESS;
}

static int cvars(void)
{
    int count = 0;
    NEED(MPI_T_cvar_get_num(&count));
    some(count, "control variables");
    return count;
}

static bool cvar_next(struct cvar *c)
{
    int n = cvars();
    for (int i = c->index + 1; i < n; i++)
        if (cvar_at(i, c))
            return true;
    return false;
}

#define EACH_CVAR(c) for (struct cvar c = {.index = -1}; cvar_next(&c);)

/* A variable with a handle: one that needs no object. */
struct held {
    struct cvar c;
    MPI_T_cvar_handle handle;
    int count;
};

/* The next one; the handle of the one before is freed. */
static bool held_next(struct held *h)
{
    if (h->handle != MPI_T_CVAR_HANDLE_NULL)
        MPI_T_cvar_handle_free(&h->handle);
    while (cvar_next(&h->c))
        if (h->c.bind == MPI_T_BIND_NO_OBJECT &&
            MPI_T_cvar_handle_alloc(h->c.index, NULL, &h->handle, &h->count) == MPI_SUCCESS) {
            if (h->count > 0)
                return true;
            MPI_T_cvar_handle_free(&h->handle);
        }
    return false;
}

#define EACH_HELD(h) for (struct held h = {.c.index = -1, .handle = MPI_T_CVAR_HANDLE_NULL}; held_next(&h);)

TEST(cvar_info_every_index, RUNNING, "15.3.6", "Every index below the number of cvars can be asked for.")
{
    struct cvar c;
    for (int i = 0, n = cvars(); i < n; i++)
        expect(cvar_at(i, &c), "MPI_T_cvar_get_info fails for %d of %d", i, n);
}

TEST(cvar_index_range, RUNNING, "15.3.6", "Any other index of a cvar: MPI_T_ERR_INVALID_INDEX.")
{
    int n = cvars(), out[] = {n, n + 1, -1, INT_MAX, INT_MIN}, count;
    MPI_T_cvar_handle handle;
    for (int i = 0; i < 5; i++) {
        EXPECT_CODE(MPI_T_cvar_get_info(out[i], NULL, NULL, &count, NULL, NULL, NULL, NULL, NULL, NULL),
                    MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(MPI_T_cvar_handle_alloc(out[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
    }
}

TEST(cvar_names, RUNNING, "15.3.6", "A cvar has a name of at least length one.")
{
    EACH_CVAR(c)
        expect(c.name[0], "cvar %d has no name", c.index);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cvar *)a)->name, ((const struct cvar *)b)->name);
}

TEST(cvar_names_are_unique, RUNNING, "15.3.6", "The name of a cvar is unique among the cvars.")
{
    int n = cvars(), good = 0;
    struct cvar *all = calloc((size_t)n, sizeof *all);
    need(all != NULL, "no memory");
    for (int i = 0; i < n; i++)
        good += cvar_at(i, &all[good]);
    qsort(all, (size_t)good, sizeof *all, by_name);
    for (int i = 1; i < good; i++)
        expect(strcmp(all[i - 1].name, all[i].name) != 0, "%s is the name of cvars %d and %d", all[i].name,
               all[i - 1].index, all[i].index);
}

TEST(cvar_get_index, RUNNING, "15.3.6", "MPI_T_cvar_get_index finds each cvar by its name.")
{
    EACH_CVAR(c) {
        int index = -1;
        EXPECT_CODE(MPI_T_cvar_get_index(c.name, &index), MPI_SUCCESS, "%s", c.name);
        expect(index == c.index, "%s is cvar %d, and found as %d", c.name, c.index, index);
    }
}

TEST(cvar_get_index_unknown, RUNNING, "15.3.6", "A name that no cvar has: MPI_T_ERR_INVALID_NAME.")
{
    int index;
    EXPECT_CODE(MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME, "an unknown name");
    EXPECT_CODE(MPI_T_cvar_get_index("", &index), MPI_T_ERR_INVALID_NAME, "an empty name");
    EXPECT_CODE(MPI_T_cvar_get_index("mpi", &index), MPI_T_ERR_INVALID_NAME, "the begin of a name");
}

TEST(cvar_info_is_constant, RUNNING, "15.3.6", "What MPI_T_cvar_get_info said of a variable, it says again.")
{
    struct cvar b;
    EACH_CVAR(a)
        expect(cvar_at(a.index, &b) && memcmp(&a, &b, sizeof a) == 0, "%s is described otherwise the next time",
               a.name);
}

TEST(cvar_info_nulls, RUNNING, "15.3.6", "OUT parameters that are NULL are ignored: MPI_T_cvar_get_info.")
{
    EACH_CVAR(c) {
        char name[64];
        int length = 64;
        EXPECT_CODE(MPI_T_cvar_get_info(c.index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS,
                    "%s", c.name);
        EXPECT_CODE(MPI_T_cvar_get_info(c.index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS,
                    "%s", c.name);
    }
}

TEST(cvar_scopes, RUNNING, "15.3.6", "The scope of a cvar is one of the constants.")
{
    EACH_CVAR(c)
        expect(c.scope == MPI_T_SCOPE_CONSTANT || c.scope == MPI_T_SCOPE_READONLY || c.scope == MPI_T_SCOPE_LOCAL ||
                   c.scope == MPI_T_SCOPE_GROUP || c.scope == MPI_T_SCOPE_GROUP_EQ || c.scope == MPI_T_SCOPE_ALL ||
                   c.scope == MPI_T_SCOPE_ALL_EQ,
               "%s has scope %d", c.name, c.scope);
}

TEST(cvar_enum_is_for_int, RUNNING, "15.3.6", "A cvar that is not of type MPI_INT has no enumeration.")
{
    EACH_CVAR(c)
        if (c.datatype != MPI_INT)
            expect(c.enumtype == MPI_T_ENUM_NULL, "%s is no MPI_INT and has an enumeration", c.name);
}

TEST(cvar_handles, RUNNING, "15.3.6",
     "Each active cvar without a binding gives a handle and a count; freed, the handle is MPI_T_CVAR_HANDLE_NULL.")
{
    int found = 0;
    EACH_CVAR(c) {
        MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
        int count = -1;
        if (c.bind != MPI_T_BIND_NO_OBJECT)
            continue;
        /* the library's may have become inactive, mpit's do not */
        if (MPI_T_cvar_handle_alloc(c.index, NULL, &handle, &count) != MPI_SUCCESS) {
            expect(strncmp(c.name, "mpit_", 5) != 0, "there is no handle of %s", c.name);
            continue;
        }
        expect(count > 0 && handle != MPI_T_CVAR_HANDLE_NULL, "%s: count %d", c.name, count);
        EXPECT_CODE(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS, "%s", c.name);
        expect(handle == MPI_T_CVAR_HANDLE_NULL, "%s: the freed handle is not NULL", c.name);
        found++;
    }
    some(found, "control variables that give a handle");
}

TEST(cvar_reads, RUNNING, "15.3.6", "A read fills count elements of the type, and not a byte more.")
{
    static unsigned char buffer[1 << 20];
    int found = 0;
    EACH_HELD(h) {
        size_t bytes = (size_t)h.count * type_bytes(h.c.datatype);
        if (!bytes || bytes >= sizeof buffer)
            continue;
        memset(buffer, 0x5a, bytes + 16);
        /* an inactive variable answers with a code */
        bool read = MPI_T_cvar_read(h.handle, buffer) == MPI_SUCCESS;
        found += read;
        for (size_t at = bytes; at < bytes + 16; at++)
            expect(buffer[at] == 0x5a, "%s writes beyond its %zu bytes", h.c.name, bytes);
        if (read && h.c.datatype == MPI_CHAR)
            expect(memchr(buffer, '\0', bytes) != NULL, "%s is not terminated", h.c.name);
    }
    some(found, "control variable that can be read");
}

static bool is_constant(const struct cvar *c)
{
    return c->scope == MPI_T_SCOPE_CONSTANT || c->scope == MPI_T_SCOPE_READONLY;
}

TEST(cvar_write_readonly, RUNNING, "15.3.6",
     "Writing a cvar of scope CONSTANT or READONLY: MPI_T_ERR_CVAR_SET_NEVER, or _NOT_NOW.")
{
    static unsigned char buffer[1 << 16];
    int found = 0;
    EACH_HELD(h) {
        if (!is_constant(&h.c) || (size_t)h.count * type_bytes(h.c.datatype) >= sizeof buffer ||
            MPI_T_cvar_read(h.handle, buffer) != MPI_SUCCESS)
            continue;
        int code = MPI_T_cvar_write(h.handle, buffer);
        expect(code == MPI_T_ERR_CVAR_SET_NEVER || code == MPI_T_ERR_CVAR_SET_NOT_NOW,
               "a write of %s, which is read-only: %s", h.c.name, code_name(code));
        found++;
    }
    some(found, "read-only control variables");
}

TEST(cvar_write_is_read, RUNNING, "15.3.6", "What a write of a cvar accepted, a read returns, by any handle.")
{
    int found = 0;
    EACH_HELD(h) {
        MPI_T_cvar_handle other;
        int count;
        unsigned long long was = 0, is = 0;
        if (is_constant(&h.c) || h.c.datatype == MPI_CHAR || h.count != 1 ||
            MPI_T_cvar_read(h.handle, &was) != MPI_SUCCESS)
            continue;
        /* numbers get another value; flags and enumerations the one that they have */
        bool number = h.c.datatype != MPI_INT && h.c.datatype != MPI_DOUBLE && was < 1000000;
        unsigned long long wanted = number ? was + 1 : was;
        if (MPI_T_cvar_write(h.handle, &wanted) != MPI_SUCCESS)
            continue;
        NEED(MPI_T_cvar_handle_alloc(h.c.index, NULL, &other, &count));
        EXPECT_CODE(MPI_T_cvar_read(other, &is), MPI_SUCCESS, "%s", h.c.name);
        expect(is == wanted, "%s: %llu was written, %llu is read", h.c.name, wanted, is);
        MPI_T_cvar_write(h.handle, &was);
        MPI_T_cvar_handle_free(&other);
        found++;
    }
    some(found, "control variables that can be written");
}

TEST(cvar_write_rejected, RUNNING, "15.3.6", "A write that is refused leaves the value as it was.")
{
    int found = 0;
    EACH_HELD(h) {
        int was = 0, is = 0, wild = 0x7ffffff0;
        if (h.c.datatype != MPI_INT || h.count != 1 || MPI_T_cvar_read(h.handle, &was) != MPI_SUCCESS)
            continue;
        if (MPI_T_cvar_write(h.handle, &wild) != MPI_SUCCESS) {
            EXPECT_CODE(MPI_T_cvar_read(h.handle, &is), MPI_SUCCESS, "%s", h.c.name);
            expect(is == was, "%s was %d, and is %d after a write that failed", h.c.name, was, is);
            found++;
        } else {
            MPI_T_cvar_write(h.handle, &was);
        }
    }
    some(found, "control variables that refuse a value");
}

TEST(cvar_texts, RUNNING, "15.3.6", "A cvar of type MPI_CHAR is a text that ends within its count.")
{
    int found = 0;
    EACH_HELD(h) {
        char *text = h.c.datatype == MPI_CHAR ? malloc((size_t)h.count) : NULL;
        if (text) {
            memset(text, 'x', (size_t)h.count);
            if (MPI_T_cvar_read(h.handle, text) == MPI_SUCCESS) {
                expect(memchr(text, '\0', (size_t)h.count) != NULL, "%s does not end within %d characters", h.c.name,
                       h.count);
                found++;
            }
        }
        free(text);
    }
    some(found, "control variables that are texts");
}

TEST(cvar_refusals, RUNNING, "15.3.10", "A write at the wrong time: MPI_T_ERR_CVAR_SET_NOT_NOW or _NEVER.")
{
    const struct {
        const char *name;
        const void *value;
        int code;
    } refusals[] = {{"mpit_filter", "p2p", MPI_T_ERR_CVAR_SET_NEVER},
                    {"mpit_papi_events", "PAPI_TOT_CYC", MPI_T_ERR_CVAR_SET_NEVER},
                    {"mpit_sde", &(int){1}, MPI_T_ERR_CVAR_SET_NEVER},
                    {"mpit_sample_hz", &(int){100}, MPI_T_ERR_CVAR_SET_NEVER}};
    int found = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        int index, count;
        MPI_T_cvar_handle handle;
        if (MPI_T_cvar_get_index(refusals[i].name, &index) != MPI_SUCCESS)
            continue; /* another library */
        NEED(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
        EXPECT_CODE(MPI_T_cvar_write(handle, refusals[i].value), refusals[i].code, "%s", refusals[i].name);
        MPI_T_cvar_handle_free(&handle);
        found++;
    }
    some(found, "control variables that refuse a write");
}

TEST(cvar_bad_handles, RUNNING, "15.3.10", "MPI_T_CVAR_HANDLE_NULL: MPI_T_ERR_INVALID_HANDLE.")
{
    MPI_T_cvar_handle none = MPI_T_CVAR_HANDLE_NULL;
    unsigned long long value = 0;
    EXPECT_CODE(MPI_T_cvar_read(none, &value), MPI_T_ERR_INVALID_HANDLE, "NULL");
    EXPECT_CODE(MPI_T_cvar_write(none, &value), MPI_T_ERR_INVALID_HANDLE, "NULL");
    EXPECT_CODE(MPI_T_cvar_handle_free(&none), MPI_T_ERR_INVALID_HANDLE, "NULL");
}

TEST(cvar_indices_stay, BARE, "15.3.6", "The number of cvars may grow; an index never changes its meaning.")
{
    int provided, n, now = 0;
    NEED(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    NEED(MPI_T_cvar_get_num(&n));
    some(n, "control variables before MPI_Init");
    struct cvar *before = calloc((size_t)n, sizeof *before), c;
    need(before != NULL, "no memory");
    for (int i = 0; i < n; i++)
        cvar_at(i, &before[i]);
    mpi_begin();
    NEED(MPI_T_cvar_get_num(&now));
    expect(now >= n, "%d before MPI_Init, %d after it", n, now);
    for (int i = 0; i < n; i++)
        if (before[i].name[0]) {
            expect(cvar_at(i, &c), "%s cannot be asked for any more", before[i].name);
            expect(strcmp(c.name, before[i].name) == 0, "cvar %d was %s, is %s", i, before[i].name, c.name);
        }
}

struct meaning {
    char name[NAME_MOST];
    int verbosity, bind, scope;
    size_t bytes; /* of the type: handles of types differ between processes */
};

static struct meaning meaning_of(const struct cvar *c)
{
    struct meaning m;
    memset(&m, 0, sizeof m);
    strcpy(m.name, c->name);
    m.verbosity = c->verbosity, m.bind = c->bind, m.scope = c->scope, m.bytes = type_bytes(c->datatype);
    return m;
}

TEST(same_cvar_in_all_processes, PAIR, "15.3.6",
     "Cvars of one name have the same verbosity, type, binding and scope in all processes.")
{
    int rank, bytes = 1, n = cvars();
    struct cvar c;
    struct meaning mine, theirs;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 0 && i < n; i++)
        if (cvar_at(i, &c)) {
            mine = meaning_of(&c);
            MPI_Send(&mine, sizeof mine, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        }
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    while (rank == 1 && bytes) {
        MPI_Status status;
        int index;
        MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        if (!bytes || MPI_T_cvar_get_index(theirs.name, &index) != MPI_SUCCESS || !cvar_at(index, &c))
            continue;
        mine = meaning_of(&c);
        expect(memcmp(&mine, &theirs, sizeof mine) == 0, "%s differs between processes", c.name);
    }
}
