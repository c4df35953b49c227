/* scaled.c WORK EACH TURN EXTRA: milliseconds of sleep, which stands for work. WORK is divided among the ranks, each rank
 * does EACH, rank 0 does EXTRA. Then one rank after the other does TURN while the others wait.
 *
 * Each rank prints its own measurement: how many ranks there are, its run time, and its time outside of MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void work(double milliseconds)
{
    const struct timespec time = {(time_t)(milliseconds / 1000),
                                  (long)((milliseconds - 1000 * (long)(milliseconds / 1000)) * 1e6)};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    double part[4];
    if (argc != 5)
        return 2;
    for (int i = 0; i < 4; i++)
        part[i] = atof(argv[1 + i]);
    MPI_Init(&argc, &argv);
    double begin = now(), waited = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    work(part[0] / ranks + part[1] + (rank ? 0 : part[3]));
    for (int turn = 0; turn < ranks; turn++) {
        if (turn == rank)
            work(part[2]);
        double arrived = now();
        MPI_Barrier(MPI_COMM_WORLD);
        waited += now() - arrived;
    }
    double run = now() - begin;
    printf("measured %d %.9f %.9f\n", ranks, run, run - waited);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
