/* A survey ship (rank 0) takes the echoes of three drones and inverts each. It receives in the order 1, 2, 3, but drone 3 sends after 8 ms,
 * drone 2 after 16 and drone 1 after 24: it waits for the slowest first, while two messages lie there. All ranks work 24 ms a step.
 * Fixed: it takes what has come (MPI_ANY_SOURCE). */
#include <mpi.h>
#include "bench.h"

enum { LINES = 28, SAMPLES = 100 };
static int rank, size;
static double echo[SAMPLES];

static void invert_echo(void)
{
    bench_work(0.008); /* @cause */
}

static void collect_echoes(void)
{
    for (int from = 1; from < size; from++) {
        MPI_Recv(echo, SAMPLES, MPI_DOUBLE, bench.sick ? from : MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE); /* @cause @symptom */
        invert_echo();               /* @cause */
    }
}

static void measure(void)
{
    bench_work(0.008 * (size - rank));
}

static void send_echo(void)
{
    MPI_Send(echo, SAMPLES, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
}

static void clean_sensor(void)
{
    if (rank > 1)
        bench_work(0.008 * (rank - 1));
}

static void next_line(int *course)
{
    MPI_Bcast(course, 1, MPI_INT, 0, MPI_COMM_WORLD); /* @cause @symptom */
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bench_begin(rank);
    for (int line = 0; line < LINES; line++) {
        int course = line;
        if (rank == 0)
            collect_echoes(); /* @cause @symptom */
        else {
            measure();
            send_echo();
            clean_sensor();
        }
        next_line(&course); /* @cause @symptom */
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
