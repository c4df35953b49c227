/*
 * threadlives cancelled | early       lives of threads that the recorder has no part in
 *
 *   cancelled   threads that communicate are cancelled, one after the other; the only point where each expects that
 * lies between its calls. The others go on, and all calls are counted. early       a thread waits with MPI_Initialized
 * until MPI is there (a call that is recorded, with local calls), and communicates with the first one at once: nothing
 * is pending at the end.
 *
 * Prints how many calls of MPI_Waitall there were. Status 1: something is pending; 77: there is no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANCELLED = 20, BATCH = 3000, EARLY = 100000 };

static MPI_Comm comm;
static atomic_ulong waits; /* calls of MPI_Waitall that returned */
static pthread_barrier_t both;

static void exchange(int tag, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int in;
        MPI_Irecv(&in, 1, MPI_INT, 0, tag, comm, &requests[0]);
        MPI_Isend(&i, 1, MPI_INT, 0, tag, comm, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        waits++;
    }
}

static void *endless(void *batches)
{
    for (;;) {
        exchange(6, BATCH);
        (*(atomic_int *)batches)++;
        pthread_testcancel();
    }
    return NULL;
}

static void *first_in(void *unused)
{
    for (int flag = 0; !flag;)
        MPI_Initialized(&flag);
    pthread_barrier_wait(&both);
    exchange(6, EARLY);
    return unused;
}

static unsigned long long level_of(const char *variable)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int index, count;
    if (MPI_T_pvar_get_index(variable, MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS)
        exit(3);
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count) != MPI_SUCCESS ||
        MPI_T_pvar_read(session, handle, &value) != MPI_SUCCESS)
        exit(4);
    MPI_T_pvar_session_free(&session);
    return value;
}

static int check(const char *what, unsigned long long is, unsigned long long expected)
{
    printf("%sok - %s: %llu\n", is == expected ? "" : "not ", what, is);
    return is != expected;
}

static void cancel_many(void)
{
    for (int i = 0; i < CANCELLED; i++) {
        pthread_t thread;
        atomic_int batches = 0;
        pthread_create(&thread, NULL, endless, &batches);
        while (!batches)
            usleep(100);
        usleep((unsigned)(i * 150));
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        exchange(5, BATCH);
    }
}

static int nothing_pending(void)
{
    return check("pending sends", level_of("mpit_pending_sends"), 0) +
           check("pending receives", level_of("mpit_pending_recvs"), 0) +
           check("pending bytes", level_of("mpit_pending_bytes"), 0);
}

int main(int argc, char *argv[])
{
    int level, early = argc > 1 && strcmp(argv[1], "early") == 0, wrong;
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    if (early)
        pthread_create(&thread, NULL, first_in, NULL);
    usleep(10000); /* it is in its loop */
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        return 77;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (early) {
        pthread_barrier_wait(&both);
        exchange(5, EARLY);
        pthread_join(thread, NULL);
    } else {
        cancel_many();
    }
    wrong = nothing_pending();
    printf("MPI_Waitall %lu\n", (unsigned long)waits);
    MPI_Finalize();
    MPI_T_finalize();
    return wrong != 0;
}
