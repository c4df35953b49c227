#include "wrappers/made.h"

static void local_leave(struct probe *probe, enum call kind, int result)
{
    leave_call(probe, kind, result);
    if (probe_is_quiet(probe))
        path_restore(probe->log, probe->outer_path);
}

void leave_made(struct probe *probe, enum call kind, int result, enum left_kind made, uint64_t handle)
{
    if (result == MPI_SUCCESS && !probe->outer_here && handle != OBJECT_HANDLE(native.group_empty))
        unfreed_add(made, handle, probe->log->path->number, clock_now());
    local_leave(probe, kind, result);
}

void leave_freed(struct probe *probe, enum call kind, int result, struct unfreed object)
{
    if (result != MPI_SUCCESS && object.kind != LEFT_NONE)
        unfreed_add((enum left_kind)object.kind, object.handle, object.path, object.last);
    local_leave(probe, kind, result);
}
