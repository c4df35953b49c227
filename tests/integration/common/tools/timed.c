/* Calls MPI all the time, for as many seconds as its argument says. Prints how many calls of MPI_Bcast each rank made. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char *argv[])
{
    int token = 0, rank, more = 1;
    long calls = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    while (more) {
        for (int i = 0; i < 1000; i++, calls++)
            MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_SELF);
        more = MPI_Wtime() < end;
        for (double pause = MPI_Wtime() + 0.005; MPI_Wtime() < pause;)
            ;
    }
    MPI_Finalize();
    printf("rank %d: %ld calls\n", rank, calls);
    return 0;
}
