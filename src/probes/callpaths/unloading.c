/*
 * Objects that the program unloads. Another object may get their addresses. Then the ways to call paths and the rows of
 * unwinders would lead to wrong results, so they become void.
 *
 *     before    ways into the object are void before its place is free: another thread may load an object there
 *     after     a destructor of the object may have called MPI, and made new ways
 *
 * libmpit.so has a gate for dlclose, because call paths are always recorded. The loader offers nothing else: it counts
 * unloaded objects (dl_iterate_phdr), but only under its lock.
 *
 * UCX puts a dlclose of its own into the tables of all objects, and then calls that of the C library. Its function calls
 * dlinfo before, which has a gate, too. There is nothing after it. So ways of a destructor that calls MPI stay.
 */
#include "callpaths/callpath.h"
#include "gate.h"
#include "unwinder/unwinder.h"

#include <dlfcn.h>

static __typeof__(&dlclose) next_dlclose;
static __typeof__(&dlinfo) next_dlinfo;

/* Before gates are written. */
__attribute__((constructor(101))) static void unloading_next_find(void)
{
    next_dlclose = (__typeof__(&dlclose))native_symbol("dlclose");
    next_dlinfo = (__typeof__(&dlinfo))native_symbol("dlinfo");
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

GATE(dlinfo);
int dlinfo(void *restrict handle, int request, void *restrict info)
{
    knowledge_void();
    return next_dlinfo(handle, request, info);
}
