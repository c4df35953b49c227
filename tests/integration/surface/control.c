/*
 * control: writes mpit's control variables before, in and after a run, and counts what follows from it.
 *
 * Messages go from each process to itself. Those with tag 1 are sent while the trace is on, those with tag 2 while it
 * is off; the line that it prints says how many there were, and how many checks failed. With the argument "nowhere"
 * there is no run directory, and the trace cannot be switched on.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, BURST = 150, THREADS = 2, TRACED = 1, UNTRACED = 2 };

static int rank, checks, failures, traced, untraced, provided;

#define CHECK(call) same(#call, (call), MPI_SUCCESS)

static void same(const char *what, long long got, long long expected)
{
    checks++;
    if (got != expected) {
        failures++;
        printf("rank %d: %s: %lld, %lld expected\n", rank, what, got, expected);
    }
}

static MPI_T_cvar_handle control(const char *name)
{
    MPI_T_cvar_handle handle;
    int index, count, scope;
    CHECK(MPI_T_cvar_get_index(name, &index));
    CHECK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &scope));
    same("scope", scope, MPI_T_SCOPE_LOCAL);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    return handle;
}

static void int_written(const char *name, int value, int expected, int then)
{
    MPI_T_cvar_handle handle = control(name);
    int now = -1;
    same(name, MPI_T_cvar_write(handle, &value), expected);
    CHECK(MPI_T_cvar_read(handle, &now));
    same(name, now, then);
    CHECK(MPI_T_cvar_handle_free(&handle));
}

static void wide_written(const char *name, unsigned long long value, int expected, unsigned long long then)
{
    MPI_T_cvar_handle handle = control(name);
    unsigned long long now = 0;
    same(name, MPI_T_cvar_write(handle, &value), expected);
    CHECK(MPI_T_cvar_read(handle, &now));
    same(name, (long long)now, (long long)then);
    CHECK(MPI_T_cvar_handle_free(&handle));
}

static unsigned long long wide_read(const char *name)
{
    MPI_T_cvar_handle handle = control(name);
    unsigned long long now = 0;
    CHECK(MPI_T_cvar_read(handle, &now));
    CHECK(MPI_T_cvar_handle_free(&handle));
    return now;
}

static void message(int bytes, int tag)
{
    static __thread char out[4096], in[4096];
    MPI_Request request;
    if (MPI_Isend(out, bytes, MPI_BYTE, 0, tag, MPI_COMM_SELF, &request) != MPI_SUCCESS ||
        MPI_Recv(in, bytes, MPI_BYTE, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        exit(1);
}

static void before_init(void)
{
    same("the environment's value", (long long)wide_read("mpit_large_message_bytes"), 100);
    same("a value that the environment does not have", (long long)wide_read("mpit_trace_limit_bytes"), 0);
    int_written("mpit_flight_events", 64, MPI_SUCCESS, 64);
    int_written("mpit_flight_events", -1, MPI_T_ERR_INVALID, 64);
    int_written("mpit_flight_events", (1 << 24) + 1, MPI_T_ERR_INVALID, 64);
    int_written("mpit_trace", 2, MPI_T_ERR_INVALID, 0);
    int_written("mpit_trace", 1, MPI_SUCCESS, 1);
    int_written("mpit_trace", 0, MPI_SUCCESS, 0);
    wide_written("mpit_buffer_limit_bytes", 1, MPI_T_ERR_INVALID, 64 << 20);
    wide_written("mpit_buffer_limit_bytes", 16 << 20, MPI_SUCCESS, 16 << 20);
}

/* What was written before MPI_Init holds; what the run has taken over cannot be changed, or only so far. */
static void in_run(int somewhere)
{
    int_written("mpit_flight_events", 128, MPI_T_ERR_CVAR_SET_NEVER, 64);
    same("a limit from before", (long long)wide_read("mpit_buffer_limit_bytes"), 16 << 20);
    wide_written("mpit_buffer_limit_bytes", 32 << 20, MPI_SUCCESS, 32 << 20);
    wide_written("mpit_trace_limit_bytes", 1 << 30, MPI_SUCCESS, 1 << 30);
    int_written("mpit_trace", 7, MPI_T_ERR_INVALID, 0);
    int_written("mpit_trace", -1, MPI_T_ERR_INVALID, 0);
    if (!somewhere)
        int_written("mpit_trace", 1, MPI_T_ERR_CVAR_SET_NEVER, 0);
    int_written("mpit_trace", 0, MPI_SUCCESS, 0);
}

static unsigned long long count_of(const char *name)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Comm self = MPI_COMM_SELF;
    unsigned long long value;
    int index, count;
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    CHECK(MPI_T_pvar_session_create(&session));
    CHECK(MPI_T_pvar_handle_alloc(session, index, &self, &handle, &count));
    CHECK(MPI_T_pvar_start(session, handle));
    message(500, UNTRACED);
    untraced++;
    CHECK(MPI_T_pvar_read(session, handle, &value));
    CHECK(MPI_T_pvar_handle_free(session, &handle));
    CHECK(MPI_T_pvar_session_free(&session));
    return value;
}

static void thresholds(void)
{
    same("large by the environment", (long long)count_of("mpit_large_count"), 2);
    wide_written("mpit_large_message_bytes", 501, MPI_SUCCESS, 501);
    same("no longer large", (long long)count_of("mpit_large_count"), 0);
    same("but small", (long long)count_of("mpit_small_count"), 2);
    wide_written("mpit_large_message_bytes", 500, MPI_SUCCESS, 500);
    same("large again", (long long)count_of("mpit_large_count"), 2);
    wide_written("mpit_p2p_timeout_ns", 1, MPI_SUCCESS, 1);
    same("everything is a timeout", (long long)count_of("mpit_p2p_timeouts"), 2);
    wide_written("mpit_p2p_timeout_ns", 0, MPI_SUCCESS, 0);
    same("nothing is", (long long)count_of("mpit_p2p_timeouts"), 0);
}

static pthread_barrier_t together;

static void *thread_main(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        for (int i = 0; i < BURST; i++)
            message(8, round % 2 ? TRACED : UNTRACED);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

/* On and off, with requests under way at both; all threads send in every round. */
static void switches(void)
{
    pthread_t threads[THREADS];
    int in, out = 1, count = provided == MPI_THREAD_MULTIPLE ? THREADS : 0;
    MPI_Request requests[2];
    pthread_barrier_init(&together, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, thread_main, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int on = round % 2;
        MPI_Irecv(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]);
        int_written("mpit_trace", on, MPI_SUCCESS, on);
        int_written("mpit_trace", on, MPI_SUCCESS, on);
        pthread_barrier_wait(&together);
        for (int i = 0; i < BURST; i++)
            message(8, on ? TRACED : UNTRACED);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        *(on ? &traced : &untraced) += BURST * (count + 1);
        pthread_barrier_wait(&together);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    wide_written("mpit_trace_limit_bytes", 1, MPI_T_ERR_CVAR_SET_NOT_NOW, 1 << 30);
    int_written("mpit_trace", 0, MPI_SUCCESS, 0);
    message(8, UNTRACED);
    untraced++;
    if (rank == 0) /* it ends with the trace on, the others with it off */
        int_written("mpit_trace", 1, MPI_SUCCESS, 1);
}

int main(int argc, char **argv)
{
    int somewhere = argc < 2 || strcmp(argv[1], "nowhere") != 0;
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    before_init();
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    in_run(somewhere);
    thresholds();
    if (somewhere)
        switches();
    CHECK(MPI_Finalize());
    int_written("mpit_trace", 1 - (rank == 0 && somewhere), MPI_T_ERR_CVAR_SET_NEVER, rank == 0 && somewhere);
    wide_written("mpit_large_message_bytes", 4, MPI_SUCCESS, 4);
    CHECK(MPI_T_finalize());
    printf("rank %d: traced %d, untraced %d, %d checks, %d failures\n", rank, traced, untraced, checks, failures);
    return failures != 0;
}
