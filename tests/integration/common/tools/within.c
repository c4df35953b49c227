/* A library below mpit whose MPI_Init does not return in rank 1, when all others have left theirs. */
#define _GNU_SOURCE
#include "within.h"

#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int MPI_Init(int *argc, char ***argv)
{
    if (launched_as() != 1)
        return PMPI_Init(argc, argv);
    /* the library's own: mpit sees the one above return, and knows the rank from then on */
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
    int result = init(argc, argv);
    sleep(strcmp((*argv)[1], "hangs") == 0 ? 600 : 2);
    raise(SIGKILL);
    return result;
}
