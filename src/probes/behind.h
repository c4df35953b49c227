/*
 * What stands behind a function of the C library that mpit defines, too. Found when the library is loaded: it may be
 * called in signal handlers, where dlsym may not; and before that, by the constructors of others.
 */
#ifndef MPIT_PROBES_BEHIND_H
#define MPIT_PROBES_BEHIND_H

#include <dlfcn.h>
#include <stddef.h>

#define BEHIND(name)                                                                                                   \
    static __typeof__(&name) next_##name;                                                                              \
    static inline __typeof__(&name) behind_##name(void)                                                                \
    {                                                                                                                  \
        __typeof__(&name) behind = __atomic_load_n(&next_##name, __ATOMIC_RELAXED);                                    \
        if (__builtin_expect(!behind, 0)) {                                                                            \
            behind = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                       \
            __atomic_store_n(&next_##name, behind, __ATOMIC_RELAXED);                                                  \
        }                                                                                                              \
        return behind;                                                                                                 \
    }                                                                                                                  \
    __attribute__((constructor)) static void find_##name(void)                                                         \
    {                                                                                                                  \
        behind_##name();                                                                                               \
    }

#endif
