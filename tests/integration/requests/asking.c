/*
 * A program that is not linked to MPI and asks whether it is there.
 *
 *   asking weak    by a weak symbol
 *   asking init    takes MPI for loaded when the process shows MPI_Init, as programs with a stub for MPI do, and else
 *                  loads the library itself: asking init LIBRARY
 *   asking other   calls what no MPI answers
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#pragma weak MPI_Initialized
extern int MPI_Initialized(int *flag);

static int call(const char *name)
{
    int (*function)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_DEFAULT, name);
    return function ? function(NULL, NULL) : -1;
}

static int weak_ask(void)
{
    int flag = 0;
    if (MPI_Initialized && MPI_Initialized(&flag) != 0)
        return 1;
    printf("initialized %d\n", flag);
    return flag;
}

int main(int argc, char *argv[])
{
    int flag = 0;
    if (argc < 2 || strcmp(argv[1], "weak") == 0)
        return weak_ask();
    if (strcmp(argv[1], "other") == 0)
        return printf("%s\n", call("MPI_Comm_free") > 0 ? "an error" : "no error") < 0;
    if (!dlsym(RTLD_DEFAULT, "MPI_Init") && (argc < 3 || !dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)))
        return 2;
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    if (initialized(&flag) != 0 || flag || call("MPI_Init") != 0 || initialized(&flag) != 0 || !flag)
        return 3;
    puts("initialized");
    return call("MPI_Finalize");
}
