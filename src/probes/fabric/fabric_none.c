/* In place of the other files, where the headers of libfabric and UCX are missing: nothing below MPI is counted. */
#include "fabric/fabric.h"

#include "progress/stall.h"
#include "recorder/opening.h"
#include "settings/demand.h"

bool stall_fabric_here(void)
{
    return false;
}

void fabric_open(void)
{
    if (demand_now(DEMAND_FABRIC))
        opened_say("mpit: this mpit was built without libfabric and UCX (libfabric-dev, libucx-dev): operations below "
                   "MPI are not counted");
}
