/* A lattice code with even work on two ranks. A stray process (started by rank 1's program before MPI_Init, as a job that was left behind) burns
 * the processor of rank 1, which gets half of it. Each rank is bound to a processor. Fixed: no stray process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "bench.h"

enum { SWEEPS = 40 };
static int rank;
static pid_t stray;

static void bind_and_disturb(int local)
{
    cpu_set_t all, one;
    int first = -1, last = -1;
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            first = first < 0 ? i : first;
            last = i;
        }
    CPU_ZERO(&one);
    CPU_SET(local == 1 ? last : first, &one);
    sched_setaffinity(0, sizeof one, &one);
    if (!bench.sick || local != 1)
        return;
    pid_t parent = getpid();
    stray = fork();
    if (stray == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(100); /* never stays behind */
        if (getppid() != parent)
            _exit(0);
        for (volatile unsigned long i = 0;; i++)
            ;
    }
}

static void update_links(void)
{
    bench_work(0.012); /* @cause */
}

static double plaquette(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* @cause @symptom */
    return sum;
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    const char *id = getenv("OMPI_COMM_WORLD_RANK");
    if (!id)
        id = getenv("PMI_RANK");
    bind_and_disturb(id ? atoi(id) : 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bench_begin(rank);
    double x = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        update_links();
        x = plaquette(x) / 2; /* @cause @symptom */
    }
    bench_end();
    if (stray > 0) {
        kill(stray, SIGKILL);
        waitpid(stray, 0, 0);
    }
    MPI_Finalize();
    return 0;
}
