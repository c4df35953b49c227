/*
 * The next definition of a function of the C library that mpit defines, too. It is found when the library is loaded.
 * The function may be called in signal handlers, where dlsym may not. Constructors of other libraries may call it
 * before that.
 */
#ifndef MPIT_PROBES_BEHIND_H
#define MPIT_PROBES_BEHIND_H

#include "gate.h"
#include "native.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if the function is the C library's. The program's own library may have other functions with names that ISO C and
 * POSIX leave to it. For constructors. */
static inline bool behind_is_the_c_library(const void *function)
{
    Dl_info own, found;
    const void *known = native_symbol_of_c("gnu_get_libc_version");
    return !known || !function || !dladdr(known, &own) || !dladdr(function, &found) || found.dli_fbase == own.dli_fbase;
}

/* Makes the gate pass if the function is not the C library's. With gate.h. */
#define PASS_OTHERS(name)                                                                                              \
    do {                                                                                                               \
        void *behind = (void *)(uintptr_t)behind_##name();                                                             \
        if (&guard_##name && !behind_is_the_c_library(behind))                                                         \
            __atomic_store_n(&guard_##name, behind, __ATOMIC_RELEASE);                                                 \
    } while (0)

#define BEHIND(name)                                                                                                   \
    static __typeof__(&name) next_##name;                                                                              \
    static inline __typeof__(&name) behind_##name(void)                                                                \
    {                                                                                                                  \
        __typeof__(&name) behind = __atomic_load_n(&next_##name, __ATOMIC_RELAXED);                                    \
        if (__builtin_expect(!behind, 0)) {                                                                            \
            behind = (__typeof__(&name))native_symbol_of_c(#name);                                                     \
            __atomic_store_n(&next_##name, behind, __ATOMIC_RELAXED);                                                  \
        }                                                                                                              \
        return behind;                                                                                                 \
    }                                                                                                                  \
    __attribute__((constructor)) static void find_##name(void)                                                         \
    {                                                                                                                  \
        behind_##name();                                                                                               \
    }

/* Stands before the definition of such a function: the next one, and its gate. */
#define GUARDED(name) BEHIND(name) GUARD(name)

#endif
