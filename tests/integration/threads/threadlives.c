/*
 * threadlives cancelled | early | pending | late FILE       lives of threads that the recorder has no part in
 *
 * - cancelled: threads that communicate are cancelled, one after the other; the only point where each expects that lies
 *   between its calls. The others go on, and all calls are counted.
 * - early: a thread waits with MPI_Initialized until MPI is there (a call that is recorded, with local calls), and
 *   communicates with the first one at once: nothing is pending at the end.
 * - pending: threads that are cancelled already call what is no point for that, and return what they return.
 * - late: a thread looks at mpit_mpi_fraction while its process, which is done, waits for rank 1 in what goes before
 *   MPI_Finalize. Rank 1 goes on when it has made FILE.
 *
 * Prints how many calls of MPI_Waitall there were. Status 1: something is not as it should be; 77: there is no
 * MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANCELLED = 20, BATCH = 3000, EARLY = 100000, PENDING = 20, LOOKS = 300 };

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

/* ---- pending */

/* Which the recorder looks for the files of the other processes for. */
static void *variable_open(void *unused)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD;
    int index, count;
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, &world, &handle, &count) != MPI_SUCCESS)
        exit(4);
    MPI_T_pvar_session_free(&session);
    return unused;
}

static void *call_once(void *value)
{
    int flag;
    pthread_cancel(pthread_self());
    MPI_Initialized(&flag);
    return value;
}

static void *call_and_open(void *value)
{
    call_once(value);
    return variable_open(value);
}

static int pending_many(void)
{
    unsigned returned = 0, opened = 0;
    for (int i = 0; i < 2 * PENDING; i++) {
        pthread_t thread;
        void *value = NULL;
        pthread_create(&thread, NULL, i < PENDING ? call_once : call_and_open, &comm);
        pthread_join(thread, &value);
        *(i < PENDING ? &returned : &opened) += value == &comm;
    }
    int wrong = check("cancelled threads that return their values", returned, PENDING) +
                check("cancelled threads that open a handle", opened, PENDING);
    alarm(20);
    variable_open(NULL);
    return wrong;
}

/* ---- late */

static MPI_T_pvar_session late_session;
static MPI_T_pvar_handle fraction;
static double before; /* what it was when the process was done with its calls */

/* The process waits in MPI_Finalize, which is time in MPI. Status: how often the fraction was less. */
static void *fraction_watch(void *file)
{
    size_t less = 0;
    double now;
    for (int i = 0; i < LOOKS; i++) {
        usleep(1000);
        less += MPI_T_pvar_read(late_session, fraction, &now) != MPI_SUCCESS || (i > LOOKS / 2 && now < before);
    }
    close(open(file, O_WRONLY | O_CREAT, 0600));
    return (void *)less;
}

static int late_finish(char *file)
{
    int rank, index, count;
    pthread_t thread;
    void *less = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_pvar_session_create(&late_session);
    if (MPI_T_pvar_get_index("mpit_mpi_fraction", MPI_T_PVAR_CLASS_PERCENTAGE, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(late_session, index, NULL, &fraction, &count) != MPI_SUCCESS)
        exit(4);
    exchange(5, BATCH);
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_T_pvar_read(late_session, fraction, &before) != MPI_SUCCESS)
        exit(4);
    if (rank == 0)
        pthread_create(&thread, NULL, fraction_watch, file);
    while (rank == 1 && access(file, F_OK) != 0)
        usleep(10000);
    MPI_Finalize();
    if (rank != 0)
        return 0;
    pthread_join(thread, &less);
    return check("looks at a fraction that falls", (size_t)less, 0);
}

static int nothing_pending(void)
{
    return check("pending sends", level_of("mpit_pending_sends"), 0) +
           check("pending receives", level_of("mpit_pending_recvs"), 0) +
           check("pending bytes", level_of("mpit_pending_bytes"), 0);
}

int main(int argc, char *argv[])
{
    const char *how = argc > 1 ? argv[1] : "cancelled";
    int level, early = strcmp(how, "early") == 0, pending = strcmp(how, "pending") == 0, wrong;
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
    if (argc > 2 && strcmp(how, "late") == 0) {
        wrong = late_finish(argv[2]);
        MPI_T_finalize();
        return wrong != 0;
    }
    if (early) {
        pthread_barrier_wait(&both);
        exchange(5, EARLY);
        pthread_join(thread, NULL);
    } else if (!pending) {
        cancel_many();
    }
    wrong = pending ? pending_many() : nothing_pending();
    printf("MPI_Waitall %lu\n", (unsigned long)waits);
    MPI_Finalize();
    MPI_T_finalize();
    return wrong != 0;
}
