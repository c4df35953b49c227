/*
 * Phases: named parts of the program, which MPI_Pcontrol begins and ends. Each is a region (instrument.h) that also has
 * its calls, time in MPI, stalls and time without recording.
 *
 *   MPI_Pcontrol(1, "solve")   begins phase "solve"        MPI_Pcontrol(5)    begins phase "5", and so on
 *   MPI_Pcontrol(-1, "solve")  ends it                     MPI_Pcontrol(-5)   ends it
 *
 * MPI_Pcontrol takes any arguments, and nothing tells whether one was passed. After MPI_Pcontrol(1) the place of the
 * second argument has anything, perhaps the address of a text. So:
 *
 * - The text is read with memory_peek, and only at levels 1 and -1. It has to end, and to be printable.
 * - At level 1 it is remembered. It becomes a phase when level -1 comes with the same text. A value that was left in the
 *   register has no such end, and is forgotten.
 * - Each name is open once in a thread. A second begin starts it again, since the first one may have been such a value.
 *   The end of a phase forgets all names that came after its begin.
 *
 * A thread has its own phases. Their figures are those of that thread.
 */
#ifndef MPIT_PROBES_NAMEDPHASES_H
#define MPIT_PROBES_NAMEDPHASES_H

#include <stdbool.h>
#include <stdint.h>

/* MPI_Pcontrol was called, with this second argument if there was one. `profiled`: as PMPI_Pcontrol. `here`: where on
 * the stack. A tool behind mpit may pass a call on as PMPI_Pcontrol, which is then not another one. */
void phases_called(int level, uintptr_t argument, bool profiled, uintptr_t here);

#endif
