#include "surface.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checked, broken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void check_that(bool kept, const char *file, int line, const char *format, ...)
{
    pthread_mutex_lock(&lock);
    checked++;
    if (!kept) {
        va_list args;
        broken++;
        printf("%s:%d: ", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        printf("\n");
        fflush(stdout);
    }
    pthread_mutex_unlock(&lock);
}

bool own_there(void)
{
    int index;
    return MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS;
}

/* ---- the orders of the two pairs of init and finalize ------------------------------------------------------------ */

static void not_initialized(const char *when)
{
    int number = 0;
    MPI_T_pvar_session session;
    CHECK(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED, "%s: pvar_get_num", when);
    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED, "%s: cvar_get_num", when);
    CHECK(MPI_T_category_changed(&number) == MPI_T_ERR_NOT_INITIALIZED, "%s: category_changed", when);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_T_ERR_NOT_INITIALIZED, "%s: session_create", when);
    CHECK(PMPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED, "%s: finalize", when);
}

static void open_level(int required, int least)
{
    int provided = -1;
    RETURNS(MPI_SUCCESS, MPI_T_init_thread(required, &provided));
    CHECK(provided >= least && provided <= MPI_THREAD_MULTIPLE, "init_thread(%d) provided %d, not %d", required,
          provided, least);
}

static void order_tool_around(int *argc, char ***argv)
{
    not_initialized("before all");
    open_level(MPI_THREAD_SINGLE, MPI_THREAD_SINGLE);
    natives_before_init();
    walk("before MPI_Init");
    MPI_Init(argc, argv);
    walk("after MPI_Init");
    natives_after_init();
    natives_of_communicators();
    walk("with MPI");
    MPI_Finalize();
    walk("after MPI_Finalize");
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    not_initialized("after all");
}

static void order_tool_inside(int *argc, char ***argv)
{
    int before, after;
    MPI_Init(argc, argv);
    MPI_Query_thread(&before);
    not_initialized("in MPI only");
    open_level(MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&after);
    CHECK(before == after, "MPI's own thread level was %d, and is %d after MPI_T_init_thread", before, after);
    walk("inside");
    codes_of_queries();
    codes_of_cvars();
    codes_of_pvars();
    natives_after_init();
    natives_of_communicators();
    natives_in_handlers();
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    not_initialized("inside again");
    MPI_Finalize();
    not_initialized("at the end");
}

static void order_tool_behind(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Finalize();
    not_initialized("after MPI");
    open_level(MPI_THREAD_SINGLE, MPI_THREAD_SINGLE);
    walk("behind");
    codes_of_queries();
    codes_of_cvars();
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    not_initialized("at the end");
}

static void order_repeated(int *argc, char ***argv)
{
    for (int i = 0; i < 3; i++) {
        open_level(MPI_THREAD_SINGLE, MPI_THREAD_SINGLE);
        walk("repeated before");
        RETURNS(MPI_SUCCESS, MPI_T_finalize());
    }
    not_initialized("between");
    MPI_Init(argc, argv);
    for (int i = 0; i < 3; i++) {
        open_level(MPI_THREAD_FUNNELED, MPI_THREAD_FUNNELED);
        walk("repeated inside");
        RETURNS(MPI_SUCCESS, MPI_T_finalize());
    }
    MPI_Finalize();
    for (int i = 0; i < 3; i++) {
        open_level(MPI_THREAD_SINGLE, MPI_THREAD_SINGLE);
        walk("repeated behind");
        RETURNS(MPI_SUCCESS, MPI_T_finalize());
    }
    not_initialized("at the end");
}

/* Opened and closed across each other; what an earlier caller asked for holds until all are gone. */
static void order_nested(int *argc, char ***argv)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL, old;
    open_level(MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE);
    open_level(MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
    MPI_Init(argc, argv);
    RETURNS(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_SERIALIZED, NULL));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    walk("nested");
    open_level(MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
    MPI_Finalize();
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    walk("nested, behind");
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    old = session;
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
    not_initialized("all are gone");
    RETURNS(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_session_free(&session));
    open_level(MPI_THREAD_SINGLE, MPI_THREAD_SINGLE);
    RETURNS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&old)); /* of the interface that was finalized */
    RETURNS(MPI_SUCCESS, MPI_T_finalize());
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *tool_thread(void *number)
{
    (void)number;
    for (int i = 0; i < 100; i++) {
        int index, count = 0, stamp, cvar, cvar_count;
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        MPI_T_cvar_handle cvar_handle;
        unsigned long long values[1024];
        open_level(MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE);
        RETURNS(MPI_SUCCESS, MPI_T_category_changed(&stamp));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &index));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
        CHECK(count > 0 && count <= 1024, "%d values", count);
        RETURNS(MPI_SUCCESS, MPI_T_pvar_start(session, handle));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_read(session, handle, values));
        RETURNS(MPI_SUCCESS, MPI_T_cvar_get_index("mpit_trace", &cvar));
        RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_alloc(cvar, NULL, &cvar_handle, &cvar_count));
        RETURNS(MPI_SUCCESS, MPI_T_cvar_read(cvar_handle, values));
        RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&cvar_handle));
        if (i % 2)
            RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(session, &handle));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
        RETURNS(MPI_SUCCESS, MPI_T_finalize());
    }
    return NULL;
}

static void order_threads(int *argc, char ***argv)
{
    pthread_t threads[4];
    int provided;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, tool_thread, NULL);
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    not_initialized("after the threads");
    MPI_Finalize();
}

static void order_sessions(int *argc, char ***argv)
{
    open_level(MPI_THREAD_SINGLE, MPI_THREAD_SINGLE); /* Open MPI forgets some variables when this comes second */
    MPI_Init(argc, argv);
    natives_in_sessions();
    MPI_Finalize(); /* and the tool does not finalize */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int *argc, char ***argv);
    } orders[] = {
        {"around", order_tool_around}, {"inside", order_tool_inside}, {"behind", order_tool_behind},
        {"repeated", order_repeated},  {"nested", order_nested},      {"threads", order_threads},
        {"sessions", order_sessions},
    };
    for (size_t i = 0; argc > 1 && i < sizeof orders / sizeof orders[0]; i++)
        if (strcmp(argv[1], orders[i].name) == 0) {
            orders[i].run(&argc, &argv);
            printf("%d checked, %d broken\n", checked, broken);
            return broken != 0 || checked == 0;
        }
    fprintf(stderr, "usage: surface around|inside|behind|repeated|nested|threads|sessions\n");
    return 2;
}
