/* Neighbourhood collectives in all ways on all topologies. */
#ifndef NEIGHBORHOOD_H
#define NEIGHBORHOOD_H

#include "../common/callcount.h"

/* Each call's count and bytes are held against the variables; any number of processes up to 8. */
void neighborhood_use(MPI_Comm comm);

#endif
