#include <stdlib.h>

static inline int launched_as(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    return rank ? atoi(rank) : 1;
}
