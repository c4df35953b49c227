/*
 * What a call costs: the loops that the bench times, and that callgrind counts instructions of.
 *
 *     callcost self N        N times Isend + Recv + Wait of one rank with itself (8 bytes)
 *     callcost pingpong N    N round trips of 8 bytes between ranks 0 and 1
 *     callcost allreduce N   N times an Allreduce of 8 bytes
 *     callcost clock N       N pairs of reads of the time stamp counter
 *     callcost classes N [LOOP]   one loop for each class of calls, on one rank, N iterations each (fewer of what is
 * slow)
 *
 * Prints on rank 0: nanoseconds an iteration, how many MPI calls an iteration makes on a rank, and the resident memory
 * of the process at the end in KiB. "classes" prints a line for the clock and each loop (classloops.c): its name,
 * nanoseconds an iteration (the median of 101 stretches), calls of an iteration, iterations, and how many events of an
 * iteration mpit has recorded.
 */
#include "classloops.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { MESSAGE_BYTES = 8, WARM_UP = 1000, STRETCHES = 101 };

static int rank;
static MPI_T_pvar_session events_session;
static MPI_T_pvar_handle events_variable = MPI_T_PVAR_HANDLE_NULL;

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

/* Callgrind counts inside of this one: what is done at a first use stays outside. */
static __attribute__((noinline)) double measured(void (*run)(long), long n)
{
    double begin = MPI_Wtime();
    run(n);
    return MPI_Wtime() - begin;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds an iteration: the median of many short stretches, of which few are those in which the processor was given
 * to others. They have `iterations` together. */
static double measured_stretches(void (*run)(long), long *iterations)
{
    static double stretches[STRETCHES];
    long each = *iterations / STRETCHES + 1;
    for (int i = 0; i < STRETCHES; i++)
        stretches[i] = measured(run, each);
    *iterations = each * STRETCHES;
    qsort(stretches, STRETCHES, sizeof *stretches, compare);
    return stretches[STRETCHES / 2] * 1e9 / (double)each;
}

/* How many events mpit has emitted; 0 without it. */
static unsigned long long events_now(void)
{
    unsigned long long events = 0;
    if (events_variable != MPI_T_PVAR_HANDLE_NULL)
        MPI_T_pvar_read(events_session, events_variable, &events);
    return events;
}

static void events_open(void)
{
    int provided, index, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("mpit_events_recorded", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
        return;
    MPI_T_pvar_session_create(&events_session);
    MPI_T_pvar_handle_alloc(events_session, index, NULL, &events_variable, &count);
    MPI_T_pvar_start(events_session, events_variable); /* refused where it runs always */
}

static void events_close(void)
{
    if (events_variable != MPI_T_PVAR_HANDLE_NULL) {
        MPI_T_pvar_handle_free(events_session, &events_variable);
        MPI_T_pvar_session_free(&events_session);
    }
    MPI_T_finalize();
}

/* `only`: the name of one loop, or NULL. */
static void classes_run(long n, const char *only)
{
    class_objects_make();
    events_open();
    long pairs = n;
    double clock_ns = measured_stretches(loop_clock, &pairs);
    printf("clock %.2f 1 %ld 0\n", clock_ns, pairs);
    for (size_t i = 0; i < class_loop_count; i++) {
        const struct class_loop *loop = &class_loops[i];
        long iterations = n / loop->slower + 1;
        if (only && strcmp(only, loop->name) != 0)
            continue;
        loop->run(iterations / 10 + 1 + loop->first);
        unsigned long long before = events_now();
        double ns = measured_stretches(loop->run, &iterations);
        double events = (double)(events_now() - before) / (double)iterations;
        printf("%s %.2f %d %ld %.2f\n", loop->name, ns, loop->calls, iterations, events);
    }
    events_close();
    class_objects_free();
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

/* Runs the loop with so many more callers below main. */
static __attribute__((noinline)) void deep(void (*run)(long), long n, int callers)
{
    if (callers > 0)
        deep(run, n, callers - 1);
    else
        run(n);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
    int size;
    const char *callers = getenv("CALLCOST_CALLERS");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((argc == 3 || argc == 4) && size == 1 && strcmp(argv[1], "classes") == 0) {
        classes_run(atol(argv[2]), argv[3]);
        MPI_Finalize();
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(argv[1], loops[i].name) != 0 || size < loops[i].ranks)
            continue;
        long n = atol(argv[2]);
        int more = callers ? atoi(callers) : 0;
        deep(loops[i].run, n < WARM_UP ? n : WARM_UP, more);
        double begin = MPI_Wtime();
        deep(loops[i].run, n, more);
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
