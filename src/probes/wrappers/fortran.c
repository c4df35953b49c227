/*
 * Calls from Fortran, which reach C as PMPI_*: all of them on Open MPI, on MPICH those of mpi_f08 that have no buffer.
 *
 *   program ──> mpi_send_ of the Fortran library ──> PMPI_Send: route_MPI_Send ──> wrapper ──> the library's PMPI_Send
 *   a tool behind mpit, the library itself ────────> PMPI_Send: route_MPI_Send ─────────────> the library's PMPI_Send
 *
 * Handles, indices and MPI_BOTTOM, MPI_STATUS_IGNORE and their like have been translated by the library's own Fortran
 * layer when the call comes by here. These wrappers are those of the C functions, compiled once more: what stands
 * behind them is PMPI_name, for a tool's MPI_name would not have been called either.
 */
#include "wrappers/caller.h"
#include "wrappers/profiled.h"
#include "wrappers/shapes.h"
#include "wrappers/switchboard.h"

struct next next_profiled;

void fortran_find(void)
{
#define NEXT_FIND(name)                                                                                                \
    __atomic_store_n(&next_profiled.name, (__typeof__(next.name))native_symbol("P" #name), __ATOMIC_RELEASE);
    NEXT_CALLS(NEXT_FIND)
#undef NEXT_FIND
}

#define next next_profiled

#undef GATE
#define GATE(name) extern __typeof__(name) name __asm__("mpit_fortran_" #name)
#undef GATE_PROFILED
#define GATE_PROFILED(name) _Static_assert(1, "")

/* Which body of the wrapper calls go to; the switchboard's. */
#undef ROUTE
#define ROUTE_WHERE(name, parameters, arguments, condition)                                                            \
    static __typeof__(&name) way_##name = (name);                                                                      \
    extern int route_##name parameters __attribute__((visibility("hidden")));                                          \
    int route_##name parameters                                                                                        \
    {                                                                                                                  \
        if (condition)                                                                                                 \
            return (*__atomic_load_n(&way_##name, __ATOMIC_RELAXED))arguments;                                         \
        return (*next.name)arguments;                                                                                  \
    }                                                                                                                  \
    _Static_assert(1, "")
#define ROUTE(name, parameters, arguments)                                                                             \
    ROUTE_WHERE(name, parameters, arguments, caller_is_fortran(__builtin_return_address(0)))

/* Local functions are called by the Fortran layer for its own ends, too. */
#undef ROUTE_LOCAL
#define ROUTE_LOCAL(name, parameters, arguments)                                                                       \
    ROUTE_WHERE(name, parameters, arguments,                                                                           \
                caller_is_fortran(__builtin_return_address(0)) && caller_asks_for(__builtin_return_address(0), #name))
#undef LOCAL_CALLER
#define LOCAL_CALLER NULL

#undef WRAPPED_DECLARE
#define WRAPPED_DECLARE(name) _Static_assert(1, "")
#undef WRAPPED_END
#define WRAPPED_END _Static_assert(1, "")
#undef WRAPPED_LIST
#define WRAPPED_LIST const struct bodies wrapped_fortran[]
#undef WRAPPED
#define WRAPPED(kind, name, timed, counted, general, keeps, local)                                                     \
    {                                                                                                                  \
        (void **)&way_##name, (void *)(timed), (void *)(counted), (void *)(general)                                    \
    }

#include "wrappers.c"
