/* Two phases with different diseases. Assembly: rank 2 has 32 ms of elements, the others 14 ms; all meet in MPI_Win_fence (large). Solution: rank 0 packs 7 ms
 * before each MPI_Scatterv, and the others wait for it (small). Fixed: elements are spread evenly, and nothing has to be packed. */
#include <mpi.h>
#include "bench.h"

enum { ASSEMBLIES = 24, ITERATIONS = 20, PART = 64, MOST = 8 };
static int rank, size;
static MPI_Win matrix;
static double all[PART * MOST], part[PART];

static void elements(void)
{
    double ms = 14;
    if (bench.sick && rank == 2)
        ms = 32; /* @cause */
    if (!bench.sick)
        ms = (32 + 14.0 * (size - 1)) / size;
    bench_work(ms * 1e-3); /* @cause */
}

static void add_to_neighbour(void)
{
    MPI_Put(part, PART, MPI_DOUBLE, (rank + 1) % size, 0, PART, MPI_DOUBLE, matrix);
    MPI_Win_fence(0, matrix); /* @symptom @cause */
}

static void pack(void)
{
    bench_work(0.007); /* @cause2 */
}

static void hand_out(void)
{
    int counts[MOST], at[MOST];
    for (int r = 0; r < size; r++) {
        counts[r] = PART - r;
        at[r] = PART * r;
    }
    if (rank == 0 && bench.sick)
        pack(); /* @cause2 */
    MPI_Scatterv(all, counts, at, MPI_DOUBLE, part, counts[rank], MPI_DOUBLE, 0,
                 MPI_COMM_WORLD); /* @symptom2 @cause2 */
}

static void solve(void)
{
    bench_work(0.012);
}

int main(int argc, char **argv)
{
    double *memory, x = 1, sum;
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(PART * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &matrix);
    MPI_Win_fence(0, matrix);
    bench_begin(rank);
    for (int i = 0; i < ASSEMBLIES; i++) {
        elements();
        add_to_neighbour();
    }
    for (int i = 0; i < ITERATIONS; i++) {
        hand_out();
        solve();
    }
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_end();
    MPI_Win_free(&matrix);
    MPI_Finalize();
    return 0;
}
