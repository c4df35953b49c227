/*
 * The memory of the process, and what it reads and writes (struct run_memory).
 *
 *   MPI_Init returns           ── memory_begin ──> what it has so far, and what the node has
 *   a long computation ends    ── memory_look ──> if it has grown: so much, and before which call
 *   MPI_Finalize begins        ── memory_end ──> the most, and what was read and written in between
 *
 * All is in the live file at once, so it is there after a death for want of memory.
 *
 * Who may run with whom: any number of threads and signal handlers call memory_look. One of them looks, the others go on.
 */
#ifndef MPIT_PROBES_MEMORY_H
#define MPIT_PROBES_MEMORY_H

#include "clock/clock.h"
#include "format/runfile.h"

void memory_begin(struct run_header *header, struct clock_scale scale);
/* At most a hundred times a second. `path`: number of the call path of the call that begins. */
void memory_look(uint64_t now, uint32_t path);
void memory_end(void);

#endif
