/*
 * Functions that make or free a datatype or a group. They are local, so most of them are not recorded. But what they
 * make is known until it is freed (registry/unfreed.h).
 */
#ifndef MPIT_PROBES_MADE_H
#define MPIT_PROBES_MADE_H

#include "registry/unfreed.h"
#include "wrappers/enter.h"

/* Enters such a function, whose call path is found also where it is not recorded. */
HOT bool enter_made(struct probe *probe, enum call kind, const char *name, const void *caller)
{
    bool entered = local_is_asked(caller, name) && enter_call(probe, kind);
    if (entered && probe_is_quiet(probe)) /* else it has its path */
        path_enter_apart(probe->log, kind, probe->log->called);
    return entered;
}
/* `handle`: of the new object. One that MPI made for itself, inside of another call, is not the program's. */
void leave_made(struct probe *probe, enum call kind, int result, enum left_kind made, uint64_t handle);
/* `object`: as unfreed_remove has returned it before the call. */
void leave_freed(struct probe *probe, enum call kind, int result, struct unfreed object);

#endif
