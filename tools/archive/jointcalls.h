/*
 * Calls that are no collective operations, and that no member leaves before all have come: as MPI libraries do it.
 */
#ifndef MPIT_TOOLS_JOINTCALLS_H
#define MPIT_TOOLS_JOINTCALLS_H

#include <stdbool.h>

/* It makes a communicator out of one, with all members of that. */
bool call_makes_comm(unsigned call);
/* All members of the window's communicator take part. */
bool call_is_of_window(unsigned call);
/* One of these, or another one: MPI_Finalize, what frees communicators, what sets up files. */
bool call_gathers(unsigned call);

#endif
