/* Two ranks, each with a helper thread (pthreads). Both threads advect; the remap is done by the main thread alone, the helper waits for a job.
 * MPI is perfect. Fixed: the helper takes half of the remap. */
#include <mpi.h>
#include <pthread.h>
#include "bench.h"

enum { STEPS = 30 };
static int rank;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static double job; /* seconds for the helper; 0: none, < 0: end */

static void part(double seconds)
{
    seconds *= bench.scale;
    if (bench.mode == BENCH_SPIN)
        bench_spin(seconds);
    else
        bench_sleep(seconds);
}

static void *helper(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (job == 0)
            pthread_cond_wait(&changed, &lock);
        if (job < 0)
            break;
        pthread_mutex_unlock(&lock);
        part(job);
        pthread_mutex_lock(&lock);
        job = 0;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void give_job(double seconds)
{
    pthread_mutex_lock(&lock);
    job = seconds;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_job(void)
{
    pthread_mutex_lock(&lock);
    while (job > 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void advect(void)
{
    give_job(0.010);
    part(0.010);
    await_job();
}

static void remap(void)
{
    if (bench.sick)
        part(0.024); /* @cause @symptom */
    else {
        give_job(0.012);
        part(0.012);
        await_job();
    }
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    bench_arguments(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_create(&thread, 0, helper, 0);
    bench_begin(rank);
    for (int step = 0; step < STEPS; step++) {
        double begin = bench_clock(CLOCK_MONOTONIC), mass = step, sum;
        advect();
        remap(); /* @cause @symptom */
        bench.work += bench_clock(CLOCK_MONOTONIC) - begin;
        bench.planned += (bench.sick ? 0.034 : 0.022) * bench.scale;
        MPI_Allreduce(&mass, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    bench_end();
    give_job(-1);
    pthread_join(thread, 0);
    MPI_Finalize();
    return 0;
}
