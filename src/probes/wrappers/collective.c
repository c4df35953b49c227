#include "wrappers/collective.h"

#include "format/reduction.h"

static MPI_Op operations[REDUCTION_COUNT]; /* built once, then only read */

void operations_find(void)
{
#define OPERATION_FIND(name, small) operations[REDUCTION_##name] = ABI_CONSTANT(MPI_##name, "ompi_mpi_op_" #small);
    REDUCTIONS(OPERATION_FIND)
#undef OPERATION_FIND
}

uint64_t operation_code(struct log *log, MPI_Op op)
{
    unsigned found = REDUCTION_COUNT - 1;
    while (found != REDUCTION_UNKNOWN && operations[found] != op)
        found--;
    log->operation = (struct coded_operation){op, (uint64_t)found << EVENT_REDUCTION_SHIFT};
    return log->operation.bits;
}

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
