/*
 * What a call costs: the loops that the bench times, and that callgrind counts instructions of.
 *
 *     callcost self N        N times Isend + Recv + Wait of one rank with itself (8 bytes)
 *     callcost pingpong N    N round trips of 8 bytes between ranks 0 and 1
 *     callcost allreduce N   N times an Allreduce of 8 bytes
 *     callcost clock N       N pairs of reads of the time stamp counter
 *
 * Prints on rank 0: nanoseconds an iteration, how many MPI calls an iteration makes on a rank, and the resident memory
 * of the process at the end in KiB.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { MESSAGE_BYTES = 8, WARM_UP = 1000 };

static int rank;

static void loop_self(long n)
{
    char out[MESSAGE_BYTES] = "", in[MESSAGE_BYTES];
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Isend(out, MESSAGE_BYTES, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(in, MESSAGE_BYTES, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_pingpong(long n)
{
    char buffer[MESSAGE_BYTES] = "";
    for (long i = 0; i < n && rank < 2; i++) {
        if (rank == 0)
            MPI_Send(buffer, MESSAGE_BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, MESSAGE_BYTES, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, MESSAGE_BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void loop_allreduce(long n)
{
    double in = 1, out;
    for (long i = 0; i < n; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The floor of every recorder that times calls: two reads of the clock that mpit uses. */
static void loop_clock(long n)
{
    static volatile unsigned long long sink __attribute__((unused));
    for (long i = 0; i < n; i++) {
#if defined(__x86_64__)
        unsigned long long begin = __rdtsc();
        __asm__ volatile("" ::: "memory");
        sink = __rdtsc() - begin;
#else
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        clock_gettime(CLOCK_MONOTONIC, &end);
        sink = (unsigned long long)(end.tv_nsec - begin.tv_nsec);
#endif
    }
}

static long resident_kib(void)
{
    long kib = -1;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static const struct {
    const char *name;
    void (*run)(long);
    int calls; /* of MPI, an iteration and rank */
    int ranks; /* at least */
} loops[] = {
    {"self", loop_self, 3, 1},
    {"pingpong", loop_pingpong, 2, 2},
    {"allreduce", loop_allreduce, 1, 1},
    {"clock", loop_clock, 1, 1},
};

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc == 3 && i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(argv[1], loops[i].name) != 0 || size < loops[i].ranks)
            continue;
        long n = atol(argv[2]);
        loops[i].run(n < WARM_UP ? n : WARM_UP);
        double begin = MPI_Wtime();
        loops[i].run(n);
        double seconds = MPI_Wtime() - begin;
        if (rank == 0)
            printf("%.2f %d %ld\n", seconds * 1e9 / (double)n, loops[i].calls, resident_kib());
        MPI_Finalize();
        return 0;
    }
    if (rank == 0)
        fprintf(stderr, "callcost: self|pingpong|allreduce|clock ITERATIONS (pingpong needs 2 ranks)\n");
    MPI_Finalize();
    return 2;
}
