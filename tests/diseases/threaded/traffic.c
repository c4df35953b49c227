/* Road traffic with MPI_THREAD_MULTIPLE. In each rank the main thread drives the cars and sends those that leave, and a second thread receives
 * those that come. The district of rank 1 is crowded: its main thread takes 2.4 times as long. Fixed: districts are even. */
#include <mpi.h>
#include <pthread.h>
#include "bench.h"

enum { MINUTES = 30, CARS = 40 };
static int rank, size;
static double leaving[CARS], coming[CARS];

static void drive(void)
{
    double ms = 14;
    if (bench.sick && rank == 1)
        ms = 34; /* @cause */
    if (!bench.sick)
        ms = (14.0 * (size - 1) + 34) / size;
    bench_work(ms * 1e-3); /* @cause */
}

static void send_cars(void)
{
    MPI_Send(leaving, CARS, MPI_DOUBLE, (rank + 1) % size, 6, MPI_COMM_WORLD); /* @cause */
}

static void *receive_cars(void *unused)
{
    for (int i = 0; i < MINUTES; i++)
        MPI_Recv(coming, CARS, MPI_DOUBLE, (rank + size - 1) % size, 6, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE); /* @symptom */
    return unused;
}

static double next_minute(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* @cause @symptom */
    return sum;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t receiver;
    bench_arguments(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 4);
    bench_begin(rank);
    pthread_create(&receiver, 0, receive_cars, 0);
    double x = 1;
    for (int minute = 0; minute < MINUTES; minute++) {
        drive();
        send_cars();               /* @cause */
        x = next_minute(x) / size; /* @cause @symptom */
    }
    pthread_join(receiver, 0);
    bench_end();
    MPI_Finalize();
    return 0;
}
