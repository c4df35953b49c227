#include "clock/clockmap.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* A line is better known than the clock's own factor if its ends are not further wrong than that. */
enum { FACTOR_ERROR_PARTS = 20000 }; /* 50 ppm */

/* The line through two knots, at a time before, between or after them. */
static uint64_t line_ns(const struct clock_sync *a, const struct clock_sync *b, uint64_t ticks)
{
    unsigned __int128 rise = b->reference_ns - a->reference_ns;
    uint64_t run = b->ticks - a->ticks;
    if (ticks >= a->ticks) {
        unsigned __int128 ns = rise * (ticks - a->ticks) / run;
        return ns < CLOCK_MAP_MOST_NS ? clock_map_bounded(a->reference_ns + (uint64_t)ns) : CLOCK_MAP_MOST_NS;
    }
    unsigned __int128 back = (rise * (a->ticks - ticks) + run - 1) / run; /* down, as in the other direction */
    return back < a->reference_ns ? a->reference_ns - (uint64_t)back : 0;
}

void clock_map_open(struct clock_map *map, struct clock_scale scale, uint64_t begin_ticks, uint64_t begin_ns)
{
    *map = (struct clock_map){.scale = scale, .begin_ticks = begin_ticks, .begin_ns = clock_map_bounded(begin_ns)};
}

static int sync_order(const void *one, const void *other)
{
    const struct clock_sync *a = one, *b = other;
    return ORDER(a->ticks, b->ticks);
}

/* Between half and twice as fast as the clock's own factor says. */
static bool follows(struct clock_scale scale, const struct clock_sync *a, const struct clock_sync *b)
{
    if (b->ticks <= a->ticks || b->reference_ns <= a->reference_ns)
        return false;
    uint64_t own = clock_map_span_ns(scale, b->ticks - a->ticks), rise = b->reference_ns - a->reference_ns;
    return own < CLOCK_MAP_MOST_NS && rise / 2 <= own && own / 2 <= rise;
}

static double drift_of(const struct clock_map *map)
{
    if (map->count < 2)
        return 0;
    const struct clock_sync *a = &map->knots[0], *b = &map->knots[map->count - 1];
    double own = (double)clock_map_span_ns(map->scale, b->ticks - a->ticks);
    return (double)(b->reference_ns - a->reference_ns) / own - 1;
}

void clock_map_set(struct clock_map *map, const struct clock_sync *list, size_t count)
{
    struct clock_sync ordered[CLOCK_SYNCS_MOST];
    count = count < CLOCK_SYNCS_MOST ? count : CLOCK_SYNCS_MOST;
    memcpy(ordered, list, count * sizeof *list);
    qsort(ordered, count, sizeof *ordered, sync_order);
    map->count = 0;
    map->error_ns = 0;
    for (const struct clock_sync *sync = ordered; sync < ordered + count; sync++) {
        bool possible = sync->reference_ns < CLOCK_MAP_MOST_NS && sync->error_ns < CLOCK_MAP_MOST_NS;
        if (!possible || (map->count && !follows(map->scale, &map->knots[map->count - 1], sync)))
            continue;
        map->knots[map->count++] = *sync;
        if (sync->error_ns > map->error_ns)
            map->error_ns = sync->error_ns;
    }
    map->measured = map->count;
    map->drift = drift_of(map);
}

void clock_map_move(struct clock_map *map, const double by[CLOCK_KNOTS_MOST])
{
    struct clock_sync moved[CLOCK_KNOTS_MOST];
    double farthest = 0;
    for (size_t i = 0; i < map->count; i++) {
        double ns = by[i] < 0 ? -by[i] : by[i];
        if (!(ns < (double)map->knots[i].reference_ns && ns < (double)(CLOCK_MAP_MOST_NS / 2)))
            return;
        farthest = ns > farthest ? ns : farthest;
        moved[i] = map->knots[i];
        moved[i].reference_ns += (uint64_t)(int64_t)(by[i] < 0 ? by[i] - 0.5 : by[i] + 0.5);
        if (moved[i].reference_ns >= CLOCK_MAP_MOST_NS || (i && !follows(map->scale, &moved[i - 1], &moved[i])))
            return;
    }
    memcpy(map->knots, moved, map->count * sizeof *moved);
    map->moved_ns += (uint64_t)farthest;
    map->drift = drift_of(map);
}

/* Outside of the knots: true if the line next to them is more exact than the clock's own factor. */
static bool line_is_known(const struct clock_sync *a, const struct clock_sync *b)
{
    return (a->error_ns + b->error_ns) < (b->reference_ns - a->reference_ns) / FACTOR_ERROR_PARTS;
}

uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks)
{
    const struct clock_sync *knots = map->knots;
    size_t count = map->count, after = ARRAY_FIRST(i, 0, count, knots[i].ticks > ticks);
    if (!count)
        return clock_map_local_ns(map, ticks);
    if (after > 0 && after < count)
        return line_ns(&knots[after - 1], &knots[after], ticks);
    const struct clock_sync *end = after ? &knots[count - 1] : &knots[0];
    size_t line = after ? count - 2 : 0;
    if (count > 1 && line_is_known(&knots[line], &knots[line + 1]))
        return line_ns(&knots[line], &knots[line + 1], ticks);
    return clock_map_factor_ns(map->scale, end->ticks, end->reference_ns, ticks);
}
