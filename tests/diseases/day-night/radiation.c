/* Ranks are longitudes in a ring. Where the sun stands, radiation takes 34 ms, elsewhere 10 ms, and the sun moves by one rank in each step: the
 * sums of all ranks are even. Neighbours swap their edges by MPI_Sendrecv_replace, there is no collective. Fixed: each rank has longitudes of all. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 40, WORDS = 200 };
static int rank, size, west, east;
static MPI_Comm ring;

static void radiation(int step)
{
    double ms = 10;
    if (bench.sick && step % size == rank)
        ms = 34; /* @cause */
    if (!bench.sick)
        ms = (34 + 10.0 * (size - 1)) / size;
    bench_work(ms * 1e-3); /* @cause */
}

static void swap_edges(double *edge)
{
    MPI_Sendrecv_replace(edge, WORDS, MPI_DOUBLE, east, 1, west, 1, ring, MPI_STATUS_IGNORE); /* @symptom @cause */
    MPI_Sendrecv_replace(edge, WORDS, MPI_DOUBLE, west, 2, east, 2, ring, MPI_STATUS_IGNORE); /* @symptom @cause */
}

int main(int argc, char **argv)
{
    static double edge[WORDS];
    int periodic = 1;
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm_rank(ring, &rank);
    MPI_Cart_shift(ring, 0, 1, &west, &east);
    MPI_Barrier(ring);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        radiation(i);
        swap_edges(edge);
    }
    bench_end();
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
