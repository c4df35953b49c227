/*
 * halves FILE
 *
 * Windows and files that not all ranks use, and not in the same order: of the even ranks, of the odd ones, and of all.
 * Each rank has other neighbours in its epochs. For tests of what numbers such objects.
 */
#include <mpi.h>
#include <stdio.h>

enum { TURNS = 50 };

struct half {
    MPI_Comm comm;
    int rank, size; /* of all */
    MPI_Win own, all;
    long *own_memory, *all_memory;
};

static void windows_create(struct half *half)
{
    for (int step = 0; step < 2; step++)
        if (step == half->rank % 2)
            MPI_Win_allocate(TURNS * sizeof(long), sizeof(long), MPI_INFO_NULL, half->comm, &half->own_memory,
                             &half->own);
        else
            MPI_Win_allocate(TURNS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &half->all_memory,
                             &half->all);
}

static void windows_use(struct half *half)
{
    MPI_Group world, next, before;
    int to = (half->rank + 1) % half->size, from = (half->rank + half->size - 1) % half->size;
    long value = half->rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &to, &next);
    MPI_Group_incl(world, 1, &from, &before);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Win_fence(0, half->own);
        MPI_Put(&value, 1, MPI_LONG, half->rank / 2, turn, 1, MPI_LONG, half->own);
        MPI_Win_fence(0, half->own);
        MPI_Win_post(before, 0, half->all);
        MPI_Win_start(next, 0, half->all);
        MPI_Accumulate(&value, 1, MPI_LONG, to, turn, 1, MPI_LONG, MPI_SUM, half->all);
        MPI_Win_complete(half->all);
        MPI_Win_wait(half->all);
    }
    MPI_Group_free(&next);
    MPI_Group_free(&before);
    MPI_Group_free(&world);
}

static void file_use(const struct half *half, MPI_Comm comm, const char *name)
{
    MPI_File file;
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request request;
        long value = turn;
        MPI_Offset at = (turn * half->size + half->rank) * (MPI_Offset)sizeof(long);
        MPI_File_iwrite_at(file, at, &value, 1, MPI_LONG, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

int main(int argc, char *argv[])
{
    static struct half half;
    char own[4096], mine[4200];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &half.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &half.size);
    MPI_Comm_split(MPI_COMM_WORLD, half.rank % 2, half.rank, &half.comm);
    snprintf(own, sizeof own, "%s.%d", argv[1], half.rank % 2);
    snprintf(mine, sizeof mine, "%s.of.%d", argv[1], half.rank);
    windows_create(&half);
    windows_use(&half);
    file_use(&half, half.comm, own);
    file_use(&half, MPI_COMM_WORLD, argv[1]);
    file_use(&half, MPI_COMM_SELF, mine);
    MPI_File_delete(mine, MPI_INFO_NULL);
    MPI_Win_free(&half.all);
    MPI_Win_free(&half.own);
    MPI_Comm_free(&half.comm);
    MPI_Finalize();
    return 0;
}
