/* Where a callback of an event comes from, by the program's own backtrace. */
#ifndef MPICALLER_H
#define MPICALLER_H

#include <execinfo.h>
#include <stdint.h>

extern char __executable_start, etext;

static int is_own(const void *address)
{
    return (const char *)address >= &__executable_start && (const char *)address < &etext;
}

/* The address behind the call of MPI that this callback runs in: of the first function of the program outside of mpit.
 * The callback itself is a function of the program, too. */
static uintptr_t caller_of_mpi(void)
{
    void *frames[64];
    int count = backtrace(frames, 64), i = 0;
    while (i < count && is_own(frames[i]))
        i++;
    while (i < count && !is_own(frames[i]))
        i++;
    return i < count ? (uintptr_t)frames[i] : 0;
}

#endif
