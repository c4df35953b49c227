#include "archive/team.h"

#include <sched.h>
#include <unistd.h>

const struct team team_of_one = {.rank = 0, .size = 1, .neighbours = 1};

void team_sum(const struct team *team, uint64_t *values, size_t count)
{
    if (team->size > 1)
        team->sum(values, count);
}

uint64_t team_largest(const struct team *team, uint64_t value)
{
    if (team->size > 1)
        team->largest(&value, 1);
    return value;
}

void team_spread(const struct team *team, void *bytes, size_t count, int from)
{
    if (team->size > 1)
        team->spread(bytes, count, from);
}

void team_meet(const struct team *team)
{
    team_largest(team, 0);
}

bool team_same(const struct team *team, uint64_t value)
{
    uint64_t most = team_largest(team, value), least = ~team_largest(team, ~value);
    return most == least;
}

bool team_failed(const struct team *team, bool failed, char *text, size_t bytes)
{
    uint64_t first = team_largest(team, failed ? (uint64_t)(team->size - team->rank) : 0);
    if (first)
        team_spread(team, text, bytes, team->size - (int)first);
    return first != 0;
}

unsigned team_threads(const struct team *team)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    long usable = online;
    cpu_set_t *set = CPU_ALLOC(1 << 16); /* more processors than a node has */
    size_t bytes = CPU_ALLOC_SIZE(1 << 16);
    if (set && sched_getaffinity(0, bytes, set) == 0)
        usable = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (usable >= online) /* bound to none of its own */
        usable /= team->neighbours;
    return usable > 1 ? (unsigned)usable : 1;
}
