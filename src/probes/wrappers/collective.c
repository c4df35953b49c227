#include "wrappers/collective.h"

uint64_t coll_sum(const void *counts, int n, MPI_Datatype type, int large)
{
    int64_t sum = 0;
    for (int i = 0; counts && i < n; i++)
        sum += count_at(counts, i, large);
    return native_bytes(sum, type);
}

uint64_t coll_sum_types(const void *counts, int n, const MPI_Datatype *types, int large)
{
    uint64_t sum = 0;
    for (int i = 0; counts && types && i < n; i++)
        if (count_at(counts, i, large) > 0) /* where no data go, the type may be invalid */
            sum += native_bytes(count_at(counts, i, large), types[i]);
    return sum;
}

uint64_t neighbor_sum(const struct topology *topology, int n, const void *counts, MPI_Datatype type, int large)
{
    int64_t sum = 0;
    for (int i = 0; counts && i < n; i++)
        if (!topology->edged || topology->ranks[i] != MPI_PROC_NULL)
            sum += count_at(counts, i, large);
    return sum ? native_bytes(sum, type) : 0; /* where no data go, the type may be invalid */
}

uint64_t neighbor_sum_types(const struct topology *topology, int n, const void *counts, const MPI_Datatype *types,
                            int large)
{
    uint64_t sum = 0;
    for (int i = 0; counts && types && i < n; i++)
        if ((!topology->edged || topology->ranks[i] != MPI_PROC_NULL) && count_at(counts, i, large) > 0)
            sum += native_bytes(count_at(counts, i, large), types[i]);
    return sum;
}
