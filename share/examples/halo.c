/*
 * The tutorial's program: relaxation on a ring of processes, each with a strip of the field, which exchanges the
 * borders of its strip with its two neighbours before each step. The steps of rank 1 take longer than those of others.
 *
 *     mpicc -O2 halo.c -o halo -lm
 *     mpirun -n 4 ./halo [steps [--hang]]
 *
 * With --hang rank 1 waits for a message that nobody sends, after half of the steps.
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 4096, TAG_RIGHT = 1, TAG_LEFT = 2, TAG_NOBODY = 3 };

static double field[CELLS + 2], next[CELLS + 2];

static void exchange(MPI_Comm ring, int left, int right)
{
    MPI_Request requests[4];
    MPI_Irecv(&field[0], 1, MPI_DOUBLE, left, TAG_RIGHT, ring, &requests[0]);
    MPI_Irecv(&field[CELLS + 1], 1, MPI_DOUBLE, right, TAG_LEFT, ring, &requests[1]);
    MPI_Isend(&field[CELLS], 1, MPI_DOUBLE, right, TAG_RIGHT, ring, &requests[2]);
    MPI_Isend(&field[1], 1, MPI_DOUBLE, left, TAG_LEFT, ring, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static double relax(int times)
{
    double change = 0;
    for (int time = 0; time < times; time++) {
        change = 0;
        for (int i = 1; i <= CELLS; i++) {
            next[i] = 0.5 * field[i] + 0.25 * (field[i - 1] + field[i + 1]);
            change = fmax(change, fabs(next[i] - field[i]));
        }
        memcpy(&field[1], &next[1], CELLS * sizeof *field);
    }
    return change;
}

int main(int argc, char *argv[])
{
    int rank, size, left, right, periodic = 1;
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &ring);
    MPI_Comm_set_name(ring, "ring");
    MPI_Comm_rank(ring, &rank);
    MPI_Cart_shift(ring, 0, 1, &left, &right);

    int steps = argc > 1 ? atoi(argv[1]) : 500, hang = argc > 2 && strcmp(argv[2], "--hang") == 0;
    double change = 0, largest = 0;
    field[CELLS / 2] = rank + 1;
    for (int step = 0; step < steps; step++) {
        exchange(ring, left, right);
        change = relax(rank == 1 ? 30 : 10);
        if (step % 10 == 9)
            MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, ring);
        if (hang && rank == 1 && step == steps / 2)
            MPI_Recv(&change, 1, MPI_DOUBLE, right, TAG_NOBODY, ring, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("after %d steps the field changes by %.3g\n", steps, largest);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
