/*
 * The library's own variables. Open MPI has some in every run, and more with --mca pml_monitoring_enable 2; MPICH as it
 * is packaged has none: there these checks find nothing to look at.
 */
#include "surface.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static bool find(const char *name, int class, int *index)
{
    return MPI_T_pvar_get_index(name, class, index) == MPI_SUCCESS;
}

static MPI_T_pvar_session flush_session;
static MPI_T_pvar_handle flush = MPI_T_PVAR_HANDLE_NULL;

/* What TAU does with all that are listed; it ends at the first refusal. objectvars.c has windows and files. */
static void all_allocated(void)
{
    int number = 0, class, bind, continuous, count, name_length;
    char name[256];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_num(&number));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    for (int i = 0; i < number; i++) {
        name_length = sizeof name;
        RETURNS(MPI_SUCCESS, MPI_T_pvar_get_info(i, name, &name_length, NULL, &class, NULL, NULL, NULL, NULL, &bind,
                                                 NULL, &continuous, NULL));
        if (bind == MPI_T_BIND_MPI_WIN || bind == MPI_T_BIND_MPI_FILE)
            continue;
        int result = MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_MPI_COMM ? &world : NULL, &handle, &count);
        if (result == MPI_T_ERR_INVALID_INDEX)
            continue; /* it was there before MPI_Init, and has died */
        CHECK(result == MPI_SUCCESS, "%s: a handle: %d", name, result);
        if (result == MPI_SUCCESS && !continuous)
            CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS, "%s: a start", name);
    }
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
}

/* psm2's statistics would crash; a monitoring variable lives until MPI_Init closes its component. */
void natives_before_init(void)
{
    int index, count;
    MPI_T_pvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&flush_session));
    CHECK(!find("mtl_psm2_rx_user_num", MPI_T_PVAR_CLASS_COUNTER, &index), "psm2 is listed");
    if (find("pml_ob1_unexpected_msgq_length", MPI_T_PVAR_CLASS_SIZE, &index))
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_alloc(flush_session, index, &world, &handle, &count));
    if (find("pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC, &index))
        RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(flush_session, index, NULL, &flush, &count));
    if (find("mpool_hugepage_bytes_allocated", MPI_T_PVAR_CLASS_SIZE, &index)) {
        unsigned long bytes[4];
        RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(flush_session, index, NULL, &handle, &count));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_read(flush_session, handle, bytes));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(flush_session, &handle));
    }
}

/* Dead variables keep their index, and say that they are dead. */
void natives_after_init(void)
{
    int index, count;
    char text[1024];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    CHECK(!find("mtl_psm2_rx_user_num", MPI_T_PVAR_CLASS_COUNTER, &index), "psm2 is listed");
    CHECK(!find("osc_rdma_put_retry_count", MPI_T_PVAR_CLASS_COUNTER, &index), "a window's is listed");
    all_allocated();
    if (flush != MPI_T_PVAR_HANDLE_NULL && find("pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC, &index) &&
        MPI_T_pvar_handle_alloc(flush_session, index, NULL, &handle, &count) == MPI_T_ERR_INVALID_INDEX) {
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(flush_session, flush, text));
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start(flush_session, flush));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(flush_session, &flush));
        RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&flush_session));
    }
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
}

/* A freed communicator, no communicator. */
void natives_of_communicators(void)
{
    int index, count = 0, size, rank;
    unsigned values[64] = {0};
    MPI_Comm comm, none = MPI_COMM_NULL;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    if (!find("pml_ob1_unexpected_msgq_length", MPI_T_PVAR_CLASS_SIZE, &index))
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_alloc(session, index, &none, &handle, &count));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count));
    CHECK(count == size, "%d values for %d processes", count, size);
    RETURNS(MPI_SUCCESS, MPI_T_pvar_read(session, handle, values));
    if (size == 2) { /* two messages that nobody has asked for yet; the third says that they are there */
        for (int tag = 0; tag < 3 && rank == 0; tag++)
            MPI_Send(&tag, 1, MPI_INT, 1, tag, comm);
        if (rank == 1) {
            int got;
            MPI_Recv(&got, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
            RETURNS(MPI_SUCCESS, MPI_T_pvar_read(session, handle, values));
            CHECK(values[0] == 2, "%u unexpected messages, not 2", values[0]);
            MPI_Recv(&got, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
            MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        }
    }
    RETURNS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, handle));
    RETURNS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, handle));
    RETURNS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, handle, values));
    RETURNS(MPI_T_ERR_PVAR_NO_ATOMIC, MPI_T_pvar_readreset(session, handle, values));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MPI_Comm_free(&comm);
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, handle, values));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(session, &handle));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
}

/* ---- sessions are islands ---------------------------------------------------------------------------------------- */

static void broadcast(void)
{
    int value = 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static unsigned long total(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count)
{
    unsigned long long values[64] = {0}, sum = 0;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_read(session, handle, values));
    for (int i = 0; i < count && i < 64; i++)
        sum += values[i];
    return (unsigned long)sum;
}

/* Open MPI's monitoring: one switch for all. Stopping and freeing in one session is not seen in another. */
static void sizes_in_sessions(void)
{
    int index, count, rank;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_session a, b;
    MPI_T_pvar_handle in_a, in_b;
    MPI_Comm_rank(world, &rank);
    if (!find("coll_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &index))
        return;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&a));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&b));
    if (MPI_T_pvar_handle_alloc(a, index, &world, &in_a, &count) != MPI_SUCCESS)
        return; /* no monitoring in this run */
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(b, index, &world, &in_b, &count));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(a, in_a));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(b, in_b));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(b, in_b)); /* again: no error, and no change */
    unsigned long first = total(b, in_b, count);
    broadcast();
    unsigned long before = total(b, in_b, count), each = before - first;
    CHECK(rank > 0 || each > 0, "a broadcast counts");
    CHECK(total(a, in_a, count) == before, "both see %lu messages", before);
    RETURNS(MPI_SUCCESS, MPI_T_pvar_stop(a, in_a));
    broadcast();
    broadcast();
    CHECK(total(b, in_b, count) == before + 2 * each, "a stop in one session froze another: %lu, not %lu",
          total(b, in_b, count), before + 2 * each);
    CHECK(total(a, in_a, count) == before, "a stopped handle went on: %lu, not %lu", total(a, in_a, count), before);
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(a, &in_a));
    broadcast();
    CHECK(total(b, in_b, count) == before + 3 * each, "a free in one session froze another");
    RETURNS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(b, in_b));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_reset(b, MPI_T_PVAR_ALL_HANDLES));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_stop(b, MPI_T_PVAR_ALL_HANDLES));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&b));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&a));
}

/* Sums count from their start, and not while they are stopped. */
static void sums_in_sessions(void)
{
    int index, count, rank;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_session a, b;
    MPI_T_pvar_handle in_a, in_b;
    MPI_Comm_rank(world, &rank);
    if (!find("coll_monitoring_o2a_count", MPI_T_PVAR_CLASS_COUNTER, &index))
        return;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&a));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&b));
    if (MPI_T_pvar_handle_alloc(a, index, &world, &in_a, &count) != MPI_SUCCESS)
        return; /* no monitoring in this run */
    broadcast();
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(b, index, &world, &in_b, &count));
    CHECK(total(a, in_a, count) == 0, "a handle that was not started counted");
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(a, in_a));
    broadcast();
    unsigned long each = total(a, in_a, count);
    CHECK(rank > 0 || each > 0, "a broadcast counts");
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(b, in_b));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_stop(a, in_a));
    broadcast();
    broadcast();
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(a, in_a));
    broadcast();
    CHECK(total(a, in_a, count) == 2 * each, "a counted %lu, not %lu", total(a, in_a, count), 2 * each);
    CHECK(total(b, in_b, count) == 3 * each, "b counted %lu, not %lu", total(b, in_b, count), 3 * each);
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&b));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&a));
}

void natives_in_sessions(void)
{
    sizes_in_sessions();
    sums_in_sessions();
}

/* ---- signal handlers --------------------------------------------------------------------------------------------- */

static MPI_T_pvar_session timer_session;
static MPI_T_pvar_handle timer_handle;
static volatile sig_atomic_t timer_good, timer_refused, timer_wrong;

static void on_timer(int number)
{
    unsigned long value[4];
    (void)number;
    int result = MPI_T_pvar_read(timer_session, timer_handle, value);
    if (result == MPI_SUCCESS)
        timer_good++;
    else if (result == MPI_T_ERR_INVALID_HANDLE || result == MPI_T_ERR_INVALID_SESSION)
        timer_wrong++;
    else
        timer_refused++;
}

/* A handler reads the library's variable while its own thread is in the same library: refused, and no deadlock. */
void natives_in_handlers(void)
{
    int index, count, number;
    unsigned long value[4];
    struct sigaction action = {.sa_handler = on_timer};
    struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    if (!find("mpool_hugepage_bytes_allocated", MPI_T_PVAR_CLASS_SIZE, &index))
        return;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&timer_session));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(timer_session, index, NULL, &timer_handle, &count));
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 300000; i++) {
        MPI_T_pvar_handle handle;
        RETURNS(MPI_SUCCESS, MPI_T_pvar_read(timer_session, timer_handle, value));
        if (i % 1000 == 0) {
            RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(timer_session, index, NULL, &handle, &count));
            RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(timer_session, &handle));
            RETURNS(MPI_SUCCESS, MPI_T_cvar_get_num(&number));
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(timer_good + timer_refused > 0 && timer_wrong == 0, "%d reads in a handler were good, %d refused, %d wrong",
          (int)timer_good, (int)timer_refused, (int)timer_wrong);
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&timer_session));
}
