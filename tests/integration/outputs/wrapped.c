/* Two parts of a program, one of which takes long, call MPI through one function, and a third one calls it itself. */
#include <mpi.h>

static double in[1000], out[1000];

__attribute__((noinline)) static int all_sum(int count)
{
    int status = MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    __asm__ volatile("");
    return status;
}

static void compute(double ms)
{
    for (double end = MPI_Wtime() + ms * 1e-3; MPI_Wtime() < end;)
        continue;
}

__attribute__((noinline)) static void solve(int rank)
{
    compute(rank ? 0 : 3);
    all_sum(1);
    __asm__ volatile("");
}

__attribute__((noinline)) static void diagnose(int rank)
{
    compute(rank ? 0 : 1);
    all_sum(1000);
    __asm__ volatile("");
}

__attribute__((noinline)) static void pass(int rank)
{
    solve(rank);
    diagnose(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 300; i++)
        pass(rank);
    MPI_Finalize();
}
