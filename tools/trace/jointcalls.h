/*
 * Calls that are not collective operations, but that no member leaves before all have come. MPI libraries implement
 * them this way.
 */
#ifndef MPIT_TOOLS_JOINTCALLS_H
#define MPIT_TOOLS_JOINTCALLS_H

#include <stdbool.h>

/* Returns whether it makes a communicator from another, with all members of that one. */
bool call_makes_comm(unsigned call);
/* All members of the window's communicator take part. */
bool call_is_of_window(unsigned call);
/* Returns whether the call is one of these, or MPI_Finalize, or frees a communicator, or sets up a file. */
bool call_gathers(unsigned call);

#endif
