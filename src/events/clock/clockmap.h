/*
 * From the ticks of one kernel's clock to the reference time of the job.
 *
 *   reference                    ,x  knots: measurements of the clock (clocksync.h) that tell something
 *      ^                  ,x---'     between: straight lines
 *      |          ,x----'            before the first and after the last: the nearest line, if it is known better than
 *      |   ,.---'                    the clock's own factor, else the clock's own
 *      +-------------------> ticks   no measurement at all: the clock's own, from its wall clock at its begin
 *
 * All processes of a kernel share one map. So the map never changes the order of the counter: the later of two ticks
 * has no earlier time. Measurements come from files and may be anything. A measurement that contradicts the clock by
 * more than half is left out. So is one that the line between its neighbors meets within its own error.
 */
#ifndef MPIT_EVENTS_CLOCKMAP_H
#define MPIT_EVENTS_CLOCKMAP_H

#include "clock/clock.h"
#include "format/runfile.h"

#include <stddef.h>

/* Times are kept below it, so that sums of a few fit into 64 bits. */
#define CLOCK_MAP_MOST_NS (UINT64_C(1) << 61)

/* A measurement, and the begin and the end of a node whose clock was measured once (clockmessages.h). */
enum { CLOCK_KNOTS_MOST = 3 };

struct clock_map {
    struct clock_scale scale;
    uint64_t begin_ticks, begin_ns; /* a point of the wall clock */
    size_t measured;                /* usable measurements */
    uint64_t error_ns;              /* the largest error of a knot. 0 without one */
    uint64_t moved_ns;              /* how far clock_map_move has moved a knot, at most */
    double drift;                   /* how much faster the reference clock ran than this factor says. 0: not known */
    size_t count;
    struct clock_sync knots[CLOCK_KNOTS_MOST];
};

/* A map by the wall clock alone. */
void clock_map_open(struct clock_map *map, struct clock_scale scale, uint64_t begin_ticks, uint64_t begin_ns);
/* Takes measurements in any order. They replace the old ones. */
void clock_map_set(struct clock_map *map, const struct clock_sync *list, size_t count);
/* Moves each knot by its number of nanoseconds, unless that would change their order. */
void clock_map_move(struct clock_map *map, const double by[CLOCK_KNOTS_MOST]);
/* Reference time. */
uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks);

static inline uint64_t clock_map_bounded(uint64_t ns)
{
    return ns < CLOCK_MAP_MOST_NS ? ns : CLOCK_MAP_MOST_NS;
}

static inline uint64_t clock_map_span_ns(struct clock_scale scale, uint64_t ticks)
{
    unsigned __int128 ns = (unsigned __int128)ticks * scale.mult >> 32;
    return ns < CLOCK_MAP_MOST_NS ? (uint64_t)ns : CLOCK_MAP_MOST_NS;
}

/* Converts by the clock's own factor, from a given point on. */
static inline uint64_t clock_map_factor_ns(struct clock_scale scale, uint64_t from_ticks, uint64_t from_ns,
                                           uint64_t ticks)
{
    if (ticks >= from_ticks)
        return clock_map_bounded(from_ns + clock_map_span_ns(scale, ticks - from_ticks));
    uint64_t back = clock_map_span_ns(scale, from_ticks - ticks);
    return back < from_ns ? from_ns - back : 0;
}

/*
 * Converts by the wall clock of the kernel, without the measurements. Inline, since each event of an archive has two
 * times.
 */
static inline uint64_t clock_map_local_ns(const struct clock_map *map, uint64_t ticks)
{
    return clock_map_factor_ns(map->scale, map->begin_ticks, map->begin_ns, ticks);
}

#endif
