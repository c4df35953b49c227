/*
 * The first collective operation of a program whose processes differ in their settings: its result has to be right, and
 * MPI_Init has to end.
 * Usage: differing WORDS [CVAR [native]]: so many words; rank 1 sets the control variable to 1 before MPI_Init, unless
 * it is "-"; native: the library's own MPI_Finalize ends it, by which mpit does not come
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void variable_set(const char *name)
{
    int level, index, count;
    MPI_T_cvar_handle handle;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("PMI_RANK");
    if (!rank || atoi(rank) != 1)
        return;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS ||
        MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, &(int){1}) != MPI_SUCCESS)
        fprintf(stderr, "%s cannot be set\n", name);
}

static int native_finalize(void)
{
    static const char *const libraries[] = {"libmpi.so.40", "libmpich.so.12"};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        int (*finalize)(void) = library ? (int (*)(void))dlsym(library, "PMPI_Finalize") : NULL;
        if (finalize)
            return finalize();
    }
    fputs("the library is not known\n", stderr);
    return MPI_ERR_OTHER;
}

int main(int argc, char *argv[])
{
    enum { WORDS_MOST = 100 };
    unsigned long long mine[WORDS_MOST], all[WORDS_MOST];
    struct timespec before, after;
    int rank, size, words = argc > 1 ? atoi(argv[1]) : 6, wrong = 0;
    if (words > WORDS_MOST)
        return 2;
    if (argc > 2 && strcmp(argv[2], "-") != 0)
        variable_set(argv[2]);
    clock_gettime(CLOCK_MONOTONIC, &before);
    MPI_Init(&argc, &argv);
    clock_gettime(CLOCK_MONOTONIC, &after);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < words; i++)
        mine[i] = 10 + (unsigned)rank;
    MPI_Allreduce(mine, all, words, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < words; i++)
        wrong += all[i] != 9 + (unsigned)size;
    printf("rank %d %s init %ld ms\n", rank, wrong ? "WRONG" : "right",
           (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
    fflush(stdout);
    int ended = argc > 3 ? native_finalize() : MPI_Finalize();
    return wrong != 0 || ended != MPI_SUCCESS;
}
