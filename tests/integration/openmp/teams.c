/* teams KIND: what the threads of OpenMP do, known by the program's own clock. Sleep is computation here, so that a busy machine does not
 * matter. Each rank prints "teams RANK THREADS RUN PARALLEL USEFUL MPI_OUT MPI_IN SERIAL IMBALANCE OVERHEAD", in microseconds: what all threads
 * computed, MPI outside and inside of regions, and idle threads.
 *
 *   serial     one thread computes for a known part between regions
 *   imbalance  in each region the last thread computes longer
 *   turns      in each region the threads compute longer in turn, with a barrier after each turn: none is slower in the end
 *   starts     many short regions
 *   funneled   the first thread is in MPI inside of regions, the others compute
 *   multiple   all threads are in MPI inside of regions
 *   tasks      threads that wait at the end of a region run tasks
 *   critical   all work is in a critical section
 *   ordered    all work is in the ordered part of a loop
 *   forks      a child of fork runs regions, too
 *   inner      regions inside of regions
 *   whole      one region from MPI_Init to MPI_Finalize
 *   spin       threads use processors: "cores RANK ELAPSED PROCESSOR" is what they used between calls of MPI, in microseconds
 *   before     regions before MPI_Init and after MPI_Finalize, too, which do not count
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, REGIONS = 10, MOST = 16 };

static double elapsed, processor;
static double run; /* its begin, then its length */
static double useful, mpi_out, mpi_in, parallel, imbalance, overhead;
static double own[MOST], own_mpi[MOST]; /* of the threads, in the region */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void pause_us(double us)
{
    struct timespec time = {(time_t)(us * 1e-6), (long)((long long)(us * 1e3) % 1000000000)};
    nanosleep(&time, NULL);
}

/* The thread computes, and counts it. */
static void compute(double us)
{
    double begin = now();
    pause_us(us);
    own[omp_get_thread_num()] += now() - begin;
}

static void barrier_of_ranks(double *to)
{
    double begin = now();
    MPI_Barrier(MPI_COMM_WORLD);
    *to += now() - begin;
}

__attribute__((noinline)) static double region_begin(void)
{
    memset(own, 0, sizeof own);
    memset(own_mpi, 0, sizeof own_mpi);
    return now();
}

__attribute__((noinline)) static void region_end(double begin, int threads)
{
    double wall = now() - begin, least = wall;
    parallel += wall;
    for (int i = 0; i < threads; i++)
        least = wall - own[i] < least ? wall - own[i] : least;
    for (int i = 0; i < threads; i++) {
        useful += own[i] - own_mpi[i];
        mpi_in += own_mpi[i];
        imbalance += wall - own[i] - least;
    }
    overhead += threads * least;
}

__attribute__((noinline)) static void region_even(double us)
{
    double begin = region_begin();
#pragma omp parallel
    compute(us);
    region_end(begin, THREADS);
}

__attribute__((noinline)) static void region_uneven(double us)
{
    double begin = region_begin();
#pragma omp parallel
    compute(omp_get_thread_num() == THREADS - 1 ? 3 * us : us);
    region_end(begin, THREADS);
}

__attribute__((noinline)) static void region_turns(double us)
{
    double begin = region_begin();
#pragma omp parallel
    for (int turn = 0; turn < THREADS; turn++) {
        compute(omp_get_thread_num() == turn ? 2 * us : us);
#pragma omp barrier
    }
    region_end(begin, THREADS);
}

/* In turn the ranks let each other wait in MPI_Recv. */
static void message_wait(int thread, int round, int rank, double us)
{
    double begin;
    int data = round;
    if (round % 2 == rank % 2)
        compute(us);
    begin = now();
    if (round % 2 == rank % 2)
        MPI_Send(&data, 1, MPI_INT, rank ^ 1, thread, MPI_COMM_WORLD);
    else
        MPI_Recv(&data, 1, MPI_INT, rank ^ 1, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    own[thread] += now() - begin;
    own_mpi[thread] += now() - begin;
}

__attribute__((noinline)) static void region_mpi(int round, int rank, double us, int all)
{
    double begin = region_begin();
#pragma omp parallel
    if (all || omp_get_thread_num() == 0)
        message_wait(omp_get_thread_num(), round, rank, us);
    else
        compute(us);
    region_end(begin, THREADS);
}

__attribute__((noinline)) static void region_tasks(double us)
{
    double begin = region_begin();
#pragma omp parallel
#pragma omp single nowait
    for (int i = 0; i < 4 * THREADS; i++) {
#pragma omp task
        compute(us);
    }
    region_end(begin, THREADS);
}

__attribute__((noinline)) static void region_critical(double us)
{
    double begin = region_begin();
#pragma omp parallel
    {
#pragma omp critical
        compute(us);
    }
    region_end(begin, THREADS);
}

__attribute__((noinline)) static void region_ordered(double us)
{
    double begin = region_begin();
#pragma omp parallel
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 2 * THREADS; i++) {
#pragma omp ordered
        compute(us);
    }
    region_end(begin, THREADS);
}

/* A child leaves the figures of its parent alone. */
static void child_run(double us)
{
    pid_t child = fork();
    if (child == 0) {
        region_uneven(us);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

__attribute__((noinline)) static void region_inner(double us)
{
    double begin = region_begin();
#pragma omp parallel
    {
        int thread = omp_get_thread_num();
        double from = now();
#pragma omp parallel num_threads(2)
        pause_us(thread == 0 ? 2 * us : us);
        own[thread] += now() - from;
    }
    region_end(begin, THREADS);
}

/* The region ends in MPI_Finalize. */
__attribute__((noinline)) static void region_whole(double us)
{
    double begin = region_begin();
#pragma omp parallel
    {
        for (int i = 0; i < REGIONS; i++) {
            compute(omp_get_thread_num() == 0 ? 2 * us : us);
#pragma omp barrier
        }
#pragma omp master
        {
            region_end(begin, THREADS);
            run = now() - run;
            MPI_Finalize();
        }
    }
}

static double processor_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* Thread 1 computes for half as long. */
__attribute__((noinline)) static void region_spin(double us)
{
    double begin = now(), used = processor_us();
#pragma omp parallel
    {
        double from = now();
        while (now() - from < (omp_get_thread_num() ? us / 2 : us))
            ;
    }
    elapsed += now() - begin;
    processor += processor_us() - used;
}

static void round_make(const char *kind, int round, int rank)
{
    double us = 20000;
    if (strcmp(kind, "serial") == 0) {
        region_even(us);
        pause_us(us); /* in main, one thread */
    } else if (strcmp(kind, "imbalance") == 0) {
        region_uneven(us);
    } else if (strcmp(kind, "turns") == 0) {
        region_turns(us);
    } else if (strcmp(kind, "starts") == 0) {
        for (int i = 0; i < 200; i++)
            region_even(0);
    } else if (strcmp(kind, "spin") == 0) {
        region_spin(2.5 * us);
    } else if (strcmp(kind, "tasks") == 0) {
        region_tasks(us);
    } else if (strcmp(kind, "critical") == 0) {
        region_critical(us);
    } else if (strcmp(kind, "ordered") == 0) {
        region_ordered(us);
    } else if (strcmp(kind, "forks") == 0) {
        region_even(us);
        child_run(us);
    } else if (strcmp(kind, "inner") == 0) {
        region_inner(us);
    } else if (strcmp(kind, "funneled") == 0 || strcmp(kind, "multiple") == 0) {
        region_mpi(round, rank, us, kind[0] == 'm');
    } else {
        region_even(us);
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    int rank, given, level = strcmp(kind, "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    omp_set_num_threads(THREADS);
    omp_set_max_active_levels(2);
    if (strcmp(kind, "before") == 0)
        region_uneven(100000);
    else if (strcmp(kind, "serial") != 0)
        region_even(0); /* it starts the runtime. Else that is after MPI_Init */
    MPI_Init_thread(&argc, &argv, level, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    run = now();
    useful = mpi_out = mpi_in = parallel = imbalance = overhead = 0;
    barrier_of_ranks(&mpi_out);
    if (strcmp(kind, "whole") == 0)
        region_whole(20000);
    for (int i = 0; i < REGIONS && strcmp(kind, "whole") != 0; i++) {
        round_make(kind, i, rank);
        barrier_of_ranks(&mpi_out);
    }
    if (strcmp(kind, "whole") != 0)
        run = now() - run;
    printf("teams %d %d %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f\n", rank, THREADS, run, parallel,
           useful + (run - parallel - mpi_out), mpi_out, mpi_in, (THREADS - 1) * (run - parallel - mpi_out), imbalance,
           overhead);
    if (strcmp(kind, "spin") == 0)
        printf("cores %d %.0f %.0f\n", rank, elapsed, processor);
    fflush(stdout);
    if (strcmp(kind, "whole") != 0)
        MPI_Finalize();
    if (strcmp(kind, "before") == 0)
        region_uneven(100000);
    return 0;
}
