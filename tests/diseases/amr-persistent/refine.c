/* A line of ranks (Cartesian, not periodic) with persistent halo requests. Rank size/2 refines its mesh: it takes 0.9 ms longer in each step.
 * Neighbours wait for it, and the others for the neighbours. Fixed: the new cells are spread evenly. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 40, WORDS = 128 };
static int rank, size;
static MPI_Request halo[4];
static double out[2][WORDS], in[2][WORDS];

static void advance(int step)
{
    double ms = 14, grown = 0.9 * step;
    if (!bench.sick)
        ms += grown / size;
    else if (rank == size / 2)
        ms += grown;       /* @cause */
    bench_work(ms * 1e-3); /* @cause */
}

static void ghost_cells(void)
{
    MPI_Startall(4, halo);                     /* @cause */
    MPI_Waitall(4, halo, MPI_STATUSES_IGNORE); /* @symptom @cause */
}

int main(int argc, char **argv)
{
    int left, right, periodic = 0;
    double mine = 1, sum;
    MPI_Comm line;
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
    MPI_Comm_rank(line, &rank);
    MPI_Cart_shift(line, 0, 1, &left, &right);
    MPI_Recv_init(in[0], WORDS, MPI_DOUBLE, left, 0, line, &halo[0]);
    MPI_Recv_init(in[1], WORDS, MPI_DOUBLE, right, 1, line, &halo[1]);
    MPI_Send_init(out[0], WORDS, MPI_DOUBLE, right, 0, line, &halo[2]);
    MPI_Send_init(out[1], WORDS, MPI_DOUBLE, left, 1, line, &halo[3]);
    MPI_Barrier(line);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        advance(i);
        ghost_cells();
    }
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, line);
    bench_end();
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&halo[i]);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}
