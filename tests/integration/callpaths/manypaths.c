/*
 * Calls MPI_Iprobe on 2^TURNS call paths: each is a number, written as left and right turns. Then on the same ones again,
 * ROUNDS times in all (2).
 * Paths begin at different places of the stack, so that not all of them have one key in the recorder's table.
 *
 *     manypaths TURNS [ROUNDS]
 */
#include <mpi.h>

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACES = 2048 };

static long calls;

static int turn(unsigned path, int turns);

static __attribute__((noinline)) int left(unsigned path, int turns)
{
    return turn(path, turns) + 1;
}

static __attribute__((noinline)) int right(unsigned path, int turns)
{
    return turn(path, turns) + 2;
}

static __attribute__((noinline)) int turn(unsigned path, int turns)
{
    int flag;
    if (turns)
        return path & 1 ? left(path >> 1, turns - 1) + 1 : right(path >> 1, turns - 1) + 2;
    MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    calls++;
    return flag;
}

static __attribute__((noinline)) int begin(unsigned path, int turns)
{
    volatile char *room = alloca(16 * (1 + path % PLACES));
    room[0] = 1;
    return turn(path, turns) + room[0];
}

int main(int argc, char *argv[])
{
    int turns = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 2;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < rounds; round++)
        for (unsigned path = 0; path < 1u << turns; path++)
            begin(path, turns);
    printf("%ld calls\n", calls);
    MPI_Finalize();
    return 0;
}
