/*
 * Loads the MPI library itself and calls what dlsym finds, as bindings of other languages do. Prints a line.
 *
 *     dlopened LIBRARY local|global|deep|default [close]
 *
 *     local, global, deep   RTLD_LOCAL, RTLD_GLOBAL, RTLD_DEEPBIND; functions come from dlsym(handle, ...)
 *     default               RTLD_GLOBAL; functions come from dlsym(RTLD_DEFAULT, ...)
 *     close                 dlclose at the end
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 10 };

static void *scope;

static void *find(const char *name)
{
    void *symbol = dlsym(scope, name);
    if (!symbol) {
        fprintf(stderr, "dlopened: no %s\n", name);
        exit(2);
    }
    return symbol;
}

#define FIND(name) ((__typeof__(&(name)))find(#name))

/* What mpi.h makes of handles may refer to the library's data, which nobody has linked here. */
#if defined(OPEN_MPI)
#define SELF ((MPI_Comm)find("ompi_mpi_comm_self"))
#define INT ((MPI_Datatype)find("ompi_mpi_int"))
#else
#define SELF MPI_COMM_SELF
#define INT MPI_INT
#endif

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int mode = strcmp(argv[2], "local") == 0  ? RTLD_LOCAL
               : strcmp(argv[2], "deep") == 0 ? RTLD_LOCAL | RTLD_DEEPBIND
                                              : RTLD_GLOBAL;
    void *handle = dlopen(argv[1], RTLD_NOW | mode);
    if (!handle) {
        fprintf(stderr, "dlopened: %s\n", dlerror());
        return 2;
    }
    scope = strcmp(argv[2], "default") == 0 ? RTLD_DEFAULT : handle;
    int right = 0;
    FIND(MPI_Init)(NULL, NULL);
    for (int i = 0; i < MESSAGES; i++) {
        int in = -1;
        FIND(MPI_Sendrecv)(&i, 1, INT, 0, i, &in, 1, INT, 0, i, SELF, MPI_STATUS_IGNORE);
        right += in == i;
    }
    FIND(MPI_Finalize)();
    if (argc > 3)
        dlclose(handle);
    printf("%d right\n", right);
    return right == MESSAGES ? 0 : 1;
}
