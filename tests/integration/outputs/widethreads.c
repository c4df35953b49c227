/*
 * Two ranks with two threads each. One thread of rank 1 waits in MPI_Recv for longer than the duration of an event can
 * say; the other one receives from the same rank meanwhile.
 */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

enum { MESSAGES = 10, LONG_TAG = 9 };

static int rank, number;

static void *meanwhile(void *argument)
{
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 1) {
            MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            usleep(100000);
        }
    }
    return argument;
}

int main(int argc, char *argv[])
{
    int provided, last = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sleep(5); /* longer than 2^32 ns */
        meanwhile(NULL);
        sleep(1);
        MPI_Send(&last, 1, MPI_INT, 1, LONG_TAG, MPI_COMM_WORLD);
    } else {
        pthread_create(&thread, NULL, meanwhile, NULL);
        MPI_Recv(&last, 1, MPI_INT, 0, LONG_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
