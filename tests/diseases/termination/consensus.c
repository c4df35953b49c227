/* Consensus by MPI_Ibarrier. Ranks start it, then most work 20 ms that does not depend on it and never call MPI meanwhile: so the barrier makes no progress.
 * Rank 3 has to know that all are there before it can merge (20 ms). Then all meet. Fixed: MPI_Test after each 2 ms.
 * Rank 0 comes 2 ms after the others: so ranks 1 and 2 do not have its message yet when they start, whatever the algorithm. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 30, SLICES = 10 };
static int rank, size;

static void smooth(MPI_Request *all_there)
{
    for (int i = 0; i < SLICES; i++) {
        int done;
        bench_work(0.002); /* @cause */
        if (!bench.sick)
            MPI_Test(all_there, &done, MPI_STATUS_IGNORE);
    }
}

static void wait_for_all(MPI_Request *all_there)
{
    MPI_Wait(all_there, MPI_STATUS_IGNORE); /* @symptom @cause */
}

static void merge(void)
{
    bench_work(0.020);
}

static void meet(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* @symptom */
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        MPI_Request all_there;
        if (rank == 0)
            bench_work(0.002);
        MPI_Ibarrier(MPI_COMM_WORLD, &all_there); /* @cause */
        if (rank < size - 1) {
            smooth(&all_there);
            wait_for_all(&all_there);
        } else {
            wait_for_all(&all_there);
            merge();
        }
        meet(i);
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
