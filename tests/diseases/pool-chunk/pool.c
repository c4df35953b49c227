/* A pool of 48 tasks. Rank 0 serves the workers (MPI_Probe, then a receive of the results), and they read the costs of the tasks from its window (passive target:
 * MPI_Get and flush). Chunks of 8 are too large: 6 for 5 workers. Worker 1 has the cheapest first one, is free first, and gets the sixth and dearest. All
 * others wait for it at the end of each sweep. Fixed: two tasks at a time, the dearest first. */
#include <mpi.h>
#include "bench.h"

enum { SWEEPS = 17, TASKS = 48, CHUNK = 8, FINE = 2, DONE = 1, NEXT = 2 };
static int rank, size;
static MPI_Win costs;
static double *memory, cost[TASKS], results[TASKS];

static void serve(int next)
{
    for (int working = size - 1; working > 0;) {
        int words, chunk;
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, DONE, MPI_COMM_WORLD, &status); /* @symptom */
        MPI_Get_count(&status, MPI_DOUBLE, &words);
        MPI_Recv(results, words, MPI_DOUBLE, status.MPI_SOURCE, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        chunk = next++;
        if (chunk >= TASKS / (bench.sick ? CHUNK : FINE)) {
            chunk = -1;
            working--;
        }
        MPI_Send(&chunk, 1, MPI_INT, status.MPI_SOURCE, NEXT, MPI_COMM_WORLD);
    }
}

static void read_costs(void)
{
    MPI_Get(cost, TASKS, MPI_DOUBLE, 0, 0, TASKS, MPI_DOUBLE, costs);
    MPI_Win_flush(0, costs); /* @cause */
}

static void tasks(int first, int count)
{
    for (int i = first; i < first + count; i++)
        bench_work(cost[i]); /* @cause */
}

static void take_chunks(void)
{
    int chunk = rank - 1, count = bench.sick ? CHUNK : FINE; /* the first one is known */
    read_costs();
    while (chunk >= 0) {
        tasks(bench.sick ? chunk * CHUNK : TASKS - (chunk + 1) * FINE, count);    /* @cause */
        MPI_Send(results, count, MPI_DOUBLE, 0, DONE, MPI_COMM_WORLD);            /* @cause */
        MPI_Recv(&chunk, 1, MPI_INT, 0, NEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @cause */
    }
}

static void converged(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* @symptom */
}

int main(int argc, char **argv)
{
    static const double ms[TASKS / CHUNK] = {1.25, 2.75, 3, 3.25, 3.5, 7};
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(TASKS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &costs);
    MPI_Win_lock_all(0, costs);
    for (int i = 0; i < TASKS; i++)
        memory[i] = ms[i / CHUNK] * 1e-3;
    MPI_Win_sync(costs);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int i = 0; i < SWEEPS; i++) {
        if (rank == 0)
            serve(size - 1);
        else
            take_chunks();
        converged(i);
    }
    bench_end();
    MPI_Win_unlock_all(costs);
    MPI_Win_free(&costs);
    MPI_Finalize();
    return 0;
}
