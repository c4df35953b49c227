/* MPI_THREAD_MULTIPLE. On rank 0 a second thread exports the field while the main thread computes 20 ms. It compresses the archive copy first (16 ms) and
 * then sends the field to rank 1, which waits for it before its own 20 ms. Fixed: the field is sent first, and compressed for the archive after that. */
#include <mpi.h>
#include <pthread.h>
#include "bench.h"

enum { STEPS = 32, WORDS = 256, FIELD = 1, STATUS = 2 };
static int rank;
static MPI_Comm control;
static double field[WORDS];

static void alone(double seconds)
{ /* work of a second thread: not in the rank's account */
    seconds *= bench.scale;
    if (bench.mode == BENCH_SPIN)
        bench_spin(seconds);
    else
        bench_sleep(seconds);
}

static void compress(void)
{
    alone(0.016); /* @cause */
}

static void *export_field(void *unused)
{
    if (bench.sick)
        compress();                                               /* @cause */
    MPI_Send(field, WORDS, MPI_DOUBLE, 1, FIELD, MPI_COMM_WORLD); /* @cause */
    if (!bench.sick)
        compress();
    return unused;
}

static void import_field(void)
{
    MPI_Recv(field, WORDS, MPI_DOUBLE, 0, FIELD, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @symptom */
}

int main(int argc, char **argv)
{
    int provided, note = 0;
    bench_arguments(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Barrier(control);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        if (rank == 0) {
            pthread_t second;
            pthread_create(&second, 0, export_field, 0);
            bench_work(0.012);
            MPI_Send(&i, 1, MPI_INT, 1, STATUS, control);
            bench_work(0.008);
            pthread_join(second, 0);
        } else {
            import_field();
            bench_work(0.020);
            MPI_Recv(&note, 1, MPI_INT, 0, STATUS, control, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(control);
    }
    bench_end();
    MPI_Comm_free(&control);
    MPI_Finalize();
    return 0;
}
