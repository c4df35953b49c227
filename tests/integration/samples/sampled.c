/*
 * sampled shares SECONDS: two ranks; the second one computes longer, and the first one waits for it. A thread of each
 * sleeps all the time, and never calls MPI. Prints how long each rank was in which part, in nanoseconds:
 *     rank 0: compute 123 wait 456 sleep 789
 * sampled switch: writes mpit_sample_hz now and then, and prints how many samples there must be:
 *     rank 0: samples 360
 * sampled rate: prints what mpit_sample_hz is:
 *     rank 0: mpit_sample_hz 0
 */
#define _GNU_SOURCE
#include "../common/seconds.h"

#include <mpi.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) double spin(double until)
{
    volatile double sum = 0;
    while (now() < until)
        for (int i = 0; i < 1000; i++)
            sum += i;
    return sum;
}

__attribute__((noinline)) double compute(double seconds)
{
    return spin(now() + seconds) + 1;
}

__attribute__((noinline)) void wait_for_the_other(int rank)
{
    int value = 0;
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    __asm__ volatile("");
}

static volatile int stop;

static void *sleeps(void *value)
{
    double begin = now();
    while (!stop)
        usleep(50000);
    *(double *)value = now() - begin;
    return NULL;
}

static void shares(int rank, double seconds)
{
    pthread_t thread;
    double computed = 0, waited = 0, slept = 0, begin = now();
    if (pthread_create(&thread, NULL, sleeps, &slept) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < (int)(seconds / 0.05); i++) {
        double first = now();
        compute(rank == 1 ? 0.05 : 0.02);
        double second = now();
        wait_for_the_other(rank);
        computed += second - first;
        waited += now() - second;
    }
    while (now() < begin + seconds)
        ;
    stop = 1;
    pthread_join(thread, NULL);
    printf("rank %d: compute %.0f wait %.0f sleep %.0f\n", rank, computed * 1e9, waited * 1e9, slept * 1e9);
}

static MPI_T_cvar_handle rate;

static double at_rate(int hz, double seconds)
{
    int code = MPI_T_cvar_write(rate, &hz), is = -1;
    if (code != MPI_SUCCESS || MPI_T_cvar_read(rate, &is) != MPI_SUCCESS || is != hz)
        printf("WRONG: mpit_sample_hz cannot be %d: %d, is %d\n", hz, code, is);
    double begin = now();
    compute(seconds);
    return hz * (now() - begin);
}

static void rate_open(void)
{
    int index, count, level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    if (MPI_T_cvar_get_index("mpit_sample_hz", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &rate, &count) != MPI_SUCCESS)
        printf("WRONG: there is no mpit_sample_hz\n");
}

static void switched(int rank)
{
    compute(0.2);
    double samples = at_rate(1000, 0.3);
    samples += at_rate(0, 0.3);
    samples += at_rate(200, 0.5);
    samples += at_rate(0, 0.2);
    int much = 10001;
    if (MPI_T_cvar_write(rate, &much) == MPI_SUCCESS)
        printf("WRONG: mpit_sample_hz takes 10001\n");
    printf("rank %d: samples %.0f\n", rank, samples);
}

int main(int argc, char *argv[])
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "shares";
    int hz = -1;
    if (strcmp(what, "shares") != 0)
        rate_open();
    if (strcmp(what, "switch") == 0)
        switched(rank);
    else if (strcmp(what, "rate") == 0 && MPI_T_cvar_read(rate, &hz) == MPI_SUCCESS)
        printf("rank %d: mpit_sample_hz %d\n", rank, hz);
    else
        shares(rank, argc > 2 ? atof(argv[2]) : 1);
    MPI_Finalize();
    return 0;
}
