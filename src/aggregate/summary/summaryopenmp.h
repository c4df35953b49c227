/*
 * Of a process in a summary: what the threads of OpenMP did (struct run_openmp of a run file). M: its threads.
 *
 *   M x run time = M x time in MPI outside of regions + mpi + useful + serial + imbalance + overhead
 *
 * Its parallel regions are summary.parallel: a site has how often and how long it was in the region, in stall_ns the imbalance of the
 * threads, the overhead, and what one thread computed after it until the next region. The site SITE_OTHERS has regions without a place.
 */
#ifndef MPIT_AGGREGATE_SUMMARYOPENMP_H
#define MPIT_AGGREGATE_SUMMARYOPENMP_H

#include <stdint.h>

struct run_reader;
struct summary;

struct row_openmp {
    uint64_t threads, regions; /* threads = 0: nothing is known */
    uint64_t parallel_ns;
    uint64_t useful_ns, mpi_ns, serial_ns, imbalance_ns, overhead_ns; /* of all threads */
};

/* Adds the regions, and fills in the row of the process, which has its other figures. Returns 0, or -1 without memory. */
int summary_openmp_fill(struct summary *summary, const struct run_reader *run, uint64_t end_ticks);

struct openmp_sums {
    double useful, outside; /* of all threads and processes: computation, and the time outside of MPI. Seconds */
    double serial, imbalance, overhead;
    double threads, processes; /* threads > processes: there are figures of OpenMP */
};
/* Over all processes. One without figures of OpenMP has one thread. */
struct openmp_sums summary_openmp_sums(const struct summary *summary);

#endif
