/* marked CALLS: messages, collectives, communicators and threads, so that the recorder's state grows.
 *
 * Writes a line to fd 2 behind MPI_Init, before MPI_Finalize and behind that: a trace of system calls has them. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMUNICATORS = 200, THREADS = 4 };

static int calls;

static void mark(const char *text)
{
    if (write(2, text, strlen(text)) < 0)
        _exit(2);
}

static void *messages_to_itself(void *unused)
{
    for (int i = 0; i < calls; i++) {
        int out = i, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    pthread_t threads[THREADS];
    MPI_Comm copies[COMMUNICATORS];
    calls = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    mark("marked: initialized\n");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    for (int i = 0; provided == MPI_THREAD_MULTIPLE && i < THREADS; i++) {
        pthread_create(&threads[i], NULL, messages_to_itself, NULL);
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < calls; i++) {
        int out = rank, in = -1, sum;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1,
                     copies[i % COMMUNICATORS], MPI_STATUS_IGNORE);
        if (i % 10 == 0)
            MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_free(&copies[i]);
    mark("marked: finalizing\n");
    MPI_Finalize();
    mark("marked: finalized\n");
    return 0;
}
