/*
 * The summary of the job, reduced over its processes with MPI itself while MPI_Finalize has not begun.
 *
 * A binomial tree over mpit's own communicator (jobcomm.h): each process sends its part once, to the process whose rank
 * lacks its lowest bit, after it has taken in those of the ranks above it. Rank 0 writes the file. Messages of the
 * program that are still under way cannot be met, since the communicator is ours.
 */
#ifndef MPIT_PROBES_REDUCTION_H
#define MPIT_PROBES_REDUCTION_H

#include <stdbool.h>

/*
 * May all processes of the world be expected to take part? Not where several programs make up the job: one of them may
 * be without mpit, or in a language whose calls mpit does not see, and the others would wait for it. Known from the
 * environment alone (MPIT_REDUCE=0, Open MPI's OMPI_NUM_APP_CTX), alike in all processes; without that number the
 * processes of a world that was spawned cannot know. The run files stay then, and the tools make the summary out of
 * them.
 */
bool reduction_possible(void);

/* Every process of the world calls this. `recording`: this one has something to tell; `unfinished`: and will go on
 * recording, so that all keep their run files. True: the summary was written. */
bool reduction_run(bool recording, bool unfinished);

#endif
