/*
 * Worlds in which a rank takes messages in the order in which they come, and not in the order of its receives.
 *
 *   receives       from 1    from 2    from 3        each in turn
 *   messages       3 ──> 1 ──> 2                     by the time at which their sends begin in that world
 *
 * The messages of all sources with one tag are one pool. A call that takes one message takes the earliest that was sent
 * before it ended. A call that completes several takes each of them.
 */
#include "analysis/analysis_lanes.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { TRIED_MOST = 64, POOLED_MOST = 1 << 16 }; /* messages that a receive chooses among, and of a pool */

struct pooled {
    struct path *begun; /* held, with its times */
    world_set taken;    /* in these worlds, */
    bool received;      /* and in the run as it was */
};

struct pool {
    struct keyed keyed; /* communicator << 32 | receiver, tag */
    struct pooled *list;
    size_t first, count, room;
    bool lost; /* a receive took a message, and it is not known which */
};

static world_set any_order(const struct analysis_lanes *lanes)
{
    const struct world_plan *plan = lanes->analysis->plan;
    return plan ? plan->any_order & ~plan->at_once : 0;
}

static uint64_t pool_key(const struct envelope *envelope)
{
    return (uint64_t)envelope->comm << 32 | (uint32_t)envelope->dest;
}

/* From here on it is not known which messages are there. */
static void pool_lose(struct analysis_lanes *lanes, struct pool *pool)
{
    for (size_t i = pool->first; i < pool->count; i++)
        path_drop(&lanes->analysis->paths, pool->list[i].begun);
    pool->first = pool->count = 0;
    pool->lost = true;
}

void order_sent(struct analysis_lanes *lanes, const struct message *message)
{
    const struct envelope *envelope = &message->envelope;
    if (!any_order(lanes) || envelope->partitioned || !path_times(message->begun.path))
        return;
    struct pool *pool =
        keytable_make(&lanes->pools, pool_key(envelope), (uint64_t)(uint32_t)envelope->tag, sizeof *pool);
    if (pool && pool->count - pool->first >= POOLED_MOST)
        pool_lose(lanes, pool);
    struct pooled *list = pool ? array_reserve(pool->list, &pool->room, pool->count, sizeof *list) : NULL;
    if (!list) {
        lanes->analysis->no_memory = true;
        return;
    }
    pool->list = list;
    if (!pool->lost)
        list[pool->count++] = (struct pooled){path_hold(message->begun.path), 0, false};
}

static size_t tried_end(const struct pool *pool)
{
    return pool->count - pool->first < TRIED_MOST ? pool->count : pool->first + TRIED_MOST;
}

/* The earliest message in this world. NULL: there is none. */
static struct pooled *earliest_find(struct pool *pool, size_t world)
{
    struct pooled *earliest = NULL;
    for (size_t i = pool->first; i < tried_end(pool); i++) {
        struct pooled *pooled = &pool->list[i];
        if (!(pooled->taken >> world & 1) &&
            (!earliest || path_times(pooled->begun)[world] < path_times(earliest->begun)[world]))
            earliest = pooled;
    }
    return earliest;
}

/* The message that the receive got. NULL: it is not there. */
static struct pooled *own_message_find(struct pool *pool, const struct path *begun)
{
    for (size_t i = pool->first; i < pool->count; i++)
        if (pool->list[i].begun == begun && !pool->list[i].received)
            return &pool->list[i];
    return NULL;
}

/* Drops the messages that are taken in all these worlds, and in the run. */
static void pool_clean(struct analysis_lanes *lanes, struct pool *pool, world_set worlds)
{
    size_t end = tried_end(pool), kept = end;
    for (size_t i = end; i-- > pool->first;)
        if (pool->list[i].taken == worlds && pool->list[i].received)
            path_drop(&lanes->analysis->paths, pool->list[i].begun);
        else
            pool->list[--kept] = pool->list[i];
    pool->first = kept;
    if (pool->first < pool->count / 2)
        return;
    memmove(pool->list, pool->list + pool->first, (pool->count - pool->first) * sizeof *pool->list);
    pool->count -= pool->first;
    pool->first = 0;
}

/* True if the call takes one message, and the program has chosen which. */
static bool call_chooses(const struct analysis_lane *lane)
{
    return call_shape(&lane->call) == FOLD_RECV || call_shape(&lane->call) == FOLD_SENDRECV ||
           event_kind(&lane->call.event) == CALL_MPI_Wait;
}

/* What the rank waits less, by the place of its receive: in the first of these worlds, which is the one that is tried. */
static void order_gain_add(const struct analysis_lanes *lanes, const struct analysis_lane *lane, double ns)
{
    struct analysis *analysis = lanes->analysis;
    double waited = ns < 0 ? 0 : ns;
    analysis_sum(analysis, &analysis->orders, (uint64_t)(uint32_t)lane->process->world_rank, lane->place, 0,
                 (uint64_t)waited);
}

void order_received(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct receive *receive)
{
    const struct envelope *envelope = &receive->envelope;
    const double *times = receive->matched ? path_times(receive->begun.path) : NULL;
    world_set worlds = any_order(lanes);
    if (!worlds || envelope->partitioned)
        return;
    struct pool *pool =
        keytable_make(&lanes->pools, pool_key(envelope), (uint64_t)(uint32_t)envelope->tag, sizeof *pool);
    struct pooled *own = pool && times ? own_message_find(pool, receive->begun.path) : NULL;
    bool chooses = own && !pool->lost && call_chooses(lane);
    if (pool && !own)
        pool_lose(lanes, pool);
    for (world_set rest = worlds; rest && times; rest &= rest - 1) {
        size_t k = (size_t)__builtin_ctzll(rest);
        struct pooled *taken = chooses ? earliest_find(pool, k) : NULL;
        double time = taken ? path_times(taken->begun)[k] : times[k];
        taken = taken ? taken : own;
        if (taken)
            taken->taken |= (world_set)1 << k;
        if (chooses && rest == worlds)
            order_gain_add(lanes, lane, times[k] - time);
        lanes->need[k] = time > lanes->need[k] ? time : lanes->need[k];
    }
    if (own) {
        own->received = true;
        pool_clean(lanes, pool, worlds);
    }
}

void orders_release(struct analysis_lanes *lanes)
{
    for (size_t i = 0; i < lanes->pools.capacity; i++)
        for (struct keyed *keyed = lanes->pools.buckets[i]; keyed; keyed = keyed->next) {
            pool_lose(lanes, (struct pool *)keyed);
            free(((struct pool *)keyed)->list);
        }
    keytable_release(&lanes->pools, NULL);
}
