/*
 * libmpit-sampler.so: trampolines in front of functions of the C library, preloaded only if samples are wanted. Their
 * gates lead to the next definition until a recorder writes its own there (src/probes/sampler/shield.h).
 */
#include "preload.h"
#include "guardnames.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#define PRELOAD_PREFIX "mpit_guard_"
#include "trampoline.h"

TRAMPOLINES;

/* dlsym uses its return address to find the next definition, so it must not be called by a jump. */
static void *guarded_next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    __asm__ volatile("" : "+r"(symbol));
    return symbol;
}

__attribute__((visibility("default"))) void *mpit_sampler_next(const char *name)
{
    return guarded_next(name);
}

static int missing(void)
{
    errno = ENOSYS;
    return -1;
}

void *preload_resolve(size_t number)
{
    void **gate = &preload_gates[number], *start = TRAMPOLINE_START(number);
    void *target = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
    int error = errno;
    if (target == start) {
        void *behind = guarded_next(preload_names[number]);
        if (!behind)
            behind = (void *)missing;
        if (__atomic_compare_exchange_n(gate, &target, behind, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            target = behind;
    }
    errno = error;
    return target;
}

/* They are called in signal handlers, where dlsym may not be. */
__attribute__((constructor)) static void guards_find(void)
{
    for (size_t i = 0; i < PRELOAD_COUNT; i++)
        preload_resolve(i);
}
