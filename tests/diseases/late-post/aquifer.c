/* Wells (ranks 1 to 3) put their rates into the window of the aquifer (rank 0), which exposes it by MPI_Win_post. The window is free from the
 * beginning of a step, but rank 0 first solves its inner cells and posts then: the wells wait. Fixed: it posts first. Work is even. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 30, LAYERS = 128 };
static int rank, size;
static double *rates, mine[LAYERS];
static MPI_Win window;
static MPI_Group wells, aquifer;

static void inner_cells(void)
{
    bench_work(0.018); /* @cause */
}

static void expose(void)
{
    MPI_Win_post(wells, 0, window); /* @cause */
}

static void close_window(void)
{
    MPI_Win_wait(window);
}

static void well_cells(void)
{
    bench_work(0.004);
}

static void give_rates(void)
{
    MPI_Win_start(aquifer, 0, window);                                                         /* @symptom */
    MPI_Put(mine, LAYERS, MPI_DOUBLE, 0, (MPI_Aint)rank * LAYERS, LAYERS, MPI_DOUBLE, window); /* @symptom */
    MPI_Win_complete(window);                                                                  /* @symptom */
}

static void borehole(void)
{
    bench_work(0.022);
}

static void end_of_step(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* @cause */
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate((MPI_Aint)size * LAYERS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &rates,
                     &window);
    MPI_Group world;
    int zero = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &aquifer);
    MPI_Group_excl(world, 1, &zero, &wells);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int step = 0; step < STEPS; step++) {
        if (rank > 0) {
            give_rates(); /* @symptom */
            borehole();
        } else if (bench.sick) {
            inner_cells();
            expose(); /* @cause */
            close_window();
            well_cells();
        } else {
            expose();
            inner_cells();
            close_window();
            well_cells();
        }
        end_of_step(); /* @cause */
    }
    bench_end();
    MPI_Group_free(&world);
    MPI_Group_free(&aquifer);
    MPI_Group_free(&wells);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
