/* Locks on windows: for whose release a call has waited. */
#include "analysis/analysis_lanes.h"
#include "trace/jointcalls.h"

#include <stdlib.h>

/* The lock of a window at a target. */
struct window_lock {
    struct keyed keyed; /* communicator << 32 | window, target */
    struct arrival released;
};

/* The number that a process gives to a window, and the same for all its members: how many calls for all came before. */
struct window_name {
    struct keyed keyed; /* rank, slot of the communicator << 32 | number */
    uint64_t window;
};

void lock_window_made(struct analysis_lanes *lanes, const struct analysis_lane *lane, uint64_t joint)
{
    const struct event *event = &lane->call.event;
    bool makes = event_kind(event) != CALL_MPI_Win_fence && event_kind(event) != CALL_MPI_Win_free;
    if (!call_is_of_window(event_kind(event)) ||
        (lanes->analysis->last && !makes)) /* it was made before the last part */
        return;
    struct window_name *name =
        keytable_make(&lanes->windows, (uint64_t)lane->process->world_rank, lock_window_number(event), sizeof *name);
    if (name && makes)
        name->window = joint;
    lanes->analysis->no_memory |= !name;
}

bool lock_window_find(const struct analysis_lanes *lanes, const struct analysis_lane *lane, uint64_t *window)
{
    const struct event *event = &lane->call.event;
    const struct window_name *name =
        keytable_find(&lanes->windows, (uint64_t)lane->process->world_rank, lock_window_number(event));
    struct place place;
    if (!name || (event->kind & EVENT_FAILED) || !event_place_find(lanes, lane->process, event, &place))
        return false;
    *window = (uint64_t)place.index << 32 | (uint32_t)name->window;
    return true;
}

/* NULL: the call is for no target, or the window is not known. */
static struct window_lock *lock_of(struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    const struct event *event = &lane->call.event;
    uint64_t window;
    if (event->peer < 0 || !lock_window_find(lanes, lane, &window))
        return NULL;
    struct window_lock *lock = keytable_make(&lanes->locks, window, (uint64_t)(uint32_t)event->peer, sizeof *lock);
    lanes->analysis->no_memory |= !lock;
    return lock;
}

void lock_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    unsigned kind = event_kind(&lane->call.event);
    struct window_lock *lock = kind == CALL_MPI_Win_unlock ? lock_of(lanes, lane) : NULL;
    if ((kind == CALL_MPI_Win_unlock || kind == CALL_MPI_Win_unlock_all) && lane->locks)
        lane->locks--;
    if (!lock)
        return;
    path_drop(&lanes->analysis->paths, lock->released.moment.path);
    lock->released = (struct arrival){lane_moment(lanes->analysis, lane), lane->process->world_rank};
    path_drop(&lanes->analysis->paths, lock->released.moment.path);
    lock->released.moment.path = worlds_mark_release(lanes, lane);
}

void lock_end(struct analysis_lanes *lanes, struct analysis_lane *lane, struct blame *blame)
{
    unsigned kind = event_kind(&lane->call.event);
    bool locks = kind == CALL_MPI_Win_lock || kind == CALL_MPI_Win_lock_all;
    if (!locks && kind != CALL_MPI_Win_unlock && kind != CALL_MPI_Win_flush)
        return;
    const struct window_lock *lock = lock_of(lanes, lane);
    struct place place;
    if (!lock && !(lane->call.event.kind & EVENT_FAILED) && (locks ? kind == CALL_MPI_Win_lock : true))
        need_unknown(lanes);
    if (lock && lock->released.moment.path && lock->released.world_rank != lane->process->world_rank &&
        lock->released.moment.ns > lane->begin_ns && lock->released.moment.ns < lane->end_ns &&
        event_place_find(lanes, lane->process, &lane->call.event, &place)) {
        need_known(lanes, &lock->released.moment);
        blame_offer(blame, WAIT_FOR_LOCK, place.index, &lock->released, NULL);
    }
    if (locks && lane->locks++ == 0) {
        lane->locked_from_ns = lane->end_ns;
        lane->locked_ns = 0;
    }
}

void locks_release(struct analysis_lanes *lanes)
{
    for (size_t i = 0; i < lanes->locks.capacity; i++)
        for (struct keyed *keyed = lanes->locks.buckets[i]; keyed; keyed = keyed->next)
            path_drop(&lanes->analysis->paths, ((struct window_lock *)keyed)->released.moment.path);
    keytable_release(&lanes->locks, NULL);
    keytable_release(&lanes->windows, NULL);
}
