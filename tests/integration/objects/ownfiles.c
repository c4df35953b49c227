/* ownfiles PREFIX: each rank writes a file of its own, PREFIX.RANK, on MPI_COMM_SELF, and has a window on it. */
#include <mpi.h>

#include <stdio.h>

int main(int argc, char *argv[])
{
    char path[4096];
    int rank, value = 1, place = 0;
    MPI_File file;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", argc > 1 ? argv[1] : "own", rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    for (int i = 0; i <= rank; i++)
        MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Win_create(&place, sizeof place, sizeof place, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return place != 1;
}
