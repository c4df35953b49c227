/* Initialization and finalization: counted, in every order with MPI's own, from several threads. */
#include "survey.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

static bool is_level(int level)
{
    return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SERIALIZED ||
           level == MPI_THREAD_MULTIPLE;
}

static void tool_begin(void)
{
    int provided = INT_MIN;
    EXPECT_CODE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "the interface");
    expect(is_level(provided), "provided is %d", provided);
}

static void tool_end(void)
{
    EXPECT_CODE(MPI_T_finalize(), MPI_SUCCESS, "the interface");
}

/* The interface does something. */
static void tool_works(const char *when)
{
    int pvars = -1, cvars = -1;
    EXPECT_CODE(MPI_T_pvar_get_num(&pvars), MPI_SUCCESS, "%s", when);
    EXPECT_CODE(MPI_T_cvar_get_num(&cvars), MPI_SUCCESS, "%s", when);
    expect(pvars >= 0 && cvars >= 0, "%s: %d pvars, %d cvars", when, pvars, cvars);
    EACH_PVAR(p)
        expect(p->name[0], "a pvar without a name %s", when);
}

static void tool_is_off(const char *when)
{
    int count;
    EXPECT_CODE(MPI_T_pvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED, "%s", when);
    EXPECT_CODE(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED, "%s", when);
}

#define EARLY(call) EXPECT_CODE(call, MPI_T_ERR_NOT_INITIALIZED, "%s", "the interface, which is not initialized")

TEST(refused_before_init_queries, BARE, "15.3.4",
     "A query before the interface is initialized returns MPI_T_ERR_NOT_INITIALIZED.")
{
    int n, length = 0;
    EARLY(MPI_T_pvar_get_num(&n));
    EARLY(MPI_T_cvar_get_num(&n));
    EARLY(MPI_T_category_get_num(&n));
    EARLY(MPI_T_category_changed(&n));
    EARLY(MPI_T_pvar_get_info(0, NULL, &length, &n, &n, NULL, NULL, NULL, NULL, &n, &n, &n, &n));
    EARLY(MPI_T_cvar_get_info(0, NULL, &length, &n, NULL, NULL, NULL, NULL, &n, &n));
    EARLY(MPI_T_category_get_info(0, NULL, &length, NULL, NULL, &n, &n, &n));
    EARLY(MPI_T_pvar_get_index("a", MPI_T_PVAR_CLASS_COUNTER, &n));
    EARLY(MPI_T_cvar_get_index("a", &n));
    EARLY(MPI_T_category_get_index("a", &n));
    EARLY(MPI_T_category_get_cvars(0, 1, &n));
    EARLY(MPI_T_category_get_pvars(0, 1, &n));
    EARLY(MPI_T_category_get_categories(0, 1, &n));
    EARLY(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, NULL, &length));
    EARLY(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &n, NULL, &length));
}

TEST(refused_before_init_access, BARE, "15.3.4",
     "A call that makes or uses a handle before the interface is initialized returns MPI_T_ERR_NOT_INITIALIZED.")
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_cvar_handle control = MPI_T_CVAR_HANDLE_NULL;
    unsigned long long value = 0;
    int count;
    EARLY(MPI_T_pvar_session_create(&session));
    EARLY(MPI_T_pvar_session_free(&session));
    EARLY(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count));
    EARLY(MPI_T_pvar_handle_free(session, &handle));
    EARLY(MPI_T_pvar_start(session, handle));
    EARLY(MPI_T_pvar_stop(session, handle));
    EARLY(MPI_T_pvar_read(session, handle, &value));
    EARLY(MPI_T_pvar_write(session, handle, &value));
    EARLY(MPI_T_pvar_reset(session, handle));
    EARLY(MPI_T_pvar_readreset(session, handle, &value));
    EARLY(MPI_T_cvar_handle_alloc(0, NULL, &control, &count));
    EARLY(MPI_T_cvar_handle_free(&control));
    EARLY(MPI_T_cvar_read(control, &value));
    EARLY(MPI_T_cvar_write(control, &value));
}

TEST(provided_is_a_level, BARE, "15.3.4", "Whatever is required, provided is one of the four levels of thread support.")
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 4; i++) {
        int provided = INT_MIN;
        EXPECT_CODE(MPI_T_init_thread(levels[i], &provided), MPI_SUCCESS, "level %d", levels[i]);
        expect(is_level(provided), "required %d: provided is %d", levels[i], provided);
    }
}

TEST(init_is_counted, BARE, "15.3.4",
     "Initializing again only counts: the interface stays until it is finalized as often.")
{
    tool_begin();
    tool_begin();
    tool_begin();
    tool_end();
    tool_works("after 3 inits and 1 finalize");
    tool_end();
    tool_works("after 3 inits and 2 finalizes");
    tool_end();
    tool_is_off("after 3 inits and 3 finalizes");
}

TEST(finalize_without_init, BARE, "15.3.4", "Finalizing what was not initialized returns an error code.")
{
    EARLY(MPI_T_finalize());
}

TEST(finalize_too_often, BARE, "15.3.4", "Finalizing more often than initializing returns an error code.")
{
    tool_begin();
    tool_end();
    EXPECT_CODE(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED, "what is finalized");
    tool_begin();
    tool_works("when initialized again");
    tool_end();
}

TEST(init_after_finalize, BARE, "15.3.4", "The interface can be initialized again after it was finalized.")
{
    for (int i = 0; i < 3; i++) {
        tool_begin();
        tool_works("after another init");
        tool_end();
        tool_is_off("after finalize");
    }
}

TEST(init_a_hundred_times, BARE, "15.3.4", "The pair of init and finalize can be repeated.")
{
    for (int i = 0; i < 100; i++) {
        tool_begin();
        tool_end();
    }
    tool_begin();
    tool_works("the 101st time");
}

TEST(init_again_while_mpi_runs, BARE, "15.3.4", "While MPI runs, the interface can be finalized and initialized again.")
{
    mpi_begin();
    for (int i = 0; i < 3; i++) {
        tool_begin();
        tool_works("in MPI");
        tool_end();
        traffic(1);
    }
    mpi_end();
}

/* Six orders of the two pairs: m M MPI's init and finalize, t T those of the interface. */
static void order_run(const char *order)
{
    for (; *order; order++) {
        if (*order == 'm')
            mpi_begin();
        else if (*order == 'M')
            mpi_end();
        else if (*order == 't')
            tool_begin();
        else
            tool_end();
        if (*order == 't')
            tool_works("after MPI_T_init_thread");
        if (*order == 'm')
            traffic(1);
    }
}

#define ORDER_TEST(name, order, sentence)                                                                              \
    TEST(name, BARE, "15.3.4", sentence)                                                                               \
    {                                                                                                                  \
        order_run(order);                                                                                              \
    }

ORDER_TEST(order_tool_then_mpi, "tTmM", "Initialized and finalized before MPI is.")
ORDER_TEST(order_crossed_early, "tmTM", "Initialized before MPI, finalized while it runs.")
ORDER_TEST(order_around_mpi, "tmMT", "Initialized before MPI, finalized after it.")
ORDER_TEST(order_inside_mpi, "mtTM", "Initialized and finalized while MPI runs.")
ORDER_TEST(order_crossed_late, "mtMT", "Initialized while MPI runs, finalized after it.")
ORDER_TEST(order_mpi_then_tool, "mMtT", "Initialized and finalized after MPI was finalized.")
ORDER_TEST(order_twice_around, "tTmtTMtT", "Pairs before, in and after MPI, one after another.")
ORDER_TEST(order_nested_around, "tmttTMTT", "Pairs nested in one another, across MPI's.")

PVAR_TEST(handles_outlive_inner_finalize, "15.3.4",
          "Sessions and handles stay valid while the interface is initialized, whoever finalizes his own pair.", true,
          "variable that can be read")
{
    int provided;
    double values[VALUES_MOST];
    NEED(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    NEED(MPI_T_finalize());
    EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s after an inner finalize", p->name);
    EXPECT_CODE(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS, "%s", p->name);
}

static void *pairs_run(void *failed)
{
    for (int i = 0; i < 200; i++) {
        int provided = INT_MIN, count;
        if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS || !is_level(provided) ||
            MPI_T_pvar_get_num(&count) != MPI_SUCCESS || MPI_T_finalize() != MPI_SUCCESS)
            __atomic_add_fetch((int *)failed, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

TEST(pairs_in_threads, BARE, "15.3.4", "With MPI_THREAD_MULTIPLE threads initialize and finalize at the same time.")
{
    int provided = INT_MIN, failed = 0;
    pthread_t threads[4];
    NEED(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    if (provided != MPI_THREAD_MULTIPLE)
        skip("provided is not MPI_THREAD_MULTIPLE");
    NEED(MPI_T_finalize());
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, pairs_run, &failed);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    expect(failed == 0, "%d of 800 pairs failed", failed);
    tool_is_off("after as many finalizes");
}

static char names_before[4096][128];

TEST(indices_outlive_finalize, BARE, "15.3.7",
     "A pvar keeps its index, also when the interface was finalized and initialized again.")
{
    int most = 0;
    tool_begin();
    EACH_PVAR(p)
        if (p->index < 4096) {
            memcpy(names_before[p->index], p->name, sizeof names_before[0] - 1);
            most = p->index + 1;
        }
    tool_end();
    tool_begin();
    EACH_PVAR(p)
        if (p->index < most && names_before[p->index][0])
            expect(strncmp(names_before[p->index], p->name, sizeof names_before[0] - 1) == 0, "index %d was %s, is %s",
                   p->index, names_before[p->index], p->name);
    some(most, "performance variables before MPI_Init");
}
