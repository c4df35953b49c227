/*
 * Event sources: mpit's clock at index 0, then the library's.
 *
 * The own source is not ordered: its events come from all threads. A posted message has the timestamp at which its call
 * began, and follows the events that were raised inside of that call. Timestamps are nanoseconds of the run's clock,
 * whose zero is the counter's. They do not overflow while the machine is up.
 */
#include "events/event_type.h"

#include "clock/clock.h"
#include "catalogue/hint.h"

static MPI_Count count_max(void)
{
    uint64_t largest = clock_ns(clock_calibrate(), UINT64_MAX);
    return largest > INT64_MAX ? INT64_MAX : (MPI_Count)largest;
}

SURFACE(source_get_num);
int MPI_T_source_get_num(int *num_sources)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    int count = 0;
    if (!num_sources)
        return MPI_T_ERR_INVALID;
    if (door.source_get_num && door.source_get_num(&count) != MPI_SUCCESS)
        count = 0;
    *num_sources = OWN_SOURCES + count;
    return MPI_SUCCESS;
}

/* Libraries crash, or succeed without a result, on invalid indices. */
static bool native_source_exists(int source_index)
{
    int count = 0;
    return source_index >= OWN_SOURCES && door.source_get_num && door.source_get_num(&count) == MPI_SUCCESS &&
           source_index - OWN_SOURCES < count;
}

SURFACE(source_get_info);
int MPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                          MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                          MPI_Info *info)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (native_source_exists(source_index) && door.source_get_info)
        return door.source_get_info(source_index - OWN_SOURCES, name, name_len, desc, desc_len, ordering,
                                    ticks_per_second, max_ticks, info);
    if (source_index < 0 || source_index >= OWN_SOURCES)
        return MPI_T_ERR_INVALID_INDEX;
    string_return("mpit_clock", name, name_len);
    string_return("The wrappers of MPI functions, in all threads. Timestamps are nanoseconds.", desc, desc_len);
    if (ordering)
        *ordering = MPI_T_SOURCE_UNORDERED;
    if (ticks_per_second)
        *ticks_per_second = 1000000000;
    if (max_ticks)
        *max_ticks = count_max();
    if (info)
        *info = hint_none_info();
    return MPI_SUCCESS;
}

SURFACE(source_get_timestamp);
int MPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (source_index >= 0 && source_index < OWN_SOURCES) {
        if (!timestamp)
            return MPI_T_ERR_INVALID;
        struct clock_scale scale = clock_calibrate(); /* first: it also chooses the clock */
        *timestamp = (MPI_Count)clock_ns(scale, clock_now());
        return MPI_SUCCESS;
    }
    if (!native_source_exists(source_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (!timestamp)
        return MPI_T_ERR_INVALID;
    return door.source_get_timestamp ? door.source_get_timestamp(source_index - OWN_SOURCES, timestamp)
                                     : MPI_T_ERR_NOT_SUPPORTED;
}
