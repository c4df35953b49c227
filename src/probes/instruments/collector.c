#include "gate.h"
#include "handles/moment.h"

#include "mpit/collector.h"

GATE(mpi_collector_api);
int mpi_collector_api(void *reserved)
{
    (void)reserved;
    return (int)moment_state();
}
