/* marked CALLS [COMMUNICATORS THREADS]: so many messages of each rank to itself, by the main thread and by others, one
 * after the other, a hundredth of that in a ring over communicators, and collectives.
 *
 * Writes a line to fd 2 behind MPI_Init, before MPI_Finalize and behind that: a trace of system calls has them. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMUNICATORS_MOST = 200 };

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

/* Each rank to its neighbour, on one communicator after the other. */
static void ring(const MPI_Comm *comms, int count)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < calls / 100; i++) {
        int out = rank, in = -1, sum;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1,
                     comms[i % count], MPI_STATUS_IGNORE);
        if (i % 10 == 0)
            MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm comms[COMMUNICATORS_MOST + 1] = {MPI_COMM_WORLD};
    calls = argc > 1 ? atoi(argv[1]) : 1000;
    int copies = argc > 2 ? atoi(argv[2]) : COMMUNICATORS_MOST, threads = argc > 3 ? atoi(argv[3]) : 4;
    if (copies < 0 || copies > COMMUNICATORS_MOST)
        return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    mark("marked: initialized\n");
    for (int i = 1; i <= copies; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    messages_to_itself(NULL);
    for (int i = 0; provided == MPI_THREAD_MULTIPLE && i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, messages_to_itself, NULL);
        pthread_join(thread, NULL);
    }
    ring(comms, copies + 1);
    for (int i = 1; i <= copies; i++)
        MPI_Comm_free(&comms[i]);
    mark("marked: finalizing\n");
    MPI_Finalize();
    mark("marked: finalized\n");
    return 0;
}
