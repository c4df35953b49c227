/*
 * A program whose names a site may hide. Each name has "secret" in it.
 *
 *   secrets.c with -DLIBRARY: a library of the program. Without: the program, which links it. Its second argument is how
 *   long it runs, in seconds.
 */
#include <mpi.h>
#include <stdlib.h>

void secret_library_function(MPI_Comm comm);
void secret_function(MPI_Comm comm, double seconds);

#ifdef LIBRARY
void secret_library_function(MPI_Comm comm)
{
    MPI_Barrier(comm);
    MPI_Barrier(MPI_COMM_WORLD);
}
#else
void secret_function(MPI_Comm comm, double seconds)
{
    int token = 0;
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < seconds;) /* samples are taken here */
        ;
    MPI_Allreduce(MPI_IN_PLACE, &token, 1, MPI_INT, MPI_SUM, comm);
    secret_library_function(comm);
}

int main(int argc, char *argv[])
{
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    int *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "secret_communicator");
    MPI_Pcontrol(1, "secret_phase");
    secret_function(comm, argc > 2 ? atof(argv[2]) : 0.2);
    MPI_Pcontrol(-1, "secret_phase");
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_set_name(win, "secret_window");
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_File_open(comm, "secret_file", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
#if MPI_VERSION >= 4
    MPI_Group group;
    MPI_Comm tagged;
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_from_group(group, "secret_tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &tagged);
    MPI_Barrier(tagged);
    MPI_Comm_free(&tagged);
    MPI_Group_free(&group);
#endif
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
#endif
