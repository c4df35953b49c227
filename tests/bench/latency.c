/*
 * How long single calls take: what a recorder does once in a while (move a buffer to the trace) is in no mean.
 *
 *     latency LAPS [PERIOD]
 *
 * LAPS times PERIOD (8190, the events of a buffer) calls of MPI_Iprobe, one event each. Prints a line: nanoseconds of
 * the median call, of the 99th, 99.9th and 99.99th percentile and of the longest; then what repeats: the median over
 * the laps of each place in a lap, of which the longest, how many are twice the median call or more, and their sum;
 * then how many calls of the first lap, which meets fresh pages, took half a microsecond or more, and the median of
 * these. What the machine does in between hits other places in each lap, so that the medians of places show the
 * program's own work even on a busy machine.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    size_t laps = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, period = argc > 2 ? strtoul(argv[2], NULL, 10) : 8190;
    if (laps < 3 || period < 1 || laps > SIZE_MAX / period / sizeof(uint32_t)) {
        fprintf(stderr, "usage: latency LAPS [PERIOD]\n");
        return 2;
    }
    size_t count = laps * period;
    uint32_t *took = calloc(count, sizeof *took), *column = calloc(laps, sizeof *column);
    if (!took || !column)
        return 1;
    for (size_t i = 0; i < count; i++)
        took[i] = 1; /* the pages are there */
    MPI_Init(&argc, &argv);
    double begin_ns = now_ns();
    uint64_t begin = ticks();
    for (size_t i = 0; i < count; i++) {
        int flag;
        uint64_t before = ticks();
        MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        uint64_t duration = ticks() - before;
        took[i] = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX;
    }
    double ns = (now_ns() - begin_ns) / (double)(ticks() - begin);
    uint32_t longest = 0, *medians = calloc(period, sizeof *medians), *firsts = calloc(period, sizeof *firsts);
    size_t fresh = 0;
    for (size_t i = 0; firsts && i < period; i++)
        if (took[i] * ns >= 500)
            firsts[fresh++] = took[i];
    if (fresh)
        qsort(firsts, fresh, sizeof *firsts, compare);
    for (size_t place = 0; medians && place < period; place++) {
        for (size_t lap = 1; lap < laps; lap++)
            column[lap - 1] = took[lap * period + place];
        qsort(column, laps - 1, sizeof *column, compare);
        medians[place] = column[(laps - 1) / 2];
        longest = medians[place] > longest ? medians[place] : longest;
    }
    qsort(took, count, sizeof *took, compare);
    uint32_t median = took[count / 2];
    size_t slow = 0;
    double sum = 0;
    for (size_t place = 0; medians && place < period; place++)
        if (medians[place] >= 2 * median) {
            slow++;
            sum += medians[place] * ns;
        }
    printf("median %.0f p99 %.0f p99.9 %.0f p99.99 %.0f longest %.0f place %.0f slow %zu sum %.0f fresh %zu of %.0f\n",
           median * ns, took[count - count / 100 - 1] * ns, took[count - count / 1000 - 1] * ns,
           took[count - count / 10000 - 1] * ns, took[count - 1] * ns, longest * ns, slow, sum, fresh,
           fresh ? firsts[fresh / 2] * ns : 0);
    MPI_Finalize();
    free(took);
    free(column);
    free(medians);
    free(firsts);
    return 0;
}
