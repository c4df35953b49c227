/* The time of a clock that all processes of a node share. */
#ifndef MPIT_TESTS_SECONDS_H
#define MPIT_TESTS_SECONDS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double now(void)
{
    return (double)now_ns() * 1e-9;
}

#endif
