/* Rank 0 takes in the results of the workers, the dearest part first as planned: it is the last that comes, while the others lie there. Each result takes 7 ms.
 * The dear part goes round, and what a worker computes before and after its result is 24 ms in each step for all. Fixed: as they come (MPI_ANY_SOURCE). */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 26, MOST = 1000, RESULT = 3 };
static int rank, size;
static double result[MOST];

static void merge(void)
{
    bench_work(0.007);
}

static void take_in(int source)
{
    int words;
    MPI_Status status;
    MPI_Probe(source, RESULT, MPI_COMM_WORLD, &status); /* @symptom @cause */
    MPI_Get_count(&status, MPI_DOUBLE, &words);
    MPI_Recv(result, words, MPI_DOUBLE, status.MPI_SOURCE, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @cause */
    merge();
}

static void take_all(int step)
{
    for (int i = 0; i < size - 1; i++)
        take_in(bench.sick ? 1 + (step + i) % (size - 1) : MPI_ANY_SOURCE); /* @cause */
}

static void next_state(void)
{
    double state = 0;
    MPI_Bcast(&state, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* @symptom */
}

static void part(int step)
{
    static const double before[3] = {24, 2, 12};
    double ms = before[(rank - 1 + 3 - step % 3) % 3];
    bench_work(ms * 1e-3);
    MPI_Send(result, 100 * rank, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
    if (ms < 24)
        bench_work((24 - ms) * 1e-3);
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
        if (rank == 0)
            take_all(i);
        else
            part(i);
        next_state();
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
