/*
 * The work of calls by their place in the program: the time of a call beyond its wait.
 *
 *   place ──> how many calls took how long, by quarters of a power of two ──> the usual time
 *
 * What a call costs in the ordinary case is the median. A few calls that lost their processor do not count then.
 */
#ifndef MPIT_TOOLS_PLACEWORK_H
#define MPIT_TOOLS_PLACEWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORK_STEPS = 160 }; /* quarters, from 1 ns to 2^40 */

struct place_work {
    uint32_t counts[WORK_STEPS];
    uint32_t own[WORK_STEPS]; /* without stalls */
};

struct place_works {
    struct place_work **list; /* by place. NULL: no call there */
    size_t capacity;
};

/* Without memory the call is left out. */
void place_work_add(struct place_works *works, uint32_t place, double ns, double own_ns);
/* The median, within a fifth. `own`: of the work without stalls. 0: no call. */
double place_work_usual(const struct place_works *works, uint32_t place, bool own);
void place_works_release(struct place_works *works);

#endif
