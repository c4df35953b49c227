/* Who keeps something with a window closes its epoch when the window goes: in the delete callback of an attribute. */
#include <mpi.h>

#include <stdio.h>

static int value = 7;

static int closes(MPI_Win window, int key, void *attribute, void *extra)
{
    int rank = *(int *)attribute;
    (void)key, (void)extra;
    MPI_Win_flush_all(window);
    MPI_Put(&value, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
    return MPI_Win_unlock_all(window);
}

int main(int argc, char *argv[])
{
    int rank, key, *place;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, closes, &key, NULL);
    MPI_Win_allocate(sizeof *place, sizeof *place, MPI_INFO_NULL, MPI_COMM_WORLD, &place, &window);
    MPI_Win_set_attr(window, key, &rank);
    MPI_Win_lock_all(0, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
