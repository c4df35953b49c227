#include "analysis/worlds.h"

#include "analysis/segments.h"

#include <stdlib.h>

/* Bounds may differ by this share of the run time. The result is their mean. */
#define BOUNDS_APART 0.01

bool ideal_run_split(const struct ideal_run *run, struct ideal_split *split)
{
    double whole = (double)run->run_ns, useful = (double)run->useful_ns;
    double least = (double)run->ideal_ns.least, most = (double)run->ideal_ns.most, ideal = (least + most) / 2;
    *split = (struct ideal_split){.communication = whole > 0 ? useful / whole : 1};
    if (most - least > BOUNDS_APART * whole)
        return false;
    split->serialization = ideal > 0 ? useful / ideal : 1;
    split->transfer = whole > 0 ? ideal / whole : 1;
    return true;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* The worlds with that cure. NULL: it is of a segment that the run does not have. */
static world_set *cure_worlds(struct world_plan *plan, const struct cure *cure)
{
    switch (cure->kind) {
    case CURE_RECEIVES_EARLY:
        return &plan->receives_early;
    case CURE_POSTS_EARLY:
        return &plan->posts_early;
    case CURE_SENDS_EARLY:
        return &plan->sends_early;
    case CURE_PROGRESS:
        return &plan->progress;
    case CURE_LOCKS_SHORT:
        return &plan->locks_short;
    case CURE_CHEAP:
        return &plan->cheap[cure->group];
    case CURE_FREE:
        return &plan->free[cure->group];
    case CURE_EVEN:
        return &plan->even;
    case CURE_EVEN_WORK:
        return &plan->even_work;
    case CURE_AT_ONCE:
        return &plan->at_once;
    case CURE_ANY_ORDER:
        return &plan->any_order;
    case CURE_ON_PROCESSOR:
        return &plan->on_processor;
    case CURE_PLACEMENT:
        return &plan->placed;
    default:
        return cure->segment < plan->segment_count ? &plan->segments[cure->segment] : NULL;
    }
}

int world_plan_open(struct world_plan *plan)
{
    plan->segments = calloc(plan->segment_count + 1, sizeof *plan->segments);
    for (size_t k = 0; plan->segments && k < plan->count; k++)
        for (size_t i = 0; i < plan->worlds[k].count; i++) {
            world_set *worlds = cure_worlds(plan, &plan->worlds[k].cures[i]);
            if (worlds)
                *worlds |= (world_set)1 << k;
        }
    return plan->segments ? 0 : -1;
}

void world_plan_release(struct world_plan *plan)
{
    free(plan->segments);
    plan->segments = NULL;
}

static bool cure_is_of_segment(enum cure_kind kind)
{
    return kind == CURE_AS_OTHERS || kind == CURE_LEVELLED || kind == CURE_BALANCED;
}

/* The time of a computation after a cure of its segment. */
static double segment_cured(const struct world_plan *plan, const struct cure *cure, const struct computation *is)
{
    const struct segment_course *course = segment_course_of(plan->figures, is->segment);
    const struct segment_visit *visit = course && is->visit < course->count ? &course->visits[is->visit] : NULL;
    const struct segment_sum *sum;
    switch (cure->kind) {
    case CURE_BALANCED:
        if (cure->rank >= 0)
            return is->ns * cure->left;
        return visit && visit->ranks ? visit->ns / visit->ranks : is->ns;
    case CURE_AS_OTHERS:
        if (cure->rank != is->rank)
            return is->ns;
        if (!visit)
            return is->ns;
        return visit->ranks > 1 ? (visit->ns - is->ns) / (visit->ranks - 1) : 0;
    case CURE_LEVELLED:
        sum = keytable_find(&plan->figures->sums, is->segment, (uint64_t)(uint32_t)is->rank);
        return sum && sum->count ? (double)sum->ns / (double)sum->count : is->ns;
    default:
        return is->ns;
    }
}

void world_plan_compute(const struct world_plan *plan, const struct computation *is, double *times, size_t count)
{
    for (size_t k = 0; k < count; k++)
        times[k] = is->ns - (plan && plan->crowded && k >= WORLDS_FIXED ? plan->crowded[is->rank] * is->off_ns : 0);
    if (!plan)
        return;
    for (world_set rest = plan->even; rest; rest &= rest - 1)
        times[__builtin_ctzll(rest)] *= plan->factors[is->rank];
    for (size_t k = 0; plan->changes && k < count; k++)
        if (plan->changes[k].rank < 0 || plan->changes[k].rank == is->rank)
            times[k] *= plan->changes[k].computing;
    for (world_set rest = plan->on_processor; rest; rest &= rest - 1)
        times[__builtin_ctzll(rest)] *= plan->had[is->rank];
    for (world_set rest = is->segment < plan->segment_count ? plan->segments[is->segment] : 0; rest; rest &= rest - 1) {
        const struct world *world = &plan->worlds[__builtin_ctzll(rest)];
        for (size_t i = 0; i < world->count; i++)
            if (world->cures[i].segment == is->segment && cure_is_of_segment(world->cures[i].kind))
                times[__builtin_ctzll(rest)] *= segment_cured(plan, &world->cures[i], is) / is->ns;
    }
}
