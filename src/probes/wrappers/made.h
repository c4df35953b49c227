/*
 * Functions that make or free a datatype or a group. They are local, so most of them are not recorded. But what they
 * make is known until it is freed (registry/unfreed.h).
 */
#ifndef MPIT_PROBES_MADE_H
#define MPIT_PROBES_MADE_H

#include "registry/unfreed.h"
#include "wrappers/enter.h"

/* Enters such a function. Arguments and result as of enter_local. */
HOT bool enter_made(struct probe *probe, enum call kind, const char *name, const void *caller)
{
    bool asked = !caller || caller_is_program(caller) || caller_asks_for(caller, name);
    bool entered = asked && enter_call(probe, kind);
    if (entered && probe_is_quiet(probe)) /* else it has its path */
        path_enter_apart(probe->log, kind, probe->log->called);
    return entered;
}
/* `handle`: of the new object. One that MPI made for itself, inside of another call, is not the program's. */
void leave_made(struct probe *probe, enum call kind, int result, enum left_kind made, uint64_t handle);
/* `object`: as unfreed_remove has returned it before the call. */
void leave_freed(struct probe *probe, enum call kind, int result, struct unfreed object);

#endif
