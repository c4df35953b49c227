/* What holds for the whole interface: when it may be called, what errors do, levels, bindings, codes, PMPI_T. */
#include "survey.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looks at everything once; the calls must succeed. */
static void look_around(const char *when)
{
    int pvars = -1, cvars = -1, categories = -1, verbosity, described = 0;
    EXPECT_CODE(MPI_T_pvar_get_num(&pvars), MPI_SUCCESS, "%s", when);
    EXPECT_CODE(MPI_T_cvar_get_num(&cvars), MPI_SUCCESS, "%s", when);
    EXPECT_CODE(MPI_T_category_get_num(&categories), MPI_SUCCESS, "%s", when);
    expect(pvars >= 0 && cvars >= 0 && categories >= 0, "%s: %d pvars, %d cvars, %d categories", when, pvars, cvars,
           categories);
    EACH_PVAR(p)
        expect(p->name[0], "%s: pvar %d has no name", when, p->index);
    for (int i = 0; i < cvars; i++)
        described += MPI_T_cvar_get_info(i, NULL, NULL, &verbosity, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS;
    expect(described > 0 || cvars <= 0, "%s: none of %d cvars can be asked for", when, cvars);
}

TEST(before_mpi_init, TOOL, "15.3", "The routines can be called before MPI is initialized.")
{
    look_around("before MPI_Init");
    EXPECT_CODE(MPI_T_finalize(), MPI_SUCCESS, "the interface");
}

TEST(after_mpi_finalize, RUNNING, "15.3", "The routines can be called after MPI is finalized.")
{
    mpi_end();
    look_around("after MPI_Finalize");
    EXPECT_CODE(MPI_T_finalize(), MPI_SUCCESS, "the interface");
}

static int handler_calls;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handler_calls++;
}

/* Errors of every sort. */
static void err_often(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index, length = 0;
    MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_cvar_get_index("no such variable", &index);
    MPI_T_category_get_index("no such category", &index);
    MPI_T_category_get_info(1 << 30, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    MPI_T_cvar_get_info(1 << 30, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    MPI_T_pvar_get_info(1 << 30, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
}

TEST(errors_are_not_fatal, RUNNING, "15.3", "A call that fails is not fatal and does not impact MPI.")
{
    int value = 1, sum = 0;
    err_often();
    expect(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS && sum == 1,
           "MPI_Allreduce fails afterwards");
}

TEST(no_error_handler, RUNNING, "15.3.10", "No call invokes an MPI error handler, whatever it returns.")
{
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    err_often();
    EACH_PVAR(p) {
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        int count;
        unsigned long long values[VALUES_MOST];
        if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS || !pvar_handle(p, session, &handle, &count))
            continue;
        MPI_T_pvar_start(session, handle);
        MPI_T_pvar_stop(session, handle);
        MPI_T_pvar_read(session, handle, values);
        MPI_T_pvar_reset(session, handle);
        MPI_T_pvar_readreset(session, handle, values);
        MPI_T_pvar_session_free(&session);
    }
    expect(handler_calls == 0, "the error handler ran %d times", handler_calls);
}

TEST(calls_are_local, PAIR, "15.3", "All routines have local semantics: no other process takes part.")
{
    int rank, token = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        look_around("while the other process waits");
    /* the other one is in here all the time, and would be for ever if a routine waited for it */
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

struct meaning {
    char name[NAME_MOST];
    int verbosity, class, bind, readonly, continuous, atomic, datatype_bytes, items;
};

static struct meaning meaning_of(const struct pvar *p)
{
    struct meaning m;
    memset(&m, 0, sizeof m);
    strcpy(m.name, p->name);
    m.verbosity = p->verbosity, m.class = p->class, m.bind = p->bind, m.readonly = p->readonly;
    m.continuous = p->continuous, m.atomic = p->atomic, m.datatype_bytes = (int)type_bytes(p->datatype);
    if (p->datatype == MPI_INT && p->enumtype != MPI_T_ENUM_NULL)
        MPI_T_enum_get_info(p->enumtype, &m.items, NULL, NULL);
    return m;
}

TEST(same_pvar_in_all_processes, PAIR, "15.3.7",
     "Variables of one name and class have the same verbosity, type, binding and flags in all processes.")
{
    struct meaning mine, theirs;
    int rank, more = 1, compared = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const struct pvar *p = pvar_next(NULL);
    while (rank == 0 && p) {
        mine = meaning_of(p);
        MPI_Send(&mine, sizeof mine, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        p = pvar_next(p);
    }
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    while (rank == 1 && more) {
        MPI_Status status;
        MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &more);
        const struct pvar *same = more ? pvar_named(theirs.name, theirs.class) : NULL;
        if (!same)
            continue;
        mine = meaning_of(same);
        expect(memcmp(&mine, &theirs, sizeof mine) == 0, "%s differs between processes", same->name);
        compared++;
    }
    if (rank == 1)
        some(compared, "performance variables");
}

/* ---- levels and bindings ----------------------------------------------------------------------------------------- */

TEST(verbosity_is_monotonic, BARE, "15.3.1", "The verbosity constants grow from USER_BASIC to MPIDEV_ALL.")
{
    static const int levels[] = {
        MPI_T_VERBOSITY_USER_BASIC,   MPI_T_VERBOSITY_USER_DETAIL,   MPI_T_VERBOSITY_USER_ALL,
        MPI_T_VERBOSITY_TUNER_BASIC,  MPI_T_VERBOSITY_TUNER_DETAIL,  MPI_T_VERBOSITY_TUNER_ALL,
        MPI_T_VERBOSITY_MPIDEV_BASIC, MPI_T_VERBOSITY_MPIDEV_DETAIL, MPI_T_VERBOSITY_MPIDEV_ALL,
    };
    for (size_t i = 1; i < sizeof levels / sizeof levels[0]; i++)
        expect(levels[i - 1] < levels[i], "level %zu is not over level %zu", i, i - 1);
}

TEST(verbosity_of_pvars, RUNNING, "15.3.1", "The verbosity of a pvar is one of the nine levels.")
{
    int found = 0;
    EACH_PVAR(p) {
        expect(is_verbosity(p->verbosity), "%s has verbosity %d", p->name, p->verbosity);
        found++;
    }
    some(found, "performance variables");
}

TEST(verbosity_of_cvars, RUNNING, "15.3.1", "The verbosity of a cvar is one of the nine levels.")
{
    int count = 0, verbosity;
    NEED(MPI_T_cvar_get_num(&count));
    for (int i = 0; i < count; i++)
        if (MPI_T_cvar_get_info(i, NULL, NULL, &verbosity, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS)
            expect(is_verbosity(verbosity), "cvar %d has verbosity %d", i, verbosity);
    some(count, "control variables");
}

TEST(bind_of_pvars, RUNNING, "15.3.2", "The binding of a pvar is one of the constants.")
{
    int found = 0;
    EACH_PVAR(p) {
        expect(is_bind(p->bind), "%s has bind %d", p->name, p->bind);
        found++;
    }
    some(found, "performance variables");
}

TEST(bind_of_cvars, RUNNING, "15.3.2", "The binding of a cvar is one of the constants.")
{
    int count = 0, bind;
    NEED(MPI_T_cvar_get_num(&count));
    for (int i = 0; i < count; i++)
        if (MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL) == MPI_SUCCESS)
            expect(is_bind(bind), "cvar %d has bind %d", i, bind);
    some(count, "control variables");
}

PVAR_TEST(bind_is_per_object, "15.3.2",
          "A variable is bound to exactly one object: what happens on another does not change it.",
          pvar_counts(p) && p->bind == MPI_T_BIND_MPI_COMM && p->class != MPI_T_PVAR_CLASS_TIMER,
          "variable that counts what is done with a communicator")
{
    static MPI_Comm other = MPI_COMM_NULL;
    MPI_T_pvar_handle there;
    int count_there;
    if (other == MPI_COMM_NULL)
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
    EXPECT_CODE(MPI_T_pvar_handle_alloc(session, p->index, &other, &there, &count_there), MPI_SUCCESS, "%s", p->name);
    MPI_T_pvar_start(session, handle);
    MPI_T_pvar_start(session, there);
    double before = pvar_sum(p, session, there, count_there);
    traffic(3);
    expect(pvar_sum(p, session, there, count_there) == before, "%s of a duplicate grew by calls on the original",
           p->name);
    expect(pvar_sum(p, session, handle, count) > 0, "%s did not grow", p->name);
}

/* ---- return codes ------------------------------------------------------------------------------------------------ */

static const int codes[] = {
    MPI_T_ERR_INVALID,           MPI_T_ERR_MEMORY,          MPI_T_ERR_NOT_INITIALIZED,  MPI_T_ERR_CANNOT_INIT,
    MPI_T_ERR_INVALID_INDEX,     MPI_T_ERR_INVALID_HANDLE,  MPI_T_ERR_INVALID_NAME,     MPI_T_ERR_INVALID_SESSION,
    MPI_T_ERR_OUT_OF_HANDLES,    MPI_T_ERR_OUT_OF_SESSIONS, MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_ERR_CVAR_SET_NEVER,
    MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_ERR_PVAR_NO_WRITE,   MPI_T_ERR_PVAR_NO_ATOMIC,
};

enum { CODES = sizeof codes / sizeof codes[0] };

TEST(codes_are_unique, BARE, "15.3.10", "The return codes are unique.")
{
    for (int i = 0; i < CODES; i++)
        for (int j = 0; j < i; j++)
            expect(codes[i] != codes[j], "%s and %s are one number", code_name(codes[i]), code_name(codes[j]));
}

TEST(codes_are_in_range, BARE, "15.3.10", "The return codes are over MPI_SUCCESS and at most MPI_ERR_LASTCODE.")
{
    for (int i = 0; i < CODES; i++)
        expect(codes[i] > MPI_SUCCESS && codes[i] <= MPI_ERR_LASTCODE, "%s is %d", code_name(codes[i]), codes[i]);
}

TEST(codes_are_no_classes, BARE, "15.3.10", "The return codes do not overlap with MPI's error classes.")
{
    static const int classes[] = {
        MPI_ERR_BUFFER,  MPI_ERR_COUNT,   MPI_ERR_TYPE,     MPI_ERR_TAG,      MPI_ERR_COMM,      MPI_ERR_RANK,
        MPI_ERR_REQUEST, MPI_ERR_ROOT,    MPI_ERR_GROUP,    MPI_ERR_OP,       MPI_ERR_TOPOLOGY,  MPI_ERR_DIMS,
        MPI_ERR_ARG,     MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE, MPI_ERR_OTHER,    MPI_ERR_INTERN,    MPI_ERR_PENDING,
        MPI_ERR_ACCESS,  MPI_ERR_AMODE,   MPI_ERR_ASSERT,   MPI_ERR_BAD_FILE, MPI_ERR_BASE,      MPI_ERR_CONVERSION,
        MPI_ERR_DISP,    MPI_ERR_FILE,    MPI_ERR_INFO,     MPI_ERR_INFO_KEY, MPI_ERR_IO,        MPI_ERR_KEYVAL,
        MPI_ERR_NAME,    MPI_ERR_NO_MEM,  MPI_ERR_NO_SPACE, MPI_ERR_NOT_SAME, MPI_ERR_PORT,      MPI_ERR_QUOTA,
        MPI_ERR_SERVICE, MPI_ERR_SIZE,    MPI_ERR_SPAWN,    MPI_ERR_WIN,      MPI_ERR_IN_STATUS,
    };
    for (int i = 0; i < CODES; i++)
        for (size_t j = 0; j < sizeof classes / sizeof classes[0]; j++)
            expect(codes[i] != classes[j], "%s is also error class %d", code_name(codes[i]), classes[j]);
}

/* ---- the profiling interface ------------------------------------------------------------------------------------- */

static const char *const calls_3[] = {
    "init_thread",       "finalize",           "enum_get_info",      "enum_get_item",      "cvar_get_num",
    "cvar_get_info",     "cvar_get_index",     "cvar_handle_alloc",  "cvar_handle_free",   "cvar_read",
    "cvar_write",        "pvar_get_num",       "pvar_get_info",      "pvar_get_index",     "pvar_session_create",
    "pvar_session_free", "pvar_handle_alloc",  "pvar_handle_free",   "pvar_start",         "pvar_stop",
    "pvar_read",         "pvar_write",         "pvar_reset",         "pvar_readreset",     "category_get_num",
    "category_get_info", "category_get_index", "category_get_cvars", "category_get_pvars", "category_get_categories",
    "category_changed"};

static const char *const calls_4[] = {"category_get_num_events",
                                      "category_get_events",
                                      "event_get_num",
                                      "event_get_info",
                                      "event_get_index",
                                      "event_handle_alloc",
                                      "event_handle_free",
                                      "event_handle_get_info",
                                      "event_handle_set_info",
                                      "event_register_callback",
                                      "event_callback_get_info",
                                      "event_callback_set_info",
                                      "event_set_dropped_handler",
                                      "event_read",
                                      "event_copy",
                                      "event_get_timestamp",
                                      "event_get_source",
                                      "source_get_num",
                                      "source_get_info",
                                      "source_get_timestamp"};

static void symbols_expect(const char *prefix, const char *const *calls, size_t count)
{
    char name[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, calls[i]);
        expect(dlsym(RTLD_DEFAULT, name) != NULL, "there is no %s", name);
    }
}

TEST(profiling_names, BARE, "15.3.11", "Every routine of MPI 3 is there under PMPI_T_, too.")
{
    symbols_expect("MPI_T_", calls_3, sizeof calls_3 / sizeof calls_3[0]);
    symbols_expect("PMPI_T_", calls_3, sizeof calls_3 / sizeof calls_3[0]);
}

TEST(event_calls_exist, BARE, "15.3.8", "The 20 routines for events and sources that MPI 4 added are there.")
{
    symbols_expect("MPI_T_", calls_4, sizeof calls_4 / sizeof calls_4[0]);
}

TEST(profiling_names_of_events, BARE, "15.3.11", "The 20 routines that MPI 4 added are there under PMPI_T_, too.")
{
    symbols_expect("PMPI_T_", calls_4, sizeof calls_4 / sizeof calls_4[0]);
}

TEST(profiling_is_the_same, RUNNING, "15.3.11", "A call under PMPI_T_ does what the one under MPI_T_ does.")
{
    int a = -1, b = -2, index = -1, same = -2, found = 0;
    NEED(MPI_T_pvar_get_num(&a));
    NEED(PMPI_T_pvar_get_num(&b));
    expect(a == b, "pvar_get_num: %d, and %d under PMPI_T_", a, b);
    NEED(MPI_T_cvar_get_num(&a));
    NEED(PMPI_T_cvar_get_num(&b));
    expect(a == b, "cvar_get_num: %d, and %d under PMPI_T_", a, b);
    EACH_PVAR(p) {
        MPI_T_pvar_get_index(p->name, p->class, &index);
        PMPI_T_pvar_get_index(p->name, p->class, &same);
        expect(index == same, "%s: index %d, and %d under PMPI_T_", p->name, index, same);
    }
    EACH_COUNTING_PVAR(p) {
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        int count;
        NEED(PMPI_T_pvar_session_create(&session));
        need(pvar_handle(p, session, &handle, &count), "no handle of %s", p->name);
        EXPECT_CODE(PMPI_T_pvar_start(session, handle), MPI_SUCCESS, "%s", p->name);
        double before = pvar_sum(p, session, handle, count);
        traffic(2);
        expect(pvar_sum(p, session, handle, count) > before, "%s does not grow when started by PMPI_T_", p->name);
        EXPECT_CODE(PMPI_T_pvar_stop(session, handle), MPI_SUCCESS, "%s", p->name);
        MPI_T_pvar_session_free(&session);
        found++;
    }
    (void)found;
}
