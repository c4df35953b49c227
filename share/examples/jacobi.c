/*
 * A solver with three faults, for mpit to find: relaxation of a plane, whose rows are spread over the processes.
 *
 *     mpicc -g -O2 jacobi.c -o jacobi -lm
 *     mpirun -n 4 ./jacobi [steps]
 *
 *     Rank 2 computes four times as long as the others, in chemistry().
 *     Rank 1 writes a log before it sends its borders, so its neighbors wait.
 *     A border goes in 512 messages of 16 bytes.
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 48, COLUMNS = 1024, PIECES = 512, PIECE = COLUMNS / PIECES };

/* Rows 0 and ROWS + 1 belong to the neighbors. */
static double plane[ROWS + 2][COLUMNS], next[ROWS + 2][COLUMNS];

/* The result is kept, so the compiler keeps the work. */
static double chemistry(int times)
{
    double sum = 0;
    for (int time = 0; time < times; time++)
        for (int row = 1; row <= ROWS; row++)
            for (int column = 0; column < COLUMNS; column++)
                sum += exp(-fabs(plane[row][column]) - time);
    return sum;
}

static void relax(void)
{
    for (int row = 1; row <= ROWS; row++)
        for (int column = 1; column < COLUMNS - 1; column++)
            next[row][column] = 0.25 * (plane[row - 1][column] + plane[row + 1][column] + plane[row][column - 1] +
                                        plane[row][column + 1]);
    memcpy(plane[1], next[1], sizeof plane - 2 * sizeof plane[0]);
}

static size_t write_log(int step)
{
    static char text[64];
    size_t written = 0;
    for (int row = 1; row <= ROWS; row += 2)
        for (int column = 0; column < COLUMNS; column += 3)
            written += (size_t)snprintf(text, sizeof text, "%d %d %d %.17g\n", step, row, column, plane[row][column]);
    return written;
}

static void exchange(int up, int down)
{
    MPI_Request requests[4 * PIECES];
    int count = 0;
    for (int piece = 0; piece < PIECES; piece++) {
        int first = piece * PIECE;
        MPI_Irecv(&plane[0][first], PIECE, MPI_DOUBLE, up, piece, MPI_COMM_WORLD, &requests[count++]);
        MPI_Irecv(&plane[ROWS + 1][first], PIECE, MPI_DOUBLE, down, piece, MPI_COMM_WORLD, &requests[count++]);
        MPI_Isend(&plane[1][first], PIECE, MPI_DOUBLE, up, piece, MPI_COMM_WORLD, &requests[count++]);
        MPI_Isend(&plane[ROWS][first], PIECE, MPI_DOUBLE, down, piece, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char *argv[])
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    int steps = argc > 1 ? atoi(argv[1]) : 200;
    double heat = 0, all = 0;
    size_t logged = 0;
    plane[ROWS / 2][COLUMNS / 2] = rank + 1;
    for (int step = 0; step < steps; step++) {
        if (rank == 1)
            logged += write_log(step);
        exchange(up, down);
        relax();
        heat = chemistry(rank == 2 ? 12 : 3);
        MPI_Allreduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 1)
        printf("after %d steps the heat is %.6g; the log has %zu bytes\n", steps, all, logged);
    MPI_Finalize();
    return 0;
}
