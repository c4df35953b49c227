#include "moment.h"

#include "mpit/collector.h"

__attribute__((visibility("default"))) int mpi_collector_api(void *reserved)
{
    (void)reserved;
    return moment_state();
}
