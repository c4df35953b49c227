/*
 * The clock of the system that nobody sets: nanoseconds since some moment. Any code may read it.
 */
#ifndef MPIT_BASE_SYSTEMCLOCK_H
#define MPIT_BASE_SYSTEMCLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
