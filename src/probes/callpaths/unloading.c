/*
 * Objects that the program unloads. Another object may get their addresses. Then the ways to call paths and the rows of
 * unwinders would lead to wrong results, so they become void.
 *
 *     before    ways into the object are void before its place is free: another thread may load an object there
 *     after     a destructor of the object may have called MPI, and made new ways
 *
 * libmpit.so has a gate for dlclose, because call paths are always recorded. The loader offers nothing else: it counts
 * unloaded objects (dl_iterate_phdr), but only under its lock.
 */
#define _GNU_SOURCE
#include "callpaths/callpath.h"
#include "gate.h"
#include "unwinder/unwinder.h"

#include <dlfcn.h>

static __typeof__(&dlclose) next_dlclose;

/* Before gates are written. */
__attribute__((constructor(101))) static void unloading_next_find(void)
{
    next_dlclose = (__typeof__(&dlclose))native_symbol("dlclose");
}

static void knowledge_void(void)
{
    unwind_forget_all();
    callpaths_void();
}

GATE(dlclose);
int dlclose(void *handle)
{
    knowledge_void();
    int result = next_dlclose(handle);
    knowledge_void();
    return result;
}
