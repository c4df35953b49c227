/*
 * What the threads of OpenMP do between MPI_Init and MPI_Finalize (struct run_openmp).
 *
 *   runtime ── ompt.c ──> openmp_region_begin                         one region is open, the outermost
 *                         openmp_thread_enter, _leave                 its threads
 *                         openmp_state_push, _pop                     each is busy, or waits for others
 *                         openmp_region_end ──> run_openmp            useful, in MPI, imbalance, overhead
 *
 * Regions inside of a region are computation of the thread that begins them. So is a region that another thread begins
 * meanwhile.
 *
 * The runtime keeps two words for us: of a region, and of a thread. A thread may tell that it has left a region long after the
 * region has ended. Then its word is of another region than the open one, and says nothing.
 *
 * Who may run with whom: any threads. A place in the team belongs to its thread until the region ends. The thread that has begun the
 * region reads all places at its end, after the runtime's barrier. Nothing here waits, and nothing allocates, but for the place of a
 * new region.
 */
#ifndef MPIT_PROBES_OPENMP_H
#define MPIT_PROBES_OPENMP_H

#include "format/runfile.h"

#include <stdbool.h>

/* The run begins and ends in this process. */
void openmp_begin(void);
void openmp_end(void);

/* A runtime reports from now on. */
void openmp_reports(void);

/* Returns the word of the region. 0: it is not counted apart. `place`: the address behind the call that begins the region. 0: not
 * known. */
uint64_t openmp_region_begin(uint64_t place);
void openmp_region_end(uint64_t region);

/* Returns the new word of the thread, which has the number `index` of a team of `threads`. */
uint64_t openmp_thread_enter(uint64_t thread, uint64_t region, unsigned index, unsigned threads);
uint64_t openmp_thread_leave(uint64_t thread);

/* The thread begins to wait, or to run a task while it waits. Then it goes on with what it did before. */
void openmp_state_push(uint64_t thread, bool waits);
void openmp_state_pop(uint64_t thread);

#endif
