/*
 * What a call costs: the loops that the bench times, and that callgrind counts instructions of.
 *
 *     callcost self N        N times Isend + Recv + Wait of one rank with itself (8 bytes)
 *     callcost pingpong N    N round trips of 8 bytes between ranks 0 and 1
 *     callcost allreduce N   N times an Allreduce of 8 bytes
 *     callcost clock N       N pairs of reads of the time stamp counter
 *     callcost classes N     one loop for each class of calls, on one rank, N iterations each (fewer of what is slow)
 *
 * Prints on rank 0: nanoseconds an iteration, how many MPI calls an iteration makes on a rank, and the resident memory
 * of the process at the end in KiB. "classes" prints a line for each loop: its name, nanoseconds an iteration, calls
 * and iterations.
 */
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
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

/* ---- one loop for each class of calls ---------------------------------------------------------------------------- */

static MPI_Comm self, grid;
static MPI_Win window;
static double *memory;
static MPI_File file;
static MPI_Request pair[2], sum;
static double one[2] = {1, 1}, other[2];

static void objects_make(void)
{
    int dims = 1, periods = 1;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Cart_create(self, 1, &dims, &periods, 0, &grid);
    MPI_Win_allocate(1024, sizeof(double), MPI_INFO_NULL, self, &memory, &window);
    MPI_Win_lock_all(0, window);
    const char *folder = getenv("TMPDIR");
    char name[512];
    snprintf(name, sizeof name, "%s/callcost.%d", folder ? folder : "/tmp", (int)getpid());
    MPI_File_open(self, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_Send_init(one, 1, MPI_DOUBLE, 0, 2, self, &pair[0]);
    MPI_Recv_init(other, 1, MPI_DOUBLE, 0, 2, self, &pair[1]);
    MPI_Allreduce_init(one, other, 1, MPI_DOUBLE, MPI_SUM, self, MPI_INFO_NULL, &sum);
}

static void objects_free(void)
{
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    MPI_Request_free(&sum);
    MPI_File_close(&file);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&self);
}

static void loop_sendrecv(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Sendrecv(one, 1, MPI_DOUBLE, 0, 1, other, 1, MPI_DOUBLE, 0, 1, self, MPI_STATUS_IGNORE);
}

static void loop_single(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, 1, self, &request);
        MPI_Send(one, 1, MPI_DOUBLE, 0, 1, self);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_waitall(long n)
{
    MPI_Request requests[2];
    for (long i = 0; i < n; i++) {
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, 1, self, &requests[0]);
        MPI_Isend(one, 1, MPI_DOUBLE, 0, 1, self, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void loop_persistent(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    }
}

static void loop_probe(long n)
{
    int flag;
    for (long i = 0; i < n; i++)
        MPI_Iprobe(0, 77, self, &flag, MPI_STATUS_IGNORE);
}

static void loop_collective(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Allreduce(one, other, 1, MPI_DOUBLE, MPI_SUM, self);
}

static void loop_icollective(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Iallreduce(one, other, 1, MPI_DOUBLE, MPI_SUM, self, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_pcollective(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Start(&sum);
        MPI_Wait(&sum, MPI_STATUS_IGNORE);
    }
}

static void loop_neighbor(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Neighbor_alltoall(one, 1, MPI_DOUBLE, other, 1, MPI_DOUBLE, grid);
}

static void loop_rma(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Put(one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_flush(0, window);
    }
}

static void loop_io(long n)
{
    MPI_Offset bytes;
    for (long i = 0; i < n; i++)
        MPI_File_get_size(file, &bytes);
}

static void loop_comm(long n)
{
    MPI_Comm made;
    for (long i = 0; i < n; i++) {
        MPI_Comm_dup(self, &made);
        MPI_Comm_free(&made);
    }
}

static const struct {
    const char *name;
    void (*run)(long);
    int calls, slower; /* iterations are divided by that */
} classes[] = {
    {"sendrecv", loop_sendrecv, 1, 1},
    {"single", loop_single, 3, 1},
    {"waitall", loop_waitall, 3, 1},
    {"persistent", loop_persistent, 2, 1},
    {"probe", loop_probe, 1, 1},
    {"collective", loop_collective, 1, 1},
    {"icollective", loop_icollective, 2, 4},
    {"pcollective", loop_pcollective, 2, 4},
    {"neighbor", loop_neighbor, 1, 4},
    {"rma", loop_rma, 2, 4},
    {"io", loop_io, 1, 4},
    {"comm", loop_comm, 2, 20},
};

/* Callgrind counts inside of this one: what is done at a first use stays outside. */
static __attribute__((noinline)) double measured(void (*run)(long), long n)
{
    double begin = MPI_Wtime();
    run(n);
    return MPI_Wtime() - begin;
}

static void classes_run(long n)
{
    objects_make();
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        long iterations = n / classes[i].slower + 1;
        classes[i].run(iterations / 10 + 1);
        double seconds = measured(classes[i].run, iterations);
        printf("%s %.2f %d %ld\n", classes[i].name, seconds * 1e9 / (double)iterations, classes[i].calls, iterations);
    }
    objects_free();
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
    if (argc == 3 && size == 1 && strcmp(argv[1], "classes") == 0) {
        classes_run(atol(argv[2]));
        MPI_Finalize();
        return 0;
    }
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
        fprintf(stderr, "callcost: self|pingpong|allreduce|clock|classes ITERATIONS (pingpong needs 2 ranks)\n");
    MPI_Finalize();
    return 2;
}
