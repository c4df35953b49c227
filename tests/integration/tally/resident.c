/* resident FILE: rank 0 takes LARGE bytes at one place and frees them. All ranks keep LEAK bytes more in each of PASSES passes,
 * read FILE and write to /dev/null. Each rank prints what the system says of it: "resident RANK PEAK READ READS WRITTEN WRITES LOOP_US". */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 300 << 20, LEAK = 1 << 20, PASSES = 40, PIECE = 64 << 10 };

static unsigned long long number_of(const char *file, const char *name)
{
    char line[256];
    unsigned long long number = 0;
    FILE *in = fopen(file, "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, name, strlen(name)) == 0)
            number = strtoull(line + strlen(name), NULL, 10);
    if (in)
        fclose(in);
    return number;
}

static void compute(long ms)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void file_copy(const char *name)
{
    static char piece[PIECE];
    int in = open(name, O_RDONLY), out = open("/dev/null", O_WRONLY);
    ssize_t bytes;
    while ((bytes = read(in, piece, sizeof piece)) > 0)
        if (write(out, piece, (size_t)bytes) != bytes)
            abort();
    close(in);
    close(out);
}

static void mesh_read(int rank)
{
    char *mesh = rank == 0 ? malloc(LARGE) : NULL;
    if (mesh)
        memset(mesh, 1, LARGE);
    __asm__ volatile("" : : "r"(mesh) : "memory");
    compute(30);
    MPI_Barrier(MPI_COMM_WORLD);
    free(mesh);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"rchar:", "syscr:", "wchar:", "syscw:"};
    unsigned long long before[4], after[4];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++)
        before[i] = number_of("/proc/self/io", names[i]);
    mesh_read(rank);
    double loop = -MPI_Wtime();
    for (int i = 0; i < PASSES; i++) {
        char *kept = malloc(LEAK + 1);
        memset(kept, 1, LEAK + 1);
        __asm__ volatile("" : : "r"(kept) : "memory");
        compute(20);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    loop += MPI_Wtime();
    file_copy(argv[1]);
    for (int i = 0; i < 4; i++)
        after[i] = number_of("/proc/self/io", names[i]);
    char line[256];
    int used = snprintf(line, sizeof line, "resident %d %llu", rank, number_of("/proc/self/status", "VmHWM:") * 1024);
    for (int i = 0; i < 4; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %llu", after[i] - before[i]);
    snprintf(line + used, sizeof line - (size_t)used, " %.0f", loop * 1e6);
    puts(line);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
