/*
 * How many processes of a job share how many processors of a host, and whether they had them.
 */
#ifndef MPIT_AGGREGATE_HOSTLOAD_H
#define MPIT_AGGREGATE_HOSTLOAD_H

#include "summary/summary.h"

struct host_load {
    uint32_t ranks;
    uint32_t processors; /* that they may run on. 0: not known */
    /* Processes that share fewer processors than they are. Processes bound to different ones do not share any. */
    uint32_t crowded_ranks, crowded_processors;
    /* Of the process that lacked a processor most, or of crowded ones: processor time, and the time for which they wanted
     * a processor. wanted = 0: they did not lack any, or it is not known. */
    double had, wanted;
};

/* Returns for each rank below `size` how much of the wanted processor time it had: a share. It is 1 if the rank lacked
 * nearly nothing, or if most ranks lacked some: then the machine is busy. The caller frees it. NULL without memory. */
double *row_processor_shares(const struct summary *summary, int32_t size);
/* Returns for each rank below `size` in how much of its run time it wanted no processor: a share. 1: not known. The caller
 * frees it. NULL without memory. */
double *row_asleep_shares(const struct summary *summary, int32_t size);
/* Returns an entry for each of summary.hosts, which the caller frees. NULL without memory. */
struct host_load *host_loads_of(const struct summary *summary);

#endif
