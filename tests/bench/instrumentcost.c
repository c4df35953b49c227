/*
 * instrumentcost: what an update of <mpit/instrument.h> costs, in nanoseconds, and in pairs of clock reads (which is
 * what timing anything costs). Run it with and without mpit's library preloaded; it is no MPI program until it is told
 * to be.
 *
 *     instrumentcost [UPDATES]
 */
#include <mpit/instrument.h>

#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

MPIT_COUNTER(bench_owned, "Added to by one thread.");
MPIT_COUNTER(bench_shared, "Added to by a thread that is not its owner.");
MPIT_AGGREGATE_DOUBLE(bench_real, "A sum of doubles.");
MPIT_LEVEL(bench_level, "A level with watermarks.");
MPIT_SIZE(bench_size, "A size.");
MPIT_REGION(bench_region, "A region.");

enum { ROUNDS = 7 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The least of some rounds, in nanoseconds for one. */
#define MEASURE(result, updates, ...)                                                                                  \
    do {                                                                                                               \
        result = 1e9;                                                                                                  \
        for (int round_ = 0; round_ < ROUNDS; round_++) {                                                              \
            double begin_ = seconds();                                                                                 \
            for (long i_ = 0; i_ < (updates); i_++) {                                                                  \
                __VA_ARGS__;                                                                                           \
                __asm__ volatile("" ::: "memory");                                                                     \
            }                                                                                                          \
            double one_ = (seconds() - begin_) * 1e9 / (double)(updates);                                              \
            result = one_ < result ? one_ : result;                                                                    \
        }                                                                                                              \
    } while (0)

static double empty, pair;

static void tell(const char *what, double ns)
{
    printf("%-34s %7.2f ns  %6.2f pairs of clock reads\n", what, ns - empty, (ns - empty) / (pair - empty));
}

static void *shared_claim(void *unused)
{
    mpit_add(&bench_shared, 1);
    return unused;
}

int main(int argc, char **argv)
{
    long updates = argc > 1 ? atol(argv[1]) : 5000000;
    double ns;
    struct timespec one, other;
    pthread_t owner;
    MPI_Init(&argc, &argv);
    pthread_create(&owner, NULL, shared_claim, NULL); /* it must live on, or this thread may be taken for it */
    pthread_join(owner, NULL);
    MEASURE(empty, updates, (void)0);
    MEASURE(pair, updates / 10, (clock_gettime(CLOCK_MONOTONIC, &one), clock_gettime(CLOCK_MONOTONIC, &other)));
    printf("mpit is %sloaded; a pair of clock_gettime takes %.1f ns\n", bench_owned.cell ? "" : "not ", pair - empty);
    MEASURE(ns, updates, mpit_add(&bench_owned, 1));
    tell("mpit_add, the owner", ns);
    MEASURE(ns, updates, mpit_add(&bench_shared, 1));
    tell("mpit_add, another thread", ns);
    MEASURE(ns, updates, mpit_add_double(&bench_real, 1.0));
    tell("mpit_add_double, the owner", ns);
    MEASURE(ns, updates, mpit_set(&bench_size, (unsigned long long)i_));
    tell("mpit_set", ns);
    MEASURE(ns, updates, (mpit_level_add(&bench_level, 1), mpit_level_subtract(&bench_level, 1)));
    tell("mpit_level_add and _subtract", ns);
    MEASURE(ns, updates / 10, (mpit_region_enter(&bench_region), mpit_region_leave(&bench_region)));
    tell("mpit_region_enter and _leave", ns);
    MPI_Finalize();
    return 0;
}
